from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import pytest

from capture import nodes
from capture.errors import DriverError
from capture.extract import extract
from capture.model import Graph
from capture.nodes.base import Category, NodeType
from capture.nodes.kernel import ALL_ATTRIBUTES_LIMIT
from capture.nodes.reader import MAX_WARNINGS, Reader
from tests.driver.test_contract import FakeWorld
from tests.helpers.declared import NODES, Declared, graph, kernel, without_names
from tests.helpers.fake_driver import invalid


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld(node_params=False)


def chain_of(world: FakeWorld, count: int) -> int:
    return world.build(graph([kernel(world)] * count, [(i, i + 1) for i in range(count - 1)]))


def test_a_node_that_is_gone_loses_only_itself(world: FakeWorld) -> None:
    handle = chain_of(world, 4)
    gone = world.driver.nodes(handle)[1]
    world.driver.destroyed.add(gone)
    found = extract(world.driver, handle)
    assert found.graph.topology.types == ["kernel", "type_unread", "kernel", "kernel"]
    assert [payload is None for payload in found.graph.payloads] == [False, True, False, False]
    assert any("node 1 could not be read" in warning for warning in found.warnings)
    assert any("predecessors of node 1" in warning for warning in found.warnings)


def test_a_kernel_that_refuses_its_launch_parameters(world: FakeWorld) -> None:
    handle = chain_of(world, 4)
    world.driver.refusing.add(world.driver.nodes(handle)[2])
    found = extract(world.driver, handle)
    assert found.graph.topology.types == ["kernel"] * 4
    assert [payload is None for payload in found.graph.payloads] == [False, False, True, False]
    assert len(found.warnings) == 1


def test_a_body_that_cannot_be_read_leaves_the_rest(world: FakeWorld) -> None:
    handle = world.build(graph([NODES["child_graph"](world), kernel(world)], [(0, 1)]))
    child = world.driver.child_graphs([world.driver.nodes(handle)[0]]).values[0]
    assert child is not None
    world.driver.destroyed.add(child)
    found = extract(world.driver, handle)
    assert found.graph.bodies == []
    assert found.graph.payloads[1] is not None
    assert found.warnings[0].startswith("body 0 of node 0 could not be read")


def test_a_conditional_without_its_dot(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, flags: int) -> str:
        raise invalid("cuGraphDebugDotPrint")

    monkeypatch.setattr(world.driver, "debug_dot", refuse)
    handle = world.build(graph([NODES["conditional_if"](world)] * 2, []))
    found = extract(world.driver, handle)
    assert found.graph.topology.types == ["conditional"] * 2
    assert found.graph.payloads == [None, None]
    assert len(found.warnings) == 3


