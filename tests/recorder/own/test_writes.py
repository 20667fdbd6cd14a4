"""What nodes write, over the fake driver, whose memory is the host's."""

from __future__ import annotations

import ctypes
import struct

import pytest

from capture.memory.addresses import Block, BlockMap, private_spans
from capture.model import Graph
from capture.nodes.memset import MemsetPayload
from capture.recorder.own import memory_changes
from capture.recorder.own.memory_changes import HostCompare, WatchedMemory
from capture.recorder.own.saved_state import Region, SavedState
from capture.recorder.own.setup import Budget, Setup
from capture.recorder.own.stopwatch import Stopwatch
from capture.recorder.own.writes import measure, watchable
from capture.writes import Writes
from tests.helpers.declared import Declared, graph, kernel
from tests.recorder.own.conftest import SIZE, Bench


def setup_of(bench: Bench, built: Graph) -> Setup:
    clone = bench.driver.clone(bench.world.build(built))
    state = SavedState(bench.driver, [Region(bench.memory, SIZE)])
    watch = Stopwatch(bench.driver, hung_after_s=0.2)
    return Setup(bench.driver, built, clone, bench.driver.nodes(clone), state, watch)


def memset(address: int, size: int, value: int) -> Declared:
    payload = MemsetPayload(
        address=address, pitch_bytes=size, value=value, element_bytes=1, width=size, height=1
    )
    return Declared("memset", payload)


def adds(bench: Bench, index: int) -> Declared:
    return kernel(bench.world, arguments=struct.pack("<Qif", bench.memory, index, 0.5))


def measured(bench: Bench, built: Graph, blocks: BlockMap | None = None, **more: object) -> Writes:
    found = Writes(graph="a")
    setup = setup_of(bench, built)
    measure(setup, found, blocks or bench.blocks, Budget(60), **more)  # type: ignore[arg-type]
    setup.close()
    return found


def test_each_node_has_the_bytes_that_it_changed(bench: Bench) -> None:
    at = bench.memory
    built = graph([adds(bench, 7), memset(at + 1024, 100, 3), adds(bench, 1)], [(0, 1), (1, 2)])
    found = measured(bench, built)
    rows = found.of_node()
    assert rows["1"] == [(at + 1024, 100)]
    # 0.5 is 0x3f000000: of four bytes the last one changes.
    assert rows["0"] == [(at + 7 * 4 + 3, 1)]
    assert rows["2"] == [(at + 1 * 4 + 3, 1)]
    assert found.ran == ["0", "1", "2"]
    assert found.watched is not None
    assert (found.watched.address, found.watched.size_bytes) == ([at], [SIZE])


def test_a_second_fill_shows_writes_of_what_was_there(bench: Bench) -> None:
    at = bench.memory
    built = graph([memset(at, 8, 0)], [])
    assert measured(bench, built).node == []
    seen = measured(bench, built, temporaries={Region(at, SIZE)})
    assert seen.of_node() == {"0": [(at, 8)]}
    cleared = graph([memset(at, 8, 9)], [])
    ctypes.memset(at, 9, SIZE)
    assert measured(bench, cleared).node == []
    assert measured(bench, cleared, outputs={Region(at, SIZE)}).of_node() == {"0": [(at, 8)]}


def test_what_is_written_through_a_table_is_nobodys(bench: Bench) -> None:
    other = bench.driver.allocate(SIZE)
    ctypes.memset(other, 0, SIZE)
    secret = kernel(bench.world, arguments=struct.pack("<Qif", other, 0, 0.5))
    built = graph([secret, memset(bench.memory, 8, 1), adds(bench, 100)], [(0, 1), (1, 2)])
    setup = setup_of(bench, built)
    launch = bench.driver.launch

    def also(executable: int, stream: int) -> None:
        """Write a byte that no node's arguments point at, with every launch."""
        launch(executable, stream)
        ctypes.memset(other + 40, ctypes.string_at(other + 40, 1)[0] + 1, 1)

    bench.driver.launch = also
    found = Writes(graph="a")
    blocks = BlockMap([*bench.blocks.blocks, Block(other, SIZE)])
    setup.state.regions.append(Region(other, SIZE))
    setup.state.restore = lambda *args, **more: None  # type: ignore[method-assign]
    measure(setup, found, blocks, Budget(60))
    assert {address for address, _ in found.of_node()["1"]} == {bench.memory}
    assert any("do not hold their addresses" in note for note in found.notes)


def test_with_no_time_left_it_says_so(bench: Bench) -> None:
    found = Writes(graph="a")
    setup = setup_of(bench, bench.adds(3))
    measure(setup, found, bench.blocks, Budget(0))
    assert found.ran == []
    assert found.node == []
    assert any("0 of 3 nodes" in note for note in found.notes)


def test_pieces_and_ends_of_what_is_compared(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_changes, "PIECE_BYTES", 1024)
    host = HostCompare(bench.driver)
    region = Region(bench.memory, SIZE)
    watched = WatchedMemory(bench.driver, [region], host)
    assert watched.changed([region]) == []
    ctypes.memset(bench.memory + 1000, 5, 100)  # over the edge of a piece
    ctypes.memset(bench.memory + SIZE - 1, 5, 1)
    expected = [Region(bench.memory + 1000, 100), Region(bench.memory + SIZE - 1, 1)]
    assert watched.changed([region]) == expected
    assert watched.changed([region]) == []
    watched.close()
    host.close()


def test_a_temporary_is_watched_beyond_the_block_that_took_its_place(bench: Bench) -> None:
    """A tensor of 2048 bytes was freed; one of 512 took its place, the rest is free."""
    at = bench.memory
    blocks = [
        {"address": at, "size": 512, "state": "active_allocated"},
        {"address": at + 512, "size": SIZE - 512, "state": "inactive"},
    ]
    segment = {"address": at, "total_size": SIZE, "segment_pool_id": (1, 0), "blocks": blocks}
    spans = private_spans([segment], None, [at])
    assert spans.blocks == [Block(at, SIZE)]
    assert private_spans([segment], None, [at + SIZE]).blocks == []
    assert private_spans([{**segment, "segment_pool_id": (0, 0)}], None, [at]).blocks == []
    setup = setup_of(bench, graph([memset(at, 2048, 7)], []))
    setup.spans = spans
    assert watchable(setup).blocks == [Block(at, SIZE)]
    found = Writes(graph="a")
    measure(setup, found, watchable(setup), Budget(60))
    assert found.of_node() == {"0": [(at, 2048)]}
