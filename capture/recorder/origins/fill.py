"""Which operator made which node, from the last node on a stream before and after each.

Nodes are in the order of their creation, and operators run one after the other. So the nodes
between the last node before an operator and the last one after it are the operator's. Nodes that
were there before it and belong to no other were launched by something that is no operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...driver.records import Tip
from .log import WIDTH, Row


class Owners(NamedTuple):
    """What made each node.

    Attributes
    ----------
    rows : list of int
        Number of the row of each node; -1 where no operator made it.
    between : dict of int to (int, int)
        Of nodes that no operator made, the rows before and after; -1 for none.
    """

    rows: list[int]
    between: dict[int, tuple[int, int]]


def fill(handles: Sequence[int], rows: Iterable[Row]) -> Owners:
    """Assign nodes to rows.

    Parameters
    ----------
    handles : sequence of int
        Of the nodes of the outermost level, in creation order.
    rows : iterable of Row
        In the order in which they ended; one that ran inside another comes before it.

    Returns
    -------
    Owners

    Notes
    -----
    O(nodes + rows).
    """
    position = {handle: at for at, handle in enumerate(handles)}
    owners = [-1] * len(handles)
    between: dict[int, tuple[int, int]] = {}
    reached, latest = -1, -1
    reached_before: list[int] = []
    for number, row in enumerate(rows):
        reached_before.append(reached)
        before, after = place_of(row.before, position), place_of(row.after, position)
        for at in range(reached + 1, before + 1):
            between[at] = latest, number
        if after > before:
            # The stream's last node may be old: others have made nodes on other streams since.
            # What ran inside this one has its nodes already; the others are this one's.
            first = max(before, reached_before[row.opened // WIDTH]) + 1
            for at in range(first, after + 1):
                if owners[at] < 0:
                    owners[at] = number
                    between.pop(at, None)
            latest = number
        reached = max(reached, before, after)
    for at in range(reached + 1, len(handles)):
        between[at] = latest, -1
    return Owners(owners, {at: pair for at, pair in between.items() if owners[at] < 0})


def place_of(tip: Tip, position: Mapping[int, int]) -> int:
    """Return the position of the last node of a stream; -1 when there is none."""
    if isinstance(tip, tuple):
        return max((position.get(handle, -1) for handle in tip), default=-1)
    return position.get(tip, -1)
