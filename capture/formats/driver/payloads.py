"""Labels of the driver's DOT to node types and payloads."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...model import Kernel
from ...nodes.base import Dim3
from ...nodes.batch_mem_op import BatchMemOpPayload
from ...nodes.conditional import ConditionalPayload
from ...nodes.host import HostPayload
from ...nodes.kernel import KernelPayload
from ...nodes.mem_alloc import MemAllocPayload
from ...nodes.mem_free import MemFreePayload
from ...nodes.memcpy import MemcpyEnd, MemcpyPayload
from ...nodes.memcpy import kind as copy_kind
from ...nodes.memset import MemsetPayload
from ...nodes.wait_event import EventPayload
from .labels import Fields, Label

_LAUNCH = re.compile(r"(\{[\d,]+\}|\d+),(\{[\d,]+\}|\d+),(\d+)\Z")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,18})\Z")
# Left out on purpose: they die with the process, or follow from the edges.
PASSED_OVER = frozenset(("ID", "node handle", "count"))
_DEFAULT_WINDOW = {
    "base_ptr": "0x0000000000000000",
    "num_bytes": "0",
    "hitRatio": "0.000000",
    "hitProp": "N",
    "missProp": "N",
}

Decoded = tuple[Any, frozenset[str]]


def number(text: Any) -> int | None:
    """Return an integer that is printed decimally or as ``0x…``, or ``None``."""
    if not isinstance(text, str) or _NUMBER.match(text) is None:
        return None
    return int(text, 16 if "x" in text or "X" in text else 10)


@lru_cache(maxsize=4096)
def _launch(text: str) -> tuple[Dim3, Dim3, int] | None:
    match = _LAUNCH.match(text)
    if match is None:
        return None
    return _dim3(match[1]), _dim3(match[2]), number(match[3]) or 0


def _dim3(text: str) -> Dim3:
    parts = [number(part) or 1 for part in text.strip("{}()").split(",")][:3]
    x, y, z = parts + [1] * (3 - len(parts))
    return x, y, z


def kernel(label: Label, kernel_of: Callable[[str], Kernel]) -> Decoded:
    """Return a launch and the fields it used; `kernel_of` returns the kernel of a name."""
    fields = label.fields
    name, _, rest = label.name.rpartition("<<<")
    launch = _launch(rest.removesuffix(">>>")) if name else None
    if launch is None:
        name = label.name
    value = KernelPayload(kernel=kernel_of(name) if name else None)
    if launch is not None:
        value.grid, value.block, value.dynamic_shared_bytes = launch
    value.function_handle = number(fields.get("func handle"))
    value.priority = number(fields.get("priority"))
    cooperative = fields.get("cooperative")
    if cooperative in ("0", "1"):
        value.cooperative = cooperative == "1"
    cluster = fields.get("cluster dim")
    if isinstance(cluster, str) and cluster.strip("()").replace(",", "").isdecimal():
        value.cluster = _dim3(cluster)
    window = fields.get("accessPolicyWindow")
    if window is not None and window != _DEFAULT_WINDOW:
        value.attributes = {"access_policy_window": window}
    return value, _KERNEL_FIELDS


_KERNEL_FIELDS = frozenset(
    ("func handle", "priority", "cooperative", "cluster dim", "accessPolicyWindow")
)


def conditional(label: Label) -> Decoded:
    """Return a conditional and the fields it used."""
    fields = label.fields
    kind = fields.get("Conditional Type", fields.get("Type", ""))
    value = ConditionalPayload(
        kind=str(kind).lower(),
        conditional_handle=number(fields.get("Conditional Handle", fields.get("Handle"))),
        body_count=len(label.bodies) or None,
    )
    return value, frozenset(("Conditional Type", "Type", "Conditional Handle", "Handle"))


def _memset(fields: Fields) -> Decoded:
    value = MemsetPayload(
        address=number(fields.get("dptr")),
        value=number(fields.get("value")),
        element_bytes=number(fields.get("elementSize")),
        width=number(fields.get("width")),
        height=number(fields.get("height")),
        pitch_bytes=number(fields.get("pitch")),
    )
    return value, frozenset(("dptr", "value", "elementSize", "width", "height", "pitch"))


def _memcpy(fields: Fields) -> Decoded:
    value = MemcpyPayload()
    if isinstance(fields.get("src"), dict):
        value.source, value.destination = _end(fields["src"]), _end(_map(fields.get("dst")))
        value.kind = copy_kind(value.source.memory_type, value.destination.memory_type)
    elif isinstance(fields.get("srcPtr"), dict):
        value.source = _pitched(fields["srcPtr"], _map(fields.get("srcPos")))
        value.destination = _pitched(_map(fields.get("dstPtr")), _map(fields.get("dstPos")))
        direction, _, types = str(fields.get("kind", "")).partition(" ")
        value.kind = direction
        ends = types.strip("()").lower().split(" to ")
        if len(ends) == 2:
            value.source.memory_type, value.destination.memory_type = ends
    extent = _map(fields.get("Extent"))
    value.width_bytes = number(extent.get("WidthInBytes", extent.get("Width")))
    value.height = number(extent.get("Height"))
    value.depth = number(extent.get("Depth"))
    return value, frozenset(
        ("src", "dst", "srcPtr", "dstPtr", "srcPos", "dstPos", "Extent", "kind")
    )


def _end(fields: Fields) -> MemcpyEnd:
    memory = str(fields.get("MemoryType", "")).partition(" ")[0].lower()
    is_array = memory == "array"
    return MemcpyEnd(
        memory_type=memory,
        address=None if is_array else number(fields.get("Host" if memory == "host" else "Device")),
        array_handle=number(fields.get("Array")) if is_array else None,
        x_bytes=number(fields.get("XInBytes")) or 0,
        y=number(fields.get("Y")) or 0,
        z=number(fields.get("Z")) or 0,
        lod=number(fields.get("LOD")) or 0,
        pitch_bytes=number(fields.get("Pitch")) or 0,
        height=number(fields.get("Height")) or 0,
    )


def _pitched(fields: Fields, at: Fields) -> MemcpyEnd:
    """Read a ``cudaPitchedPtr``; its ``xsize``, which nothing uses, has no place in the payload."""
    return MemcpyEnd(
        address=number(fields.get("ptr")),
        x_bytes=number(at.get("x")) or 0,
        y=number(at.get("y")) or 0,
        z=number(at.get("z")) or 0,
        pitch_bytes=number(fields.get("pitch")) or 0,
        height=number(fields.get("ysize")) or 0,
    )


def _host(fields: Fields) -> Decoded:
    value = HostPayload(
        function_address=number(fields.get("fn")), user_data_address=number(fields.get("userData"))
    )
    return value, frozenset(("fn", "userData"))


def _event(fields: Fields) -> Decoded:
    return EventPayload(event_handle=number(fields.get("event"))), frozenset(("event",))


def _mem_alloc(fields: Fields) -> Decoded:
    value = MemAllocPayload(
        address=number(fields.get("dptr")),
        size_bytes=number(fields.get("bytesize")),
        allocation_type=str(fields.get("allocType", "")).lower(),
        handle_types=str(fields.get("handleTypes", "")).lower(),
        location_type=str(fields.get("type", "")).lower(),
        location_id=number(fields.get("id")),
    )
    return value, frozenset(("dptr", "bytesize", "allocType", "handleTypes", "type", "id"))


def _mem_free(fields: Fields) -> Decoded:
    return MemFreePayload(address=number(fields.get("dptr"))), frozenset(("dptr",))


def _batch(fields: Fields) -> Decoded:
    operations = [
        {
            "operation": str(item.get("op", "")).lower(),
            "address": number(item.get("addr")),
            "value": number(item.get("val")),
            "flags": str(item.get("flags", "")).lower(),
        }
        for item in fields.get("operations", [])
    ]
    value = BatchMemOpPayload(operations=operations, flags=number(fields.get("flags")))
    return value, frozenset(("operations", "flags"))


def _map(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}


DECODERS: dict[str, Callable[[Fields], Decoded]] = {
    "memset": _memset,
    "memcpy": _memcpy,
    "host": _host,
    "event_record": _event,
    "wait_event": _event,
    "mem_alloc": _mem_alloc,
    "mem_free": _mem_free,
    "batch_mem_op": _batch,
}
