from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

from capture.memory.addresses import Block, BlockMap, addresses
from capture.recorder.own.saved_state import (
    MOST_HOST_BYTES,
    Region,
    SavedState,
    TooLargeError,
    host_bytes,
    plan,
)
from tests.recorder.own.conftest import SIZE, Bench


def test_what_a_replay_writes_is_put_back(bench: Bench) -> None:
    built = bench.adds(3, index=5)
    found = plan(bench.driver, addresses(built), bench.blocks)
    assert found.regions == [Region(bench.memory, SIZE)]
    state = SavedState(bench.driver, found.regions)
    executable = bench.driver.instantiate(bench.world.build(built))
    bench.driver.launch(executable, 0)
    assert bench.value(5) == 1.5
    assert state.differing(0) == (SIZE, 1)
    state.restore(0)
    assert bench.value(5) == 0
    assert state.differing(0) == (SIZE, 0)
    before = len(bench.driver._memory)
    state.close()
    assert len(bench.driver._memory) == before - 1


def test_regions_lie_beside_each_other_in_the_copy(bench: Bench) -> None:
    starts = [bench.driver.allocate(size) for size in (100, 7, 300)]
    for number, start in enumerate(starts):
        ctypes.memset(start, number + 1, (100, 7, 300)[number])
    regions = [Region(start, size) for start, size in zip(starts, (100, 7, 300), strict=True)]
    state = SavedState(bench.driver, regions)
    for region in regions:
        ctypes.memset(region.start, 9, region.size_bytes)
    state.restore(0)
    for number, region in enumerate(regions):
        found = ctypes.string_at(region.start, region.size_bytes)
        assert found == bytes([number + 1]) * region.size_bytes


def test_the_host_takes_what_the_device_has_no_room_for(bench: Bench) -> None:
    bench.driver.free_bytes = SIZE  # less than what is left alone
    regions = [Region(bench.memory, SIZE)]
    state = SavedState(bench.driver, regions)
    assert state.on_host
    ctypes.memset(bench.memory, 1, SIZE)
    state.restore(0)
    assert bench.value() == 0
    state.close()
    with pytest.raises(TooLargeError, match="0 MiB of memory"):
        SavedState(bench.driver, regions, host_bytes=SIZE - 1)
    small = Region(bench.driver.allocate(16), 16)
    partly = SavedState(bench.driver, [*regions, small], host_bytes=SIZE - 1, partly=True)
    assert partly.regions == [small]
    assert partly.left_out == regions
    assert partly.size_bytes == 16


def test_memory_of_other_allocators_is_saved_whole(bench: Bench) -> None:
    other = bench.driver.allocate(256)
    pinned = bench.driver.allocate_host(128)
    found = plan(bench.driver, [bench.memory + 8, other + 9, pinned, 0x123456789000], bench.blocks)
    assert set(found.regions) == {
        Region(bench.memory, SIZE),
        Region(other, 256),
        Region(pinned, 128),
    }
    assert found.notes == []
    assert found.size_bytes == SIZE + 256 + 128


def test_what_cannot_be_saved_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from capture.driver.records import Range

    answers = {1 << 40: Range("managed", 1 << 40, 100), 1 << 41: Range("device", 1 << 41, 1 << 40)}
    monkeypatch.setattr(bench.driver, "range_of", answers.get)
    found = plan(bench.driver, [1 << 40, 1 << 41, 1 << 42], BlockMap([]))
    assert found.regions == []
    assert len(found.notes) == 2
    assert any("managed memory, 1 addresses" in note for note in found.notes)


def test_tables_of_addresses_are_followed(bench: Bench) -> None:
    target = bench.driver.allocate(64)
    blocks = BlockMap([Block(bench.memory, SIZE), Block(target, 64)])
    ctypes.memmove(bench.memory + 16, struct.pack("<Q", target + 8), 8)
    found = plan(bench.driver, [bench.memory], blocks)
    assert set(found.regions) == {Region(bench.memory, SIZE), Region(target, 64)}


def test_small_temporaries_are_joined(bench: Bench) -> None:
    base = bench.driver.allocate(4 << 20)
    regions = [Region(base, 512), Region(base + 512, 512), Region(base + 2048, 512)]
    large = Region(base + 4096, 3 << 20)
    state = SavedState(bench.driver, [*regions, large], temporaries=[*regions, large])
    assert state.small_temporaries() == [Region(base, 1024), Region(base + 2048, 512)]
    assert SavedState(bench.driver, regions).small_temporaries() == []


def test_temporaries_of_two_allocations_are_not_joined(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = bench.driver.allocate(4 << 20)
    regions = [Region(base, 512), Region(base + 512, 512)]
    state = SavedState(bench.driver, regions, temporaries=regions)
    # One memset over both is refused by the driver, though their addresses follow one another.
    monkeypatch.setattr(bench.driver, "buffer_of", {base: 1, base + 512: 2}.get)
    assert state.small_temporaries() == regions


def test_nothing_to_save(bench: Bench) -> None:
    state = SavedState(bench.driver, [])
    state.restore(0)
    assert state.differing(0) == (0, 0)
    state.close()


def test_what_the_host_may_give(tmp_path: Path) -> None:
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 9 kB\nMemAvailable:    8192 kB\n")
    assert host_bytes(str(path)) == 4096 * 1024
    path.write_text(f"MemAvailable: {1 << 40} kB\n")
    assert host_bytes(str(path)) == MOST_HOST_BYTES
    assert host_bytes(str(tmp_path / "none")) == 1 << 30
