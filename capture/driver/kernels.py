"""Calls about kernel nodes: launches, functions, launch attributes and argument bytes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from itertools import pairwise, repeat
from typing import Any, NamedTuple

from ..errors import DriverError, NotSupportedError
from ..model import Kernel
from .entry_points import INVALID_VALUE, EntryPoints
from .memory import MEMORY
from .records import Answers, Function, Launch, LaunchAttributes, Layout

_LAUNCH = struct.Struct("<Q7I4x4Q")
_ATTRIBUTE_BYTES = 64
_PROBED_NODES = 4
# cuda.h knows two keys of `extra`; a list without an end is not followed further.
_PACKED_PAIRS = 4

# CUfunction_attribute of each field of a Kernel.
_FUNCTION_ATTRIBUTES = {
    "max_threads_per_block": 0,
    "static_shared_bytes": 1,
    "constant_bytes": 2,
    "local_bytes": 3,
    "registers": 4,
    "ptx_version": 5,
    "binary_version": 6,
}


class _Attribute(NamedTuple):
    """A ``CUlaunchAttributeID``: how its value is laid out, and what it is when nobody set it."""

    name: str
    layout: str
    fields: tuple[str, ...] = ()
    default: bytes = b""


_CLUSTER, _COOPERATIVE, _PRIORITY = 4, 2, 8
_ATTRIBUTES: dict[int, _Attribute] = {
    1: _Attribute(
        "access_policy_window",
        "<QQfii",
        ("base_address", "size_bytes", "hit_ratio", "hit_property", "miss_property"),
    ),
    2: _Attribute("cooperative", "<i"),
    3: _Attribute("synchronization_policy", "<i", default=struct.pack("<i", 1)),
    4: _Attribute("cluster_dimension", "<3I", ("x", "y", "z")),
    5: _Attribute("cluster_scheduling_policy_preference", "<i"),
    6: _Attribute("programmatic_stream_serialization", "<i"),
    7: _Attribute(
        "programmatic_event", "<Qii", ("event_handle", "flags", "trigger_at_block_start")
    ),
    8: _Attribute("priority", "<i"),
    9: _Attribute("mem_sync_domain_map", "<BB", ("default", "remote"), default=b"\0\1"),
    10: _Attribute("mem_sync_domain", "<i"),
    11: _Attribute("preferred_cluster_dimension", "<3I", ("x", "y", "z")),
    12: _Attribute("launch_completion_event", "<Qi", ("event_handle", "flags")),
    13: _Attribute(
        "device_updatable_kernel_node", "<i4xQ", ("device_updatable", "device_node_handle")
    ),
    14: _Attribute("preferred_shared_memory_carveout", "<i", default=struct.pack("<i", -1)),
    16: _Attribute("nvlink_util_centric_scheduling", "<I"),
    17: _Attribute("portable_cluster_size_mode", "<i"),
    18: _Attribute("shared_memory_mode", "<i"),
}
# Ids beyond cuda.h 13.3 are asked for too; one that answers is kept as raw words.
_HIGHEST_ATTRIBUTE = 24


def _attribute(number: int) -> _Attribute:
    return _ATTRIBUTES.get(number) or _Attribute(f"attribute_{number}", "<16I")


class _Reading:
    """How to read the arguments of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.count = len(layout)
        first = layout[0][0]
        self.relative = [offset - first for offset, _ in layout]
        self.pointers = struct.Struct(f"<{self.count}Q").unpack_from
        self.end = max(offset + size for offset, size in layout)
        self.joined_bytes = self.end - first
        edges = sorted(layout)
        self.gaps = [
            (offset + size, following)
            for (offset, size), (following, _) in pairwise(edges)
            if offset + size < following
        ]
        # Only a buffer that starts with its first parameter can be read in one piece.
        self.joined = first == 0 and self.relative == sorted(self.relative)

    def read(self, address: int) -> bytes:
        """Read the arguments that ``kernelParams`` at an address points to."""
        pointers = self.pointers(MEMORY, address)
        first = pointers[0]
        if self.joined and [pointer - first for pointer in pointers] == self.relative:
            # The driver keeps them at their offsets: one read, then clear what lies between.
            buffer = MEMORY[first : first + self.joined_bytes]
            if not self.gaps:
                return buffer
            writable = bytearray(buffer)
        else:
            writable = bytearray(self.end)
            for pointer, (offset, size) in zip(pointers, self.layout, strict=True):
                writable[offset : offset + size] = MEMORY[pointer : pointer + size]
        for start, end in self.gaps:
            writable[start:end] = bytes(end - start)
        return bytes(writable)


