"""Align two sequences of keys at nearly the least cost, in time that grows with the differences.

The wavefront algorithm (Marco-Sola et al. 2021, doi:10.1093/bioinformatics/btaa777) on gap costs
that are linear, vectorised over diagonals. Runs of equal keys are skipped by hashes of windows
whose lengths are powers of two, so that equal parts cost next to nothing however long they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .banded import banded
from .costs import GAP, RELATED, UNRELATED, Ints, Pairs, Relations, Runs
from .relatedness import Relatedness
from .windows import Windows

LAG = 6_000
"""Diagonals that lie this far behind the furthest one, in keys of both sides, are given up."""
WIDEST = 1_024
"""Most diagonals that are followed at a time."""
PATIENCE = 20_000
"""Cost after which the rest is aligned within a band: such sequences have little in common."""

_NOWHERE = -(1 << 40)


class Pairing(NamedTuple):
    """What was laid side by side, as positions; all ascend.

    `equal_before[i]` and `equal_after[i]` are one pair, and so on.
    """

    equal_before: Ints
    equal_after: Ints
    related_before: Ints
    related_after: Ints
    unrelated_before: Ints
    unrelated_after: Ints


class _Front(NamedTuple):
    """How far every diagonal came for one cost; diagonal `low + k` is ``after - before``."""

    low: int
    reach: Ints

    @property
    def high(self) -> int:
        return self.low + len(self.reach) - 1

    def between(self, low: int, high: int) -> Ints:
        """Return the reach of diagonals, where it is not known a large negative number."""
        found = np.full(high - low + 1, _NOWHERE, dtype=np.int64)
        start, end = max(low, self.low), min(high, self.high)
        if start <= end:
            found[start - low : end - low + 1] = self.reach[start - self.low : end - self.low + 1]
        return found

    def at(self, diagonal: int) -> int:
        if self.low <= diagonal <= self.high:
            return int(self.reach[diagonal - self.low])
        return _NOWHERE


_EMPTY = _Front(0, np.empty(0, dtype=np.int64))


def pair(before: Ints, after: Ints, relations: Relations) -> Pairing:
    """Lay two sequences side by side.

    Parameters
    ----------
    before, after : array of int64
        Keys; not negative. Equal keys may be paired for nothing.
    relations : list of (array, array)
        Weaker keys of both: a pair that has any of them in common costs less than another one.
        Negative weaker keys relate to nothing.

    Returns
    -------
    Pairing

    Notes
    -----
    O((n + m) log n) for hashes, then a step per unit of cost, each over at most `WIDEST`
    diagonals. The cost is the least possible unless its path left the diagonals that were
    followed, see `LAG` and `WIDEST`, or is more than `PATIENCE`: from the place that had come
    furthest by then on, it is the least within a band, see :mod:`.banded`.

    Examples
    --------
    >>> found = pair(np.array([1, 2, 3]), np.array([1, 3]), [])
    >>> found.equal_before.tolist(), found.equal_after.tolist()
    ([0, 2], [0, 1])
    """
    same = min(len(before), len(after))
    differing = np.flatnonzero(before[:same] != after[:same])
    start = int(differing[0]) if len(differing) else same
    left = same - start
    differing = np.flatnonzero(
        before[len(before) - left :][::-1] != after[len(after) - left :][::-1]
    )
    end = int(differing[0]) if len(differing) else left
    inner = slice(start, len(before) - end), slice(start, len(after) - end)
    runs, related, unrelated = _middle(
        before[inner[0]],
        after[inner[1]],
        [(one[inner[0]], other[inner[1]]) for one, other in relations],
    )
    runs = [(0, 0, start), *((i + start, j + start, count) for i, j, count in runs)]
    runs.append((len(before) - end, len(after) - end, end))
    return Pairing(
        _spread([(i, count) for i, _, count in runs]),
        _spread([(j, count) for _, j, count in runs]),
        *(np.array([p[side] + start for p in related], dtype=np.int64) for side in (0, 1)),
        *(np.array([p[side] + start for p in unrelated], dtype=np.int64) for side in (0, 1)),
    )


def _spread(runs: list[tuple[int, int]]) -> Ints:
    parts = [np.arange(start, start + count, dtype=np.int64) for start, count in runs if count]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _middle(before: Ints, after: Ints, relations: Relations) -> tuple[Runs, Pairs, Pairs]:
    """Return runs of equal keys, related pairs and unrelated pairs; none touches another's key."""
    if not len(before) or not len(after):
        return [], [], []
    windows = Windows(before, after)
    related = Relatedness(len(before), len(after), relations)
    fronts = [_slid(_Front(0, np.zeros(1, dtype=np.int64)), windows, len(before), len(after))]
    goal = len(after) - len(before)
    while fronts[-1].at(goal) < len(before):
        if len(fronts) > PATIENCE and len(fronts[-1].reach):
            return _given_up(fronts, before, after, relations, related)
        fronts.append(_next(fronts, windows, len(before), len(after), related))
    return _traced(fronts, goal, len(before), len(before), len(after), related)


