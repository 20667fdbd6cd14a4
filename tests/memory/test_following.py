"""Following memory after captures: what a history tells, what looks tell, and when neither does."""

from __future__ import annotations

from typing import Any

import pytest

from capture.memory.torch_snapshot import Tables
from capture.memory_after import Frees
from capture.memory_map import Snapshot
from capture.recorder.memory_follow import Follower
from tests.helpers.synthetic_memory import BASE, POOL, memory, segment

SINCE = 1_000


def event(action: str, address: int, size: int, at_us: int, line: int = 1) -> dict[str, Any]:
    frames = [{"filename": "work.py", "line": line, "name": "step"}]
    return {"action": action, "addr": address, "size": size, "time_us": at_us, "frames": frames}


@pytest.fixture
def follower() -> Follower:
    """Return one that watches a block of 512 bytes and one in the graph's pool."""
    made = Follower()
    found = memory()
    assert found.blocks is not None
    found.blocks.pointed = [1, 0, 1, 1]
    made.watch(found, SINCE)
    return made


def frees(follower: Follower) -> tuple[Frees, Snapshot]:
    snapshot = Snapshot()
    return follower.add_to(Tables(snapshot))[0], snapshot


def line(snapshot: Snapshot, stack: int) -> int:
    return snapshot.frames[snapshot.stacks[stack][0]].line


def test_a_free_is_told_with_its_stack_and_who_has_the_memory_then(follower: Follower) -> None:
    history = [
        event("free_requested", BASE, 512, SINCE - 9),  # of an earlier block there
        event("alloc", BASE, 512, SINCE - 8),
        event("free_requested", BASE, 512, SINCE + 5, line=7),
        event("free_completed", BASE, 512, SINCE + 5, line=7),
        event("alloc", BASE - 256, 512, SINCE + 9, line=8),  # reaches into it
        event("alloc", BASE + 512, 64, SINCE + 9),
    ]
    follower.read([history], SINCE + 20)
    follower.read([history], SINCE + 30)  # the script's own history comes again whole
    found, snapshot = frees(follower)
    assert (found.address, found.size_bytes) == ([BASE], [512])
    assert (found.freed_us, found.after_us, found.reused_us) == ([1005], [1005], [1009])
    assert line(snapshot, found.stack[0]) == 7
    assert line(snapshot, found.reused_stack[0]) == 8


def test_memory_that_goes_back_to_the_driver(follower: Follower) -> None:
    history = [
        event("free_completed", BASE, 512, SINCE + 5),
        event("segment_free", BASE, 1024, SINCE + 6),
        event("segment_free", POOL, 4096, SINCE + 6),  # nothing of it was freed
    ]
    follower.read([history], SINCE + 20)
    found, _ = frees(follower)
    assert (found.address, found.returned_us) == ([BASE], [SINCE + 6])


def test_a_block_of_another_device_is_another_block(follower: Follower) -> None:
    follower.read([[], [event("free_completed", BASE, 512, SINCE + 5)]], SINCE + 20)
    assert frees(follower)[0].address == []


def test_a_free_that_the_history_lost_is_noticed_when_the_memory_is_handed_out(
    follower: Follower,
) -> None:
    follower.read([[event("alloc", BASE, 512, SINCE + 50)]], SINCE + 60)
    found, _ = frees(follower)
    assert (found.after_us, found.freed_us, found.reused_us) == (
        [SINCE],
        [SINCE + 50],
        [SINCE + 50],
    )


@pytest.mark.parametrize(
    ("blocks", "gone", "reused"),
    [
        ([(512, "active_allocated"), (512, "inactive")], False, False),
        ([(1024, "inactive")], True, False),
        ([(256, "active_allocated"), (768, "inactive")], True, True),
    ],
)
def test_looks_compare_blocks_by_place_and_size(
    blocks: list[tuple[int, str]], gone: bool, reused: bool, follower: Follower
) -> None:
    pool = segment(POOL, [(1024, "active_allocated"), (3072, "inactive")], (1, 0))
    follower.look([segment(BASE, blocks), pool], SINCE + 100)
    follower.look([segment(BASE, blocks), pool], SINCE + 200)
    found, _ = frees(follower)
    assert found.address == ([BASE] if gone else [])
    assert found.freed_us == ([SINCE + 100] if gone else [])
    assert [bool(at) for at in found.reused_us] == ([reused] if gone else [])
    follower.look([pool], SINCE + 300)
    found, _ = frees(follower)
    # What was seen in place at the last look was freed after it.
    assert found.after_us == ([SINCE] if gone else [SINCE + 200])
    assert found.returned_us == ([0 if reused else SINCE + 300])


def test_memory_that_is_handed_out_looks_after_it_was_freed(follower: Follower) -> None:
    pool = segment(POOL, [(1024, "active_allocated"), (3072, "inactive")], (1, 0))
    other = segment(BASE - 4096, [(1024, "active_allocated"), (3072, "inactive")])
    free = segment(BASE, [(1024, "inactive")])
    for at_us in (SINCE + 100, SINCE + 200):
        follower.look([other, free, pool], at_us)
    assert frees(follower)[0].reused_us == [0]
    taken = segment(BASE - 512, [(1024, "active_allocated"), (512, "inactive")])  # reaches into it
    follower.look([other, taken, pool], SINCE + 300)
    assert frees(follower)[0].reused_us == [SINCE + 300]


def test_memory_that_looks_as_it_did_before_it_was_watched_is_another_block_all_the_same() -> None:
    made = Follower()
    found = memory()
    assert found.blocks is not None
    found.blocks.pointed = [0, 0, 1, 0]
    made.watch(found, SINCE)
    old = segment(BASE, [(256, "active_allocated"), (768, "inactive")])
    pool = segment(POOL, [(1024, "active_allocated"), (3072, "inactive")], (1, 0))
    made.look([old, pool], SINCE + 100)
    found.blocks.pointed = [1, 0, 0, 0]  # the block of 512 bytes came and went between two looks
    made.watch(found, SINCE + 150)
    made.look([old, pool], SINCE + 200)
    result = frees(made)[0]
    assert (result.address, result.after_us) == ([BASE], [SINCE + 150])
    assert result.reused_us == [SINCE + 200]


def test_memory_outside_torch_is_asked_of_cuda_again(follower: Follower) -> None:
    follower.look_outside(lambda address: None, SINCE + 100)
    follower.look_outside(lambda address: None, SINCE + 200)
    found, _ = frees(follower)
    assert (found.freed_us, found.stack) == ([SINCE + 100], [-1])


def test_a_second_allocation_at_an_address_is_watched_anew(follower: Follower) -> None:
    follower.read(
        [[event("free_completed", BASE, 512, SINCE + 5), event("alloc", BASE, 512, SINCE + 6)]],
        SINCE + 10,
    )
    found = memory()
    assert found.blocks is not None
    found.blocks.pointed = [1, 0, 0, 0]
    follower.watch(found, SINCE + 20)
    follower.read([[event("free_completed", BASE, 512, SINCE + 30)]], SINCE + 40)
    assert frees(follower)[0].freed_us == [SINCE + 5, SINCE + 30]


def test_times_without_sight_are_joined_by_reason(follower: Follower) -> None:
    follower.blind(10, 20, "off")
    follower.blind(20, 30, "off")
    follower.blind(30, 30, "off")
    follower.blind(40, 50, "lost")
    _, blind = follower.add_to(Tables(Snapshot()))
    assert [(span.from_us, span.until_us) for span in blind] == [(10, 30), (40, 50)]
