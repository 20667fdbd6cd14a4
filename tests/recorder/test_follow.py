"""When torch's history is read between captures, over an allocator that only counts."""

from __future__ import annotations

from typing import Any

import pytest

from capture.errors import NoGpuError
from capture.memory.torch_snapshot import Tables
from capture.memory_map import Snapshot
from capture.recorder import torch_allocator, torch_follow
from capture.recorder.torch_follow import MAX_READ, Following
from tests.helpers.synthetic_memory import BASE, memory


class Allocator:
    """Counts events, and hands out those that are there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = self.reads = 0
        self.on = True
        self.now_us = 1_000
        self.trace: list[dict[str, Any]] = []
        for name, value in (
            ("history_is_on", lambda: self.on),
            ("events_until_now", lambda device: self.count),
            ("device_traces", self.read),
            ("memory_segments", lambda: []),
            ("workspace_sizes", lambda: [7]),
        ):
            monkeypatch.setattr(torch_allocator, name, value)
        monkeypatch.setattr(torch_follow, "_now_us", lambda: self.now_us)

    def read(self) -> list[list[dict[str, Any]]]:
        self.reads += 1
        return [list(self.trace)]

    def event(self, action: str, at_us: int) -> None:
        self.count += 1
        self.trace.append({"action": action, "addr": BASE, "size": 512, "time_us": at_us})


class Driver:
    def exchange_capture_mode(self, mode: int) -> int:
        return mode

    def range_of(self, address: int) -> Any:
        raise NoGpuError("cuPointerGetAttribute", 100, "CUDA_ERROR_NO_DEVICE", "no device")


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    return Allocator(monkeypatch)


@pytest.fixture
def following() -> Following:
    return Following()


def captured(following: Following, at_us: int = 1_000) -> None:
    found = memory()
    assert found.blocks is not None
    found.blocks.pointed = [1, 0, 0, 0]
    following.captured(found, [], at_us)


def end(following: Following) -> Snapshot:
    snapshot = Snapshot()
    following.end(Driver(), Tables(snapshot), snapshot)
    return snapshot


def test_a_history_is_read_on_the_way_when_it_is_half_full(
    allocator: Allocator, following: Following
) -> None:
    following.history_set("all", 100)
    captured(following)
    allocator.count = 49
    assert not following.between()
    allocator.event("free_completed", 1_500)
    assert following.between()
    assert not following.between()
    allocator.trace.clear()  # lost by the end, and known all the same
    allocator.now_us = 2_000
    snapshot = end(following)
    assert snapshot.frees is not None
    assert snapshot.frees.freed_us == [1_500]
    assert snapshot.after is not None
    assert (snapshot.after.how, snapshot.after.blind) == ("history", [])
    assert snapshot.after.workspace_bytes == [7]


def test_a_script_that_begins_its_history_anew_loses_nothing(
    allocator: Allocator, following: Following
) -> None:
    following.history_set("all", 100)
    captured(following)
    allocator.event("free_completed", 1_500)
    following.history_set("all", 50)
    allocator.trace.clear()
    allocator.now_us = 2_000
    snapshot = end(following)
    assert snapshot.frees is not None
    assert snapshot.frees.freed_us == [1_500]


def test_a_history_too_long_to_read_is_left_alone(
    allocator: Allocator, following: Following
) -> None:
    following.history_set("all", 1 << 60)
    allocator.count = MAX_READ + 1
    captured(following)
    allocator.now_us = 2_000
    snapshot = end(following)
    assert allocator.reads == 0
    assert snapshot.after is not None
    (blind,) = snapshot.after.blind
    assert (blind.from_us, blind.until_us) == (1_000, 2_000)
    assert "too many to read" in blind.reason


def test_a_history_that_begins_late_leaves_a_time_without_sight(
    allocator: Allocator, following: Following
) -> None:
    allocator.on = False
    captured(following)
    allocator.now_us = 1_400
    allocator.on = True
    following.history_set("all", 100)
    allocator.now_us = 2_000
    snapshot = end(following)
    assert snapshot.after is not None
    (blind,) = snapshot.after.blind
    assert (blind.from_us, blind.until_us) == (1_000, 1_400)


def test_nothing_is_read_before_anything_is_captured(
    allocator: Allocator, following: Following
) -> None:
    following.history_set("all", 100)
    allocator.count = 1_000
    following.before([], 900)
    assert not following.between()
    assert allocator.reads == 0
    assert end(following).after is None


def test_what_cuda_does_not_answer_is_a_note(allocator: Allocator, following: Following) -> None:
    following.history_set("all", 100)
    captured(following)
    snapshot = end(following)
    assert any("could not be asked again" in note for note in snapshot.notes)
