"""Calls about whole graphs, captures and devices."""

from __future__ import annotations

import ctypes
import os
import tempfile
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DriverError
from ..model import Gpu
from .entry_points import EntryPoints
from .records import NOT_CAPTURING, CaptureInfo, Tip

_MULTIPROCESSORS, _L2_BYTES, _MAX_THREADS, _MAJOR, _MINOR = 16, 38, 39, 75, 76
_MEMORY = {"memory_clock_khz": 36, "memory_bus_width_bits": 37}
"""Attributes of which the memory's bandwidth is made."""


class GraphCalls:
    """The part of :class:`~capture.driver.protocol.Driver` about graphs and devices."""

    entry: EntryPoints

    def version(self) -> int:
        """See :meth:`capture.driver.protocol.Driver.version`."""
        return self._number("cuDriverGetVersion")

    def _number(self, call: str, *arguments: int) -> int:
        value = ctypes.c_int()
        self.entry.check(call, ctypes.byref(value), *arguments)
        return value.value

    def devices(self) -> list[Gpu]:
        """See :meth:`capture.driver.protocol.Driver.devices`."""
        return [self._device(index) for index in range(self._number("cuDeviceGetCount"))]

    def _device(self, index: int) -> Gpu:
        device = self._number("cuDeviceGet", index)
        name = ctypes.create_string_buffer(256)
        self.entry.check("cuDeviceGetName", name, len(name), device)
        memory = ctypes.c_size_t()
        self.entry.check("cuDeviceTotalMem", ctypes.byref(memory), device)

        def ask(attribute: int) -> int:
            return self._number("cuDeviceGetAttribute", attribute, device)

        return Gpu(
            index=index,
            name=name.value.decode(errors="replace"),
            compute_capability=(ask(_MAJOR), ask(_MINOR)),
            multiprocessors=ask(_MULTIPROCESSORS),
            memory_bytes=memory.value,
            l2_bytes=ask(_L2_BYTES),
            max_threads_per_multiprocessor=ask(_MAX_THREADS),
            extra=self._memory(device),
        )

    def _memory(self, device: int) -> dict[str, int]:
        """Return what the driver tells of the memory's speed, where it does."""
        found = {}
        for name, attribute in _MEMORY.items():
            with suppress(DriverError):
                found[name] = self._number("cuDeviceGetAttribute", attribute, device)
        return {name: value for name, value in found.items() if value > 0}

    def current_device(self) -> int | None:
        """See :meth:`capture.driver.protocol.Driver.current_device`."""
        context = ctypes.c_void_p()
        self.entry.check("cuCtxGetCurrent", ctypes.byref(context))
        return self._number("cuCtxGetDevice") if context.value else None

    def exchange_capture_mode(self, mode: int) -> int:
        """See :meth:`capture.driver.protocol.Driver.exchange_capture_mode`."""
        value = ctypes.c_int(mode)
        # It reads and writes a word of this thread.
        self.entry.read("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
        return value.value

    def capture_info(self, stream: int) -> CaptureInfo:
        """See :meth:`capture.driver.protocol.Driver.capture_info`."""
        status, id_ = ctypes.c_int(), ctypes.c_uint64()
        graph, nodes, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        count = ctypes.c_size_t()
        self.entry.check(
            "cuStreamGetCaptureInfo",
            stream,
            *map(ctypes.byref, (status, id_, graph, nodes, data, count)),
        )
        if status.value != 1:
            return CaptureInfo(status.value, 0, 0, [])
        raw = ctypes.string_at(nodes.value, 8 * count.value) if nodes.value and count.value else b""
        return CaptureInfo(status.value, id_.value, graph.value or 0, array("Q", raw).tolist())

    def capture_tip(self, stream: int) -> Callable[[], Tip]:
        """See :meth:`capture.driver.protocol.Driver.capture_tip`."""
        status, count, data = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_void_p()
        nodes = ctypes.POINTER(ctypes.c_uint64)()
        # This runs twice for every operator of a script, so everything that a call takes is made
        # once, and no argument is checked: they are what the signature says.
        function = self.entry.own_reader("cuStreamGetCaptureInfo")
        pointers = [ctypes.c_void_p(ctypes.addressof(item)) for item in (nodes, data, count)]
        to_status = ctypes.c_void_p(ctypes.addressof(status))
        call = partial(function, ctypes.c_void_p(stream), to_status, None, None, *pointers)

        # The driver writes to all of them, so all of them have to live as long as the function.
        def tip(_: object = data) -> Tip:
            if call() or status.value != 1:
                return NOT_CAPTURING
            found = count.value
            if found == 1:
                only: int = nodes[0]
                return only
            return tuple(nodes[:found]) if found else 0

        return tip

    def capture_info_address(self) -> int:
        """See :meth:`capture.driver.protocol.Driver.capture_info_address`."""
        function: Any = self.entry.own_reader("cuStreamGetCaptureInfo")
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def nodes(self, graph: int) -> list[int]:
        """See :meth:`capture.driver.protocol.Driver.nodes`."""
        count = ctypes.c_size_t()
        self.entry.read("cuGraphGetNodes", graph, None, ctypes.byref(count))
        if not count.value:
            return []
        found = array("Q", bytes(8 * count.value))
        self.entry.read("cuGraphGetNodes", graph, found.buffer_info()[0], ctypes.byref(count))
        return found[: count.value].tolist()

    def debug_dot(self, graph: int, flags: int) -> str:
        """See :meth:`capture.driver.protocol.Driver.debug_dot`."""
        handle, path = tempfile.mkstemp(prefix="cglens-", suffix=".dot")
        os.close(handle)
        try:
            self.entry.check("cuGraphDebugDotPrint", graph, os.fsencode(path), flags)
            return Path(path).read_text(encoding="utf-8", errors="replace")
        finally:
            Path(path).unlink(missing_ok=True)

    def clone(self, graph: int) -> int:
        """See :meth:`capture.driver.protocol.Driver.clone`."""
        clone = ctypes.c_void_p()
        self.entry.check("cuGraphClone", ctypes.byref(clone), graph)
        return clone.value or 0

    def destroy(self, graph: int) -> None:
        """See :meth:`capture.driver.protocol.Driver.destroy`."""
        self.entry.check("cuGraphDestroy", graph)

    def instantiate(self, graph: int, flags: int = 0) -> int:
        """See :meth:`capture.driver.protocol.Driver.instantiate`."""
        executable = ctypes.c_void_p()
        self.entry.check("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, flags)
        return executable.value or 0

    def launch(self, executable: int, stream: int) -> None:
        """See :meth:`capture.driver.protocol.Driver.launch`."""
        self.entry.check("cuGraphLaunch", executable, stream)

    def destroy_executable(self, executable: int) -> None:
        """See :meth:`capture.driver.protocol.Driver.destroy_executable`."""
        self.entry.check("cuGraphExecDestroy", executable)

    def synchronize(self, stream: int) -> None:
        """See :meth:`capture.driver.protocol.Driver.synchronize`."""
        self.entry.check("cuStreamSynchronize", stream)
