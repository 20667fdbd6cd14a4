"""Calls that run graphs, and what measuring them takes."""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence

from ..errors import NotSupportedError
from .entry_points import NOT_SUPPORTED, EntryPoints
from .records import UPDATE_RESULTS, Range, UpdateAnswer

_NON_BLOCKING = 1
_NOT_READY = 600
_UPDATE_FAILURE = 910
_AT_LEAST = 0
_PARAMS_BYTES = 256
"""Room for the parameters of any node that can be copied."""

# CUpointer_attribute
_MEMORY_TYPE, _BUFFER_ID, _IS_MANAGED, _RANGE_START, _RANGE_SIZE = 2, 7, 8, 11, 12
_KINDS = {1: "host", 2: "device", 3: "array", 4: "unified"}

_UPDATE = struct.Struct("<i4xQQ")
"""``CUgraphExecUpdateResultInfo``: result, node, node that its dependency comes from."""

_MEMSET = struct.Struct("<QQIIQQ")
"""``CUDA_MEMSET_NODE_PARAMS``: address, pitch, value, element size, width, height."""

_COPIED = {0: "Kernel", 1: "Memcpy", 2: "Memset"}
_WITH_CONTEXT = (1, 2)


class ReplayCalls:
    """The part of :class:`~capture.driver.replay_protocol.ReplayDriver` that reading lacks."""

    entry: EntryPoints

    def _made(self, call: str, *arguments: object) -> int:
        handle = ctypes.c_void_p()
        self.entry.check(call, ctypes.byref(handle), *arguments)
        return handle.value or 0

    def upload(self, executable: int, stream: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.upload`."""
        self.entry.check("cuGraphUpload", executable, stream)

    def update(self, executable: int, graph: int) -> UpdateAnswer:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.update`."""
        information = ctypes.create_string_buffer(_UPDATE.size)
        code = self.entry.get("cuGraphExecUpdate")(executable, graph, information)
        number, node, from_node = _UPDATE.unpack(information.raw)
        if code not in (0, _UPDATE_FAILURE) and not number:
            error = self.entry.error("cuGraphExecUpdate", code)
            # So a driver of CUDA 13.0 answers for device-updatable kernels.
            if code == NOT_SUPPORTED:
                return UpdateAnswer("NOT_SUPPORTED", error=error.name)
            raise error
        known = 0 <= number < len(UPDATE_RESULTS)
        result = UPDATE_RESULTS[number] if known else f"RESULT_{number}"
        return UpdateAnswer(result, node, from_node)

    def set_enabled(self, executable: int, node: int, enabled: bool) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.set_enabled`."""
        self.entry.check("cuGraphNodeSetEnabled", executable, node, int(enabled))

    def is_enabled(self, executable: int, node: int) -> bool:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.is_enabled`."""
        value = ctypes.c_uint()
        self.entry.check("cuGraphNodeGetEnabled", executable, node, ctypes.byref(value))
        return bool(value.value)

    def find_in_clone(self, nodes: Sequence[int], clone: int) -> list[int]:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.find_in_clone`."""
        name = "cuGraphNodeFindInClone"
        ask = self.entry.reader(name)
        found = ctypes.c_void_p()
        output = ctypes.byref(found)
        handles = []
        for node in nodes:
            code = ask(output, node, clone)
            if code:
                raise self.entry.error(name, code)
            handles.append(found.value or 0)
        return handles

    def new_graph(self) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.new_graph`."""
        return self._made("cuGraphCreate", 0)

    def add_copy(self, graph: int, node: int, number: int, after: Sequence[int]) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.add_copy`."""
        kind = _COPIED.get(number)
        if kind is None:
            raise NotSupportedError(
                "cuGraphAddNode",
                NOT_SUPPORTED,
                "CUDA_ERROR_NOT_SUPPORTED",
                f"nodes of type {number} are not copied: only kernel, memcpy and memset nodes are",
            )
        parameters = array("B", bytes(_PARAMS_BYTES))
        address = parameters.buffer_info()[0]
        self.entry.check(f"cuGraph{kind}NodeGetParams", node, address)
        before = array("Q", after)
        arguments: list[object] = [
            graph,
            before.buffer_info()[0] if after else None,
            len(before),
            address,
        ]
        if number in _WITH_CONTEXT:
            arguments.append(self._made("cuCtxGetCurrent"))
        copy = self._made(f"cuGraphAdd{kind}Node", *arguments)
        if number == 0:
            self.entry.check("cuGraphKernelNodeCopyAttributes", copy, node)
        return copy

    def add_memset(self, graph: int, address: int, size_bytes: int) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.add_memset`."""
        parameters = array("B", _MEMSET.pack(address, size_bytes, 0, 1, size_bytes, 1))
        context = self._made("cuCtxGetCurrent")
        where = parameters.buffer_info()[0]
        return self._made("cuGraphAddMemsetNode", graph, None, 0, where, context)

    def destroy_nodes(self, nodes: Sequence[int]) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.destroy_nodes`."""
        for node in nodes:
            self.entry.check("cuGraphDestroyNode", node)

    def add_edges(self, graph: int, sources: Sequence[int], targets: Sequence[int]) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.add_edges`."""
        if not sources:
            return
        columns = [array("Q", column) for column in (sources, targets)]
        addresses = [column.buffer_info()[0] for column in columns]
        self.entry.check("cuGraphAddDependencies", graph, *addresses, None, len(sources))

    def memory_info(self) -> tuple[int, int]:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.memory_info`."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.entry.check("cuMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def _attribute(self, attribute: int, address: int) -> int | None:
        value = ctypes.c_uint64()
        ask = self.entry.get("cuPointerGetAttribute")
        return None if ask(ctypes.byref(value), attribute, address) else value.value

    def range_of(self, address: int) -> Range | None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.range_of`."""
        number = self._attribute(_MEMORY_TYPE, address)
        if not number:
            return None
        start = self._attribute(_RANGE_START, address)
        size = self._attribute(_RANGE_SIZE, address)
        kind = _KINDS.get(number & 0xFFFFFFFF, "unknown")
        if (self._attribute(_IS_MANAGED, address) or 0) & 0xFF:
            kind = "managed"
        if not start or not size:
            return Range(kind, address, 0)
        return Range(kind, start, size)

    def buffer_of(self, address: int) -> int | None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.buffer_of`."""
        return self._attribute(_BUFFER_ID, address)

    def allocate(self, size_bytes: int) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.allocate`."""
        return self._made("cuMemAlloc", size_bytes)

    def free(self, address: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.free`."""
        self.entry.check("cuMemFree", address)

    def allocate_host(self, size_bytes: int) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.allocate_host`."""
        return self._made("cuMemHostAlloc", size_bytes, 0)

    def free_host(self, address: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.free_host`."""
        self.entry.check("cuMemFreeHost", address)

    def copy(self, destination: int, source: int, size_bytes: int, stream: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.copy`."""
        self.entry.check("cuMemcpyAsync", destination, source, size_bytes, stream)

    def fill(self, address: int, size_bytes: int, value: int, stream: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.fill`."""
        self.entry.check("cuMemsetD8Async", address, value, size_bytes, stream)

    def new_stream(self) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.new_stream`."""
        return self._made("cuStreamCreate", _NON_BLOCKING)

    def destroy_stream(self, stream: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.destroy_stream`."""
        self.entry.check("cuStreamDestroy", stream)

    def hold(self, stream: int, address: int, value: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.hold`."""
        self.entry.check("cuStreamWaitValue32", stream, address, value, _AT_LEAST)

    def new_event(self) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.new_event`."""
        return self._made("cuEventCreate", 0)

    def destroy_event(self, event: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.destroy_event`."""
        self.entry.check("cuEventDestroy", event)

    def record_event(self, event: int, stream: int) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.record_event`."""
        self.entry.check("cuEventRecord", event, stream)

    def is_done(self, event: int) -> bool:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.is_done`."""
        code = self.entry.get("cuEventQuery")(event)
        if code and code != _NOT_READY:
            raise self.entry.error("cuEventQuery", code)
        return not code

    def elapsed_ns(self, start: int, end: int) -> int:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.elapsed_ns`."""
        milliseconds = ctypes.c_float()
        self.entry.check("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return round(milliseconds.value * 1e6)

    def synchronize_device(self) -> None:
        """See :meth:`capture.driver.replay_protocol.ReplayDriver.synchronize_device`."""
        self.entry.check("cuCtxSynchronize")
