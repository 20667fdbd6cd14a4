"""Blocks of nodes that are on both sides, in another place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SHORTEST = 4
"""Nodes of a block; fewer have moved only if their key is found nowhere else."""
MOST_TRIED = 16
"""Places of the other side at which a block may start that are looked at."""


class Block(NamedTuple):
    """`length` consecutive nodes, by places in the order that was aligned."""

    before: int
    after: int
    length: int


def moved_blocks(
    before: Sequence[int], after: Sequence[int], left: Sequence[int], right: Sequence[int]
) -> list[Block]:
    """Find blocks among the nodes that an alignment left over.

    Parameters
    ----------
    before, after : sequence of int
        Keys of all nodes.
    left, right : sequence of int
        Places that are left over on each side, ascending.

    Returns
    -------
    list of Block
        Disjoint, the longest first.

    Notes
    -----
    O(left + right) but for keys that repeat, of which `MOST_TRIED` places are tried.

    Examples
    --------
    >>> moved_blocks([1, 2, 3, 4, 9, 9], [9, 9, 1, 2, 3, 4], [0, 1, 2, 3], [2, 3, 4, 5])
    [Block(before=0, after=2, length=4)]
    """
    free, found = set(right), list[Block]()
    starts: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for place in _windows(right):
        starts[tuple(after[place : place + SHORTEST])].append(place)
    open_ = set(left)
    candidates = []
    for place in _windows(left):
        for there in starts.get(tuple(before[place : place + SHORTEST]), ())[:MOST_TRIED]:
            goes_on = place - 1 in open_ and there - 1 in free
            if goes_on and before[place - 1] == after[there - 1]:
                continue  # part of a longer one
            candidates.append(
                Block(place, there, _length(before, after, place, there, open_, free))
            )
    for block in sorted(candidates, key=lambda item: (-item.length, item.before, item.after)):
        # What an earlier, longer block has taken is cut off.
        count = _length(before, after, block.before, block.after, open_, free)
        if count >= SHORTEST:
            open_.difference_update(range(block.before, block.before + count))
            free.difference_update(range(block.after, block.after + count))
            found.append(Block(block.before, block.after, count))
    found += _single(before, after, open_, free)
    return sorted(found, key=lambda item: (-item.length, item.before))


def _windows(places: Sequence[int]) -> Iterator[int]:
    """Yield places from which `SHORTEST` consecutive ones are left over."""
    for index in range(len(places) - SHORTEST + 1):
        if places[index + SHORTEST - 1] - places[index] == SHORTEST - 1:
            yield places[index]


def _length(
    before: Sequence[int],
    after: Sequence[int],
    place: int,
    there: int,
    open_: set[int],
    free: set[int],
) -> int:
    count = 0
    while (
        place + count in open_
        and there + count in free
        and before[place + count] == after[there + count]
    ):
        count += 1
    return count


def _single(
    before: Sequence[int], after: Sequence[int], open_: set[int], free: set[int]
) -> Iterator[Block]:
    if not open_ or not free:
        return
    counts = Counter(before), Counter(after)
    there = {after[place]: place for place in free if counts[1][after[place]] == 1}
    for place in sorted(open_):
        key = before[place]
        if key in there and counts[0][key] == 1:
            yield Block(place, there[key], 1)
