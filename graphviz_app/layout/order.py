"""Topological order and longest-path levels, for graphs that may be broken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Successors:
    """Adjacency in compressed rows, as lists: Python loops read lists faster than arrays."""

    start: list[int]
    node: list[int]


@dataclass(frozen=True)
class Levels:
    """What the order of a graph says about its nodes.

    Attributes
    ----------
    level
        Longest-path level per node, shape ``(n,)``; nodes with slack sit next to their consumers.
    remaining
        Edges on the longest path from the node to a sink, shape ``(n,)``.
    back_edges
        Indices of the edges that had to be ignored: self loops and one edge per cycle.
    successors
        Adjacency without the back edges.
    """

    level: NDArray[np.int64]
    remaining: NDArray[np.int64]
    back_edges: NDArray[np.int64]
    successors: Successors


def successors(n: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> Successors:
    """Group targets by source, keeping the order of the edges within a source."""
    by_source = np.argsort(source, kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=start[1:])
    return Successors(start.tolist(), target[by_source].tolist())


def _kahn(n: int, target: NDArray[np.int64], adjacency: Successors) -> list[int]:
    """Return the nodes that can be ordered, first in first out."""
    waiting = np.bincount(target, minlength=n).tolist()
    start, node = adjacency.start, adjacency.node
    order = [v for v in range(n) if not waiting[v]]
    for v in order:
        for w in node[start[v] : start[v + 1]]:
            waiting[w] -= 1
            if not waiting[w]:
                order.append(w)
    return order


def _cycle_edges(n: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one edge index per cycle: the back edges of a depth-first search."""
    by_source = np.argsort(source, kind="stable")
    adjacency = successors(n, source, target)
    edge = by_source.tolist()
    start, node = adjacency.start, adjacency.node
    state = bytearray(n)
    cursor = start[:n]
    back: list[int] = []
    for root in range(n):
        if state[root]:
            continue
        state[root] = 1
        stack = [root]
        while stack:
            v = stack[-1]
            at = cursor[v]
            if at == start[v + 1]:
                state[v] = 2
                stack.pop()
                continue
            cursor[v] = at + 1
            w = node[at]
            if state[w] == 1:
                back.append(edge[at])
            elif not state[w]:
                state[w] = 1
                stack.append(w)
    return np.array(sorted(back), dtype=np.int64)


def longest_path_levels(n: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> Levels:
    """Compute levels, one reverse pass of pulling included.

    The pull puts a node with slack one level above its first consumer: without it a prefetch
    stream is drawn as long lines from the top of the picture.

    Notes
    -----
    Linear in nodes and edges. A capture's creation order usually is a topological order
    already; that is checked first and saves the queue.
    """
    kept = np.flatnonzero(source != target)
    back = np.flatnonzero(source == target)
    s, t = source[kept], target[kept]
    adjacency = successors(n, s, t)
    order: list[int] | range
    if bool(np.all(s < t)):
        order = range(n)
    else:
        order = _kahn(n, t, adjacency)
        if len(order) < n:
            cyclic = _cycle_edges(n, s, t)
            back = np.sort(np.concatenate([back, kept[cyclic]]))
            s, t = np.delete(s, cyclic), np.delete(t, cyclic)
            adjacency = successors(n, s, t)
            order = _kahn(n, t, adjacency)

    start, node = adjacency.start, adjacency.node
    level = [0] * n
    for v in order:
        below = level[v] + 1
        for w in node[start[v] : start[v + 1]]:
            if level[w] < below:
                level[w] = below
    remaining = [0] * n
    for v in reversed(order):
        longest, first = -1, n
        for w in node[start[v] : start[v + 1]]:
            if remaining[w] > longest:
                longest = remaining[w]
            if level[w] < first:
                first = level[w]
        if longest >= 0:
            remaining[v] = longest + 1
            level[v] = first - 1
    return Levels(
        np.array(level, dtype=np.int64), np.array(remaining, dtype=np.int64), back, adjacency
    )