def test_a_function_that_cannot_be_described(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(function: int, kernel: int) -> Any:
        raise DriverError("cuFuncGetName", 400, "CUDA_ERROR_INVALID_HANDLE")

    monkeypatch.setattr(world.driver, "function", refuse)
    found = extract(world.driver, chain_of(world, 3))
    payload = found.graph.payloads[0]
    assert payload.kernel is None
    assert payload.arguments is None
    assert payload.grid == (2, 1, 1)
    assert payload.function_handle == world.function
    assert len(found.warnings) == 1
    assert not found.evidence["parameters"].present
    assert found.evidence["parameters"].reason


def test_warnings_are_bounded(world: FakeWorld) -> None:
    count = MAX_WARNINGS * 2
    handle = chain_of(world, count)
    world.driver.destroyed.update(world.driver.nodes(handle))
    found = extract(world.driver, handle)
    assert len(found.graph) == count
    assert len(found.warnings) == MAX_WARNINGS + 1
    assert "more warnings" in found.warnings[-1]


def test_unknown_types_keep_their_number(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = world.build(graph([Declared("type_17"), kernel(world)], [(0, 1)]))
    found = extract(world.driver, handle)
    assert found.graph.topology.types == ["type_17", "kernel"]
    assert found.graph.payloads[0] is None
    assert found.warnings == []


@pytest.mark.parametrize("wrong", [lambda reader, handles: [], lambda reader, handles: 1 // 0])
def test_a_decoder_that_fails_loses_only_its_payloads(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch, wrong: Any
) -> None:
    broken = NodeType(
        name="type_17",
        number=17,
        category=Category.UNKNOWN,
        payload=None,
        label=lambda payload: "broken",
        decode=wrong,
    )
    monkeypatch.setattr(nodes, "_numbers", lambda: {17: broken, 0: nodes.node_types()["kernel"]})
    handle = world.build(graph([Declared("type_17"), kernel(world)], [(0, 1)]))
    found = extract(world.driver, handle)
    assert found.graph.payloads[1] is not None
    assert found.warnings[0].startswith("type_17 nodes could not be described")


def test_handles_of_every_level(world: FakeWorld) -> None:
    inner = graph([NODES["conditional_if_else"](world), kernel(world)], [(0, 1)])
    child = Declared("child_graph", None, (("child", inner),))
    handle = world.build(graph([kernel(world), child, NODES["child_graph"](world)], [(0, 1)]))
    found = extract(world.driver, handle)
    assert [path for path, _ in found.handles] == [path for path, _ in found.graph.walk()]
    handles = dict(found.handles)
    assert handles[""] == world.driver.nodes(handle)
    graphs = world.driver.child_graphs(handles[""][1:]).values
    assert [handles["1/0"], handles["2/0"]] == [world.driver.nodes(body) for body in graphs]  # type: ignore[arg-type]
    for path, level in found.graph.walk():
        assert len(handles[path]) == len(level)


def test_a_level_that_cannot_be_read_has_no_handles(world: FakeWorld) -> None:
    handle = world.build(graph([NODES["child_graph"](world)], []))
    child = world.driver.child_graphs(world.driver.nodes(handle)).values[0]
    assert child is not None
    world.driver.destroyed.add(child)
    assert [path for path, _ in extract(world.driver, handle).handles] == [""]


def test_payloads_of_kernels_are_none_of_the_collectors_business(world: FakeWorld) -> None:
    found = extract(world.driver, chain_of(world, 3))
    assert not any(map(gc.is_tracked, found.graph.payloads))


def test_names_and_costs(world: FakeWorld) -> None:
    handle = world.build(graph([NODES["conditional_while"](world), kernel(world)], [(0, 1)]))
    found = extract(world.driver, handle, name="step")
    assert found.graph.name == "step"
    assert found.graph.bodies[0].graph.name == "step node 0 (while)"
    assert 0 < sum(found.phases_ns.values()) <= found.duration_ns
    assert found.evidence["edge_ports"].how == "cuGraphGetEdges"


def test_collection_is_paused_and_the_capture_mode_relaxed(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    listed = world.driver.nodes

    def watch(handle: int) -> list[int]:
        seen.append((gc.isenabled(), world.driver.capture_mode))
        return listed(handle)

    handle = chain_of(world, 2)
    monkeypatch.setattr(world.driver, "nodes", watch)
    extract(world.driver, handle)
    with pytest.raises(DriverError):
        extract(world.driver, 5)
    assert seen == [(False, 2), (False, 2)]
    assert gc.isenabled()
    assert world.driver.capture_mode == 0


def test_functions_are_described_once(world: FakeWorld) -> None:
    extract(world.driver, chain_of(world, 50))
    assert world.driver.calls.count("cuFuncGetName") == 1
    assert world.driver.calls.count("cuOccupancyMaxActiveBlocksPerMultiprocessor") == 1
    assert world.driver.calls.count("cuGraphKernelNodeGetParams") == 1


WINDOW = {"access_policy_window": {"base_address": 64, "size_bytes": 128}}
PLAIN, ODD = 150, 60


def launches_of_three_kinds(world: FakeWorld, *, odd_at: int) -> Graph:
    """150 plain nodes, 60 of which one has a rare attribute, and one more node."""
    plain = [kernel(world) for _ in range(PLAIN)]
    wide = [kernel(world, block=(64, 1, 1)) for _ in range(ODD)]
    wide[odd_at] = kernel(world, block=(64, 1, 1), attributes=WINDOW)
    return graph([*plain, *wide, kernel(world, priority=-3)], [])


def asked_positions(world: FakeWorld, handle: int) -> list[int]:
    nodes = world.driver.nodes(handle)
    return [nodes.index(node) for node in world.driver.asked_rare]


@pytest.mark.parametrize("odd_at", [0, ODD - 1])
def test_an_odd_end_has_all_nodes_of_its_launch_read(world: FakeWorld, odd_at: int) -> None:
    built = launches_of_three_kinds(world, odd_at=odd_at)
    handle = world.build(built)
    found = extract(world.driver, handle)
    assert found.graph.payloads == built.payloads
    asked = asked_positions(world, handle)
    assert len(asked) == len(set(asked))
    assert set(asked) == {0, PLAIN - 1, *range(PLAIN, PLAIN + ODD), PLAIN + ODD}
    how = found.evidence["attributes"].how
    assert "rare attributes were read on 63 of 211 kernel nodes" in how
    assert "every node where one of the two differs (1 of them)" in how


def test_rare_attributes_between_two_plain_ends_are_not_reported(world: FakeWorld) -> None:
    built = launches_of_three_kinds(world, odd_at=7)
    handle = world.build(built)
    found = extract(world.driver, handle)
    assert set(asked_positions(world, handle)) == {0, PLAIN - 1, PLAIN, PLAIN + ODD - 1, 210}
    assert found.graph.payloads[PLAIN + 7].attributes == {}
    how = found.evidence["attributes"].how
    assert "read on 5 of 211 kernel nodes: first and last of each distinct launch (" in how


def test_all_attributes_when_asked_for(world: FakeWorld) -> None:
    built = launches_of_three_kinds(world, odd_at=7)
    found = extract(world.driver, world.build(built), all_attributes=True)
    assert found.graph.payloads == built.payloads
    assert "distinct launch" not in found.evidence["attributes"].how
    assert "mem_sync_domain" in found.evidence["attributes"].how


@pytest.mark.parametrize("bodies", [False, True])
def test_small_graphs_have_all_attributes_read(world: FakeWorld, bodies: bool) -> None:
    nodes = [kernel(world) for _ in range(ALL_ATTRIBUTES_LIMIT)]
    nodes[7] = kernel(world, attributes=WINDOW)
    built = graph(nodes, [])
    if bodies:
        inner = graph(nodes[100:], [])
        built = graph([*nodes[:100], Declared("child_graph", None, (("child", inner),))], [])
    found = extract(world.driver, world.build(built))
    assert without_names(found.graph) == built
    assert len(world.driver.asked_rare) == ALL_ATTRIBUTES_LIMIT
    assert "distinct launch" not in found.evidence["attributes"].how


def test_refused_attributes_are_absent_with_the_reason(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(nodes: Sequence[int]) -> Any:
        raise DriverError("cuGraphKernelNodeGetAttribute", 801, "CUDA_ERROR_NOT_SUPPORTED")

    monkeypatch.setattr(world.driver, "launch_attributes", refuse)
    found = extract(world.driver, chain_of(world, 600))
    assert found.graph.payloads[599].priority is None
    assert len(found.warnings) == 1
    assert not found.evidence["attributes"].present
    assert "CUDA_ERROR_NOT_SUPPORTED" in found.evidence["attributes"].reason


def test_a_graph_that_is_being_captured(world: FakeWorld) -> None:
    built = graph([kernel(world)] * 3, [(0, 1), (1, 2)])
    world.driver.begin_capture(5, world.build(built))
    info = world.driver.capture_info(5)
    assert without_names(extract(world.driver, info.graph).graph) == built


def test_reader_is_what_decoders_get() -> None:
    reader = Reader(FakeWorld(node_params=True).driver, 0)
    with reader.phase("something"):
        pass
    assert reader.phases_ns["something"] >= 0
    assert reader.name_of(0x10) == "node 0x10"
