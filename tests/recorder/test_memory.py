"""Memory around captures, recorded in real child processes over a stand-in for torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from capture.analysis import run_analysis
from capture.memory.pointers import resolve
from capture.memory.sums import against_torch, step
from capture.memory_map import Events, Memory
from capture.recorder.memory_notes import place_events
from capture.recorder.origins.log import Log
from capture.recorder.torch_origins_capture import CaptureOrigins
from tests.recorder.conftest import Workplace

SCRIPT = """
    import os, struct, time, torch
    from torch.cuda.memory import events, segment, segments
    BASE, POOL, GONE = 0x7F0000000000, 0x7F1000000000, 0x7F2000000000
    segments.append(segment(BASE, {512: "active_allocated", 1024: "inactive"}))
    segments.append(segment(BASE + (1 << 30), {2048: "active_allocated"}))
    graph = torch.cuda.CUDAGraph()
    x = torch.Tensor()
    with torch.cuda.graph(graph):
        segments.append(
            segment(POOL, {256: "active_allocated", 768: "inactive"}, pool=(0, 1))
        )
        frames = [{"filename": "script.py", "line": 7, "name": "<module>"}]
        segments[-1]["blocks"][0]["frames"] = frames
        for address in (BASE + 4, BASE + 600, POOL, POOL + 300, GONE):
            torch.launch(x, arguments=struct.pack("<Q", address))
        at = time.time_ns() // 1000
        event = {"addr": POOL, "size": 256, "stream": 0, "time_us": at, "frames": frames}
        events.append({**event, "action": "alloc"})
        events.append({**event, "action": "alloc", "addr": GONE})
    graph.replay()
    segments.pop(0)
