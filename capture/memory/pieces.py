"""Memory divided where ranges begin and end. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

MOST_STEPS = 1_000_000
"""Steps over pieces of overlapping memory; more are not taken."""
Range = tuple[int, int]
Piece = tuple[int, list[int]]
"""First byte, or 0 where each range begins there itself; and places of ranges in order."""


class Divider:
    """Divides groups of ranges, as long as that does not take too many steps.

    Attributes
    ----------
    whole : bool
        Whether all overlaps were looked at.
    """

    def __init__(self) -> None:
        self.whole = True
        self._steps = 0

    def pieces(self, ranges: Sequence[Range]) -> list[Piece]:
        """Divide a group; what only one range covers is left out.

        Parameters
        ----------
        ranges : sequence of tuple of two int
            First byte and end.
        """
        if ranges.count(ranges[0]) == len(ranges):
            return [(0, list(range(len(ranges))))]
        spans = sorted(set(ranges))
        if all(one[1] <= other[0] for one, other in pairwise(spans)):
            return _apart(ranges)
        ends = sorted({end for span in spans for end in span})
        places = {span: (bisect_left(ends, span[0]), bisect_left(ends, span[1])) for span in spans}
        self._steps += sum(last - first for first, last in (places[item] for item in ranges))
        if self._steps > MOST_STEPS:
            self.whole = False
            return _apart(ranges)
        pieces: list[list[int]] = [[] for _ in ends]
        for at, item in enumerate(ranges):
            first, last = places[item]
            for piece in range(first, last):
                pieces[piece].append(at)
        return [(begin, items) for begin, items in zip(ends, pieces, strict=True) if len(items) > 1]


def _apart(ranges: Sequence[Range]) -> list[Piece]:
    """Divide ranges by where they begin alone."""
    found: dict[int, list[int]] = {}
    for at, item in enumerate(ranges):
        found.setdefault(item[0], []).append(at)
    return [(0, items) for items in found.values() if len(items) > 1]
