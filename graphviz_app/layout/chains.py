"""Chains of nodes and the lanes they run in."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from .order import Levels, Successors, successors

MAX_GAP = 64
"""Levels that a chain may skip, or hold its lane for an edge, before the lane is given up."""

MOST_FIXED_STREAMS = 8
"""Up to this many streams keep lanes of their own from the first row to the last."""


@dataclass(frozen=True)
class Chains:
    """Nodes peeled into paths.

    Attributes
    ----------
    chain
        Chain per node, shape ``(n,)``; every node is in one chain.
    first, last
        Levels for which a chain holds its lane, shape ``(chains,)``: those of its nodes, and
        those that its first edge in and last edge out pass through.
    component, lane
        Weakly connected component and lane (counted within the component) per chain.
    """

    chain: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    component: NDArray[np.int64]
    lane: NDArray[np.int64]


def connected(count: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Label ``count`` items joined by the pairs (a, b); labels follow the smallest member."""
    parent = list(range(count))
    for u, v in zip(a.tolist(), b.tolist(), strict=True):
        while parent[u] != u:
            parent[u] = parent[parent[u]]
            u = parent[u]
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        if u < v:
            parent[v] = u
        elif v < u:
            parent[u] = v
    root = np.array(parent, dtype=np.int64)
    while True:
        higher = root[root]
        if np.array_equal(higher, root):
            break
        root = higher
    return np.unique(root, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _followed(
    n: int,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    stream: NDArray[np.int64] | None,
) -> Successors:
    """Keep the edges that a lane may follow: those that look like the order of one stream.

    Where streams are not known: an event wait starts at a node whose stream goes on, so an edge
    out of a fork does not take a node from a predecessor that leads nowhere else.
    """
    if stream is None:
        forks = np.bincount(source, minlength=n) > 1
        claimed = np.zeros(n, dtype=bool)
        claimed[target[~forks[source]]] = True
        keep = ~(forks[source] & claimed[target])
    else:
        same = (stream[source] == stream[target]) & (stream[source] >= 0)
        unknown = (stream[source] < 0) | (stream[target] < 0)
        goes_on, claimed = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        goes_on[source[same]] = True
        claimed[target[same]] = True
        keep = same | (unknown & ~(goes_on[source] | claimed[target]))
    return successors(n, source[keep], target[keep])


def _peel(levels: Levels, followed: Successors) -> NDArray[np.int64]:
    """Follow the longest remaining path from the highest unvisited node until none is left."""
    n = len(levels.level)
    start, node = followed.start, followed.node
    level, remaining = levels.level.tolist(), levels.remaining.tolist()
    chain = [-1] * n
    count = 0
    for v in np.argsort(-levels.remaining, kind="stable").tolist():
        if chain[v] >= 0:
            continue
        while v >= 0:
            chain[v] = count
            longest, best, limit = -1, -1, level[v] + MAX_GAP
            for w in node[start[v] : start[v + 1]]:
                if remaining[w] > longest and chain[w] < 0 and level[w] <= limit:
                    longest, best = remaining[w], w
            v = best
        count += 1
    return np.array(chain, dtype=np.int64)


def _colour(
    group: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give each interval the lowest lane that is free, group by group."""
    lane = np.zeros(len(first), dtype=np.int64)
    order = np.lexsort((first - last, first, group))
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    used, current = 0, -1
    for c, mine_group, a, b in zip(
        order.tolist(),
        group[order].tolist(),
        first[order].tolist(),
        last[order].tolist(),
        strict=True,
    ):
        if mine_group != current:
            busy, free, used, current = [], [], 0, mine_group
        while busy and busy[0][0] < a:
            heappush(free, heappop(busy)[1])
        if free:
            mine = heappop(free)
        else:
            mine, used = used, used + 1
        lane[c] = mine
        heappush(busy, (b, mine))
    return lane


def _lanes(
    component: NDArray[np.int64],
    stream: NDArray[np.int64] | None,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Place chains in lanes, those of one stream side by side where there are few streams."""
    if stream is None:
        return _colour(component, first, last)
    streams, rank = np.unique(stream, return_inverse=True)
    if not 1 < len(streams) <= MOST_FIXED_STREAMS:
        return _colour(component, first, last)
    group = component * len(streams) + rank.reshape(-1)
    lane = _colour(group, first, last)
    widths = np.zeros((int(component.max()) + 1) * len(streams), dtype=np.int64)
    np.maximum.at(widths, group, lane + 1)
    by_component = widths.reshape(-1, len(streams))
    offset: NDArray[np.int64] = (np.cumsum(by_component, axis=1) - by_component).reshape(-1)
    lane += offset[group]
    return lane


def find_chains(
    levels: Levels,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    stream: NDArray[np.int64] | None = None,
) -> Chains:
    """Peel a graph into chains and place the chains in lanes.

    Parameters
    ----------
    levels
        Levels of the graph.
    source, target
        Its edges without the back edges.
    stream
        Stream per node, negative where it is not known.
    """
    chain = _peel(levels, _followed(len(levels.level), source, target, stream))
    count = int(chain.max(initial=-1)) + 1
    level = levels.level
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, -1)
    np.minimum.at(first, chain, level)
    np.maximum.at(last, chain, level)

    cross = chain[source] != chain[target]
    s, t = source[cross], target[cross]
    into = level[t] == first[chain[t]]
    above = np.full(count, -1)
    np.maximum.at(above, chain[t[into]], level[s[into]])
    out = level[s] == last[chain[s]]
    below = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(below, chain[s[out]], level[t[out]])
    holds_in = (above >= 0) & (first - above <= MAX_GAP)
    holds_out = below - last <= MAX_GAP
    first = np.where(holds_in, np.minimum(above + 1, first), first)
    last = np.where(holds_out, np.maximum(below - 1, last), last)

    component = connected(count, chain[s], chain[t])
    chain_stream = None
    if stream is not None:
        chain_stream = np.full(count, -1)
        np.maximum.at(chain_stream, chain, stream)
    return Chains(chain, first, last, component, _lanes(component, chain_stream, first, last))
