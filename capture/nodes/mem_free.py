"""Frees inside the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class MemFreePayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A stream-ordered free."""

    address: int | None = None


def decode(reader: Reader, handles: Sequence[int]) -> list[MemFreePayload | None]:
    """Read ``cuGraphMemFreeNodeGetParams`` of every node."""
    with reader.phase("memory nodes"):
        found = reader.values(reader.driver.frees(handles), handles)
    return [None if address is None else MemFreePayload(address=address) for address in found]


def label(payload: MemFreePayload | None) -> str:
    """Return the type's name."""
    return "mem free"


NODE_TYPE = NodeType(
    name="mem_free",
    number=11,
    category=Category.MEMORY,
    payload=MemFreePayload,
    label=label,
    decode=decode,
    dot_names=("MEM_FREE",),
    description="frees device memory",
)
