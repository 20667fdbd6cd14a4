"""Short names of nodes."""

from __future__ import annotations

from ..model import Graph
from ..nodes import node_type


def label_of(graph: Graph, position: int) -> str:
    """Return the short name of a node: its kernel's, or its type's words."""
    node = graph.node(position)
    text = node_type(node.type).label(node.payload)
    if node.type == "kernel" and text != "kernel":
        from ..names import short

        return short(text)
    return text
