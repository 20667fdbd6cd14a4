"""The real driver's calls over C functions that lay memory out as cuda.h says.

The C functions are Python callbacks that answer from the fake driver, so buffers, structure
layouts and pointers are exercised without a GPU, under the same contract.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types

import pytest

from capture.driver import edges as edge_calls
from capture.driver import many
from capture.driver.edges import EdgeCalls
from capture.driver.entry_points import EntryPoints
from capture.driver.graph_calls import GraphCalls
from capture.driver.kernels import KernelCalls
from capture.driver.launch_attributes import AttributeCalls
from capture.driver.node_calls import NodeCalls
from capture.driver.replay_calls import ReplayCalls
from capture.errors import NotSupportedError
from capture.extract import extract
from capture.model import Graph
from capture.nodes import kernel as kernel_nodes
from capture.nodes.kernel import KernelPayload
from tests.driver.contract import DriverContract, pytest_generate_tests
from tests.driver.replay_contract import ReplayContract
from tests.driver.test_contract import FakeWorld
from tests.helpers.c_functions import CFunctions
from tests.helpers.declared import TOPOLOGIES, Declared, graph, kernel
from tests.helpers.fake_driver import FakeDriver

__all__ = ["pytest_generate_tests"]


class CDriver(KernelCalls, AttributeCalls, NodeCalls, EdgeCalls, GraphCalls, ReplayCalls):
    def __init__(self, functions: CFunctions) -> None:
        self.entry = EntryPoints(functions.find)


class CWorld(FakeWorld):
    def __init__(self, *, node_params: bool = False, joined: bool = True) -> None:
        self.fake = FakeDriver(node_params=node_params)
        self.functions = CFunctions(self.fake, joined=joined)
        self.driver = CDriver(self.functions)  # type: ignore[assignment]

    def build(self, graph: Graph) -> int:
        return self.fake.build(graph)


@pytest.fixture(params=[False, True], ids=["bodies_from_dot", "bodies_from_params"])
def world(request: pytest.FixtureRequest) -> CWorld:
    return CWorld(node_params=request.param, joined=not request.param)


class TestCCalls(DriverContract):
    pass


class TestCReplays(ReplayContract):
    pass


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_both_ways_of_reading_edges_agree(topology: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = CWorld()
    count, edges = TOPOLOGIES[topology]
    built = graph([Declared("empty")] * count, edges)
    handle = world.build(built)
    nodes = world.driver.nodes(handle)
    listed = world.driver.edges(handle, nodes)
    monkeypatch.setattr(edge_calls, "EDGE_LIST_LIMIT", 0)
    asked = world.driver.edges(handle, nodes)
    assert (listed.how, asked.how) == ("cuGraphGetEdges", "cuGraphNodeGetDependencies")
    assert listed[:5] == asked[:5] == (built.topology.source, built.topology.target, [], [], [])


def test_edges_keep_ports_and_type() -> None:
    world = CWorld()
    built = graph([kernel(world) for _ in range(3)], [(0, 1, 1, 0, 1), (0, 2)])  # type: ignore[list-item]
    found = extract(world.driver, world.build(built)).graph
    assert found.topology == built.topology
    assert found.topology.from_port == [1, 0]


def test_more_edges_than_the_first_buffer_holds() -> None:
    world = CWorld()
    edges = [(i, j) for j in range(60) for i in range(j)]
    built = graph([Declared("empty")] * 60, edges)
    found = extract(world.driver, world.build(built)).graph
    assert found.topology == built.topology


def test_launch_attributes_that_differ_from_their_default() -> None:
    world = CWorld()
    window = {
        "base_address": 64,
        "size_bytes": 128,
        "hit_ratio": 0.5,
        "hit_property": 2,
        "miss_property": 1,
    }
    odd = kernel(
        world,
        cluster=(2, 1, 1),
        cooperative=True,
        priority=-5,
        attributes={"access_policy_window": window, "attribute_19": [3] + [0] * 15},
    )
    built = graph([kernel(world), odd, kernel(world)], [])
    found = extract(world.driver, world.build(built))
    assert found.graph.payloads == built.payloads
    how = found.evidence["attributes"].how
    assert "mem_sync_domain_map" in how
    assert "priority" in how
    assert "of each distinct launch" not in how
    before = world.functions.asked.count("cuGraphKernelNodeGetAttribute")
    extract(world.driver, world.build(built))
    asked = world.functions.asked.count("cuGraphKernelNodeGetAttribute") - before
    assert asked == 3 * 6  # only the six that this driver answers for


def test_more_nodes_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column must go on where the block before ended, refused nodes included."""
    block = 8
    monkeypatch.setattr(many, "BLOCK", block)
    monkeypatch.setattr(kernel_nodes, "_BLOCK", block)
    world = CWorld()
    count = 2 * block + 5
    kernels = [
        kernel(
            world,
            index=index,
            priority=-(index % 3),
            cluster=(2, 1, 1) if index % 5 == 0 else None,
            cooperative=index % 7 == 0,
        )
        for index in range(count)
    ]
    edges = [(i, i + 1) for i in range(count - 1)] + [(0, j) for j in range(block - 3, block + 3)]
    built = graph(kernels, edges)
    handle = world.build(built)
    listed = extract(world.driver, handle).graph
    assert listed.topology == built.topology
    assert listed.payloads == built.payloads
    monkeypatch.setattr(edge_calls, "EDGE_LIST_LIMIT", 0)
    nodes = world.driver.nodes(handle)
    gone = {3, block - 1, block, 2 * block + 1}
    world.fake.destroyed |= {nodes[at] for at in gone}
    found = extract(world.driver, handle).graph
    expected = [None if at in gone else payload for at, payload in enumerate(built.payloads)]
    assert found.payloads == expected
    kept = [edge for edge in built.edges() if edge.target not in gone]
    assert list(found.edges()) == kept


