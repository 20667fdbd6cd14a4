"""What every driver that runs graphs must do; run on the fake one, on C stubs and on a GPU."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from capture.errors import DriverError, NotSupportedError
from capture.extract import extract
from capture.nodes import node_type
from capture.nodes.memset import MemsetPayload
from tests.helpers import declared
from tests.helpers.declared import NODES, Declared, World, graph, without_names

COPIED = ("kernel", "kernel_wide", "memcpy", "memcpy_from_host", "memset")


@contextmanager
def device_memory(driver: Any, size: int = 4096) -> Iterator[int]:
    address = driver.allocate(size)
    try:
        driver.fill(address, size, 0, 0)
        yield address
    finally:
        driver.free(address)


def contents(driver: Any, address: int, size: int) -> bytes:
    page = driver.allocate_host(size)
    try:
        driver.copy(page, address, size, 0)
        driver.synchronize(0)
        return ctypes.string_at(page, size)
    finally:
        driver.free_host(page)


def adding(world: World, address: int, index: int = 0) -> Declared:
    """Declare a kernel of one thread that adds 0.5 to a float."""
    arguments = struct.pack("<Qif", address, index, 0.5)
    return declared.kernel(world, grid=(1, 1, 1), block=(1, 1, 1), arguments=arguments)


def setting(address: int, value: int) -> Declared:
    return Declared(
        "memset",
        MemsetPayload(
            address=address, value=value, element_bytes=1, width=16, height=1, pitch_bytes=16
        ),
    )


def wait(driver: Any, event: int) -> None:
    end = time.monotonic() + 20
    while not driver.is_done(event):
        assert time.monotonic() < end, "the event never came"
        time.sleep(0.001)


class ReplayContract:
    """Subclasses give a `world` fixture."""

    def test_a_replay_does_what_its_nodes_say(self, world: World) -> None:
        driver = world.driver
        with device_memory(driver) as address:
            nodes = [adding(world, address, index=2), adding(world, address, index=2)]
            executable = driver.instantiate(world.build(graph(nodes, [(0, 1)])), 9)
            stream = driver.new_stream()
            driver.synchronize_device()
            driver.upload(executable, stream)
            driver.launch(executable, stream)
            driver.launch(executable, stream)
            driver.synchronize(stream)
            assert struct.unpack("<4f", contents(driver, address, 16)) == (0, 0, 2.0, 0)
            driver.destroy_executable(executable)
            driver.destroy_stream(stream)

    def test_an_update_brings_an_executable_to_another_graph(self, world: World) -> None:
        driver = world.driver
        with device_memory(driver) as address:
            before, after = (world.build(graph([setting(address, value)], [])) for value in (7, 9))
            executable = driver.instantiate(before)
            assert driver.update(executable, after)[:3] == ("SUCCESS", 0, 0)
            driver.launch(executable, 0)
            driver.synchronize(0)
            assert contents(driver, address, 16) == b"\x09" * 16
            driver.destroy_executable(executable)

    def test_a_refused_update_names_the_node(self, world: World) -> None:
        driver = world.driver
        with device_memory(driver) as address:
            before = world.build(graph([Declared("empty"), Declared("empty")], [(0, 1)]))
            after = world.build(graph([setting(address, 1), Declared("empty")], [(0, 1)]))
            executable = driver.instantiate(before)
            answer = driver.update(executable, after)
            assert answer[:3] == ("NODE_TYPE_CHANGED", driver.nodes(after)[0], 0)
            driver.destroy_executable(executable)
            more = world.build(graph([Declared("empty")] * 3, [(0, 1), (1, 2)]))
            executable = driver.instantiate(before)
            assert driver.update(executable, more).result == "TOPOLOGY_CHANGED"
            driver.destroy_executable(executable)

    def test_a_disabled_node_of_a_clone_does_nothing(self, world: World) -> None:
        driver = world.driver
        with device_memory(driver) as address:
            nodes = [setting(address, 7), setting(address + 16, 9), Declared("empty")]
            original = world.build(graph(nodes, [(0, 1), (1, 2)]))
            clone = driver.clone(original)
            handles = driver.find_in_clone(driver.nodes(original), clone)
            assert handles == driver.nodes(clone)
            driver.destroy(original)
            executable, other = driver.instantiate(clone), driver.instantiate(clone)
            driver.set_enabled(executable, handles[0], False)
            assert not driver.is_enabled(executable, handles[0])
            assert driver.is_enabled(executable, handles[1])
            assert driver.is_enabled(other, handles[0])
            driver.launch(executable, 0)
            driver.synchronize(0)
            assert contents(driver, address, 32) == bytes(16) + b"\x09" * 16
            driver.set_enabled(executable, handles[0], True)
            driver.launch(executable, 0)
            driver.synchronize(0)
            assert contents(driver, address, 32) == b"\x07" * 16 + b"\x09" * 16
            with pytest.raises(DriverError):
                driver.set_enabled(executable, handles[2], False)
            for item in (executable, other):
                driver.destroy_executable(item)
            driver.destroy(clone)

    def test_nodes_of_another_graph_are_not_in_a_clone(self, world: World) -> None:
        driver = world.driver
        one, two = (world.build(graph([Declared("empty")], [])) for _ in range(2))
        clone = driver.clone(one)
        with pytest.raises(DriverError):
            driver.find_in_clone(driver.nodes(two), clone)

    def test_graphs_with_memory_nodes_are_not_cloned(self, world: World) -> None:
        with pytest.raises(NotSupportedError):
            world.driver.clone(world.build(declared.memory_pair(world)))

    def test_a_node_that_is_taken_out_of_a_clone(self, world: World) -> None:
        driver = world.driver
        with device_memory(driver) as address:
            nodes = [setting(address + 16 * at, at + 1) for at in range(4)]
            original = world.build(graph(nodes, [(0, 1), (1, 2), (0, 3), (2, 3)]))
            clone = driver.clone(original)
            handles = driver.find_in_clone(driver.nodes(original), clone)
            driver.destroy_nodes([handles[1]])
            driver.add_edges(clone, [handles[0]], [handles[2]])
            driver.add_edges(clone, [], [])
            found = extract(driver, clone).graph.topology
            assert (found.source, found.target) == ([0, 0, 1], [1, 2, 2])
            assert len(driver.nodes(original)) == 4
            executable = driver.instantiate(clone)
            driver.destroy(clone)
            driver.launch(executable, 0)
            driver.synchronize(0)
            done = b"\x01" * 16 + bytes(16) + b"\x03" * 16 + b"\x04" * 16
            assert contents(driver, address, 64) == done
            with pytest.raises(DriverError):
                driver.add_edges(original, driver.nodes(original)[:1], driver.nodes(original)[1:2])
            driver.destroy_executable(executable)

    @pytest.mark.parametrize("name", COPIED)
    def test_copies_of_a_node_in_a_chain(self, world: World, name: str) -> None:
        driver = world.driver
        built = graph([NODES[name](world)], [])
        (node,) = driver.nodes(world.build(built))
        number = node_type(built.topology.types[0]).number
        chain = driver.new_graph()
        last: list[int] = []
        for _ in range(3):
            last = [driver.add_copy(chain, node, number, last)]
        found = extract(driver, chain)
        assert found.warnings == []
        assert without_names(found.graph) == graph([NODES[name](world)] * 3, [(0, 1), (1, 2)])
        driver.destroy(chain)

    def test_a_graph_that_sets_memory_to_zero(self, world: World) -> None:
        driver = world.driver
        with device_memory(driver) as address:
            driver.fill(address, 64, 0xAB, 0)
            wiping = driver.new_graph()
            for at in (3, 32):
                driver.add_memset(wiping, address + at, 9)
            executable = driver.instantiate(wiping)
            driver.launch(executable, 0)
            driver.synchronize(0)
            expected = bytearray(b"\xab" * 64)
            expected[3:12] = expected[32:41] = bytes(9)
            assert contents(driver, address, 64) == bytes(expected)
            driver.destroy_executable(executable)
            driver.destroy(wiping)

    def test_nodes_of_other_types_are_not_copied(self, world: World) -> None:
        driver = world.driver
        (node,) = driver.nodes(world.build(graph([Declared("empty")], [])))
        with pytest.raises(NotSupportedError):
            driver.add_copy(driver.new_graph(), node, 5, [])

    def test_memory_is_known_by_any_address_inside(self, world: World) -> None:
        driver = world.driver
        with device_memory(driver) as address:
            found = driver.range_of(address + 100)
            assert found.kind == "device"
            assert found.start <= address < address + 4096 <= found.start + found.size_bytes
        page = driver.allocate_host(4096)
        assert driver.range_of(page + 8).kind == "host"
        driver.free_host(page)
        assert driver.range_of(0x123456789000) is None
        free, total = driver.memory_info()
        assert 0 < free < total

    def test_memory_that_was_freed_and_allocated_anew_has_another_number(
        self, world: World
    ) -> None:
        driver = world.driver
        with device_memory(driver) as address, device_memory(driver) as other:
            number = driver.buffer_of(address)
            assert number is not None
            assert driver.buffer_of(address + 100) == number
            assert driver.buffer_of(other) != number
        with device_memory(driver) as again:
            assert driver.buffer_of(again) != number
        assert driver.buffer_of(0x123456789000) is None

    def test_a_stream_is_held_until_the_word_is_written(self, world: World) -> None:
        driver = world.driver
        stream, page = driver.new_stream(), driver.allocate_host(4096)
        word = ctypes.c_uint32.from_address(page)
        word.value = 0
        before, after = driver.new_event(), driver.new_event()
        with device_memory(driver) as address:
            driver.synchronize(0)
            executable = driver.instantiate(world.build(graph([setting(address, 3)], [])))
            driver.launch(executable, stream)  # a first launch may wait for the device
            driver.synchronize(stream)
            driver.hold(stream, page, 2)
            driver.record_event(before, stream)
            driver.launch(executable, stream)
            driver.record_event(after, stream)
            assert not driver.is_done(after)
            word.value = 1
            assert not driver.is_done(after)
            word.value = 2
            wait(driver, after)
            assert driver.elapsed_ns(before, after) > 0
            driver.destroy_executable(executable)
        for event in (before, after):
            driver.destroy_event(event)
        driver.free_host(page)
        driver.destroy_stream(stream)
