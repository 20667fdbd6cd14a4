"""Align two sequences within a band, for what has too little in common for wavefronts.

Dynamic programming over the cells of a band of diagonals (Sankoff and Kruskal 1983), a row at a
time. The band follows the best cell, as of what is left to reach the end from there, so the cost
is the least within it, and time does not grow with the differences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .costs import GAP, RELATED, UNRELATED, Ints, Pairs, Relations, Runs

BAND = 128
"""Diagonals that are followed."""
STEADY = 16
"""Rows between two moves of the band."""
_FAR = 1 << 29
_MATCH, _DELETE, _INSERT = range(3)


class _Rows(NamedTuple):
    """How each cell was reached, and the lowest diagonal of each row's band."""

    how: npt.NDArray[np.uint8]
    low: list[int]
    last: npt.NDArray[np.int32]


def banded(before: Ints, after: Ints, relations: Relations) -> tuple[Runs, Pairs, Pairs]:
    """Return runs of equal keys, related pairs and unrelated pairs.

    Parameters
    ----------
    before, after : array of int64
    relations : list of (array, array)
        As for :func:`.wavefront.pair`.

    Notes
    -----
    O(n `BAND`) for n keys of `before`, in time and in bytes. What lies more than half a band away
    from the way that was followed is not found.
    """
    if not len(before) or not len(after):
        return [], [], []
    steps = _Steps(before, after, relations)
    rows = _filled(len(before), len(after), steps)
    return _traced(rows, len(before), len(after), steps)


class _Steps:
    """What a pair of keys costs, for one key against a stretch of the other side's."""

    def __init__(self, before: Ints, after: Ints, relations: Relations) -> None:
        columns = [before, *(left for left, _ in relations)]
        # Keys that are alike in every way cost the same against all.
        _, first, alike = np.unique(
            np.stack(columns), axis=1, return_index=True, return_inverse=True
        )
        self._alike: list[int] = alike.reshape(-1).tolist()
        self._first: list[int] = first.tolist()
        self._before, self._after, self._relations = before, after, relations
        self._rows: dict[int, npt.NDArray[np.int32]] = {}
        self._most = max(1, (64 << 20) // (4 * (len(after) + 2 * BAND)))

    def row(self, i: int) -> npt.NDArray[np.int32]:
        """Return costs against all of `after`, with `BAND` cells out of reach on each side."""
        kind = self._alike[i]
        found = self._rows.get(kind)
        if found is None:
            at = self._first[kind]
            found = np.full(len(self._after) + 2 * BAND, _FAR, dtype=np.int32)
            inner = found[BAND:-BAND]
            inner[:] = UNRELATED
            for left, right in self._relations:
                if left[at] >= 0:
                    inner[right == left[at]] = RELATED
            inner[self._after == self._before[at]] = 0
            if len(self._rows) >= self._most:
                self._rows.clear()
            self._rows[kind] = found
        return found


def _filled(n: int, m: int, steps: _Steps) -> _Rows:
    """Fill the band row by row; diagonal `low + k` is ``after - before``."""
    slope = np.arange(BAND, dtype=np.int32) * np.int32(GAP)
    how = np.empty((n + 1, BAND), dtype=np.uint8)
    low = -(BAND // 2)
    lows = [low]
    diagonals = np.arange(BAND, dtype=np.int32)
    row = np.where(diagonals + low >= 0, GAP * (diagonals + low), _FAR).astype(np.int32)
    row[max(0, m - low + 1) :] = _FAR
    how[0] = _INSERT
    above = np.full(BAND + 1, _FAR, dtype=np.int32)
    for i in range(1, n + 1):
        above[:BAND] = row
        if i % STEADY == 0:
            shift = _shift(row, low, m - n)
            if shift:
                above[:] = _FAR
                kept = row[max(0, shift) : BAND + min(0, shift)]
                start = max(0, -shift)
                above[start : start + len(kept)] = kept
                low += shift
        # The key of `after` that ends at a cell of this row is one before the cell's column.
        start = i + low - 1 + BAND
        costs = steps.row(i - 1)
        match = above[:BAND].copy()
        inside = max(0, -start), min(BAND, len(costs) - start)
        match[: inside[0]] = _FAR
        match[max(inside[1], 0) :] = _FAR
        if inside[0] < inside[1]:
            match[inside[0] : inside[1]] += costs[start + inside[0] : start + inside[1]]
        delete = above[1:] + np.int32(GAP)
        ways = how[i]
        np.less(delete, match, out=ways.view(np.bool_))
        best = np.minimum(match, delete)
        row = np.minimum.accumulate(best - slope) + slope
        row[max(0, m - i - low + 1) :] = _FAR
        ways[row < best] = _INSERT
        np.minimum(row, _FAR, out=row)
        lows.append(low)
    return _Rows(how, lows, row)


def _shift(row: npt.NDArray[np.int32], low: int, goal: int) -> int:
    """Return by how many diagonals the band moves, to have the most promising one in its middle."""
    left = np.abs(np.arange(low, low + BAND) - goal) * GAP
    # Gaps on the way to the last diagonal cost the same now or later: later leaves a choice.
    best = int(np.argmin(1024 * row.astype(np.int64) + 1023 * left)) - BAND // 2
    return max(-(BAND // 4), min(BAND // 4, best))


def _traced(rows: _Rows, n: int, m: int, steps: _Steps) -> tuple[Runs, Pairs, Pairs]:
    runs: Runs = []
    related: Pairs = []
    unrelated: Pairs = []
    low = rows.low[n]
    columns = np.arange(BAND) + low + n
    rest = np.where((columns >= 0) & (columns <= m), (m - columns) * GAP, _FAR)
    i, k = n, int(np.argmin(rows.last.astype(np.int64) + rest))
    while i:
        how, low = rows.how[i, k], rows.low[i]
        if how == _INSERT:
            k -= 1
            continue
        k += low - rows.low[i - 1]
        if how == _DELETE:
            k += 1
        else:
            j = i + low + k - (low - rows.low[i - 1]) - 1
            cost = int(steps.row(i - 1)[j + BAND])
            if cost:
                (related if cost == RELATED else unrelated).append((i - 1, j))
            elif runs and runs[-1][0] == i and runs[-1][1] == j + 1:
                runs[-1] = (i - 1, j, runs[-1][2] + 1)
            else:
                runs.append((i - 1, j, 1))
        i -= 1
    return runs[::-1], related[::-1], unrelated[::-1]
