"""Counts, levels and digest of a graph, for its GraphInfo."""

from __future__ import annotations

import hashlib
from collections import Counter

import msgspec

from ..codec import dump_topology
from ..model import Graph, GraphInfo, Topology


def summarise(info: GraphInfo, graph: Graph) -> GraphInfo:
    """Fill in what an info says about its graph's shape, and return it.

    A cycle, which no driver lets one build, leaves width and depth absent and adds a warning.

    Notes
    -----
    Linear in nodes and edges, bodies included.
    """
    levels = list(graph.walk())
    info.node_count = sum(len(level) for _, level in levels)
    info.edge_count = sum(len(level.topology.source) for _, level in levels)
    info.body_count = len(levels) - 1
    counts: Counter[str] = Counter()
    digest = hashlib.sha256()
    for path, level in levels:
        counts.update(level.topology.types)
        digest.update(msgspec.json.encode([path, dump_topology(level.topology)]))
        if path and level_widths(level.topology) is None:
            info.warnings.append(f"the edges of body {path} form a cycle")
    info.type_counts = dict(sorted(counts.items()))
    info.topology = digest.hexdigest()[:16]
    widths = level_widths(graph.topology)
    if widths is None:
        info.width = info.depth = None
        info.warnings.append("the edges form a cycle: the graph has no levels and no longest path")
    else:
        info.width, info.depth = max(widths, default=0), len(widths)
    return info


def level_widths(topology: Topology) -> list[int] | None:
    """Return how many nodes each longest-path level has, or ``None`` when there is a cycle."""
    count = len(topology.types)
    waiting = [0] * count
    successors: list[list[int]] = [[] for _ in range(count)]
    for source, target in zip(topology.source, topology.target, strict=True):
        successors[source].append(target)
        waiting[target] += 1
    ready = [node for node in range(count) if not waiting[node]]
    widths: list[int] = []
    seen = 0
    # A node becomes ready with its last predecessor, so each round is one longest-path level.
    while ready:
        widths.append(len(ready))
        seen += len(ready)
        following: list[int] = []
        for node in ready:
            for target in successors[node]:
                waiting[target] -= 1
                if not waiting[target]:
                    following.append(target)
        ready = following
    return widths if seen == count else None