"""


def test_nothing_is_looked_at_unless_asked(place: Workplace) -> None:
    recording = place.recorded(SCRIPT)
    (info,) = recording.graphs.values()
    assert recording.memory(info.key) is None
    assert recording.snapshot(0) is None
    assert not info.evidence["memory"].present
    assert "--memory" in info.evidence["memory"].reason


def test_a_capture_is_looked_at_before_and_after(place: Workplace) -> None:
    place.environment["CGLENS_MEMORY"] = "1"
    recording = place.recorded(SCRIPT)
    (info,) = recording.graphs.values()
    memory = recording.memory(info.key)
    assert memory is not None
    assert info.evidence["memory"].present
    assert info.evidence["memory"].cost_ns
    assert [mark.name for mark in memory.marks] == ["before capture", "after capture"]
    assert (memory.pool, memory.history) == ((0, 1), "off")
    found = step(memory)
    assert found is not None
    assert (found.before_bytes, found.added_bytes, found.kept_bytes) == (3584, 1024, 256)
    # The segment that nothing points into is in the sums alone.
    assert memory.segments is not None
    assert memory.segments.address == [0x7F0000000000, 0x7F1000000000]
    assert memory.blocks is not None
    assert memory.blocks.pointed == [1, 1, 1, 1]
    assert all(item.torch_bytes == item.summed_bytes for item in against_torch(memory))
    assert len(against_torch(memory)) == 4
    places = [item.place for item in resolve(recording.graph(info.key), memory)]
    assert [(item.kind, item.state, item.pool) for item in places] == [
        ("block", "allocated", (0, 0)),
        ("block", "free", (0, 0)),
        ("block", "allocated", (0, 1)),
        ("block", "free", (0, 1)),
        ("unresolved", "", None),
    ]
    assert any("history was off" in note for note in memory.notes)


def test_the_end_of_the_process_is_looked_at(place: Workplace) -> None:
    place.environment["CGLENS_MEMORY"] = "1"
    recording = place.recorded(SCRIPT)
    snapshot = recording.snapshot(0)
    assert snapshot is not None
    assert snapshot.segments is not None
    assert snapshot.segments.address == [0x7F0000000000 + (1 << 30), 0x7F1000000000]
    assert [mark.name for mark in snapshot.marks] == ["end"]
    # The script dropped what its graph still points into.
    found = run_analysis("freed_later", recording)
    assert [row[4] for row in found.rows] == ["0x7f0000000000"]


def test_stacks_and_events_of_the_capture(place: Workplace) -> None:
    place.write("script.py", SCRIPT)
    done = place.record("--memory-stacks", "script.py")
    assert done.code == 0, done.err
    recording = done.recording()
    memory = recording.memory(next(iter(recording.graphs)))
    assert memory is not None
    assert memory.history == "switched on"
    assert memory.blocks is not None
    (stack,) = {stack for stack in memory.blocks.stack if stack >= 0}
    assert memory.frames[memory.stacks[stack][0]].line == 7
    assert memory.events is not None
    # What lies in none of the segments kept is left out.
    assert memory.events.address == [0x7F1000000000]


def test_history_is_on_as_soon_as_there_is_an_allocator(place: Workplace) -> None:
    place.write(
        "script.py",
        """
        import torch
        print(torch.cuda.memory.history)
        torch.cuda.init()
        print(torch.cuda.memory.history)
        torch.cuda.memory._record_memory_history(None)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.launch()
        print(torch.cuda.memory.history)
        """,
    )
    done = place.record("--memory-stacks", "script.py")
    assert done.code == 0, done.err
    before, ours, after = done.out.splitlines()
    assert before == "{}"
    assert "'stacks': 'python'" in ours
    # Once the script has switched it off, it stays off.
    assert after == "{}"
    recording = done.recording()
    memory = recording.memory(next(iter(recording.graphs)))
    assert memory is not None
    assert memory.history == "off"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_scripts_own_history_is_left_alone(place: Workplace, when: str) -> None:
    place.environment["CGLENS_MEMORY"] = "stacks"
    place.write(
        "script.py",
        "import torch\n"
        + ("torch.cuda.init()\n" if when == "after" else "")
        + "torch.cuda.memory._record_memory_history(max_entries=7)\n"
        + ("torch.cuda.init()\n" if when == "before" else "")
        + "\n".join(line.removeprefix("    ") for line in SCRIPT.splitlines())
        + "\nprint(torch.cuda.memory.history)\n",
    )
    done = place.record("script.py")
    assert done.code == 0, done.err
    assert "'max_entries': 7" in done.out
    recording = done.recording()
    memory = recording.memory(next(iter(recording.graphs)))
    assert memory is not None
    assert memory.history == "on"
    assert memory.events is None


LATER = """
    import struct, time, torch
    from torch.cuda.memory import events, segment, segments
    BASE, POOL = 0x7F0000000000, 0x7F1000000000
    segments.append(segment(BASE, {512: "active_allocated", 1024: "inactive"}))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        segments.append(segment(POOL, {256: "active_allocated"}, pool=(0, 1)))
        torch.launch(arguments=struct.pack("<Q", BASE))

    def note(action, line):
        frames = [{"filename": "script.py", "line": line, "name": "step"}]
        event = {"addr": BASE, "size": 512, "stream": 0, "time_us": time.time_ns() // 1000}
        events.append({**event, "action": action, "frames": frames})

    graph.replay()
    note("free_completed", 7)
    note("alloc", 8)
    time.sleep(0.001)
    graph.replay()
"""


def test_a_free_is_followed_until_the_end(place: Workplace) -> None:
    place.environment["CGLENS_MEMORY"] = "stacks"
    # The next capture begins the history anew: what it held is read before.
    recording = place.recorded(
        LATER
        + """
    other = torch.cuda.CUDAGraph()
    with torch.cuda.graph(other):
        torch.launch()
    """
    )
    result = run_analysis("freed_later", recording)
    (row,) = (
        dict(zip((column.name for column in result.columns), row, strict=True))
        for row in result.rows
    )
    assert (row["block"], row["now"]) == ("0x7f0000000000", "handed out again")
    assert (row["freed at"], row["used since by"]) == ("script.py:7 step", "script.py:8 step")
    assert (row["node"], row["replays since"]) == ("0", 1)
    snapshot = recording.snapshot(0)
    assert snapshot is not None
    assert snapshot.after is not None
    assert (snapshot.after.how, snapshot.after.blind) == ("history", [])


def test_it_is_told_when_a_history_was_off_or_full(place: Workplace) -> None:
    place.environment["CGLENS_MEMORY"] = "1"
    recording = place.recorded(
        "    import torch\n    torch.cuda.memory._record_memory_history(max_entries=2)\n"
        + LATER
        + """
    torch.cuda.memory._record_memory_history(None)
    """
    )
    snapshot = recording.snapshot(0)
    assert snapshot is not None
    assert snapshot.after is not None
    lost, off = snapshot.after.blind
    assert "holds 2 events" in lost.reason
    assert "history was off" in off.reason
    assert snapshot.after.from_us == lost.from_us < lost.until_us <= off.from_us


def test_another_allocator_is_named(place: Workplace) -> None:
    place.environment |= {"CGLENS_MEMORY": "1", "ALLOCATOR": "cudaMallocAsync"}
    recording = place.recorded(SCRIPT)
    (info,) = recording.graphs.values()
    assert recording.memory(info.key) is None
    assert "'cudaMallocAsync'" in info.evidence["memory"].reason


@pytest.mark.parametrize("broken", ["memory_snapshot", "memory"])
def test_what_fails_changes_nothing(place: Workplace, broken: str) -> None:
    place.environment["CGLENS_MEMORY"] = "1"
    recording = place.recorded(
        f"""
        import torch
        torch.cuda.{broken} = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.launch()
        graph.replay()
        """
    )
    (info,) = recording.graphs.values()
    assert info.node_count == 1
    assert "could not be looked at" in info.evidence["memory"].reason
    assert any("memory" in text for text in recording.processes[0].warnings)


def test_a_failed_capture_says_why_it_has_none(place: Workplace) -> None:
    place.environment["CGLENS_MEMORY"] = "1"
    place.write(
        "script.py",
        """
        import torch
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.launch().item()
        """,
    )
    recording = place.record("script.py").recording()
    (info,) = recording.failed.values()
    assert "only of captures that became a graph" in info.evidence["memory"].reason


def test_allocations_are_placed_between_operators_by_time() -> None:
    log = Log()
    log.at_us = [10, 20, 30]
    for after in (101, 103, (102, 104)):
        log.flat += [0, 0, after, 1, 1, -1, -1, "", "", -1, 0, 0]
    watched: Any = SimpleNamespace(log=log)
    nobody: Any = None
    noted: Any = CaptureOrigins(nobody, watched, 1)
    handles = [101, 102, 103, 104]
    assert noted.clock(handles) == [(10, 1), (20, 3), (30, 4)]
    capture: Any = SimpleNamespace(
        extraction=SimpleNamespace(handles=[("", handles)]), origins=noted
    )
    memory = Memory(
        events=Events(action=[0] * 4, address=[1] * 4, size_bytes=[1] * 4, at_us=[5, 10, 29, 99])
    )
    place_events(memory, capture)
    assert memory.events is not None
    assert memory.events.nodes_before == [0, 1, 3, 4]
    capture.origins = None
    place_events(memory, capture)
    assert "not placed between its nodes" in memory.notes[-1]
