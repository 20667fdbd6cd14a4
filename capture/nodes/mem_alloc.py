"""Allocations inside the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class MemAllocPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A stream-ordered allocation; the address is fixed when the node is made."""

    address: int | None = None
    size_bytes: int | None = None
    allocation_type: str = ""
    handle_types: str = ""
    location_type: str = ""
    location_id: int | None = None
    access: list[dict[str, str | int]] = msgspec.field(default_factory=list)
    """Peer access that the allocation grants: location type, id and flags."""


# CUmemAllocationType, CUmemAllocationHandleType (flags), CUmemLocationType, CUmemAccess_flags.
ALLOCATION_TYPES = {0: "invalid", 1: "pinned", 2: "managed"}
HANDLE_TYPES = {1: "posix_file_descriptor", 2: "win32", 4: "win32_kmt", 8: "fabric"}
LOCATION_TYPES = {
    0: "invalid",
    1: "device",
    2: "host",
    3: "host_numa",
    4: "host_numa_current",
    5: "invisible",
}
ACCESS_FLAGS = {0: "none", 1: "read", 3: "readwrite"}


def decode(reader: Reader, handles: Sequence[int]) -> list[MemAllocPayload | None]:
    """Read ``cuGraphMemAllocNodeGetParams`` of every node."""
    with reader.phase("memory nodes"):
        found = reader.values(reader.driver.allocations(handles), handles)
    return [
        None
        if allocation is None
        else MemAllocPayload(
            address=allocation.address,
            size_bytes=allocation.size_bytes,
            allocation_type=_name(ALLOCATION_TYPES, allocation.allocation_type),
            handle_types=_flags(allocation.handle_types),
            location_type=_name(LOCATION_TYPES, allocation.location_type),
            location_id=allocation.location_id,
            access=[
                {
                    "location_type": _name(LOCATION_TYPES, location_type),
                    "location_id": location_id,
                    "access": _name(ACCESS_FLAGS, flags),
                }
                for location_type, location_id, flags in allocation.access
            ],
        )
        for allocation in found
    ]


def _name(names: dict[int, str], number: int) -> str:
    return names.get(number, f"number_{number}")


def _flags(bits: int) -> str:
    names = [name for bit, name in HANDLE_TYPES.items() if bits & bit]
    rest = bits & ~sum(HANDLE_TYPES)
    return " | ".join(names + ([f"number_{rest}"] if rest else [])) or "none"


def label(payload: MemAllocPayload | None) -> str:
    """Return the type's name."""
    return "mem alloc"


NODE_TYPE = NodeType(
    name="mem_alloc",
    number=10,
    category=Category.MEMORY,
    payload=MemAllocPayload,
    label=label,
    decode=decode,
    dot_names=("MEM_ALLOC",),
    description="allocates device memory",
)
