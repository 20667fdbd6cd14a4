"""A graph, or one body of it, and where it is in the captured graph."""

from __future__ import annotations

from ..model import Graph
from .labels import label_of


class GraphPart:
    """A graph, or one body of it.

    Parameters
    ----------
    graph : Graph
        With `path`, the body at that path and not the graph that holds it.
    path : str
        Where `graph` is in the captured graph, such as ``"3/0"``; positions count inside it.
    """

    def __init__(self, graph: Graph, path: str = "") -> None:
        self.graph = graph
        self.path = path

    def node_path(self, position: int) -> str:
        """Return a node's path in the captured graph."""
        return f"{self.path}/{position}" if self.path else str(position)

    def label(self, position: int) -> str:
        """Return a node's short name."""
        return label_of(self.graph, position)
