"""What each node alone would gain if it took no time."""

from __future__ import annotations

from collections.abc import Sequence

from .order import OrderedEdges
from .schedule import Schedule, path_to_last, slack


def gains_if_free(
    edges: OrderedEdges,
    durations: Sequence[int],
    found: Schedule,
    work: Sequence[int] | None = None,
) -> dict[int, int]:
    """Return by how much the longest path shrinks when one node of it takes no time.

    No other node gains anything. With a node v of duration d free, the longest path is the longer
    of the one through v, shorter by d, and the longest that avoids v. In a topological order every
    path that avoids v ends before v, starts after v, or has an edge across v's place.

    Parameters
    ----------
    edges : OrderedEdges
    durations : sequence of int
        Nanoseconds by position.
    found : Schedule
        Of the same edges and durations, without gaps.
    work : sequence of int, optional
        What of each duration goes when the node is free; all of it unless given.

    Returns
    -------
    dict of int to int
        Nanoseconds by position, for the nodes of the longest path.

    Notes
    -----
    O(nodes + edges + p log p) for p nodes on the path.
    """
    path = path_to_last(found)
    if not path:
        return {}
    saved = durations if work is None else work
    count, head, length = len(durations), found.start, found.length
    index = [-1] * count
    for number, node in enumerate(path):
        index[node] = number
    # Places in a topological order: how many nodes of the path a node is after, or is.
    place = [number + 1 for number in index]
    for source, target in zip(edges.source, edges.target, strict=True):
        if place[source] > place[target]:
            place[target] = place[source]
    # How many nodes of the path stand before it.
    before = [at - (number >= 0) for at, number in zip(place, index, strict=True)]
    rest = [
        length - late - start
        for late, start in zip(slack(edges, durations, found), head, strict=True)
    ]
    crossing = _Cover()
    for source, target in zip(edges.source, edges.target, strict=True):
        first, last = place[source], before[target]
        if first < last:
            crossing.raise_to(first, last, head[source] + durations[source] + rest[target])
    ending = [0] * (len(path) + 1)
    beginning = [0] * (len(path) + 1)
    for node in range(count):
        ending[place[node]] = max(ending[place[node]], head[node] + durations[node])
        beginning[before[node]] = max(beginning[before[node]], rest[node])
    avoiding = _avoid(crossing, ending, beginning)
    return {
        node: length - max(length - saved[node], avoiding[number])
        for number, node in enumerate(path)
    }


def _avoid(crossing: _Cover, ending: list[int], beginning: list[int]) -> list[int]:
    """Return the longest path that avoids each node of the longest path."""
    count = len(ending) - 1
    across = crossing.settle()
    found = [across.get(number, 0) for number in range(count)]
    longest = 0
    for number in range(count):
        longest = max(longest, ending[number])
        found[number] = max(found[number], longest)
    longest = 0
    for number in range(count - 1, -1, -1):
        longest = max(longest, beginning[number + 1])
        found[number] = max(found[number], longest)
    return found


class _Cover:
    """Largest value over each place of many intervals: a sparse table filled backwards."""

    def __init__(self) -> None:
        self.tables: list[dict[int, int]] = []

    def raise_to(self, first: int, last: int, value: int) -> None:
        """Raise the places from `first` to before `last`, by two overlapping powers of two."""
        level = (last - first).bit_length() - 1
        while len(self.tables) <= level:
            self.tables.append({})
        table = self.tables[level]
        for start in (first, last - (1 << level)):
            if table.get(start, -1) < value:
                table[start] = value

    def settle(self) -> dict[int, int]:
        """Return the largest value by place; places that no interval covers are left out."""
        for level in range(len(self.tables) - 1, 0, -1):
            half = 1 << (level - 1)
            below = self.tables[level - 1]
            for start, value in self.tables[level].items():
                for part in (start, start + half):
                    if below.get(part, -1) < value:
                        below[part] = value
        return self.tables[0] if self.tables else {}
