"""The contract of :mod:`tests.driver.contract` on the real driver, and what only it can show."""

from __future__ import annotations

import struct

import pytest

from capture.driver import edges as edge_calls
from capture.driver.cuda_bindings import CudaDriver
from capture.errors import NotSupportedError
from capture.extract import extract
from tests.driver.contract import DriverContract, pytest_generate_tests
from tests.driver.replay_contract import ReplayContract
from tests.gpu.real_world import RealWorld
from tests.helpers.declared import NODES, TOPOLOGIES, Declared, World, graph, kernel
from tests.workloads.chains import chain, checked, fork_join

__all__ = ["pytest_generate_tests"]


@pytest.fixture(scope="module")
def real(gpu: CudaDriver) -> RealWorld:
    return RealWorld()


@pytest.fixture
def world(real: RealWorld) -> World:
    return real


class TestRealReplays(ReplayContract):
    pass


class TestRealDriver(DriverContract):
    # An external semaphore needs another API, such as Vulkan, to make it.
    nodes = tuple(name for name in NODES if "semaphore" not in name)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_both_ways_of_reading_edges_agree(real: RealWorld, topology: str) -> None:
    count, edges = TOPOLOGIES[topology]
    handle = real.build(graph([Declared("empty")] * count, edges))
    nodes = real.driver.nodes(handle)
    listed = real.driver.edges_by_list(handle, nodes)
    asked = real.driver.edges_by_dependencies(nodes)
    assert listed[:5] == asked[:5]
    assert list(zip(listed.source, listed.target, strict=True)) == sorted(
        edges, key=lambda edge: (edge[1], edge[0])
    )


def test_edges_keep_ports_and_type(real: RealWorld) -> None:
    # Each edge has ends of its own and is added alone: given a programmatic and a plain edge in
    # one call, a driver of CUDA 13.0 answered port 1 for both.
    # Ports of a kernel: 0 complete, 1 programmatic, 2 launch order; type 1 is programmatic.
    edges = [(0, 1, 1, 0, 1), (2, 3), (4, 5, 2, 0, 1)]
    built = graph([kernel(real) for _ in range(6)], edges)  # type: ignore[arg-type]
    handle = real.build(built)
    handles = real.driver.nodes(handle)
    listed = real.driver.edges_by_list(handle, handles)
    asked = real.driver.edges_by_dependencies(handles)
    assert listed[:5] == asked[:5] == ([0, 2, 4], [1, 3, 5], [1, 0, 2], [], [1, 0, 1])


def test_launch_attributes(real: RealWorld) -> None:
    cuda = real.cuda
    handle = cuda.CUgraph(real.build(graph([kernel(real, grid=(4, 1, 1))] * 2, [])))
    node = cuda.CUgraphNode(real.driver.nodes(int(handle))[1])
    names = cuda.CUlaunchAttributeID
    value = cuda.CUkernelNodeAttrValue()
    value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = 2, 1, 1
    set_ = cuda.cuGraphKernelNodeSetAttribute
    checked(set_(node, names.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value))
    value = cuda.CUkernelNodeAttrValue()
    value.priority = -2
    checked(set_(node, names.CU_LAUNCH_ATTRIBUTE_PRIORITY, value))
    plain, changed = extract(real.driver, int(handle)).graph.payloads
    assert (plain.cluster, plain.priority, plain.cooperative, plain.attributes) == (
        None,
        0,
        False,
        {},
    )
    assert (changed.cluster, changed.priority, changed.cooperative) == ((2, 1, 1), -2, False)
    assert changed.attributes == {}


def arguments_of(real: RealWorld, name: str, data: bytes, *, packed: bool) -> bytes:
    described = real.driver.function(int(real.function_named(name)), 0)
    node = kernel(
        real,
        kernel=described.kernel,
        arguments=data,
        arguments_packed=packed,
        function_handle=described.handle,
    )
    (payload,) = extract(real.driver, real.build(graph([node], []))).graph.payloads
    assert payload.arguments_packed is packed
    return bytes(payload.arguments)


STRUCT = struct.pack("<Qb7xd3i4x", 0x7F0000001000, 5, 2.5, 1, 2, 3)


def test_arguments_of_structs(real: RealWorld) -> None:
    kernel_ = real.driver.function(int(real.function_named("structs")), 0).kernel
    assert kernel_.parameters == [(0, 1), (8, 40), (48, 2)]
    data = b"\x11".ljust(8, b"\0") + STRUCT + b"\x22\x33"
    assert arguments_of(real, "structs", data, packed=False) == data


def test_packed_arguments(real: RealWorld) -> None:
    data = b"\x11".ljust(8, b"\0") + STRUCT + b"\x22\x33"
    assert arguments_of(real, "structs", data, packed=True).startswith(data)


def test_a_kernel_without_parameters(real: RealWorld) -> None:
    assert arguments_of(real, "nothing", b"", packed=False) == b""


def test_a_clone_gives_the_same_result(real: RealWorld) -> None:
    cuda, driver = real.cuda, real.driver
    built = graph([kernel(real, index=0, grid=(1, 1, 1), block=(1, 1, 1))] * 3, [(0, 1), (1, 2)])
    original = real.build(built)
    results = []
    for handle in (original, driver.clone(original)):
        checked(cuda.cuMemsetD32(cuda.CUdeviceptr(real.buffer), 0, 1024))
        executable = driver.instantiate(handle)
        driver.launch(executable, 0)
        driver.synchronize(0)
        driver.destroy_executable(executable)
        found = bytearray(4)
        checked(cuda.cuMemcpyDtoH(found, cuda.CUdeviceptr(real.buffer), 4))
        results.append(struct.unpack("<f", found)[0])
    assert results == [1.5, 1.5]


def test_a_chain_of_100_000(real: RealWorld) -> None:
    handle = chain(100_000)
    try:
        found = extract(real.driver, handle)
    finally:
        real.driver.destroy(handle)
    topology = found.graph.topology
    assert found.warnings == []
    assert topology.source == list(range(99_999))
    assert topology.target == list(range(1, 100_000))
    indices = [struct.unpack_from("<i", p.arguments, 8)[0] for p in found.graph.payloads]
    assert indices == list(range(100_000))


def test_a_wide_graph_either_way(real: RealWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = fork_join(2_000, 64)
    try:
        listed = extract(real.driver, handle).graph
        monkeypatch.setattr(edge_calls, "EDGE_LIST_LIMIT", 0)
        asked = extract(real.driver, handle).graph
    finally:
        real.driver.destroy(handle)
    assert listed == asked
    assert len(listed.topology.source) > 3_800


def test_conditionals_tell_whether_params_are_there(real: RealWorld) -> None:
    """Either the driver has cuGraphNodeGetParams, or it is missed by name."""
    if real.driver.version() >= 13020:
        assert real.driver.entry.has("cuGraphNodeGetParams")
    else:
        with pytest.raises(NotSupportedError, match=r"13\.2"):
            real.driver.conditionals([0])
