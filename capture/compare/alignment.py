"""Which node of one graph is which node of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..model import Body, Graph
from ..topology.canonical import canonical_order
from .keys import Ints, Keys, Strictness, node_keys, numbered, shared, strictest
from .moves import Block, moved_blocks
from .wavefront import pair

LEAST_IN_COMMON = 0.05
"""Share of the smaller graph's nodes below which two graphs have nothing in common."""
MOST_REPLACED = 4
"""Consecutive pairs of unrelated nodes that are believed; more in a row have nothing in common."""
REORDERED = 0.9
"""Share of possible pairs in place below which a canonical order is tried as well."""

Operators = Callable[[str], Sequence[str] | None]
"""Names of the operators of the nodes of the body at a path; empty texts are not known."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two graphs, or two bodies, side by side.

    Attributes
    ----------
    before, after : Graph
    path_before, path_after : str
        Where they are in the captured graphs.
    partner : list of int
        Position in `after` by position in `before`; -1 for a removed node.
    origin : list of int
        Position in `before` by position in `after`; -1 for an added node.
    replaced : set of int
        Positions in `before` whose partner stands in the same place and does something else.
    moved : list of Block
        Places in `order_before` and `order_after` of blocks that are elsewhere in the other.
    strictness : Strictness
        By what nodes were taken for the same.
    order_before, order_after : sequence of int
        Positions in the order that was aligned: that of creation where it shows what they share.
    in_common : bool
        False when next to nothing is: nothing is paired then.
    """

    before: Graph
    after: Graph
    path_before: str
    path_after: str
    partner: list[int]
    origin: list[int]
    replaced: set[int] = field(default_factory=set)
    moved: list[Block] = field(default_factory=list)
    strictness: Strictness = Strictness.LAUNCH
    order_before: Sequence[int] = ()
    order_after: Sequence[int] = ()
    in_common: bool = True

    @property
    def canonical(self) -> bool:
        """Whether the order of creation was given up."""
        return not isinstance(self.order_before, range)

    def moved_positions(self) -> Iterator[tuple[int, int]]:
        """Yield positions in `before` and in `after` of every moved node."""
        for block in self.moved:
            for step in range(block.length):
                yield self.order_before[block.before + step], self.order_after[block.after + step]


def align(
    before: Graph,
    after: Graph,
    operators_before: Operators | None = None,
    operators_after: Operators | None = None,
) -> list[Alignment]:
    """Align two graphs, and the bodies of the nodes that were paired.

    Returns
    -------
    list of Alignment
        The graphs themselves first, then bodies. Bodies of nodes that only one side has are in
        none.
    """
    found: list[Alignment] = []
    pending = [("", before, "", after)]
    while pending:
        path_before, one, path_after, other = pending.pop()
        names = None
        if operators_before is not None and operators_after is not None:
            left, right = operators_before(path_before), operators_after(path_after)
            if left is not None and right is not None:
                names = (left, right)
        level = _align_level(one, other, path_before, path_after, names)
        found.append(level)
        pending.extend(reversed(list(_bodies(level))))
    return found


def _bodies(level: Alignment) -> Iterator[tuple[str, Graph, str, Graph]]:
    others: dict[tuple[int, int], Body] = {
        (body.node, body.index): body for body in level.after.bodies
    }
    for body in level.before.bodies:
        node = level.partner[body.node]
        there = others.get((node, body.index))
        if there is not None:
            yield (
                _under(level.path_before, body.node, body.index),
                body.graph,
                _under(level.path_after, node, body.index),
                there.graph,
            )


def _under(path: str, node: int, index: int) -> str:
    return f"{path}/{node}/{index}" if path else f"{node}/{index}"


