"""Levels, width, depth, roots, leaves and reachability of one level of a graph.

Plain lists and no numpy: the recorder asks for these in a user's process.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Topology


def levels(topology: Topology) -> list[int] | None:
    """Return the longest-path level of each node: 0 for roots, else one past its predecessors.

    Returns
    -------
    list of int, or None
        ``None`` when the edges have a cycle, so that no such levels exist.

    Notes
    -----
    O(nodes + edges). Edges that come ordered by target and lead from earlier nodes to later
    ones, as captures store them, take one pass.

    Examples
    --------
    >>> levels(Topology(types=["empty"] * 3, source=[0, 0], target=[1, 2]))
    [0, 1, 1]
    """
    level = [0] * len(topology.types)
    before = 0
    for source, target in zip(topology.source, topology.target, strict=True):
        if target < before or source >= target:
            return _levels_in_any_order(topology)
        before = target
        reached = level[source] + 1
        if reached > level[target]:
            level[target] = reached
    return level


def _levels_in_any_order(topology: Topology) -> list[int] | None:
    """Levels by Kahn's algorithm (Kahn 1962, doi:10.1145/368996.369025)."""
    count = len(topology.types)
    waiting = [0] * count
    for target in topology.target:
        waiting[target] += 1
    successors = _neighbours(topology.source, topology.target, count)
    level = [0] * count
    ready = [node for node in range(count) if not waiting[node]]
    for node in ready:
        reached = level[node] + 1
        for target in successors[node]:
            if reached > level[target]:
                level[target] = reached
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return level if len(ready) == count else None


def _neighbours(source: list[int], target: list[int], count: int) -> list[list[int]]:
    lists: list[list[int]] = [[] for _ in range(count)]
    for start, end in zip(source, target, strict=True):
        lists[start].append(end)
    return lists


def width_and_depth(topology: Topology) -> tuple[int | None, int | None]:
    """Return the most nodes on one level, and the number of levels.

    Returns
    -------
    width, depth : int or None
        0 for a graph without nodes, ``None`` for one with a cycle.
    """
    level = levels(topology)
    if level is None:
        return None, None
    if not level:
        return 0, 0
    population = [0] * (max(level) + 1)
    for at in level:
        population[at] += 1
    return max(population), len(population)


def roots(topology: Topology) -> list[int]:
    """Return the nodes without predecessors, in creation order."""
    inner = set(topology.target)
    return [node for node in range(len(topology.types)) if node not in inner]


def leaves(topology: Topology) -> list[int]:
    """Return the nodes without successors, in creation order."""
    inner = set(topology.source)
    return [node for node in range(len(topology.types)) if node not in inner]


def reachable(
    topology: Topology, start: int | Iterable[int], *, backwards: bool = False
) -> set[int]:
    """Return every node that runs after some nodes (or before them), without those themselves.

    Parameters
    ----------
    start : int or iterable of int
    backwards : bool
        Follow predecessors instead of successors.

    Returns
    -------
    set of int
        A start node is in it only when another start node, or a cycle, leads to it.

    Examples
    --------
    >>> chain = Topology(types=["empty"] * 3, source=[0, 1], target=[1, 2])
    >>> reachable(chain, 1), reachable(chain, 1, backwards=True)
    ({2}, {0})
    """
    ends = (topology.target, topology.source) if backwards else (topology.source, topology.target)
    neighbours = _neighbours(*ends, len(topology.types))
    pending = [start] if isinstance(start, int) else list(start)
    found: set[int] = set()
    while pending:
        for node in neighbours[pending.pop()]:
            if node not in found:
                found.add(node)
                pending.append(node)
    return found
