"""Memory around captures: looked at before and after each one, and at the end of the process.

Only on request: ``CGLENS_MEMORY=1`` looks at segments, blocks and torch's counters;
``CGLENS_MEMORY=stacks`` also switches torch's memory history on, unless the script has done so,
for stacks of allocations and the events of each capture. The script's own settings are kept.

Looking happens outside of captures and takes torch's allocator lock; nothing is allocated.
"""

from __future__ import annotations

import os
import sys
import time
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from time import perf_counter_ns as clock
from types import FrameType
from typing import Any

from ..memory.addresses import address_set
from ..memory.live_snapshot import add_live_events, add_live_segments, add_live_sums
from ..memory.torch_snapshot import Tables, pool_of
from ..memory_map import Mark, Memory, MemoryMap, Names, Snapshot
from ..model import Graph
from . import torch_allocator
from .import_watch import after_import
from .launch import MEMORY
from .memory_notes import add_notes, place_events
from .memory_ranges import add_ranges, relaxed
from .open_capture import OpenCapture
from .torch_follow import MAX_EVENTS, Following
from .torch_names import Binding, Owners, named_tensors, storage_of

NAMING_BUDGET_NS = 2_000_000_000
"""What finding names of tensors may take, over the whole process."""
OTHER_ALLOCATOR = (
    "memory was not looked at: torch's allocator is {backend!r} here, which tells nothing of its "
    "blocks; only torch's own (native) allocator does"
)


