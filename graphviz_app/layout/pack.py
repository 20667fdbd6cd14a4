"""Shelves: parallel parts that depend on nothing of one another, stacked when they are too many.

A fork of 64 short chains is 64 lanes by 3 levels, which no screen shows. Its chains are
independent between the fork and the join, so they may stand in rows of eight instead; every
edge still goes down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .chains import Chains, connected

SIMILAR_HEIGHT = 0.25
"""A part shorter than this share of its shelf starts a shelf of its own."""


@dataclass(frozen=True)
class Placement:
    """Cells of an unwrapped picture: one row and one lane per node, shape ``(n,)``."""

    row: NDArray[np.int64]
    lane: NDArray[np.int64]
    rows: int


def shelve(
    heights: Sequence[int], widths: Sequence[int], limit: int, tallest_without_gap: int = 0
) -> tuple[list[int], list[int], int]:
    """Put boxes on shelves at most ``limit`` lanes wide, the tallest first.

    An empty row under a shelf keeps the edges out of it apart from those into the next; shelves
    of at most ``tallest_without_gap`` rows go without.

    Returns
    -------
    tuple
        Row and lane of each box's corner, and the rows used in all.
    """
    row, lane = [0] * len(heights), [0] * len(heights)
    top = height = used = 0
    for i in sorted(range(len(heights)), key=lambda i: -heights[i]):
        full = used > 0 and used + widths[i] > limit
        if full or heights[i] < height * SIMILAR_HEIGHT:
            gap = height > tallest_without_gap
            top, height, used = top + height + gap, 0, 0
        row[i], lane[i] = top, used
        used += widths[i]
        height = max(height, heights[i])
    return row, lane, top + height


def _stack_components(
    chains: Chains, level: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the level and the lane that each chain's component is moved by."""
    component = chains.component
    count = int(component.max()) + 1
    if count == 1:
        zero = np.zeros(len(component), dtype=np.int64)
        return zero, zero
    heights = np.zeros(count, dtype=np.int64)
    widths = np.zeros(count, dtype=np.int64)
    np.maximum.at(heights, component[chains.chain], level + 1)
    np.maximum.at(widths, component, chains.lane + 1)
    rows, lanes, _ = shelve(heights.tolist(), widths.tolist(), limit, tallest_without_gap=1)
    return np.array(rows)[component], np.array(lanes)[component]


def _wide_slabs(
    first: NDArray[np.int64], last: NDArray[np.int64], levels: int, limit: int
) -> NDArray[np.int64]:
    """Count off the runs of levels in which more than ``limit`` chains are alive; 0 is none."""
    alive = np.bincount(first, minlength=levels + 1) - np.bincount(last + 1, minlength=levels + 1)
    wide = np.cumsum(alive)[:levels] > limit
    starts = wide & ~np.concatenate([[False], wide[:-1]])
    return np.where(wide, np.cumsum(starts), 0)


def place(
    chains: Chains,
    level: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    limit: int,
) -> Placement:
    """Place every node in a row and a lane, at most ``limit`` lanes wide where that is possible.

    A part that hangs together and is wider than ``limit`` stays as wide as it is.
    """
    moved, aside = _stack_components(chains, level, limit)
    level = level + moved[chains.chain]
    lane = (chains.lane + aside)[chains.chain]
    levels = int(level.max()) + 1
    slab_of_level = _wide_slabs(chains.first + moved, chains.last + moved, levels, limit)
    slabs = int(slab_of_level.max())
    if not slabs:
        return Placement(level, lane, levels)

    slab = slab_of_level[level]
    inside = np.flatnonzero(slab)
    key, piece_inside = np.unique(
        slab[inside] * len(chains.first) + chains.chain[inside], return_inverse=True
    )
    piece = np.full(len(level), -1)
    piece[inside] = piece_inside.reshape(-1)
    joined = (slab[source] > 0) & (slab[source] == slab[target]) & (piece[source] != piece[target])
    part_of_piece = connected(len(key), piece[source[joined]], piece[target[joined]])
    part = np.full(len(level), -1)
    part[inside] = part_of_piece[piece[inside]]
    parts = int(part_of_piece.max()) + 1

    top = np.full(parts, levels)
    bottom = np.zeros(parts, dtype=np.int64)
    np.minimum.at(top, part[inside], level[inside])
    np.maximum.at(bottom, part[inside], level[inside])
    lanes = int(lane.max()) + 1
    pairs, rank = np.unique(part[inside] * lanes + lane[inside], return_inverse=True)
    begin = np.searchsorted(pairs, np.arange(parts) * lanes)
    widths = np.diff(np.append(begin, len(pairs)))
    local = rank.reshape(-1) - begin[part[inside]]

    slab_of_part = np.zeros(parts, dtype=np.int64)
    slab_of_part[part[inside]] = slab[inside]
    members = np.argsort(slab_of_part, kind="stable")
    edges = np.searchsorted(slab_of_part[members], np.arange(1, slabs + 2))
    row_of_part = np.zeros(parts, dtype=np.int64)
    lane_of_part = np.zeros(parts, dtype=np.int64)
    height_of_level = np.where(slab_of_level > 0, 0, 1)
    begin_of_slab = np.searchsorted(np.maximum.accumulate(slab_of_level), np.arange(1, slabs + 1))
    heights = bottom - top + 1
    for k in range(slabs):
        mine = members[edges[k] : edges[k + 1]]
        rows, columns, total = shelve(heights[mine].tolist(), widths[mine].tolist(), limit)
        row_of_part[mine], lane_of_part[mine] = rows, columns
        height_of_level[begin_of_slab[k]] = total
    base = np.cumsum(height_of_level) - height_of_level
    row = base[level]
    row[inside] = (
        base[begin_of_slab[slab[inside] - 1]]
        + row_of_part[part[inside]]
        + level[inside]
        - top[part[inside]]
    )
    lane = lane.copy()
    lane[inside] = lane_of_part[part[inside]] + local
    return Placement(row, lane, int(height_of_level.sum()))
