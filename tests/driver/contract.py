"""What every driver must do; run on the fake one here and on the real one under tests/gpu."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from capture.analysis.copy_bandwidth import device_bandwidth
from capture.driver.records import NOT_CAPTURING
from capture.errors import DriverError
from capture.extract import extract
from capture.nodes import node_types
from tests.helpers import declared
from tests.helpers.declared import NODES, TOPOLOGIES, World, graph, without_names


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise over the nodes that the world of a contract's class can build."""
    if metafunc.cls is not None and issubclass(metafunc.cls, DriverContract):
        if "node" in metafunc.fixturenames:
            metafunc.parametrize("node", metafunc.cls.nodes)
        if "topology" in metafunc.fixturenames:
            metafunc.parametrize("topology", TOPOLOGIES)


class DriverContract:
    """Subclasses give a `world` fixture; modules with one import :func:`pytest_generate_tests`."""

    nodes: Sequence[str] = tuple(NODES)
    """Names of the declared nodes that the world can build."""

    def test_reads_back_what_was_built(self, world: World, topology: str, node: str) -> None:
        count, edges = TOPOLOGIES[topology]
        built = graph([NODES[node](world) for _ in range(count)], edges)
        handle = world.build(built)
        found = extract(world.driver, handle)
        assert found.warnings == []
        assert without_names(found.graph) == built

    def test_a_graph_of_every_type_at_once(self, world: World) -> None:
        nodes = [NODES[name](world) for name in self.nodes]
        # Kernels between the others, so that positions of one type are not next to each other,
        # each with arguments of its own, so that none can stand for another.
        mixed = [
            node
            for index, other in enumerate(nodes)
            for node in (other, declared.kernel(world, index=index))
        ]
        built = graph(mixed, [(i, i + 1) for i in range(len(mixed) - 1)])
        found = extract(world.driver, world.build(built))
        assert found.warnings == []
        assert without_names(found.graph) == built

    def test_types_and_launches_in_one_pass(self, world: World) -> None:
        names = ["memset", "kernel", "empty", "kernel", "kernel_wide", "host"]
        handle = world.build(graph([NODES[name](world) for name in names], []))
        nodes = world.driver.nodes(handle)
        types, launches, refused = world.driver.classify(nodes)
        rows = list(launches)
        assert refused == {}
        assert types == [2, 0, 5, 0, 0, 3]
        assert [row[1:4] for row in rows] == [(2, 1, 1), (2, 1, 1), (3, 4, 5)]
        assert list(world.driver.classify(nodes[2:3]).launches) == []

    def test_memory_nodes(self, world: World) -> None:
        built = declared.memory_pair(world)
        found = extract(world.driver, world.build(built)).graph
        assert found.topology == built.topology
        alloc, free = found.payloads
        assert alloc.address
        assert alloc.address == free.address
        alloc.address = built.payloads[0].address
        alloc.access = built.payloads[0].access
        assert alloc == built.payloads[0]

    def test_an_empty_graph(self, world: World) -> None:
        found = extract(world.driver, world.build(graph([], [])))
        assert len(found.graph) == 0
        assert found.warnings == []

    def test_bodies_in_bodies(self, world: World) -> None:
        inside = [declared.kernel(world), NODES["conditional_if_else"](world)]
        body = graph([*inside, NODES["child_graph"](world)], [(0, 1), (1, 2)])
        outer = NODES["conditional_while"](world)._replace(bodies=(("while", body),))
        built = graph([NODES["child_graph"](world), outer], [(0, 1)])
        found = extract(world.driver, world.build(built))
        assert found.warnings == []
        paths = [path for path, _ in found.graph.walk()]
        assert paths == ["", "0/0", "1/0", "1/0/1/0", "1/0/1/1", "1/0/2/0"]
        assert without_names(found.graph) == built

    def test_equal_functions_share_one_kernel(self, world: World) -> None:
        built = graph([declared.kernel(world, index=i) for i in range(4)], [])
        payloads = extract(world.driver, world.build(built)).graph.payloads
        assert len({id(payload.kernel) for payload in payloads}) == 1
        assert len({payload.arguments for payload in payloads}) == 4

    def test_a_handle_that_is_none(self, world: World) -> None:
        with pytest.raises(DriverError):
            extract(world.driver, 0)

    def test_the_capture_mode_is_put_back(self, world: World) -> None:
        handle = world.build(graph([declared.kernel(world)], []))
        before = world.driver.exchange_capture_mode(1)
        try:
            extract(world.driver, handle)
            assert world.driver.exchange_capture_mode(1) == 1
        finally:
            world.driver.exchange_capture_mode(before)

    def test_a_clone_reads_like_its_original(self, world: World) -> None:
        built = graph([declared.kernel(world), declared.memset(world)], [(0, 1)])
        clone = world.driver.clone(world.build(built))
        assert without_names(extract(world.driver, clone).graph) == built
        world.driver.destroy(clone)

    def test_devices(self, world: World) -> None:
        first = world.driver.devices()[0]
        assert first.name
        assert first.multiprocessors
        # The device's bandwidth is made of these: tens of gigabytes to tens of terabytes a second.
        assert 2e10 < (device_bandwidth(first) or 0) < 1e14
        assert world.driver.current_device() == 0

    def test_a_stream_that_captures_nothing(self, world: World) -> None:
        assert world.driver.capture_info(0).status == 0
        assert world.driver.capture_tip(0)() == NOT_CAPTURING


def test_every_node_type_is_declared() -> None:
    types = {name.partition("_if")[0] for name in NODES} | {"mem_alloc", "mem_free"}
    assert set(node_types()) <= types