class MemorySource:
    """Looks at the memory of this process for its recorder.

    Attributes
    ----------
    wanted : str
        ``""``, ``"1"`` or ``"stacks"``.
    reason : str
        Why there is no memory evidence although it was asked for.
    cost_ns : int
        What looking cost so far.
    """

    def __init__(self, wanted: str | None = None) -> None:
        asked = os.environ.get(MEMORY, "") if wanted is None else wanted
        self.wanted = "" if asked in ("", "0") else "stacks" if asked == "stacks" else "1"
        self.reason = ""
        self.cost_ns = 0
        self._history = ""
        self._switched = False
        self._scripts = False
        self._naming_ns = 0
        self._following = Following()
        self._owners = Owners()
        if self.wanted:
            # We are started in the middle of torch's import; this part of it is among the last.
            # What fails is tried again before the first capture.
            after_import("torch.cuda.nvtx", self._prepare)

    @property
    def active(self) -> bool:
        """Whether memory is looked at."""
        return bool(self.wanted) and not self.reason

    def _prepare(self) -> None:
        """Have memory history switched on as soon as there is an allocator."""
        torch_allocator.watch_history(self._script_decides)
        if self.wanted == "stacks":
            torch_allocator.when_initialised(self._switch_on_quietly)

    def _script_decides(self, enabled: Any, limit: int | None) -> None:
        self._scripts, self._switched = True, False
        self._following.history_set(enabled, limit)

    def _switch_on_quietly(self) -> None:
        with suppress(Exception):
            self._switch_on()

    def _switch_on(self) -> None:
        if self._scripts or self._switched:
            return
        if torch_allocator.history_is_on() is False:
            self._following.history_set("all", MAX_EVENTS)
            torch_allocator.switch_history_on(MAX_EVENTS)
            self._switched = True

    def before(self, driver: Any) -> Memory | None:
        """Look at memory before a capture begins; ``None`` where nothing is to be looked at."""
        if not self.active:
            return None
        start = clock()
        backend = torch_allocator.backend()
        if backend != "native":
            self.reason = OTHER_ALLOCATOR.format(backend=backend)
            return None
        memory = Memory(backend=backend)
        at_us, segments, traces = self._look(self._switched and self._following.follower.watching)
        self._following.before(segments, at_us, traces)
        if self.wanted == "stacks":
            if self._switched:
                # Begun anew, so that what is read after the capture is the capture's.
                torch_allocator.switch_history_on(MAX_EVENTS)
            else:
                self._switch_on()
        on = torch_allocator.history_is_on()
        memory.history = "switched on" if self._switched and on else "on" if on else "off"
        self._mark(driver, Tables(memory), "before capture", segments, start)
        return memory

    def after(
        self, driver: Any, memory: Memory, capture: OpenCapture, graph: Graph | None
    ) -> Memory:
        """Look again when the capture has ended; complete and return what `before` began.

        Parameters
        ----------
        driver : ReplayDriver
        memory : Memory
            Of :meth:`before`.
        capture : OpenCapture
        graph : Graph or None
            What was captured.
        """
        start = clock()
        memory.graph = capture.key
        memory.pool = capture.pool
        memory.device = capture.device
        at_us, segments, traces = self._look(memory.history == "switched on")
        if traces is not None:
            # What was read need not be read again before the next capture.
            torch_allocator.switch_history_on(MAX_EVENTS)
        tables = Tables(memory)
        ordered = sorted(address_set(graph)) if graph is not None else []

        def wanted(segment: Mapping[str, Any]) -> bool:
            if pool_of(segment) == capture.pool:
                return True
            begin = segment["address"]
            at = bisect_left(ordered, begin)
            return at < len(ordered) and ordered[at] < begin + segment["total_size"]

        add_live_segments(tables, segments, wanted)
        blocks = memory.blocks
        if blocks is not None:
            blocks.pointed = [
                bisect_left(ordered, begin + size) - bisect_left(ordered, begin)
                for begin, size in zip(blocks.address, blocks.size_bytes, strict=True)
            ]
        add_ranges(driver, memory, ordered, segments)
        names = self._names(memory, sys._getframe(1))
        self._following.captured(memory, names, at_us, traces)
        if memory.history == "switched on":
            seen = add_live_events(tables, traces or [], memory.marks[0].unix_us or 0)
            if seen >= MAX_EVENTS:
                memory.notes.append(
                    f"The memory history holds {MAX_EVENTS} events: earlier ones of this capture "
                    f"are lost."
                )
            place_events(memory, capture)
        memory.how = [
            "torch.cuda.memory_snapshot() before and after the capture",
            f"memory history {memory.history}",
        ]
        add_notes(memory)
        self._mark(driver, tables, "after capture", segments, start)
        return memory

    def between(self) -> None:
        """Read what happened to captured graphs' memory, where it would be lost otherwise.

        No capture may be going on.
        """
        if self.active and self._following.between() and self._switched:
            torch_allocator.switch_history_on(MAX_EVENTS)

    def end(self, driver: Any) -> Snapshot | None:
        """Look at everything, at the end of the process."""
        if not self.active:
            return None
        start = clock()
        snapshot = Snapshot(backend=torch_allocator.backend())
        on = torch_allocator.history_is_on()
        snapshot.history = "switched on" if self._switched and on else "on" if on else "off"
        snapshot.how = ["torch.cuda.memory_snapshot() at the end of the process"]
        segments = torch_allocator.memory_segments()
        tables = Tables(snapshot)
        add_live_segments(tables, segments)
        self._names(snapshot)
        self._following.end(driver, tables, snapshot)
        add_notes(snapshot)
        self._mark(driver, tables, "end", segments, start)
        return snapshot

    def _look(self, events: bool) -> tuple[int, list[dict[str, Any]], list[Any] | None]:
        """Return the time, what the allocator holds, and its history where that is wanted."""
        at_us = _now_us()
        if events:
            # One snapshot: making it takes most of the time.
            return at_us, *torch_allocator.segments_and_traces()
        return at_us, torch_allocator.memory_segments(), None

    def _mark(
        self,
        driver: Any,
        tables: Tables,
        name: str,
        segments: list[dict[str, Any]],
        start: int,
    ) -> None:
        """Add sums and counters of a moment, and what looking took since `start`."""
        memory, number = tables.item, len(tables.item.marks)
        memory.marks = [*memory.marks, Mark(name=name, unix_us=time.time_ns() // 1000)]
        add_live_sums(tables, segments, number)
        devices = {int(segment.get("device", 0)) for segment in segments}
        for device in sorted(devices):
            with suppress(Exception):
                memory.counters.append(torch_allocator.counters(number, device))
        current = [item for item in memory.counters if item.mark == number]
        if len(current) == 1:
            with suppress(Exception):
                found = relaxed(driver, driver.memory_info)
                current[0].driver_free_bytes, current[0].driver_total_bytes = found
        cost = clock() - start
        self.cost_ns += cost
        memory.marks[number] = Mark(name=name, unix_us=memory.marks[number].unix_us, cost_ns=cost)

    def _names(
        self, memory: MemoryMap, frame: FrameType | None = None
    ) -> list[tuple[Binding, int, int]]:
        """Name the storages of parameters and the like that lie in the segments kept.

        Return all names of theirs, with address and bytes; a storage may have several.
        """
        segments = memory.segments
        if segments is None:
            return []
        if self._naming_ns > NAMING_BUDGET_NS:
            memory.notes.append("Tensors were not named: finding their names took too long before.")
            return []
        start = clock()
        found: dict[int, tuple[int, str]] = {}
        bindings: list[tuple[Binding, int, int]] = []
        ends = [a + size for a, size in zip(segments.address, segments.size_bytes, strict=True)]
        try:
            for binding, tensor in named_tensors(self._owners, frame):
                storage = storage_of(tensor)
                if storage is None:
                    continue
                address, size = storage
                at = bisect_left(ends, address + 1)
                if at < len(ends) and segments.address[at] <= address:
                    found.setdefault(address, (size, binding.name))
                    bindings.append((binding, address, size))
        except Exception as error:
            memory.notes.append(f"Not all tensors were named: {type(error).__name__}: {error}")
        if found:
            ordered = sorted(found)
            memory.names = Names(
                address=ordered,
                size_bytes=[found[address][0] for address in ordered],
                name=[found[address][1] for address in ordered],
            )
        self._naming_ns += clock() - start
        return bindings


def _now_us() -> int:
    return time.time_ns() // 1000