def test_several_edges_between_two_nodes() -> None:
    world = CWorld()
    pairs = [(0, 1), (0, 1, 1, 0, 1), (0, 2, 2, 0, 1), (1, 2)]
    built = graph([kernel(world) for _ in range(3)], pairs)  # type: ignore[arg-type]
    handle = world.build(built)
    nodes = world.driver.nodes(handle)
    listed = world.driver.edges_by_list(handle, nodes)  # type: ignore[attr-defined]
    asked = world.driver.edges_by_dependencies(nodes)  # type: ignore[attr-defined]
    assert listed[:5] == asked[:5]
    assert listed[:5] == ([0, 0, 0, 1], [1, 1, 2, 2], [0, 1, 2, 0], [], [0, 1, 1, 0])


@pytest.mark.parametrize("joined", [True, False])
def test_arguments_with_gaps(joined: bool) -> None:
    world = CWorld(joined=joined)
    layout = [(0, 4), (8, 8), (16, 1)]
    data = b"\1\1\1\1" + bytes(4) + b"\2" * 8 + b"\3"
    other = Declared(
        "kernel",
        KernelPayload(
            kernel=type(world.kernel)(
                name="gaps",
                registers=1,
                static_shared_bytes=0,
                local_bytes=0,
                constant_bytes=0,
                max_threads_per_block=1,
                ptx_version=1,
                binary_version=1,
                parameters=layout,
            ),
            grid=(1, 1, 1),
            block=(1, 1, 1),
            dynamic_shared_bytes=0,
            cooperative=False,
            priority=0,
            max_blocks_per_multiprocessor=world.occupancy(1),
            arguments=data,
            function_handle=77,
        ),
    )
    built = graph([other, kernel(world)], [])
    assert extract(world.driver, world.build(built)).graph.payloads == built.payloads


def test_packed_arguments() -> None:
    world = CWorld()
    data = bytes(range(200)) * 8
    built = graph([kernel(world, arguments=data, arguments_packed=True)], [])
    assert extract(world.driver, world.build(built)).graph.payloads == built.payloads


def test_a_node_that_is_gone_keeps_its_place() -> None:
    world = CWorld()
    built = graph([kernel(world) for _ in range(4)], [(0, 1), (1, 2), (2, 3)])
    handle = world.build(built)
    gone = world.driver.nodes(handle)[2]
    world.fake.destroyed.add(gone)
    found = extract(world.driver, handle)
    assert found.graph.topology.types == ["kernel", "kernel", "type_unread", "kernel"]
    assert found.graph.payloads[2] is None
    assert found.graph.payloads[3] == built.payloads[3]
    assert any("node 2" in warning for warning in found.warnings)


def test_only_nodes_that_are_no_kernels_are_asked_for_their_type() -> None:
    world = CWorld()
    built = graph([kernel(world), Declared("empty"), kernel(world)], [])
    extract(world.driver, world.build(built))
    assert world.functions.asked.count("cuGraphNodeGetType") == 1
    world.functions.asked.clear()
    extract(world.driver, world.build(graph([kernel(world)] * 3, [])))
    assert "cuGraphNodeGetType" not in world.functions.asked


def test_a_kernel_that_refuses_its_launch_parameters() -> None:
    world = CWorld()
    built = graph([Declared("empty"), *(kernel(world, index=i) for i in range(3))], [])
    handle = world.build(built)
    world.fake.refusing.add(world.driver.nodes(handle)[2])
    found = extract(world.driver, handle)
    assert found.graph.topology.types == ["empty", "kernel", "kernel", "kernel"]
    assert found.graph.payloads == [None, built.payloads[1], None, built.payloads[3]]
    (warning,) = found.warnings
    assert "node 2 could not be read: cuGraphKernelNodeGetParams" in warning


