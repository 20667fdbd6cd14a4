"""Calls about nodes that are no kernels; layouts are those of cuda.h."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .entry_points import EntryPoints
from .records import (
    Allocation,
    Answers,
    Conditional,
    Memcpy,
    MemoryOperations,
    Memset,
    Semaphores,
)

T = TypeVar("T")

_HANDLE = struct.Struct("<Q")
_PAIR = struct.Struct("<QQ")
_END = "4QI4x3Q8x2Q"
_MEMCPY = struct.Struct(f"<{_END}{_END}3Q")
_MEMSET = struct.Struct("<QQIIQQ")
_ALLOCATION = struct.Struct("<IIIi16x2x54x4Q")
_ACCESS = struct.Struct("<IiI")
_SEMAPHORES = struct.Struct("<QQI4x")
_SEMAPHORE_BYTES = 144
_SEMAPHORE_FLAGS_AT = 72
_BATCH = struct.Struct("<QI4xQI4x")
_OPERATION_BYTES = 48
# Operations of CUstreamBatchMemOpType by the shape of their parameters.
_WAIT_OR_WRITE_32 = (1, 2)
_WAIT_OR_WRITE_64 = (4, 5)
_ATOMIC_REDUCTION = 8
# CUgraphNodeParams: the type's own fields start at 16; a conditional's are handle, type, size,
# bodies.
_NODE_PARAMS_BYTES = 256
_CONDITIONAL = struct.Struct("<16xQIIQ")


class NodeCalls:
    """The part of :class:`~capture.driver.protocol.Driver` about nodes that are no kernels."""

    entry: EntryPoints

    def _answers(
        self,
        call: str,
        nodes: Sequence[int],
        layout: struct.Struct,
        make: Callable[[tuple[Any, ...]], T],
        size: int = 0,
    ) -> Answers[T]:
        size = size or layout.size
        buffer, refused = self.entry.each(call, nodes, size)
        values: list[T | None] = [
            None if index in refused else make(layout.unpack_from(buffer, index * size))
            for index in range(len(nodes))
        ]
        return Answers(values, refused)

    def memcpys(self, nodes: Sequence[int]) -> Answers[Memcpy]:
        """See :meth:`capture.driver.protocol.Driver.memcpys`."""
        return self._answers("cuGraphMemcpyNodeGetParams", nodes, _MEMCPY, Memcpy._make)

    def memsets(self, nodes: Sequence[int]) -> Answers[Memset]:
        """See :meth:`capture.driver.protocol.Driver.memsets`."""
        return self._answers("cuGraphMemsetNodeGetParams", nodes, _MEMSET, Memset._make)

    def host_functions(self, nodes: Sequence[int]) -> Answers[tuple[int, int]]:
        """See :meth:`capture.driver.protocol.Driver.host_functions`."""
        return self._answers(
            "cuGraphHostNodeGetParams", nodes, _PAIR, lambda pair: (pair[0], pair[1])
        )

    def recorded_events(self, nodes: Sequence[int]) -> Answers[int]:
        """See :meth:`capture.driver.protocol.Driver.recorded_events`."""
        return self._answers("cuGraphEventRecordNodeGetEvent", nodes, _HANDLE, _first)

    def awaited_events(self, nodes: Sequence[int]) -> Answers[int]:
        """See :meth:`capture.driver.protocol.Driver.awaited_events`."""
        return self._answers("cuGraphEventWaitNodeGetEvent", nodes, _HANDLE, _first)

    def frees(self, nodes: Sequence[int]) -> Answers[int]:
        """See :meth:`capture.driver.protocol.Driver.frees`."""
        return self._answers("cuGraphMemFreeNodeGetParams", nodes, _HANDLE, _first)

    def child_graphs(self, nodes: Sequence[int]) -> Answers[int]:
        """See :meth:`capture.driver.protocol.Driver.child_graphs`."""
        return self._answers("cuGraphChildGraphNodeGetGraph", nodes, _HANDLE, _first)

    def semaphore_signals(self, nodes: Sequence[int]) -> Answers[Semaphores]:
        """See :meth:`capture.driver.protocol.Driver.semaphore_signals`."""
        return self._answers(
            "cuGraphExternalSemaphoresSignalNodeGetParams",
            nodes,
            _SEMAPHORES,
            lambda row: _semaphores(row, ("fence_value", "nv_sci_sync", "key"), "<3Q"),
        )

    def semaphore_waits(self, nodes: Sequence[int]) -> Answers[Semaphores]:
        """See :meth:`capture.driver.protocol.Driver.semaphore_waits`."""
        fields = ("fence_value", "nv_sci_sync", "key", "timeout_ms")
        return self._answers(
            "cuGraphExternalSemaphoresWaitNodeGetParams",
            nodes,
            _SEMAPHORES,
            lambda row: _semaphores(row, fields, "<3QI"),
        )

    def allocations(self, nodes: Sequence[int]) -> Answers[Allocation]:
        """See :meth:`capture.driver.protocol.Driver.allocations`."""
        return self._answers("cuGraphMemAllocNodeGetParams", nodes, _ALLOCATION, _allocation)

    def memory_operations(self, nodes: Sequence[int]) -> Answers[MemoryOperations]:
        """See :meth:`capture.driver.protocol.Driver.memory_operations`."""
        return self._answers("cuGraphBatchMemOpNodeGetParams", nodes, _BATCH, _operations)

    def conditionals(self, nodes: Sequence[int]) -> Answers[Conditional]:
        """See :meth:`capture.driver.protocol.Driver.conditionals`."""
        return self._answers(
            "cuGraphNodeGetParams", nodes, _CONDITIONAL, _conditional, _NODE_PARAMS_BYTES
        )


def _first(row: tuple[Any, ...]) -> int:
    return int(row[0])


def _array(address: int, count: int, size: int) -> list[bytes]:
    raw = ctypes.string_at(address, count * size) if address and count else b""
    return [raw[start : start + size] for start in range(0, len(raw), size)]


def _allocation(row: tuple[Any, ...]) -> Allocation:
    kind, handle_types, location_type, location_id, access, count, size_bytes, address = row
    peers = [_ACCESS.unpack(item) for item in _array(access, count, _ACCESS.size)]
    return Allocation(kind, handle_types, location_type, location_id, peers, size_bytes, address)


def _semaphores(row: tuple[Any, ...], fields: tuple[str, ...], layout: str) -> Semaphores:
    handles, parameters, count = row
    maps = []
    for item in _array(parameters, count, _SEMAPHORE_BYTES):
        values = dict(zip(fields, struct.unpack_from(layout, item), strict=True))
        values["flags"] = struct.unpack_from("<I", item, _SEMAPHORE_FLAGS_AT)[0]
        maps.append(values)
    found = [int.from_bytes(item, "little") for item in _array(handles, count, 8)]
    return Semaphores(found, maps)


def _operations(row: tuple[Any, ...]) -> MemoryOperations:
    _context, count, address, flags = row
    items = _array(address, count, _OPERATION_BYTES)
    return MemoryOperations(flags, [_operation(item) for item in items])


def _operation(item: bytes) -> dict[str, int]:
    # The field `alias` is the driver's own and is left out.
    (operation,) = struct.unpack_from("<I", item)
    if operation in _WAIT_OR_WRITE_32:
        address, value, flags = struct.unpack_from("<8xQI4xI", item)
    elif operation in _WAIT_OR_WRITE_64:
        address, value, flags = struct.unpack_from("<8xQQI", item)
    elif operation == _ATOMIC_REDUCTION:
        flags, reduction, data_type, address, value = struct.unpack_from("<4x3I2Q", item)
        return {
            "operation": operation,
            "address": address,
            "value": value,
            "flags": flags,
            "reduction": reduction,
            "data_type": data_type,
        }
    else:
        return {"operation": operation, "flags": struct.unpack_from("<4xI", item)[0]}
    return {
        "operation": operation,
        "address": address,
        "value": value,
        "flags": flags,
    }


def _conditional(row: tuple[Any, ...]) -> Conditional:
    handle, kind, count, bodies = row
    return Conditional(
        handle, kind, [int.from_bytes(item, "little") for item in _array(bodies, count, 8)]
    )
