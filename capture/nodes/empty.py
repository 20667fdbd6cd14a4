"""Empty nodes, which only join and fork dependencies."""

from __future__ import annotations

from .base import Category, NodeType, read_nothing


def label(payload: object) -> str:
    """Return the type's name."""
    return "empty"


NODE_TYPE = NodeType(
    name="empty",
    number=5,
    category=Category.SYNCHRONISATION,
    payload=None,
    label=label,
    decode=read_nothing,
    dot_names=("EMPTY",),
    description="does nothing: joins and forks dependencies",
)
