"""Which pairs of keys are related by a weaker key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .costs import Ints, Relations

MOST_CELLS = 1 << 22
"""Pairs of kinds of keys of which a table is made."""


class Relatedness:
    """Answers for many pairs at a time.

    Keys that have all weaker keys in common are of one kind; there are few kinds, so a table says
    which of them are related.

    Parameters
    ----------
    before, after : int
        Numbers of keys.
    relations : list of (array, array)
    """

    def __init__(self, before: int, after: int, relations: Relations) -> None:
        self._relations = relations
        self._table: npt.NDArray[np.bool_] | None = None
        if not relations or not before or not after:
            return
        one, self._one = _kinds([left for left, _ in relations])
        other, self._other = _kinds([right for _, right in relations])
        if one.shape[1] * other.shape[1] <= MOST_CELLS:
            table = np.zeros((one.shape[1], other.shape[1]), dtype=np.bool_)
            for left, right in zip(one, other, strict=True):
                table |= (left[:, None] == right[None, :]) & (left[:, None] >= 0)
            self._table = table.reshape(-1)
            self._one *= other.shape[1]

    def of(self, before: Ints, after: Ints) -> npt.NDArray[np.bool_]:
        """Say of places on both sides which pairs are related."""
        if self._table is not None:
            found: npt.NDArray[np.bool_] = self._table.take(
                self._one.take(before) + self._other.take(after)
            )
            return found
        fits = np.zeros(len(before), dtype=np.bool_)
        for left, right in self._relations:
            fits |= (left[before] == right[after]) & (left[before] >= 0)
        return fits

    def pair(self, before: int, after: int) -> bool:
        """Say whether one pair is related."""
        return any(
            left[before] == right[after] and left[before] >= 0 for left, right in self._relations
        )


def _kinds(columns: list[Ints]) -> tuple[Ints, Ints]:
    """Return the distinct columns, and the number of each place's."""
    kinds, of = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return kinds, of.reshape(-1).astype(np.int64)
