"""Topological order of nodes and of edges, fast where creation order already is one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import le, lt
from typing import NamedTuple

from ..model import Topology


class OrderedEdges(NamedTuple):
    """Edges in an order in which every edge into a node stands before every edge out of it.

    One pass over them computes what depends on predecessors, one pass backwards what depends on
    successors; no adjacency lists are needed.
    """

    source: list[int]
    target: list[int]
    type: list[int]
    """``CUgraphDependencyType``; empty when all are 0."""


def topological_order(
    count: int, source: Sequence[int], target: Sequence[int]
) -> Sequence[int] | None:
    """Return positions with predecessors first, or ``None`` when the edges form a cycle.

    A capture creates a node after those it depends on, so creation order mostly is one.

    Examples
    --------
    >>> topological_order(3, [2, 0], [0, 1])
    [2, 0, 1]
    >>> topological_order(2, [0, 1], [1, 0]) is None
    True
    """
    if all(map(lt, source, target)):
        return range(count)
    waiting = [0] * count
    successors: list[list[int]] = [[] for _ in range(count)]
    for before, after in zip(source, target, strict=True):
        successors[before].append(after)
        waiting[after] += 1
    order = [node for node in range(count) if not waiting[node]]
    for node in order:
        for after in successors[node]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    return order if len(order) == count else None


def order_edges(topology: Topology, order: Sequence[int]) -> OrderedEdges:
    """Return a topology's edges in topological order.

    Costs O(edges) when they are stored by source or by target in creation order, and that order is
    topological; otherwise they are sorted.
    """
    source, target = topology.source, topology.target
    in_creation_order = isinstance(order, range)
    if in_creation_order and (_ascends(source) or _ascends(target)):
        return OrderedEdges(source, target, topology.edge_type)
    rank: Sequence[int] = order
    if not in_creation_order:
        rank = [0] * len(order)
        for place, node in enumerate(order):
            rank[node] = place
    by_source = sorted(range(len(source)), key=[rank[node] for node in source].__getitem__)
    types = topology.edge_type
    return OrderedEdges(
        [source[edge] for edge in by_source],
        [target[edge] for edge in by_source],
        [types[edge] for edge in by_source] if types else [],
    )


def _ascends(values: Sequence[int]) -> bool:
    return all(map(le, values, islice(values, 1, None)))


def levels(count: int, edges: OrderedEdges) -> list[int]:
    """Return the longest-path level of every node, roots 0."""
    found = [0] * count
    for before, after in zip(edges.source, edges.target, strict=True):
        level = found[before] + 1
        if level > found[after]:
            found[after] = level
    return found
