"""Child graphs: the nodes are in the node's only body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


def decode(reader: Reader, handles: Sequence[int]) -> list[None]:
    """Announce the embedded graph of every node; such nodes have no fields of their own."""
    with reader.phase("child graphs"):
        graphs = reader.values(reader.driver.child_graphs(handles), handles)
    for handle, graph in zip(handles, graphs, strict=True):
        if graph is not None:
            reader.add_body(handle, 0, "child", graph=graph)
    return [None] * len(handles)


def label(payload: object) -> str:
    """Return the type's name."""
    return "child graph"


NODE_TYPE = NodeType(
    name="child_graph",
    number=4,
    category=Category.GRAPH,
    payload=None,
    label=label,
    decode=decode,
    dot_names=("CHILD_GRAPH", "GRAPH"),
    description="a graph that runs as one node",
)