def _read_packed(address: int) -> bytes | None:
    """Read ``extra``: (key, value) pairs up to a 0; 1 is the buffer, 2 points to its size."""
    buffer = size_at = 0
    for pair in range(_PACKED_PAIRS):
        (key,) = struct.unpack_from("<Q", MEMORY, address + 16 * pair)
        if key == 0:
            break
        (value,) = struct.unpack_from("<Q", MEMORY, address + 16 * pair + 8)
        if key == 1:
            buffer = value
        elif key == 2:
            size_at = value
    if not buffer or not size_at:
        return None
    return MEMORY[buffer : buffer + struct.unpack_from("<Q", MEMORY, size_at)[0]]


class KernelCalls:
    """The part of :class:`~capture.driver.protocol.Driver` about kernel nodes."""

    entry: EntryPoints
    _answered: list[int] | None = None

    def launches(self, nodes: Sequence[int]) -> Answers[Launch]:
        """See :meth:`capture.driver.protocol.Driver.launches`."""
        buffer, refused = self.entry.each("cuGraphKernelNodeGetParams", nodes, _LAUNCH.size)
        count = len(nodes) * _LAUNCH.size
        values: list[Launch | None] = list(
            map(Launch._make, _LAUNCH.iter_unpack(buffer.raw[:count]))
        )
        for index in refused:
            values[index] = None
        return Answers(values, refused)

    def function(self, function: int, kernel: int) -> Function:
        """See :meth:`capture.driver.protocol.Driver.function`."""
        handle = function or self._function_of(kernel)
        try:
            name = self._function_name(handle)
        except DriverError:
            # A CUkernel may stand where a CUfunction is asked for; not every call takes it.
            handle = self._function_of(kernel or function)
            name = self._function_name(handle)
        value = ctypes.c_int()
        ask = self.entry.get("cuFuncGetAttribute")
        numbers: dict[str, Any] = {
            field: value.value
            for field, number in _FUNCTION_ATTRIBUTES.items()
            if not ask(ctypes.byref(value), number, handle)
        }
        return Function(handle, Kernel(name=name, parameters=self._layout(handle), **numbers))

    def _function_of(self, kernel: int) -> int:
        handle = ctypes.c_void_p()
        self.entry.check("cuKernelGetFunction", ctypes.byref(handle), kernel)
        return handle.value or 0

    def _function_name(self, handle: int) -> str:
        name = ctypes.c_char_p()
        self.entry.check("cuFuncGetName", ctypes.byref(name), handle)
        return (name.value or b"").decode(errors="replace")

    def _layout(self, handle: int) -> Layout | None:
        try:
            ask = self.entry.get("cuFuncGetParamInfo")
        except NotSupportedError:
            return None
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        layout: Layout = []
        while True:
            code = ask(handle, len(layout), ctypes.byref(offset), ctypes.byref(size))
            if code == INVALID_VALUE:
                return layout
            if code:
                return None
            layout.append((offset.value, size.value))

    def occupancy(self, function: int, threads: int, dynamic_shared_bytes: int) -> int:
        """See :meth:`capture.driver.protocol.Driver.occupancy`."""
        blocks = ctypes.c_int()
        self.entry.check(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            function,
            threads,
            dynamic_shared_bytes,
        )
        return blocks.value

    def arguments(
        self, launches: Sequence[Launch], layouts: Sequence[Layout | None]
    ) -> list[bytes | None]:
        """See :meth:`capture.driver.protocol.Driver.arguments`."""
        readings: dict[int, _Reading] = {}
        found: list[bytes | None] = []
        for launch, layout in zip(launches, layouts, strict=True):
            if launch.packed:
                found.append(_read_packed(launch.packed))
            elif layout is None:
                found.append(None)
            elif not layout:
                found.append(b"")
            elif not launch.parameters:
                found.append(None)
            else:
                # Launches of one function share their layout object.
                reading = readings.get(id(layout))
                if reading is None:
                    reading = readings[id(layout)] = _Reading(layout)
                found.append(reading.read(launch.parameters))
        return found

    def launch_attributes(self, nodes: Sequence[int]) -> LaunchAttributes:
        """See :meth:`capture.driver.protocol.Driver.launch_attributes`."""
        answered = self._answered_attributes(nodes)
        columns: dict[int, list[Any]] = {_CLUSTER: [], _COOPERATIVE: [], _PRIORITY: []}
        others: dict[int, dict[str, Any]] = {}
        for number in answered:
            attribute = _attribute(number)
            layout = attribute.layout
            unpack = struct.Struct(f"{layout}{_ATTRIBUTE_BYTES - struct.calcsize(layout)}x")
            buffer, codes = self.entry.each_attribute(
                "cuGraphKernelNodeGetAttribute", nodes, number, _ATTRIBUTE_BYTES
            )
            raw = buffer.raw[: len(nodes) * _ATTRIBUTE_BYTES]
            if number in columns:
                columns[number] = _column(number, unpack.iter_unpack(raw), codes)
                continue
            defaults = {bytes(_ATTRIBUTE_BYTES), attribute.default.ljust(_ATTRIBUTE_BYTES, b"\0")}
            if any(raw == default * len(nodes) for default in defaults):
                continue
            for index, values in enumerate(unpack.iter_unpack(raw)):
                start = index * _ATTRIBUTE_BYTES
                if codes[index] or raw[start : start + _ATTRIBUTE_BYTES] in defaults:
                    continue
                others.setdefault(index, {})[attribute.name] = _plain(attribute, values)
        return LaunchAttributes(
            cluster=columns[_CLUSTER],
            cooperative=columns[_COOPERATIVE],
            priority=columns[_PRIORITY],
            others=others,
            asked=tuple(_attribute(number).name for number in answered),
        )

    def _answered_attributes(self, nodes: Sequence[int]) -> list[int]:
        """Return the attributes this driver answers for, found out on a few nodes, once."""
        if self._answered is not None:
            return self._answered
        step = max(1, len(nodes) // _PROBED_NODES)
        probed = nodes[::step][:_PROBED_NODES]
        buffer = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
        ask = self.entry.get("cuGraphKernelNodeGetAttribute")
        answered = [
            number
            for number in range(1, _HIGHEST_ATTRIBUTE + 1)
            if 0 in map(ask, probed, repeat(number), repeat(ctypes.addressof(buffer)))
        ]
        if answered:
            self._answered = answered
        return answered


def _column(number: int, rows: Any, codes: list[int]) -> list[Any]:
    if number == _CLUSTER:
        column = [row if any(row) else None for row in rows]
    elif number == _COOPERATIVE:
        column = [bool(row[0]) for row in rows]
    else:
        column = [row[0] for row in rows]
    if any(codes):
        column = [None if code else value for value, code in zip(column, codes, strict=True)]
    return column


def _plain(attribute: _Attribute, values: tuple[Any, ...]) -> Any:
    if attribute.fields:
        return dict(zip(attribute.fields, values, strict=True))
    return values[0] if len(values) == 1 else list(values)
