"""The least cost, against dynamic programming over all cells."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from capture.compare import wavefront
from capture.compare.banded import BAND, banded
from capture.compare.wavefront import GAP, RELATED, UNRELATED, pair


def least_cost(before: list[int], after: list[int], weak: int) -> int:
    """Return the cost of the best alignment; keys relate when they are equal divided by `weak`."""
    row = [GAP * j for j in range(len(after) + 1)]
    for i, one in enumerate(before, 1):
        last, row = row, [GAP * i]
        for j, other in enumerate(after, 1):
            step = 0 if one == other else RELATED if one // weak == other // weak else UNRELATED
            row.append(min(last[j - 1] + step, last[j] + GAP, row[j - 1] + GAP))
    return row[-1]


@pytest.mark.parametrize("patience", [wavefront.PATIENCE, 0], ids=["wavefronts", "band"])
@pytest.mark.parametrize("seed", range(60))
def test_cost_is_the_least_possible(
    seed: int, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They are shorter than the band is wide.
    monkeypatch.setattr(wavefront, "PATIENCE", patience)
    dice = random.Random(seed)
    letters = dice.choice([2, 6, 40])
    before = [dice.randrange(letters) for _ in range(dice.randrange(40))]
    after = [dice.randrange(letters) for _ in range(dice.randrange(40))]
    one, other = np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)
    found = pair(one, other, [(one // 2, other // 2)])
    assert (one[found.equal_before] == other[found.equal_after]).all()
    assert (one[found.related_before] // 2 == other[found.related_after] // 2).all()
    pairs = sorted(
        (i, j)
        for left, right in (found[0:2], found[2:4], found[4:6])
        for i, j in zip(left.tolist(), right.tolist(), strict=True)
    )
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    cost = (
        GAP * (len(before) + len(after) - 2 * len(pairs))
        + RELATED * len(found.related_before)
        + UNRELATED * len(found.unrelated_before)
    )
    assert cost == least_cost(before, after, 2)


def test_the_band_follows_what_drifts_away() -> None:
    dice = random.Random(5)
    before = [dice.randrange(50) for _ in range(4_000)]
    added = sorted(dice.sample(range(len(before)), 3 * BAND))
    after = list(before)
    for place in reversed(added):
        after.insert(place, 50)
    for one, other in ((before, after), (after, before)):
        runs, related, unrelated = banded(np.array(one), np.array(other), [])
        assert sum(count for _, _, count in runs) == len(before)
        assert (related, unrelated) == ([], [])
        for i, j, count in runs:
            assert one[i : i + count] == other[j : j + count]


def test_negative_weaker_keys_relate_to_nothing() -> None:
    one, other = np.array([1]), np.array([2])
    found = pair(one, other, [(np.array([-1]), np.array([-1]))])
    assert len(found.related_before) == 0


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 5), (5, 0)])
def test_an_empty_side_pairs_nothing(left: int, right: int) -> None:
    found = pair(np.arange(left), np.arange(right), [])
    assert all(len(column) == 0 for column in found)
