"""torch's memory snapshot, as ``torch.cuda.memory._snapshot()`` returns it, to tables. Pure.

What comes in may be from a file of unknown origin: every value is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import FormatError, TooLargeError
from ..memory_map import (
    ACTIONS,
    COMMON_POOL,
    Blocks,
    Events,
    MemoryMap,
    Segments,
    StackFrame,
    Sums,
)
from .snapshot_values import list_of, map_of, number_of, short, state_of

MAX_FRAMES = 64
"""Frames kept of one stack, the innermost ones."""
MAX_TEXT = 4096
"""Characters kept of a file's or function's name."""
MAX_ROWS = 4_000_000
"""Blocks or events of one snapshot."""
OWN_CODE = f"{Path(__file__).absolute().parents[1] / 'recorder'}/"
"""Where our own frames are from, which stand between an operator and the line that called it."""

_NATIVE = (".cpp", ".cc", ".cu", ".h", ".hpp", ".cuh")
_ACTION = {name: number for number, name in enumerate(ACTIONS)}


class Tables:
    """Fills the tables of a :class:`~capture.memory_map.MemoryMap`; equal rows are kept once.

    Parameters
    ----------
    item : MemoryMap
    """

    def __init__(self, item: MemoryMap) -> None:
        self.item = item
        self._pools = {pool: place for place, pool in enumerate(item.pools)}
        self._frames: dict[tuple[str, int, str], int | None] = {}
        self._cut: dict[StackFrame, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._seen: dict[int, tuple[Any, int]] = {}
        self._alike: dict[tuple[int, ...], int] = {}

    def pool(self, pool: tuple[int, int]) -> int:
        """Return the place of a pool."""
        place = self._pools.get(pool)
        if place is None:
            place = self._pools[pool] = len(self.item.pools)
            self.item.pools.append(pool)
        return place

    def stack(self, frames: Any) -> int:
        """Return the place of a stack of torch's frames; -1 for one without a line of Python.

        C++ frames have no line, and are left out, and so are frames of our recorder.
        """
        if not isinstance(frames, (list, tuple)) or not frames:
            return -1
        # torch hands out one list for every block of one allocation site.
        seen = self._seen.get(id(frames))
        if seen is not None and seen[0] is frames:
            return seen[1]
        # And one frame for every stack that it is in; all of them live as long as `seen`.
        frames_seen = tuple(map(id, frames))
        if frames_seen in self._alike:
            result = self._alike[frames_seen]
            self._seen[id(frames)] = (frames, result)
            return result
        found: list[int] = []
        for frame in frames:
            if len(found) == MAX_FRAMES:
                break
            place = self._frame(frame)
            if place is not None:
                found.append(place)
        result = -1
        if found:
            stack = tuple(found)
            result = self._stacks.setdefault(stack, len(self._stacks))
            if result == len(self.item.stacks):
                self.item.stacks.append(stack)
        self._seen[id(frames)] = (frames, result)
        self._alike[frames_seen] = result
        return result

    def stacks(self, found: list[Any]) -> list[int]:
        """Return :meth:`stack` of many, which mostly are few objects."""
        distinct = dict(zip(map(id, found), found, strict=True))
        places = {at: self.stack(frames) for at, frames in distinct.items()}
        return [places[at] for at in map(id, found)]

    def _frame(self, frame: Any) -> int | None:
        if not isinstance(frame, dict) and not isinstance(frame, Mapping):
            raise FormatError(f"a frame is a {type(frame).__name__}, expected a map")
        line, file, function = frame.get("line"), frame.get("filename"), frame.get("name")
        if type(line) is not int or line <= 0 or not isinstance(file, str):
            return None
        name = function if isinstance(function, str) else ""
        key = file, line, name
        if key in self._frames:
            return self._frames[key]
        place: int | None = None
        if not (file.endswith(_NATIVE) or file.startswith(OWN_CODE)):
            made = StackFrame(file[:MAX_TEXT], min(line, 1 << 31), name[:MAX_TEXT])
            place = self._cut.setdefault(made, len(self._cut))
            if place == len(self.item.frames):
                self.item.frames.append(made)
        self._frames[key] = place
        return place


def add_segments(
    tables: Tables,
    segments: Any,
    wanted: Callable[[Mapping[str, Any]], bool] = lambda segment: True,
) -> None:
    """Fill `segments` and `blocks`, by address.

    Parameters
    ----------
    tables : Tables
    segments : sequence of dict
        As torch gives them.
    wanted : callable
        Which segments to keep.

    Raises
    ------
    FormatError
        They are not what torch writes.
    TooLargeError
        More than `MAX_ROWS` blocks.
    """
    into, blocks = Segments(), Blocks()
    rows = [map_of(segment, "a segment") for segment in list_of(segments, "segments")]
    rows.sort(key=lambda segment: number_of(segment, "address", "a segment"))
    for segment in rows:
        if not wanted(segment):
            continue
        place = len(into.address)
        address = number_of(segment, "address", "a segment")
        into.address.append(address)
        into.size_bytes.append(number_of(segment, "total_size", "a segment"))
        into.device.append(number_of(segment, "device", "a segment", 0))
        into.pool.append(tables.pool(pool_of(segment)))
        into.stream.append(number_of(segment, "stream", "a segment", 0))
        into.small.append(int(segment.get("segment_type") == "small"))
        into.expandable.append(int(segment.get("is_expandable") is True))
        for block in list_of(segment.get("blocks", ()), "blocks"):
            block = map_of(block, "a block")
            size = number_of(block, "size", "a block")
            start = number_of(block, "address", "a block", address)
            blocks.segment.append(place)
            blocks.address.append(start)
            blocks.size_bytes.append(size)
            blocks.requested_bytes.append(number_of(block, "requested_size", "a block", size))
            blocks.state.append(state_of(block))
            blocks.stack.append(tables.stack(block.get("frames")))
            address = start + size  # torch before 2.1 gives no addresses of blocks
        if len(blocks.address) > MAX_ROWS:
            raise TooLargeError(f"a snapshot of more than {MAX_ROWS} blocks is not read")
    tables.item.segments, tables.item.blocks = into, blocks


def add_events(
    tables: Tables,
    traces: Any,
    wanted: Callable[[int, int, int], bool] = lambda at_us, device, address: True,
) -> None:
    """Fill `events` with torch's memory history, one list per device.

    Parameters
    ----------
    tables : Tables
    traces : sequence of sequence of dict
    wanted : callable
        ``wanted(at_us, device, address)``: which events to keep.

    Raises
    ------
    FormatError
        They are not what torch writes.
    TooLargeError
        More than `MAX_ROWS` events.
    """
    events = Events()
    for device, trace in enumerate(list_of(traces, "device_traces")):
        for event in list_of(trace, "a device's trace"):
            event = map_of(event, "an event")
            at = number_of(event, "time_us", "an event", 0)
            address = number_of(event, "addr", "an event", 0)
            if not wanted(at, device, address):
                continue
            action = event.get("action")
            number = _ACTION.get(action, len(ACTIONS) - 1) if isinstance(action, str) else 8
            events.action.append(number)
            events.device.append(device)
            events.address.append(address)
            events.size_bytes.append(number_of(event, "size", "an event", 0))
            events.stream.append(number_of(event, "stream", "an event", 0))
            events.at_us.append(at)
            events.stack.append(tables.stack(event.get("frames")))
            if len(events.action) > MAX_ROWS:
                raise TooLargeError(f"a history of more than {MAX_ROWS} events is not read")
    tables.item.events = events if events.action else None


def add_sums(tables: Tables, segments: Iterable[Mapping[str, Any]], mark: int) -> None:
    """Add the bytes of every pool at a mark to `sums`.

    Parameters
    ----------
    tables : Tables
    segments : iterable of dict
        All that torch's allocator holds, as torch gives it.
    mark : int
        Index into the item's marks.

    Notes
    -----
    Linear in segments and blocks.
    """
    found: dict[tuple[int, int], list[int]] = {}
    count = 0
    for segment in segments:
        key = number_of(segment, "device", "a segment", 0), tables.pool(pool_of(segment))
        row = found.setdefault(key, [0] * 6)
        row[0] += 1
        row[1] += number_of(segment, "total_size", "a segment")
        count += len(list_of(segment.get("blocks", ()), "blocks"))
        if count > MAX_ROWS:
            raise TooLargeError(f"a snapshot of more than {MAX_ROWS} blocks is not read")
        for block in segment.get("blocks", ()):
            size = number_of(block, "size", "a block")
            state = state_of(block)
            if state == 2:
                row[5] = max(row[5], size)
                continue
            row[3] += size
            if state == 0:
                row[2] += size
                row[4] += number_of(block, "requested_size", "a block", size)
    put_sums(tables, found, mark)


def put_sums(tables: Tables, found: Mapping[tuple[int, int], Sequence[int]], mark: int) -> None:
    """Add sums by (device, pool): segments, then bytes in the order of the columns of `Sums`."""
    sums = tables.item.sums
    if sums is None:
        sums = tables.item.sums = Sums()
    for (device, pool), row in sorted(found.items()):
        sums.mark.append(mark)
        sums.device.append(device)
        sums.pool.append(pool)
        sums.segments.append(row[0])
        sums.reserved_bytes.append(row[1])
        sums.allocated_bytes.append(row[2])
        sums.active_bytes.append(row[3])
        sums.requested_bytes.append(row[4])
        sums.largest_free_bytes.append(row[5])


def pool_of(segment: Mapping[str, Any]) -> tuple[int, int]:
    """Return the id of a segment's pool; torch before 2.1 tells none, which is the common one."""
    pool = segment.get("segment_pool_id", COMMON_POOL)
    if (
        isinstance(pool, (list, tuple))
        and len(pool) == 2
        and all(type(part) is int and 0 <= part < 1 << 63 for part in pool)
    ):
        return pool[0], pool[1]
    raise FormatError(f"a segment's pool is {short(pool)}, expected two numbers")
