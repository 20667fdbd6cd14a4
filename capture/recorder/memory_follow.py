"""What becomes of memory that captured graphs point into: followed through torch's history.

Nothing here asks torch or CUDA: what was read is handed in. Times are Unix microseconds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..memory.torch_snapshot import Tables
from ..memory_after import Blind, Frees
from ..memory_map import STATES, Memory
from .memory_fate import Fate
from .memory_look import Look

MAX_WATCHED = 200_000
"""Blocks followed at once."""
MAX_FREES = 50_000
"""Blocks whose fate is kept."""
MAX_RANGES = 2_000
"""Ranges outside torch's allocator that CUDA is asked about again at the end."""
MAX_BLIND = 100
_ALLOCATED = STATES.index("allocated")


class Follower:
    """Blocks that graphs point into, from their captures until they are freed.

    Attributes
    ----------
    fates : list of Fate
        What was freed, in order of notice.
    from_us : int or None
        Since when anything is followed.
    """

    def __init__(self) -> None:
        self.fates: list[Fate] = []
        self.from_us: int | None = None
        self.until_us: int | None = None
        self.told = False
        """Whether a history was ever read."""
        self.left_out = 0
        self.allocated_us: dict[int, int] = {}
        """When what is at an address was allocated, as far as a history told."""
        self._blind: list[Blind] = []
        self._watched: dict[tuple[int, int], tuple[int, int]] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        self._looked_us = 0
        self._last: Look | None = None
        self._unused: list[tuple[int, int, int]] = []  # device, address, place in fates

    @property
    def watching(self) -> bool:
        """Whether the fate of any memory is open."""
        return bool(self._watched or self._unused or self._ranges)

    @property
    def devices(self) -> set[int]:
        """Devices of what is followed."""
        return {device for device, _ in self._watched}

    def watch(self, memory: Memory, at_us: int) -> None:
        """Follow the blocks that a graph points into.

        Parameters
        ----------
        memory : Memory
            As it was after the capture.
        at_us : int
            Just before that was read.
        """
        if self.from_us is None:
            self.from_us = at_us
        blocks, segments = memory.blocks, memory.segments
        if blocks is None or segments is None or not blocks.pointed:
            return
        for at, address in enumerate(blocks.address):
            if not blocks.pointed[at] or blocks.state[at] != _ALLOCATED:
                continue
            segment = blocks.segment[at]
            device = segments.device[segment] if segments.device else 0
            key = device, address
            if key not in self._watched and len(self._watched) >= MAX_WATCHED:
                self.left_out += 1
                continue
            self._watched[key] = blocks.size_bytes[at], at_us
        ranges = memory.ranges
        for start, size, kind in (
            zip(ranges.address, ranges.size_bytes, ranges.kind, strict=True) if ranges else ()
        ):
            if kind != "unknown" and len(self._ranges) < MAX_RANGES:
                self._ranges.setdefault(start, (size, at_us))

    def look_outside(self, range_of: Callable[[int], Any], at_us: int) -> None:
        """Compare memory outside torch's allocator with what CUDA knows now.

        Parameters
        ----------
        range_of : callable
            Returns what CUDA knows of an address: with ``start`` and ``size_bytes``, or ``None``.
        at_us : int
        """
        for start, (size, since_us) in list(self._ranges.items()):
            found = range_of(start)
            if found is None or (found.start, found.size_bytes) != (start, size):
                del self._ranges[start]
                self._add(Fate(-1, start, size, at_us, since_us, None))

    def read(self, traces: Sequence[Sequence[Mapping[str, Any]]], read_us: int) -> None:
        """Take in torch's memory history, one list per device; events may come again.

        Parameters
        ----------
        traces : sequence of sequence of dict
        read_us : int
            Just before it was read.
        """
        self.told = True
        self.until_us = read_us
        self._last = None
        watched, allocated_us = self._watched, self.allocated_us
        for device, trace in enumerate(traces):
            for event in trace:
                action, address = event.get("action"), event["addr"]
                if action == "alloc":
                    if len(allocated_us) < MAX_WATCHED:
                        allocated_us[address] = event.get("time_us", 0)
                    if (device, address) in watched:
                        self._freed_unseen(device, event)
                    if self._unused:
                        self._handed_out(device, event)
                elif action in ("free_requested", "free_completed"):
                    if (device, address) in watched:
                        self._freed(device, event)
                elif self._unused and action in ("segment_free", "segment_unmap"):
                    self._given_back(device, event)

    def _freed(self, device: int, event: Mapping[str, Any]) -> None:
        key = device, event["addr"]
        watched = self._watched.get(key)
        at_us = event.get("time_us", 0)
        if watched is None or at_us < max(watched[1], self._looked_us):
            return
        del self._watched[key]
        self._add(Fate(device, key[1], watched[0], at_us, at_us, event.get("frames")))

    def _freed_unseen(self, device: int, event: Mapping[str, Any]) -> None:
        key = device, event["addr"]
        watched = self._watched.get(key)
        if watched is None:
            return
        since_us = max(watched[1], self._looked_us)
        if event.get("time_us", 0) > since_us:
            del self._watched[key]
            self._add(Fate(device, key[1], watched[0], event["time_us"], since_us, None))

    def _add(self, fate: Fate) -> None:
        if len(self.fates) >= MAX_FREES:
            self.left_out += 1
            return
        insort(self._unused, (fate.device, fate.address, len(self.fates)))
        self.fates.append(fate)

    def _handed_out(self, device: int, event: Mapping[str, Any]) -> None:
        start, at_us = event["addr"], event.get("time_us", 0)
        for fate in self._within(device, start, start + event.get("size", 0)):
            if at_us >= fate.freed_us:
                fate.reused_us, fate.reused_frames = at_us, event.get("frames")
                self._forget(fate)

    def _given_back(self, device: int, event: Mapping[str, Any]) -> None:
        start, at_us = event["addr"], event.get("time_us", 0)
        for fate in self._within(device, start, start + event.get("size", 0)):
            if at_us >= fate.freed_us and not fate.returned_us:
                fate.returned_us = at_us

    def _within(self, device: int, start: int, end: int) -> list[Fate]:
        """Return freed blocks, not yet handed out, that lie in a range or begin before it."""
        found = []
        at = bisect_left(self._unused, (device, start, -1))
        # The block before may reach into the range; blocks do not overlap unless freed again.
        for place in range(max(0, at - 1), len(self._unused)):
            if self._unused[place][0] != device:
                if place < at:
                    continue
                break
            fate = self.fates[self._unused[place][2]]
            if fate.address >= end:
                break
            if fate.address + fate.size_bytes > start:
                found.append(fate)
        return found

    def _forget(self, fate: Fate) -> None:
        key = fate.device, fate.address
        at = bisect_right(self._unused, (*key, -1))
        while at < len(self._unused) and self._unused[at][:2] == key:
            if self.fates[self._unused[at][2]] is fate:
                del self._unused[at]
                return
            at += 1

    def look(self, segments: Iterable[Mapping[str, Any]], at_us: int) -> None:
        """Compare what is followed with what the allocator holds now.

        Parameters
        ----------
        segments : iterable of dict
            As torch gives them, all of them.
        at_us : int
            Just before they were read.
        """
        self.until_us = at_us
        now, last, first = Look(segments), self._last, len(self.fates)
        sizes = now.sizes
        for key in [key for key, item in self._watched.items() if sizes.get(key) != item[0]]:
            size, since_us = self._watched.pop(key)
            self._add(Fate(*key, size, at_us, max(since_us, self._looked_us), None))
        new = list(sizes)
        if last is not None:
            known = last.sizes
            new = [key for key, size in sizes.items() if known.get(key) != size]
        if self._unused:
            self._look_for_reuse(now, new, self.fates[first:], at_us)
            gone = self.fates[first:] if last is not None else self.fates
            for start, end in (last.spans if last is not None else set()) - now.spans:
                gone = [*gone, *self._within(start[0], start[1], end)]
            for fate in gone:
                if not fate.reused_us and not now.holds(fate.device, fate.address):
                    fate.returned_us = fate.returned_us or at_us
        self._looked_us, self._last = at_us, now
        now.forget_blocks()

    def _look_for_reuse(
        self, now: Look, new: Iterable[tuple[int, int]], fates: Iterable[Fate], at_us: int
    ) -> None:
        """Note which freed blocks hold blocks that are new, or were freed just now and hold any."""
        for key in new:
            block = now.blocks[key]
            event = {"addr": key[1], "size": block["size"], "frames": block.get("frames")}
            self._handed_out(key[0], {**event, "time_us": at_us})
        for fate in fates:
            found = None if fate.reused_us else now.block_in(fate)
            if found is not None:
                fate.reused_us, fate.reused_frames = at_us, found.get("frames")
                self._forget(fate)

    def blind(self, from_us: int, until_us: int, reason: str) -> None:
        """Note a time in which frees were not seen; equal reasons in a row become one."""
        if until_us <= from_us:
            return
        last = self._blind[-1] if self._blind else None
        if last is not None and last.reason == reason and last.until_us >= from_us:
            from_us = self._blind.pop().from_us
        if len(self._blind) >= MAX_BLIND:
            last = self._blind.pop()
            from_us, reason = last.from_us, last.reason
        self._blind.append(Blind(from_us=from_us, until_us=until_us, reason=reason))

    def add_to(self, tables: Tables) -> tuple[Frees, list[Blind]]:
        """Return what was found as columns, and the times in which nothing was."""
        frees = Frees()
        for fate in self.fates:
            frees.device.append(max(fate.device, 0))
            frees.address.append(fate.address)
            frees.size_bytes.append(fate.size_bytes)
            frees.freed_us.append(fate.freed_us)
            frees.stack.append(tables.stack(fate.frames))
            frees.after_us.append(fate.after_us)
            frees.reused_us.append(fate.reused_us)
            frees.reused_stack.append(tables.stack(fate.reused_frames))
            frees.returned_us.append(fate.returned_us)
        return frees, list(self._blind)
