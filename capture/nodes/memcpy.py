"""Copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class MemcpyEnd(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Source or destination of a copy."""

    memory_type: str = ""
    """``"host"``, ``"device"``, ``"array"`` or ``"unified"``."""
    address: int | None = None
    array_handle: int | None = None
    x_bytes: int = 0
    y: int = 0
    z: int = 0
    lod: int = 0
    pitch_bytes: int = 0
    height: int = 0


class MemcpyPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A copy of `width_bytes` x `height` x `depth`."""

    kind: str = ""
    """Direction: ``"HtoD"``, ``"DtoH"``, ``"DtoD"``, ``"HtoH"`` or ``"default"``."""
    source: MemcpyEnd | None = None
    destination: MemcpyEnd | None = None
    width_bytes: int | None = None
    height: int | None = None
    depth: int | None = None


# CUmemorytype.
MEMORY_TYPES = {1: "host", 2: "device", 3: "array", 4: "unified"}
_SIDES = {"host": "H", "device": "D", "array": "D"}


def decode(reader: Reader, handles: Sequence[int]) -> list[MemcpyPayload | None]:
    """Read ``cuGraphMemcpyNodeGetParams`` of every node."""
    with reader.phase("memcpys"):
        found = reader.values(reader.driver.memcpys(handles), handles)
    payloads: list[MemcpyPayload | None] = []
    for copy in found:
        if copy is None:
            payloads.append(None)
            continue
        source, destination = _end(*copy[:10]), _end(*copy[10:20])
        payloads.append(
            MemcpyPayload(
                kind=kind(source.memory_type, destination.memory_type),
                source=source,
                destination=destination,
                width_bytes=copy.width_bytes,
                height=copy.height,
                depth=copy.depth,
            )
        )
    return payloads


def _end(
    x_bytes: int,
    y: int,
    z: int,
    lod: int,
    memory_type: int,
    host: int,
    device: int,
    array: int,
    pitch_bytes: int,
    height: int,
) -> MemcpyEnd:
    name = MEMORY_TYPES.get(memory_type, f"memory_type_{memory_type}")
    is_array = name == "array"
    return MemcpyEnd(
        memory_type=name,
        address=None if is_array else host if name == "host" else device,
        array_handle=array if is_array else None,
        x_bytes=x_bytes,
        y=y,
        z=z,
        lod=lod,
        pitch_bytes=pitch_bytes,
        height=height,
    )


def kind(source: str, destination: str) -> str:
    """Name the direction of a copy from the memory types of its ends.

    ``"default"`` where one end is unified: which side it lies on is decided when the copy runs.
    """
    try:
        return f"{_SIDES[source]}to{_SIDES[destination]}"
    except KeyError:
        return "default"


def label(payload: MemcpyPayload | None) -> str:
    """Return the type's name and the direction."""
    return f"memcpy {payload.kind}" if payload is not None and payload.kind else "memcpy"


NODE_TYPE = NodeType(
    name="memcpy",
    number=1,
    category=Category.TRANSFER,
    payload=MemcpyPayload,
    label=label,
    decode=decode,
    dot_names=("MEMCPY",),
    description="copies memory",
)
