"""What nodes wrote when a clone was run node by node: ranges of memory that changed. Evidence."""

from __future__ import annotations

from typing import Any

import msgspec

WRITE_COLUMNS = ("node", "address", "size_bytes")
WATCHED_COLUMNS = ("address", "size_bytes")


class Watched(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Memory that was compared, by address."""

    address: list[int] = []
    size_bytes: list[int] = []


class Writes(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Memory that each node of a graph changed, measured by running a clone node by node.

    Attributes
    ----------
    graph : str
        Key of the graph.
    refused : str
        Why there is nothing.
    how, notes : list of str
    node : list of str
        Path; one row per range that a node changed, in the order in which nodes ran.
    address, size_bytes : list of int
        The first byte that changed and how far the last one is from it. Bytes in between may be
        unchanged: what lies fewer than :data:`GRAIN_BYTES` apart is one range.
    ran : list of str
        Paths of the nodes that were run and watched: of these, memory in `watched` without a row
        was read, written with what was there already, or left alone.
    watched : Watched or None
        Memory that was compared before and after each node that points into it.
    cost_ns : int or None

    Notes
    -----
    A row is certain: the node wrote there. The absence of one is not certain, because bytes that
    are written with their own values do not change.
    """

    graph: str = ""
    refused: str = ""
    how: list[str] = []
    notes: list[str] = []
    node: list[str] = []
    address: list[int] = []
    size_bytes: list[int] = []
    ran: list[str] = []
    watched: Watched | None = None
    cost_ns: int | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def of_node(self) -> dict[str, list[tuple[int, int]]]:
        """Return (first address, size in bytes) of the ranges that each node changed."""
        found: dict[str, list[tuple[int, int]]] = {}
        for node, address, size in zip(self.node, self.address, self.size_bytes, strict=True):
            found.setdefault(node, []).append((address, size))
        return found


GRAIN_BYTES = 512
"""torch hands out memory in multiples of this."""


def told(writes: Writes) -> tuple[str, str]:
    """Return how writes were measured, or why they were not."""
    return "; ".join(writes.how), writes.refused
