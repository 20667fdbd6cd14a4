"""Calls about kernel nodes: launches, functions and argument bytes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from itertools import pairwise, repeat
from operator import sub
from typing import Any

from ..errors import DriverError, NotSupportedError
from ..model import Kernel
from .entry_points import INVALID_VALUE, EntryPoints
from .memory import MEMORY
from .records import Answers, Function, LaunchRow, Layout

_LAUNCH = struct.Struct("<Q7I4x4Q")
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

    def read(self, addresses: Sequence[int]) -> list[bytes]:
        """Read the arguments that ``kernelParams`` at each address points to."""
        rows = list(map(self.pointers, repeat(MEMORY), addresses))
        first, *others = zip(*rows, strict=True)
        # The driver keeps them at their offsets: one read each, then clear what lies between.
        if self.joined and all(
            list(map(sub, column, first)) == [offset] * len(first)
            for column, offset in zip(others, self.relative[1:], strict=True)
        ):
            size = self.joined_bytes
            buffers = [MEMORY[start : start + size] for start in first]
            return list(map(self._clear_gaps, buffers)) if self.gaps else buffers
        return list(map(self._read_single, rows))

    def _read_single(self, pointers: Sequence[int]) -> bytes:
        buffer = bytearray(self.end)
        for pointer, (offset, size) in zip(pointers, self.layout, strict=True):
            buffer[offset : offset + size] = MEMORY[pointer : pointer + size]
        return bytes(buffer)

    def _clear_gaps(self, buffer: bytes) -> bytes:
        writable = bytearray(buffer)
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

    def launches(self, nodes: Sequence[int]) -> Answers[LaunchRow]:
        """See :meth:`capture.driver.protocol.Driver.launches`."""
        outputs, refused = self.entry.each("cuGraphKernelNodeGetParams", nodes, _LAUNCH.size)
        values: list[LaunchRow | None] = [*_LAUNCH.iter_unpack(outputs)]
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
        self, launches: Sequence[LaunchRow], layouts: Sequence[Layout | None]
    ) -> list[bytes | None]:
        """See :meth:`capture.driver.protocol.Driver.arguments`."""
        found: list[bytes | None] = [None] * len(launches)
        # Launches of one function share their layout object.
        groups: dict[int, tuple[Layout, list[int]]] = {}
        for index, (launch, layout) in enumerate(zip(launches, layouts, strict=True)):
            if launch[9]:
                found[index] = _read_packed(launch[9])
            elif layout:
                if launch[8]:
                    group = groups.get(id(layout))
                    if group is None:
                        group = groups[id(layout)] = layout, []
                    group[1].append(index)
            elif layout is not None:
                found[index] = b""
        for layout, indices in groups.values():
            buffers = _Reading(layout).read([launches[index][8] for index in indices])
            for index, buffer in zip(indices, buffers, strict=True):
                found[index] = buffer
        return found