def test_an_answer_without_a_function_is_no_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """cuda.h does not promise that nodes which are no kernels refuse launch parameters."""
    world = CWorld()
    answer = world.functions.cuGraphKernelNodeGetParams
    built = graph([Declared("empty"), kernel(world), Declared("empty")], [])
    handle = world.build(built)
    others = world.driver.nodes(handle)[::2]

    def lax(node: int, out: int) -> None:
        if node not in others:
            answer(node, out)

    monkeypatch.setattr(world.functions, "cuGraphKernelNodeGetParams", lax)
    found = extract(world.driver, handle)
    assert found.warnings == []
    assert found.graph.topology.types == ["empty", "kernel", "empty"]
    assert found.graph.payloads == built.payloads


def test_a_function_the_driver_lacks_is_named() -> None:
    driver = CDriver(CFunctions(FakeDriver()))
    with pytest.raises(NotSupportedError, match=r"cuGraphNodeGetParams.*CUDA 13\.2"):
        driver.conditionals([1])


def test_capture_info() -> None:
    world = CWorld()
    handle = world.build(graph([kernel(world), kernel(world)], [(0, 1)]))
    world.fake.begin_capture(0x5, handle)
    info = world.driver.capture_info(0x5)
    assert info.graph == handle
    assert info.last_nodes == world.driver.nodes(handle)[-1:]


def test_the_last_node_of_a_capture_again_and_again() -> None:
    world = CWorld()
    handle = world.build(graph([kernel(world), kernel(world)], [(0, 1)]))
    first, last = world.driver.nodes(handle)
    tip = world.driver.capture_tip(0x5)
    assert tip() == -1
    world.fake.begin_capture(0x5, handle)
    assert tip() == last
    for nodes, expected in (([first], first), ([], 0), ([first, last], (first, last))):
        world.fake.captures[0x5] = world.fake.captures[0x5]._replace(last_nodes=nodes)
        assert tip() == expected


def test_programs_in_c_can_ask_for_a_capture() -> None:
    world = CWorld()
    handle = world.build(graph([kernel(world), kernel(world)], [(0, 1)]))
    world.fake.begin_capture(0x5, handle)
    signature = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 7)
    ask = signature(world.driver.capture_info_address())
    status, nodes, data, count = (
        ctypes.c_int(),
        ctypes.POINTER(ctypes.c_uint64)(),
        ctypes.c_void_p(),
        ctypes.c_size_t(),
    )
    outs = [ctypes.addressof(item) for item in (nodes, data, count)]
    assert ask(0x5, ctypes.addressof(status), None, None, *outs) == 0
    assert status.value == 1
    assert nodes[: count.value] == world.driver.nodes(handle)[-1:]


def test_what_the_driver_writes_to_lives_as_long_as_the_function_that_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = CWorld()
    written: list[int] = []
    monkeypatch.setattr(
        world.functions, "cuStreamGetCaptureInfo", lambda stream, *outs: written.extend(outs)
    )
    tip = world.driver.capture_tip(0x5)
    tip()
    gc.collect()
    alive = {
        ctypes.addressof(item)
        for item in gc.get_objects()
        # Not isinstance, which asks every object of the process for its class.
        if issubclass(type(item), (ctypes._SimpleCData, ctypes._Pointer))
    }
    outputs = [address for address in written if address]
    assert len(outputs) == 4
    assert set(outputs) <= alive


def test_the_interpreter_lock_is_released_once_at_most_for_a_graph_of_kernels() -> None:
    """Each release may cost a switch interval, 5 ms, when another thread is busy."""
    world = CWorld()
    built = graph([kernel(world)] * 3, [(0, 1), (1, 2)])
    extract(world.driver, world.build(built))
    releasing = set(world.driver.entry._functions)  # type: ignore[attr-defined]
    assert releasing == {"cuGraphGetEdges"}
    assert world.functions.asked.count("cuGraphGetEdges") == 1


def test_the_interpreter_lock_is_released_while_python_callbacks_are_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = CWorld()
    entry = world.driver.entry  # type: ignore[attr-defined]
    name = "cuGraphNodeGetType"
    keeps = entry.reader(name)
    monkeypatch.setitem(sys.modules, "cupti", types.ModuleType("cupti"))
    releases = entry.reader(name)
    # Flags of a prototype: 4 is FUNCFLAG_PYTHONAPI, under which the lock is kept.
    assert type(keeps)._flags_ & 4
    assert not type(releases)._flags_ & 4
    built = graph([kernel(world)] * 3, [(0, 1), (1, 2)])
    assert extract(world.driver, world.build(built)).graph.payloads == built.payloads
