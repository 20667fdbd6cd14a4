"""Node types: one module per ``CUgraphNodeType``, found by :func:`node_types`.

To add one, write ``capture/nodes/x.py`` with a ``NODE_TYPE``. Types that have no module load,
show and save under the name ``"type_17"`` with whatever fields they came with.
"""

from __future__ import annotations

from functools import lru_cache

from ..registry import discover
from .base import Category, NodeType, unknown_type

__all__ = ["Category", "NodeType", "by_number", "node_type", "node_types"]

ENTRY_POINTS = "cudagraph_lens.nodes"


@lru_cache(maxsize=1)
def node_types() -> dict[str, NodeType]:
    """Return every known node type by name."""
    return discover(__name__, "NODE_TYPE", NodeType, ENTRY_POINTS)


@lru_cache(maxsize=1)
def _numbers() -> dict[int, NodeType]:
    return {entry.number: entry for entry in node_types().values()}


def node_type(name: str) -> NodeType:
    """Return the node type of a name; an unknown name gets a type of its own, never an error."""
    return node_types().get(name) or unknown_type(name)


def by_number(number: int) -> NodeType:
    """Return the node type of a ``CUgraphNodeType`` value, known or not."""
    return _numbers().get(number) or unknown_type(f"type_{number}")
