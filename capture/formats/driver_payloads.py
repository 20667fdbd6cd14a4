"""Labels of the driver's DOT to node types and payloads."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

from ..model import Extra, Kernel
from ..nodes import node_types
from ..nodes.base import Dim3
from ..nodes.batch_mem_op import BatchMemOpPayload
from ..nodes.conditional import ConditionalPayload
from ..nodes.host import HostPayload
from ..nodes.kernel import KernelPayload
from ..nodes.mem_alloc import MemAllocPayload
from ..nodes.mem_free import MemFreePayload
from ..nodes.memcpy import MemcpyEnd, MemcpyPayload
from ..nodes.memcpy import kind as copy_kind
from ..nodes.memset import MemsetPayload
from ..nodes.wait_event import EventPayload
from .driver_labels import Fields, Label, split_label

_LAUNCH = re.compile(r"(\{[\d,]+\}|\d+),(\{[\d,]+\}|\d+),(\d+)\Z")
_KERNEL_LABEL = re.compile(
    r"\{KERNEL\n\| \{ID \| \d++(?: \(topoId: \d++\))?+ \| ((?:[^\\{}|\s]++|\\[<>{}])++)\}\n"
    r"(?:\| \{\{node handle \| func handle\} \| \{0x[0-9A-F]++ \| (0x[0-9A-F]++)\}\}\n)?+"
    r"((?!.*handle).*+)",
    re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,19})\Z")
# Left out on purpose: they die with the process, or follow from the edges.
_PASSED_OVER = frozenset(("ID", "node handle", "count"))
_DEFAULT_WINDOW = {
    "base_ptr": "0x0000000000000000",
    "num_bytes": "0",
    "hitRatio": "0.000000",
    "hitProp": "N",
    "missProp": "N",
}

Decoded = tuple[Any, frozenset[str]]


class DecodedNode(NamedTuple):
    """One node of a dump; ``label`` is taken apart, ``type`` empty when nothing shows it."""

    type: str
    payload: Any
    extra: Extra
    label: Label


class Decoder:
    """Turns labels into nodes; kernels of one name are one object."""

    def __init__(self) -> None:
        self._kernels: dict[str, Kernel] = {}
        self._quick: dict[tuple[str | Any, ...], DecodedNode] = {}

    def node(self, text: str, shape: str, cut: bool) -> DecodedNode:
        """Decode one label.

        Parameters
        ----------
        text : str
            As it stands between the quotes.
        shape : str
            The DOT attribute; only kernels are octagons.
        cut : bool
            The text ends too early.
        """
        # Launches of one kernel differ in little but the node's number and address.
        match = None if cut else _KERNEL_LABEL.match(text)
        if match is None:
            return self._slow(text, shape, cut)
        key = match.groups()
        node = self._quick.get(key)
        if node is None:
            node = self._slow(text, shape, cut)
            if len(self._quick) < 10_000:
                self._quick[key] = node
            return node
        return node._replace(payload=copy(node.payload), extra=dict(node.extra))

    def _slow(self, text: str, shape: str, cut: bool) -> DecodedNode:
        label = split_label(text, cut)
        type_ = type_name(label, shape)
        value, extra = payload(type_ or "unknown", label, self)
        return DecodedNode(type_, value, extra, label)

    def kernel(self, name: str) -> Kernel:
        """Return the kernel of a name."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = Kernel(name=name)
        return kernel


def number(text: Any) -> int | None:
    """Return an integer that is printed decimally or as ``0x…``, or ``None``."""
    if not isinstance(text, str) or _NUMBER.match(text) is None:
        return None
    return int(text, 16 if "x" in text or "X" in text else 10)


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    words = {entry.name.upper(): entry.name for entry in node_types().values()}
    for entry in node_types().values():
        words.update(dict.fromkeys(entry.dot_names, entry.name))
    return words


def type_name(label: Label, shape: str) -> str:
    """Return the node type that a label shows; empty when it shows none.

    A word that no node type has becomes a type of that name.
    """
    if label.word:
        return _words().get(label.word) or label.word.lower()
    if "Type" in label.fields:
        return "conditional"
    if label.bodies:
        return "child_graph"
    if label.name:
        return "kernel" if shape == "octagon" else _words().get(label.name.upper(), "kernel")
    return ""


def payload(type_: str, label: Label, decoder: Decoder) -> tuple[Any, Extra]:
    """Return a node's payload, as far as it is printed, and the fields that it has no place for.

    A type without a decoder here gets its fields as they are printed.
    """
    fields = label.fields
    if type_ == "kernel":
        value, used = _kernel(label, decoder)
    elif type_ == "conditional":
        value, used = _conditional(label)
    else:
        fields_of = _DECODERS.get(type_)
        if fields_of is None:
            known = {k: v for k, v in fields.items() if k not in _PASSED_OVER}
            return (
                (None, {"dot": known} if known else {})
                if type_ in node_types()
                else (
                    known,
                    {},
                )
            )
        value, used = fields_of(fields)
    extra: Extra = {}
    if label.counted is not None:
        what, size_bytes = label.counted
        extra["size_bytes"] = size_bytes
        if type_ == "memcpy":
            value.kind = what
        elif type_ == "memset":
            value.value = number(what)
    left = {k: v for k, v in fields.items() if k not in used and k not in _PASSED_OVER}
    if left:
        extra["dot"] = left
    return value, extra


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


def _kernel(label: Label, decoder: Decoder) -> Decoded:
    fields = label.fields
    name, _, rest = label.name.rpartition("<<<")
    launch = _launch(rest.removesuffix(">>>")) if name else None
    if launch is None:
        name = label.name
    value = KernelPayload(kernel=decoder.kernel(name) if name else None)
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


def _conditional(label: Label) -> Decoded:
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


_DECODERS: dict[str, Callable[[Fields], Decoded]] = {
    "memset": _memset,
    "memcpy": _memcpy,
    "host": _host,
    "event_record": _event,
    "wait_event": _event,
    "mem_alloc": _mem_alloc,
    "mem_free": _mem_free,
    "batch_mem_op": _batch,
}
