"""What torch's allocator told this very process, to tables: without checking every value. Pure.

Says what :mod:`capture.memory.torch_snapshot` says in a fraction of its time, and leaves to it what
an older torch tells otherwise. Snapshots of unknown origin are for that module.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ..memory_map import ACTIONS, Blocks, Events, Segments
from .snapshot_values import STATE_OF
from .torch_snapshot import (
    MAX_ROWS,
    Tables,
    add_events,
    add_segments,
    add_sums,
    pool_of,
    put_sums,
)

Row = Mapping[str, Any]
_ACTION = {name: number for number, name in enumerate(ACTIONS)}
_OTHER = ACTIONS.index("other")
_FREE = "inactive"


def add_live_segments(
    tables: Tables, segments: Sequence[Row], wanted: Callable[[Row], bool] = lambda segment: True
) -> None:
    """Fill `segments` and `blocks`, by address.

    Parameters
    ----------
    tables : Tables
    segments : sequence of dict
        As torch gives them.
    wanted : callable
        Which segments to keep.
    """
    into, blocks = Segments(), Blocks()
    frames: list[Any] = []
    try:
        rows = [row for row in sorted(segments, key=itemgetter("address")) if wanted(row)]
        for place, row in enumerate(rows):
            into.address.append(row["address"])
            into.size_bytes.append(row["total_size"])
            into.device.append(row["device"])
            into.pool.append(tables.pool(pool_of(row)))
            into.stream.append(row["stream"])
            into.small.append(int(row["segment_type"] == "small"))
            into.expandable.append(int(row["is_expandable"]))
            held = row["blocks"]
            blocks.segment += [place] * len(held)
            blocks.address += [block["address"] for block in held]
            blocks.size_bytes += [block["size"] for block in held]
            blocks.requested_bytes += [block["requested_size"] for block in held]
            blocks.state += [STATE_OF.get(block["state"], 0) for block in held]
            frames += [block.get("frames") for block in held]
        blocks.stack = tables.stacks(frames)
    except (KeyError, TypeError):
        add_segments(tables, segments, wanted)
        return
    if len(blocks.address) > MAX_ROWS:
        add_segments(tables, segments, wanted)  # which says so
        return
    tables.item.segments, tables.item.blocks = into, blocks


def add_live_sums(tables: Tables, segments: Sequence[Row], mark: int) -> None:
    """Add the bytes of every pool at a mark to `sums`.

    Parameters
    ----------
    tables : Tables
    segments : sequence of dict
        All that torch's allocator holds.
    mark : int
        Index into the item's marks.

    Notes
    -----
    torch adds up each segment itself; only those with free blocks are looked into.
    """
    found: dict[tuple[int, int], list[int]] = {}
    try:
        for segment in segments:
            key = segment["device"], tables.pool(pool_of(segment))
            row = found.setdefault(key, [0] * 6)
            total, used, active = (
                segment["total_size"],
                segment["allocated_size"],
                segment["active_size"],
            )
            row[0] += 1
            row[1] += total
            row[2] += used
            row[3] += active
            held = segment["blocks"]
            if used == active:
                row[4] += segment["requested_size"]
            else:  # torch counts what is waiting to be freed among the requested
                row[4] += sum(
                    block["requested_size"]
                    for block in held
                    if STATE_OF.get(block["state"], 0) == 0
                )
            if active != total:
                free = [block["size"] for block in held if block["state"] == _FREE]
                row[5] = max(row[5], *free) if free else row[5]
    except (KeyError, TypeError):
        add_sums(tables, segments, mark)
        return
    put_sums(tables, found, mark)


def add_live_events(tables: Tables, traces: Sequence[Sequence[Row]], from_us: int) -> int:
    """Fill `events` with what happened in the segments of `tables`; return how many were seen.

    Parameters
    ----------
    tables : Tables
        With segments.
    traces : sequence of sequence of dict
        torch's memory history, one list per device.
    from_us : int
        What happened before is left out.
    """
    segments = tables.item.segments
    starts = segments.address if segments is not None else []
    sizes = segments.size_bytes if segments is not None else []
    events = Events()
    inside: dict[int, bool] = {}
    try:
        for device, trace in enumerate(traces):
            for address in {event["addr"] for event in trace} - inside.keys():
                at = bisect_right(starts, address) - 1
                inside[address] = at >= 0 and address < starts[at] + sizes[at]
            kept = [
                event for event in trace if inside[event["addr"]] and event["time_us"] >= from_us
            ]
            events.action += [_ACTION.get(event["action"], _OTHER) for event in kept]
            events.device += [device] * len(kept)
            events.address += [event["addr"] for event in kept]
            events.size_bytes += [event["size"] for event in kept]
            events.stream += [event["stream"] for event in kept]
            events.at_us += [event["time_us"] for event in kept]
            events.stack += tables.stacks([event.get("frames") for event in kept])
        tables.item.events = events if events.action else None
    except (KeyError, TypeError):

        def wanted(at_us: int, device: int, address: int) -> bool:
            at = bisect_right(starts, address) - 1
            return at_us >= from_us and at >= 0 and address < starts[at] + sizes[at]

        add_events(tables, traces, wanted)
    return sum(map(len, traces))
