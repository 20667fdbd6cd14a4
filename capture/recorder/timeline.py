"""Replays and other events of one process, coalesced, bounded and cheap to add."""

from __future__ import annotations

import threading
from time import perf_counter_ns as clock
from typing import Any

MAX_REPLAY_EVENTS = 10_000
"""Replay events kept per process; past it replays are only counted."""
RUNS_PER_RECORD = 500
"""Finished runs that wait in memory; a crash loses at most so many, and their counts."""
TIMINGS = "CGLENS_TIMINGS"
"""Environment variable: replays of each executable to trace; 0 leaves CUPTI alone."""
FLUSH_EVERY_NS = 5_000_000_000
"""Replay counts reach the journal at least this often while something happens."""

RunRow = tuple[int, int, int, int, int, str]
"""A run of replays: serial, number, start, duration, count, thread."""

_local = threading.local()


def thread_name() -> str:
    """Return this thread's name, as it was when it was first asked for."""
    try:
        name: str = _local.name
    except AttributeError:
        name = _local.name = threading.current_thread().name
    return name


class ExecutableState:
    """An executable that is alive: what the hooks count on.

    Attributes
    ----------
    serial : int
        Of the graph it was made from, unique in the process; 0 when that was never seen.
    number : int
        Which instantiation of the graph it is, from 1.
    replays : int
        Until now.
    written : int
        Replays that the journal knows of.
    plan : object
        What is to be traced of its replays; ``None`` when nothing is, or no longer.
    """

    __slots__ = ("number", "plan", "replays", "serial", "written")

    def __init__(self, serial: int, number: int) -> None:
        self.serial = serial
        self.number = number
        self.replays = 0
        self.written = 0
        self.plan: Any = None


class Run:
    """Consecutive replays of one executable, still going on.

    The replay hook touches only this object and the executable's count.

    Attributes
    ----------
    state : ExecutableState or None
        Whose replays they are; ``None`` when there is no run.
    end_ns : int
        When the last of them returned.
    flush_ns : int
        When counts are due in the journal.
    """

    __slots__ = ("_before", "_start_ns", "_thread", "end_ns", "flush_ns", "state")

    def __init__(self) -> None:
        self.state: ExecutableState | None = None
        self.end_ns = 0
        self.flush_ns = 0
        self._before = 0
        self._start_ns = 0
        self._thread = ""

    def begin(self, state: ExecutableState, start_ns: int) -> None:
        """Start a run with its first replay, which has returned."""
        self._before = state.replays
        state.replays += 1
        self._start_ns = start_ns
        self._thread = thread_name()
        self.state = state
        # Last, since what comes between two replays is measured from here.
        self.end_ns = clock()

    def row(self) -> RunRow | None:
        """Describe the run until now; ``None`` when there is none."""
        state = self.state
        if state is None:
            return None
        return (
            state.serial,
            state.number,
            self._start_ns,
            self.end_ns - self._start_ns,
            state.replays - self._before,
            self._thread,
        )

    def finish(self) -> RunRow | None:
        """End the run and describe it."""
        row, self.state = self.row(), None
        return row
