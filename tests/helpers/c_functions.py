"""C functions of a driver library, laying memory out as cuda.h says, answering from the fake."""

# ruff: noqa: N802 - the functions are named as the driver names them

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from capture.driver import records
from capture.driver.entry_points import SIGNATURES
from capture.errors import DriverError
from tests.helpers.c_replays import CReplays
from tests.helpers.fake_driver import FakeDriver

INVALID_VALUE = 1


class CFunctions(CReplays):
    """C functions of a driver library, answering from a fake driver."""

    def __init__(self, fake: FakeDriver, *, joined: bool = True) -> None:
        self.fake = fake
        self.joined = joined
        self.asked: list[str] = []
        self._keep: list[Any] = []
        self._addresses: dict[str, int] = {}
        self._memory: dict[Any, Any] = {}

    def find(self, name: str, version: int) -> int:
        answer = getattr(self, name, None)
        if answer is None or (name == "cuGraphNodeGetParams" and not self.fake.node_params):
            return 0
        if name not in self._addresses:

            def call(*arguments: Any) -> int:
                self.asked.append(name)
                try:
                    return int(answer(*arguments) or 0)
                except DriverError as error:
                    return error.code

            function = ctypes.CFUNCTYPE(ctypes.c_int, *SIGNATURES[name])(call)
            self._keep.append(function)
            self._addresses[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
        return self._addresses[name]

    def memory(self, data: bytes) -> int:
        """Return the address of memory that holds some bytes for as long as this lives."""
        # Never replaced: another thread may already have been given its address.
        buffer = ctypes.create_string_buffer(data, max(1, len(data)))
        return ctypes.addressof(self._memory.setdefault(data, buffer))

    # Output of one node each

    def _put(self, at: int, layout: str, *values: Any) -> None:
        data = struct.pack(layout, *values)
        ctypes.memmove(at, data, len(data))

    def _one(self, method: Callable[..., Any], node: int) -> Any:
        answers = method([node])
        if answers.refused:
            raise answers.refused[0]
        return answers.values[0]

    def cuGraphNodeGetType(self, node: int, out: int) -> None:
        self._put(out, "<i", self._one(self.fake.node_types, node))

    def cuGraphKernelNodeGetParams(self, node: int, out: int) -> None:
        launch = records.Launch._make(self._one(self.fake.launches, node))
        layout = self.fake._functions[launch.function].parameters or []
        (arguments,) = self.fake.arguments([launch], [layout])
        assert arguments is not None
        parameters = packed = 0
        if launch.packed:
            size = self.memory(struct.pack("<Q", len(arguments)))
            buffer = self.memory(arguments)
            packed = self.memory(struct.pack("<5Q", 1, buffer, 2, size, 0))
        elif layout:
            values = [arguments[offset : offset + size] for offset, size in layout]
            base = self.memory(arguments)
            pointers = (
                [base + offset for offset, _ in layout]
                if self.joined
                else [self.memory(bytes([index]) + value) + 1 for index, value in enumerate(values)]
            )
            parameters = self.memory(struct.pack(f"<{len(pointers)}Q", *pointers))
        self._put(out, "<Q7I4x4Q", *launch[:8], parameters, packed, 0, 0)

    def cuGraphKernelNodeGetAttribute(self, node: int, attribute: int, out: int) -> int:
        found = self.fake.launch_attributes([node])
        others = self.fake.rare_attributes([node]).differing.get(0, {})
        if attribute == 2:
            self._put(out, "<i", found.cooperative[0])
        elif attribute == 4:
            self._put(out, "<3I", *(found.cluster[0] or (0, 0, 0)))
        elif attribute == 8:
            self._put(out, "<i", found.priority[0])
        elif attribute == 1:
            window = others.get("access_policy_window")
            self._put(out, "<QQfii", *(window.values() if window else (0, 0, 0.0, 0, 0)))
        elif attribute == 9:
            self._put(out, "<BB", 0, 1)
        elif attribute == 19:
            self._put(out, "<I", others.get("attribute_19", [0])[0])
        else:
            return INVALID_VALUE
        return 0

    def cuFuncGetName(self, out: int, function: int) -> None:
        name = self.fake.function(function, 0).kernel.name.encode()
        self._put(out, "<Q", self.memory(name + b"\0"))

    def cuFuncGetAttribute(self, out: int, attribute: int, function: int) -> int:
        found = self.fake.function(function, 0).kernel
        values = (
            found.max_threads_per_block,
            found.static_shared_bytes,
            found.constant_bytes,
            found.local_bytes,
            found.registers,
            found.ptx_version,
            found.binary_version,
        )
        self._put(out, "<i", values[attribute])
        return 0

    def cuFuncGetParamInfo(self, function: int, index: int, offset: int, size: int) -> int:
        layout = self.fake.function(function, 0).kernel.parameters or []
        if index >= len(layout):
            return INVALID_VALUE
        self._put(offset, "<Q", layout[index][0])
        self._put(size, "<Q", layout[index][1])
        return 0

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, out: int, function: int, threads: int, shared: int
    ) -> None:
        self._put(out, "<i", self.fake.occupancy(function, threads, shared))

    def cuGraphMemcpyNodeGetParams(self, node: int, out: int) -> None:
        copy = self._one(self.fake.memcpys, node)
        ends = [(*end[:4], end[4], *end[5:8], 0, *end[8:]) for end in (copy[:10], copy[10:20])]
        self._put(out, "<4QI4x4Q2Q" + "4QI4x4Q2Q" + "3Q", *ends[0], *ends[1], *copy[20:])

    def cuGraphMemsetNodeGetParams(self, node: int, out: int) -> None:
        self._put(out, "<QQIIQQ", *self._one(self.fake.memsets, node))

    def cuGraphHostNodeGetParams(self, node: int, out: int) -> None:
        self._put(out, "<QQ", *self._one(self.fake.host_functions, node))

    def cuGraphEventRecordNodeGetEvent(self, node: int, out: int) -> None:
        self._put(out, "<Q", self._one(self.fake.recorded_events, node))

    def cuGraphEventWaitNodeGetEvent(self, node: int, out: int) -> None:
        self._put(out, "<Q", self._one(self.fake.awaited_events, node))

    def cuGraphMemFreeNodeGetParams(self, node: int, out: int) -> None:
        self._put(out, "<Q", self._one(self.fake.frees, node))

    def cuGraphChildGraphNodeGetGraph(self, node: int, out: int) -> None:
        self._put(out, "<Q", self._one(self.fake.child_graphs, node))

    def cuGraphMemAllocNodeGetParams(self, node: int, out: int) -> None:
        found = self._one(self.fake.allocations, node)
        access = b"".join(struct.pack("<IiI", *peer) for peer in found.access)
        self._put(
            out,
            "<IIIi QQ H54x 4Q",
            *found[:4],
            *(0, 0, 0),
            *(self.memory(access), len(found.access), found.size_bytes, found.address),
        )

    def _semaphores(self, found: Any, out: int, layout: str) -> None:
        items = b""
        for fields in found.parameters:
            *values, flags = fields.values()
            items += struct.pack(layout, *values).ljust(72, b"\0")
            items += struct.pack("<I", flags).ljust(72, b"\0")
        handles = struct.pack(f"<{len(found.handles)}Q", *found.handles)
        self._put(out, "<QQI", self.memory(handles), self.memory(items), len(found.handles))

    def cuGraphExternalSemaphoresSignalNodeGetParams(self, node: int, out: int) -> None:
        self._semaphores(self._one(self.fake.semaphore_signals, node), out, "<QQQ")

    def cuGraphExternalSemaphoresWaitNodeGetParams(self, node: int, out: int) -> None:
        self._semaphores(self._one(self.fake.semaphore_waits, node), out, "<QQQI")

    def cuGraphBatchMemOpNodeGetParams(self, node: int, out: int) -> None:
        found = self._one(self.fake.memory_operations, node)
        items = b""
        for fields in found.operations:
            wide = fields["operation"] in (4, 5)
            items += struct.pack(
                "<I4xQQI4xQ8x" if wide else "<I4xQI4xI4xQ8x",
                *(fields[name] for name in ("operation", "address", "value", "flags")),
                0xA11A5,  # the driver's own alias, which is left out
            )
        count = len(found.operations)
        self._put(out, "<QI4xQI", 0, count, self.memory(items), found.flags)

    def cuGraphNodeGetParams(self, node: int, out: int) -> None:
        found = self._one(self.fake.conditionals, node)
        bodies = self.memory(struct.pack(f"<{len(found.bodies)}Q", *found.bodies))
        self._put(out, "<I12xQIIQ", 13, found.handle, found.kind, len(found.bodies), bodies)

    # Graphs

    def cuGraphGetNodes(self, graph: int, out: int | None, count: int) -> None:
        nodes = self.fake.nodes(graph)
        if out:
            self._put(out, f"<{len(nodes)}Q", *nodes)
        self._put(count, "<Q", len(nodes))

    def _fill(self, rows: list[tuple[int, ...]], outs: list[int | None], count: int) -> None:
        """Write as many rows as fit, zeros behind them, and how many were written."""
        capacity = ctypes.c_uint64.from_address(count).value
        if outs[-1] is None:
            self._put(count, "<Q", len(rows))
            return
        for column, out in enumerate(outs):
            values = [row[column] for row in rows[:capacity]]
            values += [0] * (capacity - len(values))
            assert out is not None
            self._put(out, f"<{capacity}Q", *values)
        self._put(count, "<Q", min(capacity, len(rows)))

    def _edge_rows(self, nodes: list[int]) -> list[tuple[int, int, int]]:
        edges = self.fake.edges(0, nodes)
        size = len(edges.source)
        zeros = [0] * size
        columns = zip(
            edges.source,
            edges.target,
            edges.from_port or zeros,
            edges.to_port or zeros,
            edges.type or zeros,
            strict=True,
        )
        return [(nodes[s], nodes[t], f | p << 8 | k << 16) for s, t, f, p, k in columns]

    def cuGraphGetEdges(
        self, graph: int, source: int | None, target: int | None, data: int | None, count: int
    ) -> None:
        rows = self._edge_rows(self.fake.nodes(graph))
        self._fill(list(reversed(rows)), [source, target, data], count)

    def cuGraphNodeGetDependencies(
        self, node: int, out: int | None, data: int | None, count: int
    ) -> int:
        if node in self.fake.destroyed:
            return INVALID_VALUE
        owner, _ = self.fake._nodes[node]
        rows = [(s, d) for s, t, d in self._edge_rows(self.fake._graphs[owner][1]) if t == node]
        self._fill(list(reversed(rows)), [out, data], count)
        return 0

    def cuGraphDebugDotPrint(self, graph: int, path: bytes, flags: int) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.fake.debug_dot(graph, flags))

    def cuGraphClone(self, out: int, graph: int) -> None:
        self._put(out, "<Q", self.fake.clone(graph))

    def cuGraphDestroy(self, graph: int) -> None:
        self.fake.destroy(graph)

    def cuThreadExchangeStreamCaptureMode(self, mode: int) -> None:
        value = ctypes.c_int.from_address(mode).value
        self._put(mode, "<i", self.fake.exchange_capture_mode(value))

    def cuStreamGetCaptureInfo(self, stream: int, *outs: int) -> None:
        info = self.fake.capture_info(stream or 0)
        nodes = self.memory(struct.pack(f"<{len(info.last_nodes)}Q", *info.last_nodes))
        values = (info.status, info.id, info.graph, nodes, 0, len(info.last_nodes))
        for out, layout, value in zip(outs, ("<i", *["<Q"] * 5), values, strict=True):
            if out:  # each may be left out
                self._put(out, layout, value)

    # Devices and errors

    def cuDeviceGetCount(self, out: int) -> None:
        self._put(out, "<i", len(self.fake.devices()))

    def cuDeviceGet(self, out: int, index: int) -> None:
        self._put(out, "<i", index)

    def cuDeviceGetName(self, out: int, size: int, device: int) -> None:
        self._put(out, f"<{size}s", self.fake.devices()[device].name.encode())

    def cuDeviceTotalMem(self, out: int, device: int) -> None:
        self._put(out, "<Q", self.fake.devices()[device].memory_bytes)

    def cuDeviceGetAttribute(self, out: int, attribute: int, device: int) -> None:
        gpu = self.fake.devices()[device]
        major, minor = gpu.compute_capability or (0, 0)
        values = {
            16: gpu.multiprocessors,
            38: gpu.l2_bytes,
            39: gpu.max_threads_per_multiprocessor,
            36: gpu.extra["memory_clock_khz"],
            37: gpu.extra["memory_bus_width_bits"],
            75: major,
            76: minor,
        }
        self._put(out, "<i", values[attribute])

    def cuCtxGetCurrent(self, out: int) -> None:
        self._put(out, "<Q", 1)

    def cuCtxGetDevice(self, out: int) -> None:
        self._put(out, "<i", 0)

    def cuDriverGetVersion(self, out: int) -> None:
        self._put(out, "<i", self.fake.version())

    def cuGetErrorName(self, code: int, out: int) -> None:
        name = b"ILLEGAL_ADDRESS" if code == 700 else b"INVALID_VALUE"
        self._put(out, "<Q", self.memory(b"CUDA_ERROR_" + name + b"\0"))

    def cuGetErrorString(self, code: int, out: int) -> None:
        self._put(out, "<Q", self.memory(b"invalid argument\0"))
