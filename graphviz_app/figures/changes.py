"""The colouring of a comparison: what became of each node, and what only the other graph has."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from .scene import Colouring, LegendEntry


class Mark(IntEnum):
    """What became of a node; the number is its place in the legend."""

    SAME = 0
    TIME = 1
    """Differs in nothing but its duration, by more than noise."""
    CHANGED = 2
    SWAPPED = 3
    MOVED = 4
    ADDED = 5
    REMOVED = 6


WORDS = {
    Mark.SAME: "unchanged",
    Mark.TIME: "another time",
    Mark.CHANGED: "changed",
    Mark.SWAPPED: "other kernel",
    Mark.MOVED: "moved",
    Mark.ADDED: "added",
    Mark.REMOVED: "removed",
}
HINTS = {
    Mark.SAME: "No field differs, and no duration by more than noise",
    Mark.TIME: "No field differs; the duration does, by more than noise",
    Mark.CHANGED: "Another launch, argument or other field",
    Mark.SWAPPED: "Another kernel does the work of this node",
    Mark.MOVED: "On both sides, in another place of the order",
    Mark.ADDED: "Only in the graph after",
    Mark.REMOVED: "Only in the graph before",
}
COLOURS = {
    Mark.SAME: "#8A8F98",
    Mark.TIME: "#9DB7CC",
    Mark.CHANGED: "#E69F00",
    Mark.SWAPPED: "#CC79A7",
    Mark.MOVED: "#0072B2",
    Mark.ADDED: "#009E73",
    Mark.REMOVED: "#D55E00",
}
ABSENT = len(Mark)
"""Legend entries from here on are the marks of nodes that are not on the side that is shown."""


def by_change(marks: NDArray[np.uint8], absent: NDArray[np.bool_]) -> Colouring:
    """Colour nodes by what became of them.

    Parameters
    ----------
    marks : ndarray
        A :class:`Mark` per node, shape ``(n,)``.
    absent : ndarray
        Nodes of the other side alone, shape ``(n,)``: drawn as outlines.
    """
    index = marks.astype(np.int32) + ABSENT * absent.astype(np.int32)
    counts = np.bincount(index, minlength=2 * ABSENT)
    legend = [LegendEntry(WORDS[mark], COLOURS[mark], int(counts[mark])) for mark in Mark]
    legend += [
        LegendEntry(
            f"not here: {WORDS[mark]}", COLOURS[mark], int(counts[ABSENT + mark]), outline=True
        )
        for mark in Mark
    ]
    return Colouring("change", "Change", index, legend)


def counted_marks(marks: Sequence[int] | NDArray[np.uint8]) -> dict[Mark, int]:
    """Return how many nodes have each mark, in the order of the legend."""
    counts = np.bincount(np.asarray(marks, np.int64), minlength=len(Mark))
    return {mark: int(counts[mark]) for mark in Mark if counts[mark]}
