"""Argument bytes of kernel launches, read where the driver keeps them.

A launch points to each of its parameters. The driver mostly keeps them in one piece, at the
offsets that the kernel sees, so many are read at a time: launches of one function together, and
of those every run of parameters that lie in memory as they lie in the layout.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, repeat, starmap
from operator import itemgetter, sub
from typing import Any, NamedTuple

from .memory import MEMORY
from .records import LaunchRow, Layout

_TABLE, _PACKED = itemgetter(8), itemgetter(9)
_WORD = struct.Struct("<Q").unpack_from
# cuda.h knows two keys of `extra`; a list without an end is not followed further.
_PACKED_PAIRS = 4


class _Run(NamedTuple):
    """Parameters read at once."""

    parameter: int
    """The first of them."""
    bytes: int
    unpack: Callable[..., tuple[Any, ...]]
    """Cuts them out of memory, leaving out what lies between."""


class _Plan(NamedTuple):
    """How to read launches of one layout whose parameters lie in memory in one way."""

    runs: list[_Run]
    pack: Callable[..., bytes]
    """Puts what the runs gave at its offsets, zeros between."""
    as_is: bool
    """The only run is the buffer."""


@lru_cache(maxsize=1024)
def _plan(layout: tuple[tuple[int, int], ...], follows: tuple[bool, ...]) -> _Plan:
    """Plan the reading of a layout.

    Parameters
    ----------
    layout : tuple of (int, int)
        Offset and size of each parameter, by offset.
    follows : tuple of bool
        Whether each parameter lies in memory where the layout has it, seen from the one before.
    """
    # Of each run: its first parameter, and its pieces as [bytes left out before, bytes kept].
    runs: list[tuple[int, list[list[int]]]] = []
    end = 0
    for index, ((offset, size), joined) in enumerate(zip(layout, follows, strict=True)):
        if not joined:
            runs.append((index, [[offset - end, size]]))
        elif offset == end:
            runs[-1][1][-1][1] += size
        else:
            runs[-1][1].append([offset - end, size])
        end = offset + size

    def cutter(pieces: Sequence[Sequence[int]]) -> struct.Struct:
        return struct.Struct("<" + "".join(f"{skipped}x{kept}s" for skipped, kept in pieces))

    planned = []
    for index, ((_, first), *others) in runs:
        cut = cutter([(0, first), *others])
        planned.append(_Run(index, cut.size, cut.unpack_from))
    pieces = [piece for _, pieces in runs for piece in pieces]
    return _Plan(planned, cutter(pieces).pack, len(pieces) == 1 and pieces[0][0] == 0)


@lru_cache(maxsize=1024)
def _columns(layout: tuple[tuple[int, int], ...]) -> tuple[Callable[..., Any], tuple[int, ...]]:
    """Return what unpacks the pointers of a launch, and the parameters ordered by offset."""
    order = tuple(sorted(range(len(layout)), key=layout.__getitem__))
    return struct.Struct(f"<{len(layout)}Q").unpack_from, order


def _read(layout: Layout, addresses: Sequence[int]) -> list[bytes]:
    """Read the arguments that ``kernelParams`` at each address points to."""
    declared = tuple(layout)
    unpack, order = _columns(declared)
    columns = list(zip(*map(unpack, repeat(MEMORY), addresses), strict=True))
    columns = [columns[index] for index in order]
    declared = tuple(declared[index] for index in order)
    follows = [False]
    first, first_offset = columns[0], declared[0][0]
    for column, (offset, _) in zip(columns[1:], declared[1:], strict=True):
        joined = list(map(sub, column, first)) == [offset - first_offset] * len(first)
        follows.append(joined)
        if not joined:
            first, first_offset = column, offset
    runs, pack, as_is = _plan(declared, tuple(follows))
    if as_is:
        size = runs[0].bytes
        return [MEMORY[start : start + size] for start in columns[0]]
    parts = [map(run.unpack, repeat(MEMORY), columns[run.parameter]) for run in runs]
    if len(parts) == 1:
        return list(starmap(pack, parts[0]))
    return list(starmap(pack, map(chain.from_iterable, zip(*parts, strict=True))))


def _read_packed(address: int) -> bytes | None:
    """Read ``extra``: (key, value) pairs up to a 0; 1 is the buffer, 2 points to its size."""
    buffer = size_at = 0
    for at in range(address, address + 16 * _PACKED_PAIRS, 16):
        (key,) = _WORD(MEMORY, at)
        if key == 0:
            break
        (value,) = _WORD(MEMORY, at + 8)
        if key == 1:
            buffer = value
        elif key == 2:
            size_at = value
    if not buffer or not size_at:
        return None
    return MEMORY[buffer : buffer + _WORD(MEMORY, size_at)[0]]


def read_arguments(
    launches: Sequence[LaunchRow], layouts: Sequence[Layout | None]
) -> list[bytes | None]:
    """Read the argument buffer of each launch.

    Parameters
    ----------
    launches : sequence of LaunchRow
    layouts : sequence of Layout or None
        Of the function of each. Launches whose layout is one object are read together.

    Returns
    -------
    list of bytes or None
        ``None`` where the layout is not known and the launch passed no packed buffer, or where
        the launch points nowhere.
    """
    packed = list(map(_PACKED, launches))
    tables = list(map(_TABLE, launches))
    if any(packed):
        singles = [index for index, address in enumerate(packed) if not address]
        found = [_read_packed(address) if address else None for address in packed]
        buffers = _read_groups([tables[at] for at in singles], [layouts[at] for at in singles])
        for index, buffer in zip(singles, buffers, strict=True):
            found[index] = buffer
        return found
    return _read_groups(tables, layouts)


def _read_groups(tables: Sequence[int], layouts: Sequence[Layout | None]) -> list[bytes | None]:
    """Read launches together whose layout is one object."""
    if not tables:
        return []
    keys = list(map(id, layouts))
    if keys.count(keys[0]) == len(keys):
        return _read_group(tables, layouts[0])
    found: list[bytes | None] = [None] * len(tables)
    groups: dict[int, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        groups[key].append(index)
    for indices in groups.values():
        buffers = _read_group([tables[at] for at in indices], layouts[indices[0]])
        for index, buffer in zip(indices, buffers, strict=True):
            found[index] = buffer
    return found


def _read_group(tables: Sequence[int], layout: Layout | None) -> list[bytes | None]:
    """Read launches of one layout, given the address of each one's pointers."""
    if layout is None:
        return [None] * len(tables)
    if not layout:
        return [b""] * len(tables)
    if 0 not in tables:
        return [*_read(layout, tables)]
    present = [address for address in tables if address]
    buffers = iter(_read(layout, present) if present else ())
    return [next(buffers) if address else None for address in tables]
