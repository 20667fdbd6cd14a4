from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import pytest

from capture import nodes
from capture.errors import DriverError
from capture.extract import extract
from capture.nodes.base import Category, NodeType
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


def test_a_node_that_goes_after_its_type_was_read(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = chain_of(world, 4)
    gone = world.driver.nodes(handle)[2]
    launches = world.driver.launches

    def lose(handles: Sequence[int]) -> Any:
        world.driver.destroyed.add(gone)
        return launches(handles)

    monkeypatch.setattr(world.driver, "launches", lose)
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
