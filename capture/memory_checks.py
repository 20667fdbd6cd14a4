"""Checks of stored memory: indices lie in their tables, and columns belong together."""

from __future__ import annotations

from typing import Any

from .errors import FormatError, InvalidGraphError
from .memory_after import FREE_COLUMNS, REBIND_COLUMNS
from .memory_map import ACTIONS, NAME_COLUMNS, RANGE_COLUMNS, STATES, SUM_COLUMNS, MemoryMap


def check(item: MemoryMap, where: str) -> None:
    """Check that indices lie in their tables.

    Raises
    ------
    InvalidGraphError
        One does not.
    FormatError
        A size or an address is negative.
    """
    segments, blocks, events, sums = item.segments, item.blocks, item.events, item.sums
    for name, columns, needed in (
        ("segments", segments, ("device", "address", "size_bytes", "pool")),
        ("blocks", blocks, ("segment", "address", "size_bytes", "state")),
        ("events", events, ("action", "address", "size_bytes", "at_us")),
        ("names", item.names, NAME_COLUMNS),
        ("sums", sums, SUM_COLUMNS),
        ("ranges", getattr(item, "ranges", None), RANGE_COLUMNS),
        ("frees", getattr(item, "frees", None), FREE_COLUMNS),
        ("rebinds", getattr(item, "rebinds", None), REBIND_COLUMNS),
    ):
        _together(columns, needed, f"{where}.{name}")
    frames, stacks, pools = len(item.frames), len(item.stacks), len(item.pools)
    for number, stack in enumerate(item.stacks):
        _inside(stack, frames, f"{where}.stacks[{number}]", "frames", 0)
    if segments is not None:
        _inside(segments.pool, pools, f"{where}.segments.pool", "pools", 0)
        _not_negative(segments.address, segments.size_bytes, f"{where}.segments")
    if blocks is not None:
        held = len(segments.address) if segments is not None else 0
        _inside(blocks.segment, held, f"{where}.blocks.segment", "segments", 0)
        _inside(blocks.state, len(STATES), f"{where}.blocks.state", "states", 0)
        _inside(blocks.stack, stacks, f"{where}.blocks.stack", "stacks", -1)
        _not_negative(blocks.address, blocks.size_bytes, f"{where}.blocks")
    if events is not None:
        _inside(events.action, len(ACTIONS), f"{where}.events.action", "actions", 0)
        _inside(events.stack, stacks, f"{where}.events.stack", "stacks", -1)
    if sums is not None:
        _inside(sums.mark, len(item.marks), f"{where}.sums.mark", "marks", 0)
        _inside(sums.pool, pools, f"{where}.sums.pool", "pools", 0)
    _check_after(item, stacks, where)
    _inside(
        [counters.mark for counters in item.counters],
        len(item.marks),
        f"{where}.counters",
        "marks",
        0,
    )


def _check_after(item: MemoryMap, stacks: int, where: str) -> None:
    """Check what happened after captures, which a process has and a graph has not."""
    for name, columns in (("frees", ("stack", "reused_stack")), ("rebinds", ("stack",))):
        part = getattr(item, name, None)
        if part is None:
            continue
        for column in columns:
            _inside(getattr(part, column), stacks, f"{where}.{name}.{column}", "stacks", -1)
        _not_negative(part.address, part.size_bytes, f"{where}.{name}")


def _together(columns: Any, needed: tuple[str, ...], where: str) -> None:
    if columns is None:
        return
    counts = {name: len(getattr(columns, name)) for name in needed}
    if len(set(counts.values())) > 1:
        raise FormatError(f"{where} has columns of different lengths: {counts}")


def _inside(values: Any, count: int, where: str, table: str, lowest: int) -> None:
    if values and not (min(values) >= lowest and max(values) < count):
        wrong = next(value for value in values if not lowest <= value < count)
        raise InvalidGraphError(
            f"{where} has {wrong}, expected a place among the {count} {table}"
            + (" or -1" if lowest < 0 else "")
        )


def _not_negative(addresses: list[int], sizes: list[int], where: str) -> None:
    for values in (addresses, sizes):
        if values and (min(values) < 0 or max(values) >= 1 << 64):
            raise FormatError(f"{where} has an address or a size that is none: {min(values)}")
