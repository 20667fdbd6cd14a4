"""Calls about whole graphs, captures and devices."""

from __future__ import annotations

import ctypes
import os
import tempfile
from array import array
from collections.abc import Sequence
from pathlib import Path

from ..errors import DriverError
from ..model import Gpu
from .entry_points import EntryPoints
from .records import CaptureInfo, EdgeColumns

EDGE_LIST_LIMIT = 8_000
"""Nodes up to which ``cuGraphGetEdges`` is used: its cost grows with the square of the nodes,
that of ``cuGraphNodeGetDependencies`` is linear but a call each."""

_SLOTS = 4
_MULTIPROCESSORS, _L2_BYTES, _MAX_THREADS, _MAJOR, _MINOR = 16, 38, 39, 75, 76


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
        )

    def current_device(self) -> int | None:
        """See :meth:`capture.driver.protocol.Driver.current_device`."""
        context = ctypes.c_void_p()
        self.entry.check("cuCtxGetCurrent", ctypes.byref(context))
        return self._number("cuCtxGetDevice") if context.value else None

    def exchange_capture_mode(self, mode: int) -> int:
        """See :meth:`capture.driver.protocol.Driver.exchange_capture_mode`."""
        value = ctypes.c_int(mode)
        self.entry.check("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
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

    def nodes(self, graph: int) -> list[int]:
        """See :meth:`capture.driver.protocol.Driver.nodes`."""
        count = ctypes.c_size_t()
        self.entry.check("cuGraphGetNodes", graph, None, ctypes.byref(count))
        if not count.value:
            return []
        found = (ctypes.c_uint64 * count.value)()
        self.entry.check("cuGraphGetNodes", graph, found, ctypes.byref(count))
        return list(found)[: count.value]

    def edges(self, graph: int | None, nodes: Sequence[int]) -> EdgeColumns:
        """See :meth:`capture.driver.protocol.Driver.edges`."""
        if graph is None or len(nodes) > EDGE_LIST_LIMIT:
            return self.edges_by_dependencies(nodes)
        return self.edges_by_list(graph, nodes)

    def edges_by_list(self, graph: int, nodes: Sequence[int]) -> EdgeColumns:
        """Read edges with one ``cuGraphGetEdges``."""
        capacity = 2 * len(nodes) + 64
        while True:
            source, target, data = ((ctypes.c_uint64 * capacity)() for _ in range(3))
            count = ctypes.c_size_t(capacity)
            self.entry.check("cuGraphGetEdges", graph, source, target, data, ctypes.byref(count))
            if count.value < capacity:
                break
            # A full buffer may have been too small: ask for the number and read again.
            self.entry.check("cuGraphGetEdges", graph, None, None, None, ctypes.byref(count))
            capacity = count.value + 1
        number = count.value
        position = {handle: index for index, handle in enumerate(nodes)}
        rows = sorted(
            (position[t], position[s], d)
            for s, t, d in zip(source[:number], target[:number], data[:number], strict=True)
            if s in position and t in position
        )
        return _columns(rows, number - len(rows), {}, "cuGraphGetEdges")

    def edges_by_dependencies(self, nodes: Sequence[int]) -> EdgeColumns:
        """Read edges with one ``cuGraphNodeGetDependencies`` for each node, linear in nodes."""
        number = len(nodes)
        found = array("Q", bytes(8 * _SLOTS * number))
        data = array("Q", bytes(8 * _SLOTS * number))
        counts = array("Q", [_SLOTS]) * number
        addresses = [column.buffer_info()[0] for column in (found, data, counts)]
        call = "cuGraphNodeGetDependencies"
        steps = (8 * _SLOTS, 8 * _SLOTS, 8)
        codes = list(
            map(
                self.entry.reader(call),
                nodes,
                *(
                    range(base, base + step * number, step)
                    for base, step in zip(addresses, steps, strict=True)
                ),
            )
        )
        refused = self.entry.failures(call, codes)
        get = {handle: index for index, handle in enumerate(nodes)}.get
        handles, words = found.tolist(), data.tolist()
        rows: list[tuple[int, int, int]] = []
        for index, count in enumerate(counts):
            start = index * _SLOTS
            if count == 1:
                rows.append((index, get(handles[start], -1), words[start]))
            elif count and index not in refused:
                end = start + count
                pairs = list(zip(handles[start:end], words[start:end], strict=True))
                if count >= _SLOTS:
                    # Full slots may have been too few.
                    try:
                        pairs = self._dependencies(nodes[index])
                    except DriverError as error:
                        refused[index] = error
                        continue
                rows += sorted((index, get(handle, -1), word) for handle, word in pairs)
        known = [row for row in rows if row[1] >= 0]
        return _columns(known, len(rows) - len(known), refused, call)

    def _dependencies(self, node: int) -> list[tuple[int, int]]:
        call = "cuGraphNodeGetDependencies"
        count = ctypes.c_size_t()
        self.entry.check(call, node, None, None, ctypes.byref(count))
        found, data = ((ctypes.c_uint64 * max(1, count.value))() for _ in range(2))
        self.entry.check(call, node, found, data, ctypes.byref(count))
        return list(zip(found[: count.value], data[: count.value], strict=True))

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

    def instantiate(self, graph: int) -> int:
        """See :meth:`capture.driver.protocol.Driver.instantiate`."""
        executable = ctypes.c_void_p()
        self.entry.check("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, 0)
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


def _columns(
    rows: list[tuple[int, int, int]], lost: int, refused: dict[int, DriverError], how: str
) -> EdgeColumns:
    """Split (target, source, edge data) rows; edge data is ``CUgraphEdgeData`` as one word."""
    columns = EdgeColumns([row[1] for row in rows], [row[0] for row in rows], [], [], [])
    if any(row[2] for row in rows):
        words = [row[2] for row in rows]
        columns = columns._replace(
            from_port=_byte(words, 0),
            to_port=_byte(words, 1),
            type=_byte(words, 2),
        )
    return columns._replace(lost=lost, refused=refused, how=how)


def _byte(words: list[int], index: int) -> list[int]:
    column = [word >> (8 * index) & 0xFF for word in words]
    return column if any(column) else []
