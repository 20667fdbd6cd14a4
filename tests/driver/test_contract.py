from __future__ import annotations

import pytest

from capture.extract import extract
from capture.model import Graph, Kernel
from capture.nodes.host import symbol_of
from tests.driver.contract import (
    DriverContract,
    pytest_generate_tests,
    test_every_node_type_is_declared,
)
from tests.driver.replay_contract import ReplayContract
from tests.helpers.declared import NODES, Declared, graph, kernel, without_names
from tests.helpers.fake_driver import FakeDriver

__all__ = ["pytest_generate_tests", "test_every_node_type_is_declared"]


class FakeWorld:
    kernel = Kernel(
        name="_Z4tinyPfif",
        registers=12,
        static_shared_bytes=0,
        local_bytes=0,
        constant_bytes=0,
        max_threads_per_block=1024,
        ptx_version=90,
        binary_version=90,
        parameters=[(0, 8), (8, 4), (12, 4)],
    )
    function = 0x2C3CEF90
    buffer = 0x7EFAEBE00000
    other_buffer = 0x7EFACDA00000
    host_buffer = 0x7EFB00000000
    event = 0x2CE213D0
    host_function = 0x1000
    host_symbol = symbol_of(0x1000)

    def __init__(self, *, node_params: bool) -> None:
        self.driver = FakeDriver(node_params=node_params)

    def build(self, graph: Graph) -> int:
        return self.driver.build(graph)

    def occupancy(self, threads: int) -> int:
        return FakeDriver.blocks(threads)


@pytest.fixture(params=[False, True], ids=["bodies_from_dot", "bodies_from_params"])
def world(request: pytest.FixtureRequest) -> FakeWorld:
    return FakeWorld(node_params=request.param)


class TestFakeDriver(DriverContract):
    pass


class TestFakeReplays(ReplayContract):
    pass


def test_conditional_in_a_child_graph(world: FakeWorld) -> None:
    """Drivers refuse to make these from a clone; other ways to make them came later."""
    inner = graph([NODES["conditional_switch"](world), kernel(world)], [(0, 1)])
    built = graph([Declared("child_graph", None, (("child", inner),))], [])
    found = extract(world.driver, world.build(built))
    assert found.warnings == []
    assert [path for path, _ in found.graph.walk()] == ["", "0/0", "0/0/0/0", "0/0/0/1", "0/0/0/2"]
    assert without_names(found.graph) == built


def test_the_dot_is_printed_once_and_only_for_conditionals() -> None:
    world = FakeWorld(node_params=False)
    extract(world.driver, world.build(graph([kernel(world)] * 3, [])))
    assert "cuGraphDebugDotPrint" not in world.driver.calls
    body = graph([NODES["conditional_if"](world)], [])
    outer = NODES["conditional_while"](world)._replace(bodies=(("while", body),))
    extract(world.driver, world.build(graph([outer, NODES["conditional_switch"](world)], [])))
    assert world.driver.calls.count("cuGraphDebugDotPrint") == 1


def test_deep_nesting_is_no_recursion() -> None:
    world = FakeWorld(node_params=True)
    inner = graph([kernel(world)], [])
    driver = world.driver
    handle = driver.build(inner)
    for _ in range(3_000):
        outer = driver.build(graph([Declared("child_graph")], []))
        driver.put_body(outer, 0, handle)
        handle = outer
    found = extract(driver, handle)
    assert sum(1 for _ in found.graph.walk()) == 3_001
