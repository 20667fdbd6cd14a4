"""C functions that run graphs, answering from the fake driver; see :mod:`.c_functions`."""

# ruff: noqa: N802 - the functions are named as the driver names them

from __future__ import annotations

import ctypes
import struct
from typing import Any

from capture.driver.argument_bytes import read_arguments
from capture.driver.records import UPDATE_RESULTS
from capture.nodes.kernel import KernelPayload
from capture.nodes.memcpy import MemcpyPayload, _end, kind
from capture.nodes.memset import MemsetPayload
from tests.helpers.fake_driver import FakeDriver

NOT_READY = 600
UPDATE_FAILURE = 910
CONTEXT = 1
_END = "4QI4x3Q8x2Q"


class CReplays:
    """The part of :class:`tests.helpers.c_functions.CFunctions` that runs graphs."""

    fake: FakeDriver

    def _put(self, at: int, layout: str, *values: Any) -> None:
        raise NotImplementedError

    def cuGraphInstantiateWithFlags(self, out: int, graph: int, flags: int) -> None:
        self._put(out, "<Q", self.fake.instantiate(graph, flags))

    def cuGraphExecDestroy(self, executable: int) -> None:
        self.fake.destroy_executable(executable)

    def cuGraphUpload(self, executable: int, stream: int | None) -> None:
        self.fake.upload(executable, stream or 0)

    def cuGraphLaunch(self, executable: int, stream: int | None) -> None:
        self.fake.launch(executable, stream or 0)

    def cuGraphExecUpdate(self, executable: int, graph: int, out: int) -> int:
        answer = self.fake.update(executable, graph)
        number = UPDATE_RESULTS.index(answer.result)
        self._put(out, "<i4xQQ", number, answer.node, answer.from_node)
        return UPDATE_FAILURE if number else 0

    def cuGraphNodeSetEnabled(self, executable: int, node: int, enabled: int) -> None:
        self.fake.set_enabled(executable, node, bool(enabled))

    def cuGraphNodeGetEnabled(self, executable: int, node: int, out: int) -> None:
        self._put(out, "<I", self.fake.is_enabled(executable, node))

    def cuGraphNodeFindInClone(self, out: int, node: int, clone: int) -> None:
        self._put(out, "<Q", self.fake.find_in_clone([node], clone)[0])

    def cuGraphCreate(self, out: int, flags: int) -> None:
        self._put(out, "<Q", self.fake.new_graph())

    @staticmethod
    def _after(before: int | None, count: int) -> list[int]:
        raw = ctypes.string_at(before, 8 * count) if before else b""
        return list(struct.unpack(f"<{count}Q", raw))

    def cuGraphAddKernelNode(
        self, out: int, graph: int, before: int | None, count: int, parameters: int
    ) -> None:
        row = struct.unpack("<Q7I4x4Q", ctypes.string_at(parameters, 72))
        kernel = self.fake._functions[row[0]]
        (arguments,) = read_arguments([row], [kernel.parameters or []])
        # Attributes come with cuGraphKernelNodeCopyAttributes.
        payload = KernelPayload(
            kernel=kernel,
            grid=row[1:4],
            block=row[4:7],
            dynamic_shared_bytes=row[7],
            cooperative=False,
            priority=0,
            max_blocks_per_multiprocessor=FakeDriver.blocks(row[4] * row[5] * row[6]),
            arguments=arguments,
            arguments_packed=bool(row[9]),
            function_handle=row[0],
        )
        self._put(
            out, "<Q", self.fake.add_node(graph, "kernel", payload, self._after(before, count))
        )

    def cuGraphKernelNodeCopyAttributes(self, target: int, source: int) -> None:
        ends = []
        for node in (target, source):
            owner, position = self.fake._nodes[node]
            ends.append(self.fake._graphs[owner][0].payloads[position])
        for name in ("cooperative", "priority", "cluster", "attributes"):
            setattr(ends[0], name, getattr(ends[1], name))

    def cuGraphAddMemcpyNode(
        self, out: int, graph: int, before: int | None, count: int, parameters: int, context: int
    ) -> None:
        assert context == CONTEXT
        layout = struct.Struct(f"<{_END}{_END}3Q")
        row = layout.unpack(ctypes.string_at(parameters, layout.size))
        source, destination = _end(*row[:10]), _end(*row[10:20])
        payload = MemcpyPayload(
            kind=kind(source.memory_type, destination.memory_type),
            source=source,
            destination=destination,
            width_bytes=row[20],
            height=row[21],
            depth=row[22],
        )
        self._put(
            out, "<Q", self.fake.add_node(graph, "memcpy", payload, self._after(before, count))
        )

    def cuGraphAddMemsetNode(
        self, out: int, graph: int, before: int | None, count: int, parameters: int, context: int
    ) -> None:
        assert context == CONTEXT
        row = struct.unpack("<QQIIQQ", ctypes.string_at(parameters, 40))
        payload = MemsetPayload(
            address=row[0],
            pitch_bytes=row[1],
            value=row[2],
            element_bytes=row[3],
            width=row[4],
            height=row[5],
        )
        self._put(
            out, "<Q", self.fake.add_node(graph, "memset", payload, self._after(before, count))
        )

    def cuGraphDestroyNode(self, node: int) -> None:
        self.fake.destroy_nodes([node])

    def cuGraphAddDependencies(
        self, graph: int, sources: int, targets: int, data: int | None, count: int
    ) -> None:
        assert data is None
        self.fake.add_edges(graph, self._after(sources, count), self._after(targets, count))

    def cuMemGetInfo(self, free: int, total: int) -> None:
        for out, value in zip((free, total), self.fake.memory_info(), strict=True):
            self._put(out, "<Q", value)

    def cuPointerGetAttribute(self, out: int, attribute: int, address: int) -> int:
        found = self.fake.range_of(address)
        if found is None:
            return 1
        if attribute == 2:  # the driver writes four bytes of the eight it is given
            self._put(out, "<I", {"host": 1, "device": 2}[found.kind])
        elif attribute == 7:
            self._put(out, "<Q", self.fake.buffer_of(address) or 0)
        elif attribute == 8:
            self._put(out, "<I", 0)
        elif attribute in (11, 12):
            self._put(out, "<Q", found.start if attribute == 11 else found.size_bytes)
        else:
            return 1
        return 0

    def cuMemAlloc(self, out: int, size: int) -> None:
        self._put(out, "<Q", self.fake.allocate(size))

    def cuMemFree(self, address: int) -> None:
        self.fake.free(address)

    def cuMemHostAlloc(self, out: int, size: int, flags: int) -> None:
        self._put(out, "<Q", self.fake.allocate_host(size))

    def cuMemFreeHost(self, address: int) -> None:
        self.fake.free_host(address)

    def cuMemcpyAsync(self, destination: int, source: int, size: int, stream: int | None) -> None:
        self.fake.copy(destination, source, size, stream or 0)

    def cuMemsetD8Async(self, address: int, value: int, size: int, stream: int | None) -> None:
        self.fake.fill(address, size, value, stream or 0)

    def cuStreamCreate(self, out: int, flags: int) -> None:
        self._put(out, "<Q", self.fake.new_stream())

    def cuStreamDestroy(self, stream: int) -> None:
        self.fake.destroy_stream(stream)

    def cuStreamSynchronize(self, stream: int | None) -> None:
        self.fake.synchronize(stream or 0)

    def cuStreamWaitValue32(self, stream: int, address: int, value: int, flags: int) -> None:
        self.fake.hold(stream, address, value)

    def cuEventCreate(self, out: int, flags: int) -> None:
        self._put(out, "<Q", self.fake.new_event())

    def cuEventDestroy(self, event: int) -> None:
        self.fake.destroy_event(event)

    def cuEventRecord(self, event: int, stream: int | None) -> None:
        self.fake.record_event(event, stream or 0)

    def cuEventQuery(self, event: int) -> int:
        return 0 if self.fake.is_done(event) else NOT_READY

    def cuEventElapsedTime(self, out: int, start: int, end: int) -> None:
        self._put(out, "<f", self.fake.elapsed_ns(start, end) / 1e6)

    def cuCtxSynchronize(self) -> None:
        self.fake.synchronize_device()
