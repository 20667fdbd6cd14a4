"""Counts, levels and digest of a graph, for its GraphInfo."""

from __future__ import annotations

from ..model import Graph, GraphInfo


def summarise(info: GraphInfo, graph: Graph) -> GraphInfo:
    """Fill in what an info says about its graph's shape, and return it.

    A cycle, which no driver lets one build, leaves width and depth absent and adds a warning.

    Notes
    -----
    Linear in nodes and edges, bodies included.
    """
    from ..topology import summarise as summary_of

    found = summary_of(graph)
    for name, value in found._asdict().items():
        if name != "warnings":
            setattr(info, name, value)
    info.warnings += [warning for warning in found.warnings if warning not in info.warnings]
    return info
