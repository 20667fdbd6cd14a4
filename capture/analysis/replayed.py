"""When graphs were replayed, on the clock that memory evidence has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..model import Event, EventKind, Executable, Recording

SLACK_US = 5
"""A free this short before the end of a replay may have come after it."""


class Run(NamedTuple):
    """Consecutive replays of one graph; Unix time in microseconds."""

    graph: str
    start_us: float
    end_us: float
    replays: int
    thread: str = ""


class Replays:
    """All replays of a recording by graph, and when graphs were gone.

    Parameters
    ----------
    recording : Recording

    Notes
    -----
    Reads the timeline once.
    """

    def __init__(self, recording: Recording) -> None:
        start_ns = recording.metadata.started_unix_ns
        self.known = start_ns is not None
        """Whether replays can be put in order with what happened to memory."""
        self._start_ns = start_ns or 0
        self.runs: dict[int, list[Run]] = {}
        """By process, in order."""
        self.by_graph: dict[str, list[Run]] = {}
        for event in recording.timeline if self.known else ():
            if event.kind == EventKind.REPLAY:
                run = self._run(event)
                self.runs.setdefault(event.process, []).append(run)
                self.by_graph.setdefault(event.graph, []).append(run)
        self._executables: dict[str, list[Executable]] = {}
        for item in recording.executables:
            self._executables.setdefault(item.graph, []).append(item)
        self._unnoted: dict[str, tuple[int, float]] = {}
        """Replays past those that a timeline holds, and when that was full, by graph."""
        for key, items in self._executables.items() if self.known else ():
            noted = sum(run.replays for run in self.by_graph.get(key, ()))
            more = sum(item.replays for item in items) - noted
            info = recording.graphs.get(key)
            runs = self.runs.get(info.process or 0) if info is not None else None
            if more > 0 and runs:
                self._unnoted[key] = more, runs[-1].end_us

    def _run(self, event: Event) -> Run:
        start = (self._start_ns + event.start_ns) / 1000
        return Run(event.graph, start, start + event.duration_ns / 1000, event.count, event.thread)

    def after(self, graph: str, at_us: float) -> int:
        """Return how many replays of a graph surely began after a moment, as far as noted."""
        count = 0
        for run in self.by_graph.get(graph, ()):
            if run.start_us >= at_us:
                count += run.replays
            elif run.end_us > at_us + SLACK_US:
                count += 1  # the last one of the run at least
        more, full_us = self._unnoted.get(graph, (0, 0.0))
        return count + more if full_us > at_us else count

    def alive_at_exit(self, graph: str) -> bool:
        """Say whether an executable of a graph was there when its process ended."""
        return any(item.ended == "alive at exit" for item in self._executables.get(graph, ()))

    def is_gone(self, graph: str) -> bool:
        """Say whether a graph had executables, and all of them were reset or destroyed."""
        found = self._executables.get(graph, ())
        return bool(found) and all(item.ended in ("reset", "destroyed") for item in found)

    def followed(self, process: int) -> Iterator[tuple[Run, Run | None]]:
        """Yield the runs of a process in order, each with the next one."""
        runs = self.runs.get(process, [])
        for place, run in enumerate(runs):
            yield run, runs[place + 1] if place + 1 < len(runs) else None
