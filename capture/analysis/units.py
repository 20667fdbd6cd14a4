"""Units of the numbers in results."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """What a number, or a text, is."""

    NS = "ns"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    COUNT = "count"
    RATIO = "ratio"
    """A share of 1, or a factor."""
    TEXT = "text"
    NODE = "node"
    """Path of a node, such as ``"3/0/12"``."""
    GRAPH = "graph"
    """Key of a graph."""