def _given_up(
    fronts: list[_Front],
    before: Ints,
    after: Ints,
    relations: Relations,
    relatedness: Relatedness,
) -> tuple[Runs, Pairs, Pairs]:
    """Go the way that came furthest, and within a band from there on."""
    last = fronts[-1]
    best = int(np.argmax(2 * last.reach + np.arange(last.low, last.high + 1)))
    i, diagonal = int(last.reach[best]), last.low + best
    j = i + diagonal
    runs, related, unrelated = _traced(fronts, diagonal, i, len(before), len(after), relatedness)
    more = banded(before[i:], after[j:], [(one[i:], other[j:]) for one, other in relations])
    runs += [(i + here, j + there, count) for here, there, count in more[0]]
    related += [(i + here, j + there) for here, there in more[1]]
    unrelated += [(i + here, j + there) for here, there in more[2]]
    return runs, related, unrelated


def _past(fronts: list[_Front], cost: int) -> _Front:
    return fronts[-cost] if len(fronts) >= cost else _EMPTY


def _next(fronts: list[_Front], windows: Windows, n: int, m: int, related: Relatedness) -> _Front:
    one, two, three = (_past(fronts, cost) for cost in (RELATED, GAP, UNRELATED))
    known = [front for front in (one, two, three) if len(front.reach)]
    if not known:
        return _EMPTY
    low = max(min(front.low for front in known) - 1, -n)
    high = min(max(front.high for front in known) + 1, m)
    diagonals = np.arange(low, high + 1)
    gap = two.between(low - 1, high + 1)
    reach = np.maximum(gap[:-2], gap[2:] + 1)
    np.maximum(reach, three.between(low, high) + 1, out=reach)
    if len(one.reach):
        here = one.between(low, high)
        there = here + diagonals
        open_ = np.flatnonzero((here >= 0) & (here < n) & (there < m))
        chosen = open_[related.of(here[open_], there[open_])]
        reach[chosen] = np.maximum(reach[chosen], here[chosen] + 1)
    reach[(reach < 0) | (reach > n) | (reach + diagonals > m)] = _NOWHERE
    return _trimmed(_slid(_Front(low, reach), windows, n, m))


def _slid(front: _Front, windows: Windows, n: int, m: int) -> _Front:
    """Follow every diagonal over equal keys."""
    reach = front.reach
    there = reach + np.arange(front.low, front.low + len(reach))
    open_ = np.flatnonzero((reach >= 0) & (reach < n) & (there < m))
    if len(open_):
        level = windows.levels[0]
        going = open_[level[reach[open_]] == level[there[open_] + windows.shift]]
        if len(going):
            reach[going] += windows.run_lengths(reach[going], there[going])
    return front


def _trimmed(front: _Front) -> _Front:
    """Give up diagonals at both ends that lie far behind."""
    reach = front.reach
    progress = 2 * reach + np.arange(front.low, front.low + len(reach))
    best = int(progress.max(initial=_NOWHERE))
    if best < 0:
        return _EMPTY
    near = np.flatnonzero(progress >= best - LAG)
    start, end = int(near[0]), int(near[-1]) + 1
    while end - start > WIDEST:
        spare = end - start - WIDEST
        if progress[start] <= progress[end - 1]:
            start += max(1, spare // 2)
        else:
            end -= max(1, spare // 2)
    return _Front(front.low + start, reach[start:end])


def _traced(
    fronts: list[_Front],
    diagonal: int,
    reach: int,
    n: int,
    m: int,
    relatedness: Relatedness,
) -> tuple[Runs, Pairs, Pairs]:
    """Walk back to the start from where a diagonal has come to."""
    runs: Runs = []
    related: Pairs = []
    unrelated: Pairs = []
    cost = len(fronts) - 1
    while cost:
        gap = fronts[cost - GAP] if cost >= GAP else _EMPTY
        inserted, deleted = gap.at(diagonal - 1), gap.at(diagonal + 1) + 1
        swapped = fronts[cost - UNRELATED].at(diagonal) + 1 if cost >= UNRELATED else _NOWHERE
        near = fronts[cost - RELATED].at(diagonal)
        inside = 0 <= near < n and 0 <= near + diagonal < m
        if not inside or not relatedness.pair(near, near + diagonal):
            near = _NOWHERE
        came = [
            found if found <= n and found + diagonal <= m else _NOWHERE
            for found in (near + 1, swapped, inserted, deleted)
        ]
        start = max(came)
        if reach > start:
            runs.append((start, start + diagonal, reach - start))
        how = came.index(start)
        if how < 2:
            (related, unrelated)[how].append((start - 1, start - 1 + diagonal))
            cost -= (RELATED, UNRELATED)[how]
            reach = start - 1
        else:
            cost -= GAP
            diagonal += -1 if how == 2 else 1
            reach = start if how == 2 else start - 1
    if reach:
        runs.append((0, 0, reach))
    return runs[::-1], related[::-1], unrelated[::-1]
