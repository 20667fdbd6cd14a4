"""Rows of timings joined to the positions of one graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model import Graph

_DIGITS = 9
"""More digits than any position has; a file may hold anything."""


class Interval(NamedTuple):
    """One row of the timings as it ran in the sample replay."""

    start_ns: int
    end_ns: int
    position: int
    """Of the captured node, or of the node whose body holds it; -1 for a node that only the
    executable has."""
    row: int


class JoinedRows(NamedTuple):
    """Which rows belong to which node.

    Attributes
    ----------
    first : list of int
        First row per position; -1 where there is none.
    several : dict of int to list of int
        All rows of positions that have more than one, or that have rows of their bodies.
    apart : list of int
        Rows that belong to no node of the captured graph.
    """

    first: list[int]
    several: dict[int, list[int]]
    apart: list[int]

    is_plain: bool = False
    """Whether row and position are the same for every row and node, as mostly without bodies.

    Whole columns are then used as they are, which matters for 100,000 nodes.
    """


def join_rows(graph: Graph, names: Sequence[str], path: str = "") -> JoinedRows:
    """Join rows to positions by the paths in them.

    Parameters
    ----------
    graph : Graph
    names : sequence of str
        Path of each row's node in the captured graph; empty for a node of the executable only.
    path : str
        Where `graph` is in the captured graph. Rows elsewhere are left out.
    """
    count = len(graph)
    first = [-1] * count
    several: dict[int, list[int]] = {}
    apart: list[int] = []
    if not names:
        return JoinedRows(first, several, apart)
    prefix = f"{path}/" if path else ""
    if not prefix and "".join(names).isdecimal() and len(max(names, key=len)) <= _DIGITS:
        # Every row of a graph without bodies, unless one is empty or a position comes twice.
        positions = [int(name) if name else count for name in names]
        if positions == list(range(count)):
            return JoinedRows(positions, several, apart, is_plain=True)
        if max(positions) < count and len(set(positions)) == len(names):
            for row, position in enumerate(positions):
                first[position] = row
            return JoinedRows(first, several, apart)
    holders = {body.node for body in graph.bodies}
    for row, name in enumerate(names):
        if prefix:
            if not name.startswith(prefix):
                continue
            name = name[len(prefix) :]
        head, slash, _ = name.partition("/")
        position = int(head) if head.isdecimal() and len(head) <= _DIGITS else count
        if position >= count or (slash and position not in holders):
            if not prefix:
                apart.append(row)
        elif first[position] < 0:
            first[position] = row
            if slash:
                several[position] = [row]
        else:
            several.setdefault(position, [first[position]]).append(row)
    return JoinedRows(first, several, apart)
