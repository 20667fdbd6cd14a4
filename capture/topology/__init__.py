"""What follows from nodes and edges alone, and graphs as networkx graphs.

=========================  ==================================================================
``levels(topology)``       longest-path level of each node
``summarise(graph)``       the counts of a :class:`~capture.model.GraphInfo`
``digest(graph)``          equal for equal topologies, bodies included
``validate(graph)``        raise when a graph contradicts itself
``to_networkx(graph)``     a ``networkx.DiGraph``; ``from_networkx`` back
=========================  ==================================================================
"""

from __future__ import annotations

from .networkx_graphs import from_networkx, to_networkx, to_networkx_bodies
from .structure import leaves, levels, reachable, roots, width_and_depth
from .summary import Summary, digest, summarise, validate

__all__ = [
    "Summary",
    "digest",
    "from_networkx",
    "leaves",
    "levels",
    "reachable",
    "roots",
    "summarise",
    "to_networkx",
    "to_networkx_bodies",
    "validate",
    "width_and_depth",
]