def _align_level(
    before: Graph,
    after: Graph,
    path_before: str,
    path_after: str,
    operators: tuple[Sequence[str], Sequence[str]] | None,
) -> Alignment:
    left, right = node_keys(before), node_keys(after)
    orders: tuple[Sequence[int], Sequence[int]] = (range(len(before)), range(len(after)))
    if shared(left.family, right.family) < LEAST_IN_COMMON:
        return Alignment(
            before, after, path_before, path_after,
            [-1] * len(before), [-1] * len(after),
            strictness=Strictness.FAMILY,
            order_before=orders[0], order_after=orders[1],
            in_common=False,
        )  # fmt: skip
    strictness = strictest(left, right)
    keys = numbered(getattr(left, strictness), getattr(right, strictness))
    relations = [
        numbered(left.family, right.family),
        _known(numbered(left.work, right.work), left.work, right.work),
    ]
    if operators is not None:
        relations.append(_known(numbered(*operators), *operators))
    found = _Pairs(keys, relations, orders)
    possible = shared(getattr(left, strictness), getattr(right, strictness))
    smaller = min(len(before), len(after))
    if found.equal < REORDERED * possible * smaller:
        other = _canonical(before, after, keys)
        # A chain, for one, has no other order.
        if any(
            list(order) != list(creation) for order, creation in zip(other, orders, strict=True)
        ):
            again = _Pairs(keys, relations, other)
            if again.equal > found.equal:
                found = again
    return Alignment(
        before,
        after,
        path_before,
        path_after,
        found.partner,
        found.origin,
        found.replaced,
        found.moved,
        strictness,
        *found.orders,
    )


def _known(keys: Keys, before: Sequence[str], after: Sequence[str]) -> Keys:
    """Make the numbers of empty texts negative."""
    for column, names in zip(keys, (before, after), strict=True):
        column[[at for at, name in enumerate(names) if not name]] = -1
    return keys


def _canonical(before: Graph, after: Graph, keys: Keys) -> tuple[Sequence[int], Sequence[int]]:
    return (
        canonical_order(before.topology, keys.before.tolist()),
        canonical_order(after.topology, keys.after.tolist()),
    )


class _Pairs:
    """Pairs of positions from one order of both sides."""

    def __init__(
        self, keys: Keys, relations: list[Keys], orders: tuple[Sequence[int], Sequence[int]]
    ) -> None:
        self.orders = orders
        places = [np.asarray(order, dtype=np.int64) for order in orders]
        one, other = keys.before[places[0]], keys.after[places[1]]
        found = pair(
            one, other, [(rel.before[places[0]], rel.after[places[1]]) for rel in relations]
        )
        self.equal = len(found.equal_before)
        there = np.full(len(one), -1, dtype=np.int64)
        there[found.equal_before] = found.equal_after
        there[found.related_before] = found.related_after
        taken = np.zeros(len(other), dtype=bool)
        taken[there[there >= 0]] = True
        left, right = np.flatnonzero(there < 0).tolist(), np.flatnonzero(~taken).tolist()
        self.moved = (
            moved_blocks(one.tolist(), other.tolist(), left, right) if left and right else []
        )
        for block in self.moved:
            there[block.before : block.before + block.length] = np.arange(
                block.after, block.after + block.length
            )
            taken[block.after : block.after + block.length] = True
        replaced = []
        for i, j in _believed(found.unrelated_before, found.unrelated_after):
            if there[i] < 0 and not taken[j]:
                there[i] = j
                replaced.append(i)
        partner = np.full(len(one), -1, dtype=np.int64)
        partner[places[0]] = np.where(there >= 0, places[1][there] if len(other) else -1, -1)
        origin = np.full(len(other), -1, dtype=np.int64)
        known = np.flatnonzero(partner >= 0)
        origin[partner[known]] = known
        self.partner: list[int] = partner.tolist()
        self.origin: list[int] = origin.tolist()
        self.replaced = {int(places[0][i]) for i in replaced}


def _believed(before: Ints, after: Ints) -> Iterator[tuple[int, int]]:
    """Yield unrelated pairs, without those that stand too many in a row."""
    if not len(before):
        return
    breaks = np.flatnonzero((np.diff(before) != 1) | (np.diff(after) != 1)) + 1
    for one, other in zip(np.split(before, breaks), np.split(after, breaks), strict=True):
        if len(one) <= MOST_REPLACED:
            yield from zip(one.tolist(), other.tolist(), strict=True)
