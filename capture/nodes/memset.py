"""Memsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class MemsetPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`height` rows of `width` elements of `element_bytes` set to `value`."""

    address: int | None = None
    value: int | None = None
    element_bytes: int | None = None
    width: int | None = None
    height: int | None = None
    pitch_bytes: int | None = None


def decode(reader: Reader, handles: Sequence[int]) -> list[MemsetPayload | None]:
    """Read ``cuGraphMemsetNodeGetParams`` of every node."""
    with reader.phase("memsets"):
        found = reader.values(reader.driver.memsets(handles), handles)
    return [
        None
        if memset is None
        else MemsetPayload(
            address=memset.address,
            value=memset.value,
            element_bytes=memset.element_bytes,
            width=memset.width,
            height=memset.height,
            pitch_bytes=memset.pitch_bytes,
        )
        for memset in found
    ]


def label(payload: MemsetPayload | None) -> str:
    """Return the type's name."""
    return "memset"


NODE_TYPE = NodeType(
    name="memset",
    number=2,
    category=Category.TRANSFER,
    payload=MemsetPayload,
    label=label,
    decode=decode,
    dot_names=("MEMSET",),
    description="sets memory to a value",
)
