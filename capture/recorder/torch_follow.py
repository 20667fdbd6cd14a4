"""Follows memory between captures: reads torch's history before it is lost, and looks again.

Read where a capture begins, at the end, and on the way as soon as the history is half full; never
at each replay. What torch's own allocator does not see (another allocator's frees) is asked of CUDA
at the end only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from ..memory.torch_snapshot import Tables
from ..memory_after import After
from ..memory_map import Memory, Snapshot
from . import torch_allocator
from .memory_follow import Follower
from .memory_ranges import relaxed
from .torch_bindings import Bindings
from .torch_names import Binding

MAX_EVENTS = 200_000
"""Events per device that the history we switch on keeps."""
MAX_READ = 400_000
"""Events of the script's own history that are read at most."""
OFF = "torch's memory history was off"
NO_EVENTS = "torch's memory history was on, but for what is allocated only: no frees"
LOST = "torch's memory history holds {limit} events: earlier ones were lost"
TOO_MANY = "the script's own memory history may hold {count} events: too many to read"


class Following:
    """Follows what captured graphs point into, for one process.

    Attributes
    ----------
    limit : int or None
        Events per device that the history keeps; ``None`` where nobody told.
    """

    def __init__(self) -> None:
        self.follower = Follower()
        self.bindings = Bindings()
        self.limit: int | None = None
        self._lock = threading.RLock()
        self._events = True
        self._read_us = 0
        self._counted: dict[int, int] = {}
        self._dark: tuple[int, str] | None = None

    def history_set(self, enabled: Any, limit: int | None) -> None:
        """Take note that memory history is about to be switched, by the script or by us."""
        with self._lock:
            if self.follower.watching and self._telling():
                self._read(_now_us())
            if enabled in (None, False):
                self._darken(OFF)
            elif enabled == "state":
                self._darken(NO_EVENTS)
            else:
                self._lighten()
            self.limit = limit
            self._counted.clear()

    def before(
        self,
        segments: list[dict[str, Any]],
        at_us: int,
        traces: list[list[dict[str, Any]]] | None = None,
    ) -> None:
        """Look before a capture begins.

        Parameters
        ----------
        segments : list of dict
            All that torch's allocator holds.
        at_us : int
            Just before they were read.
        traces : list of list of dict, optional
            The history, if it was read with them.
        """
        with self._lock:
            if not self.follower.watching:
                return
            if self._telling():
                self._read(at_us, traces)
            if not self._telling():
                self.follower.look(segments, at_us)
            self.bindings.look(segments, at_us)

    def captured(
        self,
        memory: Memory,
        names: Iterable[tuple[Binding, int, int]],
        at_us: int,
        traces: list[list[dict[str, Any]]] | None = None,
    ) -> None:
        """Follow what a graph points into.

        Parameters
        ----------
        memory : Memory
            Complete.
        names : iterable of (Binding, int, int)
            Of its blocks, with address and bytes of the storage.
        at_us : int
            Just before its blocks were read.
        traces : list of list of dict, optional
            The history, if it was read with them, and is begun anew.
        """
        with self._lock:
            if traces is not None and self._telling():
                self._read(at_us, traces)
            if not self.follower.watching:
                self._read_us = at_us
            self.follower.watch(memory, at_us)
            self.bindings.watch(names, at_us)
            if not self._counted:
                self._count()
            if not self._telling() and self._dark is None:
                self._dark = at_us, OFF

    def between(self) -> bool:
        """Read the history if more than half of what it holds is new; say whether it was read."""
        with self._lock:
            if not self.follower.watching or not self._telling():
                return False
            room = min(self.limit or MAX_READ, MAX_READ)
            if self._new_events() < room // 2:
                return False
            self._read(_now_us())
            return True

    def end(self, driver: Any, tables: Tables, snapshot: Snapshot) -> None:
        """Look a last time, and complete a snapshot with what became of memory."""
        with self._lock:
            follower = self.follower
            if follower.from_us is None:
                return
            at_us = _now_us()
            segments = torch_allocator.memory_segments()
            if self._telling():
                self._read(at_us)
            try:
                relaxed(driver, follower.look_outside, lambda at: driver.range_of(at), at_us)
            except Exception as error:
                snapshot.notes.append(
                    f"CUDA could not be asked again about memory outside torch: "
                    f"{type(error).__name__}: {error}"
                )
            follower.look(segments, at_us)
            self.bindings.look(segments, at_us)
            if self._dark is not None:
                follower.blind(max(self._dark[0], follower.from_us), at_us, self._dark[1])
                self._dark = at_us, self._dark[1]
            snapshot.frees, blind = follower.add_to(tables)
            snapshot.rebinds = self.bindings.add_to(tables, follower.allocated_us)
            snapshot.after = After(
                from_us=follower.from_us,
                until_us=at_us,
                how="history" if follower.told else "looks",
                blind=blind,
                workspace_bytes=torch_allocator.workspace_sizes(),
            )
            if follower.left_out:
                snapshot.notes.append(
                    f"{follower.left_out} blocks were not followed: there were too many."
                )
            snapshot.notes.extend(self.bindings.notes)

    def _telling(self) -> bool:
        return self._events and torch_allocator.history_is_on() is True

    def _darken(self, reason: str) -> None:
        self._events = False
        if self._dark is None and self.follower.from_us is not None:
            self._dark = _now_us(), reason

    def _lighten(self) -> None:
        self._events = True
        if self._dark is not None:
            now_us = _now_us()
            self.follower.blind(self._dark[0], now_us, self._dark[1])
            self._dark = None
            self._read_us = now_us

    def _read(self, now_us: int, traces: list[list[dict[str, Any]]] | None = None) -> None:
        """Read the history, unless it was."""
        if traces is None and (self.limit is None or self.limit > MAX_READ):
            held = sum(map(torch_allocator.events_until_now, self.follower.devices))
            if held > MAX_READ:
                self.follower.blind(self._read_us, now_us, TOO_MANY.format(count=held))
                self._read_us = now_us
                return
        traces = torch_allocator.device_traces() if traces is None else traces
        for trace in traces:
            if trace and self.limit is not None and len(trace) >= self.limit:
                # Full: what came before its first event is lost, unless it was read before.
                first_us = trace[0].get("time_us", 0)
                self.follower.blind(self._read_us, first_us, LOST.format(limit=self.limit))
        self.follower.read(traces, now_us)
        self._read_us = now_us
        self._count()

    def _count(self) -> None:
        self._counted = {
            device: torch_allocator.events_until_now(device) for device in self.follower.devices
        }

    def _new_events(self) -> int:
        """Return about how many events there were since the history was last read."""
        return sum(
            torch_allocator.events_until_now(device) - self._counted.get(device, 0)
            for device in self.follower.devices
        )


def _now_us() -> int:
    return time.time_ns() // 1000
