"""The part of the fake driver that runs graphs: on real host memory, with a clock of its own.

Every node takes `cost_ns`, one after another. Memory nodes and the kernel ``tiny`` do what they
say as far as they point into memory that was allocated here; other kernels only take time.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from capture.driver.records import Range, UpdateAnswer
from capture.errors import DriverError, NotSupportedError
from capture.model import Edge, Graph, Topology
from capture.nodes.memset import MemsetPayload

DISABLEABLE = ("kernel", "memcpy", "memset")
NO_CLONE = {"mem_alloc", "mem_free", "conditional"}


def refused(call: str, code: int = 1, name: str = "CUDA_ERROR_INVALID_VALUE") -> DriverError:
    return DriverError(call, code, name, "")


class FakeReplays:
    """What :class:`tests.helpers.fake_driver.FakeDriver` needs to run graphs."""

    _handles: Iterator[int]
    _graphs: dict[int, tuple[Graph, list[int]]]
    _nodes: dict[int, tuple[int, int]]
    _bodies: dict[int, list[int]]
    _functions: dict[int, Any]
    calls: list[str]
    destroyed: set[int]
    executables: dict[int, int]
    build: Callable[[Graph], int]
    _graph: Callable[[int, str], tuple[Graph, list[int]]]

    def __init__(self) -> None:
        self.cost_ns: Callable[[str, Any], int] = lambda type_, payload: 1_000
        self.free_bytes = 8 << 30
        self.total_bytes = 16 << 30
        self.executable_bytes = 1 << 20
        self.now_ns = 0
        self.error: DriverError | None = None
        """What every call about work answers from now on."""
        self.fatal_without: set[int] = set()
        """Positions of nodes: a replay without one of them breaks the device."""
        self.hangs_without: set[int] = set()
        self.faulty: dict[str, str] = {}
        """Names of kernels that break the device (``"fault"``) or never end (``"hang"``)."""
        self.launched: list[int] = []
        self.disabled: dict[int, set[int]] = {}
        """Nodes that are disabled, by executable."""
        self._taken: dict[int, tuple[list[int], set[int]]] = {}
        """Of graphs that lost nodes: their first nodes, and the positions of lost ones."""
        self._clones: dict[int, int] = {}
        self._memory: dict[int, tuple[str, Any]] = {}
        self._numbers: dict[int, int] = {}
        self._events: dict[int, int] = {}
        self._streams: set[int] = set()
        self._holds: list[tuple[int, int]] = []
        self._stuck = False

    # Graphs

    def clone(self, graph: int) -> int:
        declared, _ = self._graph(graph, "cuGraphClone")
        if any(NO_CLONE & set(level.topology.types) for _, level in declared.walk()):
            raise NotSupportedError("cuGraphClone", 801, "CUDA_ERROR_NOT_SUPPORTED", "")
        clone = self.build(declared)
        self._clones[clone] = graph
        return clone

    def find_in_clone(self, nodes: Sequence[int], clone: int) -> list[int]:
        found = []
        for node in nodes:
            owner, position = self._nodes.get(node, (0, 0))
            if clone not in self._clones or self._clones[clone] != owner:
                raise refused("cuGraphNodeFindInClone")
            found.append(self._graphs[clone][1][position])
        return found

    def new_graph(self) -> int:
        return self.build(Graph(topology=Topology(types=[]), payloads=[]))

    def add_node(self, graph: int, type_: str, payload: Any, after: Sequence[int]) -> int:
        """Add a node to a graph that was built before."""
        declared, nodes = self._graphs[graph]
        node = next(self._handles)
        for before in sorted(map(nodes.index, after)):
            declared.topology.source.append(before)
            declared.topology.target.append(len(nodes))
        declared.topology.types.append(type_)
        declared.payloads.append(payload)
        self._nodes[node] = graph, len(nodes)
        self._bodies[node] = []
        nodes.append(node)
        return node

    def add_memset(self, graph: int, address: int, size_bytes: int) -> int:
        payload = MemsetPayload(
            address=address,
            pitch_bytes=size_bytes,
            value=0,
            element_bytes=1,
            width=size_bytes,
            height=1,
        )
        return self.add_node(graph, "memset", payload, [])

    def add_copy(self, graph: int, node: int, number: int, after: Sequence[int]) -> int:
        if number >= len(DISABLEABLE):
            raise NotSupportedError("cuGraphAddNode", 801, "CUDA_ERROR_NOT_SUPPORTED", "")
        owner, position = self._nodes[node]
        declared = self._graphs[owner][0]
        if declared.topology.types[position] != DISABLEABLE[number]:
            raise refused("cuGraphNodeGetParams")
        return self.add_node(graph, DISABLEABLE[number], declared.payloads[position], after)

    def destroy_nodes(self, nodes: Sequence[int]) -> None:
        for node in nodes:
            if node not in self._nodes:
                raise refused("cuGraphDestroyNode")
            owner, position = self._nodes.pop(node)
            declared, handles = self._graphs[owner]
            first, taken = self._taken.setdefault(owner, (list(handles), set()))
            taken.add(first.index(node))
            kept = [at for at in range(len(handles)) if at != position]
            place = {at: index for index, at in enumerate(kept)}
            edges = [edge for edge in declared.edges() if position not in edge[:2]]
            edges = [
                edge._replace(source=place[edge.source], target=place[edge.target])
                for edge in edges
            ]
            self._redeclare(owner, declared, kept, handles, edges)

    def add_edges(self, graph: int, sources: Sequence[int], targets: Sequence[int]) -> None:
        declared, handles = self._graphs[graph]
        edges = list(declared.edges())
        for source, target in zip(sources, targets, strict=True):
            if source not in handles or target not in handles:
                raise refused("cuGraphAddDependencies")
            ends = handles.index(source), handles.index(target)
            if any(edge[:2] == ends for edge in edges):
                raise refused("cuGraphAddDependencies")  # as the driver says of one that exists
            edges.append(Edge(*ends))
        self._redeclare(graph, declared, list(range(len(handles))), handles, edges)

    def _redeclare(
        self, owner: int, declared: Graph, kept: list[int], handles: list[int], edges: list[Edge]
    ) -> None:
        """Declare a graph anew: what was declared is shared with those it was cloned from."""
        edges.sort(key=lambda edge: (edge.target, edge.source))
        topology = Topology(
            types=[declared.topology.types[at] for at in kept],
            source=[edge.source for edge in edges],
            target=[edge.target for edge in edges],
        )
        graph = Graph(topology=topology, payloads=[declared.payloads[at] for at in kept])
        nodes = [handles[at] for at in kept]
        self._graphs[owner] = graph, nodes
        for position, node in enumerate(nodes):
            self._nodes[node] = owner, position

    def made(self, executable: int) -> None:
        """Take note of an executable that was made."""
        self.disabled[executable] = set()
        self.free_bytes -= self.executable_bytes

    def upload(self, executable: int, stream: int) -> None:
        if executable not in self.executables:
            raise refused("cuGraphUpload")

    def update(self, executable: int, graph: int) -> UpdateAnswer:
        if executable not in self.executables:
            raise refused("cuGraphExecUpdate")
        declared, nodes = self._graph(graph, "cuGraphExecUpdate")
        held = self._graphs[self.executables[executable]][0].topology
        wanted = declared.topology
        if len(held.types) != len(wanted.types) or list(held.source) != list(wanted.source):
            return UpdateAnswer("TOPOLOGY_CHANGED")
        for at, (one, other) in enumerate(zip(held.types, wanted.types, strict=True)):
            if one != other:
                return UpdateAnswer("NODE_TYPE_CHANGED", nodes[at])
        self.executables[executable] = graph
        return UpdateAnswer("SUCCESS")

    def _own(self, executable: int, node: int, call: str) -> None:
        graph = self.executables.get(executable)
        owner, position = self._nodes.get(node, (0, 0))
        if graph is None or owner != graph:
            raise refused(call)
        if self._graphs[owner][0].topology.types[position] not in DISABLEABLE:
            raise refused(call)

    def set_enabled(self, executable: int, node: int, enabled: bool) -> None:
        self._own(executable, node, "cuGraphNodeSetEnabled")
        if enabled:
            self.disabled[executable].discard(node)
        else:
            self.disabled[executable].add(node)

    def is_enabled(self, executable: int, node: int) -> bool:
        self._own(executable, node, "cuGraphNodeGetEnabled")
        return node not in self.disabled[executable]

    def launch(self, executable: int, stream: int) -> None:
        self._check("cuGraphLaunch")
        if executable not in self.executables:
            raise refused("cuGraphLaunch")
        self.launched.append(executable)
        graph, nodes = self._graphs[self.executables[executable]]
        off = {self._nodes[node][1] for node in self.disabled[executable]}
        for position in range(len(nodes)):
            if position not in off:
                type_, payload = graph.topology.types[position], graph.payloads[position]
                self.now_ns += self.cost_ns(type_, payload)
                self._run(type_, payload)
                if type_ == "kernel" and payload is not None:
                    self.ran(payload.kernel.name)
        off |= self._taken.get(self.executables[executable], ([], set()))[1]
        if off & self.fatal_without:
            self.error = refused("cuEventQuery", 700, "CUDA_ERROR_ILLEGAL_ADDRESS")
        if off & self.hangs_without:
            self._stuck = True

    def ran(self, kernel: str) -> None:
        """Let a kernel have its effect on the device."""
        if self._stuck:
            return
        if self.faulty.get(kernel) == "fault":
            self.error = refused("cuEventQuery", 700, "CUDA_ERROR_ILLEGAL_ADDRESS")
        elif self.faulty.get(kernel) == "hang":
            self._stuck = True

    def _run(self, type_: str, payload: Any) -> None:
        if payload is None:
            return
        if type_ == "memset" and self._mapped(payload.address):
            for row in range(payload.height):
                pattern = payload.value.to_bytes(4, "little")[: payload.element_bytes]
                at = payload.address + row * payload.pitch_bytes
                ctypes.memmove(at, pattern * payload.width, payload.element_bytes * payload.width)
        elif type_ == "memcpy":
            ends = payload.source.address, payload.destination.address
            if all(map(self._mapped, ends)):
                ctypes.memmove(ends[1], ends[0], payload.width_bytes)
        elif type_ == "kernel" and "tiny" in payload.kernel.name and len(payload.arguments) >= 16:
            address, index, value = struct.unpack_from("<Qif", payload.arguments)
            if self._mapped(address):
                cell = ctypes.c_float.from_address(address + 4 * index)
                cell.value += value

    # Memory

    def _allocated(self, kind: str, size_bytes: int) -> int:
        buffer = ctypes.create_string_buffer(max(1, size_bytes))
        address = ctypes.addressof(buffer)
        self._memory[address] = kind, buffer
        self._numbers[address] = next(self._handles)
        return address

    def memory_info(self) -> tuple[int, int]:
        return self.free_bytes, self.total_bytes

    def allocate(self, size_bytes: int) -> int:
        if size_bytes > self.free_bytes:
            raise refused("cuMemAlloc", 2, "CUDA_ERROR_OUT_OF_MEMORY")
        return self._allocated("device", size_bytes)

    def allocate_host(self, size_bytes: int) -> int:
        return self._allocated("host", size_bytes)

    def _not_stuck(self, call: str) -> None:
        assert not self._stuck, f"{call} would wait for ever"

    def free(self, address: int) -> None:
        self._not_stuck("cuMemFree")
        if self._memory.get(address, ("",))[0] != "device":
            raise refused("cuMemFree")
        del self._memory[address]

    def free_host(self, address: int) -> None:
        self._not_stuck("cuMemFreeHost")
        if self._memory.get(address, ("",))[0] != "host":
            raise refused("cuMemFreeHost")
        del self._memory[address]

    def range_of(self, address: int) -> Range | None:
        for start, (kind, buffer) in self._memory.items():
            if start <= address < start + len(buffer):
                return Range(kind, start, len(buffer))
        return None

    def buffer_of(self, address: int) -> int | None:
        found = self.range_of(address)
        return None if found is None else self._numbers[found.start]

    def _mapped(self, address: int | None) -> bool:
        return address is not None and self.range_of(address) is not None

    def copy(self, destination: int, source: int, size_bytes: int, stream: int) -> None:
        self._check("cuMemcpyAsync")
        if not (self._mapped(destination) and self._mapped(source)):
            raise refused("cuMemcpyAsync")
        ctypes.memmove(destination, source, size_bytes)

    def fill(self, address: int, size_bytes: int, value: int, stream: int) -> None:
        self._check("cuMemsetD8Async")
        if not self._mapped(address):
            raise refused("cuMemsetD8Async")
        ctypes.memset(address, value, size_bytes)

    # Streams, events, time

    def _check(self, call: str) -> None:
        if self.error is not None:
            raise DriverError(call, self.error.code, self.error.name, "")

    def new_stream(self) -> int:
        stream = next(self._handles)
        self._streams.add(stream)
        return stream

    def destroy_stream(self, stream: int) -> None:
        if stream not in self._streams:
            raise refused("cuStreamDestroy")
        self._streams.discard(stream)

    def hold(self, stream: int, address: int, value: int) -> None:
        if not self._mapped(address):
            raise refused("cuStreamWaitValue32")
        self._holds.append((address, value))

    def new_event(self) -> int:
        event = next(self._handles)
        self._events[event] = -1
        return event

    def destroy_event(self, event: int) -> None:
        if self._events.pop(event, None) is None:
            raise refused("cuEventDestroy")

    def record_event(self, event: int, stream: int) -> None:
        self._check("cuEventRecord")
        self._events[event] = self.now_ns

    def is_done(self, event: int) -> bool:
        self._check("cuEventQuery")
        if self._stuck:
            return False
        self._holds = [
            (address, value)
            for address, value in self._holds
            if self._mapped(address) and ctypes.c_uint32.from_address(address).value < value
        ]
        return not self._holds

    def elapsed_ns(self, start: int, end: int) -> int:
        if min(self._events.get(start, -1), self._events.get(end, -1)) < 0:
            raise refused("cuEventElapsedTime", 400, "CUDA_ERROR_INVALID_HANDLE")
        return self._events[end] - self._events[start]

    def synchronize_device(self) -> None:
        self._check("cuCtxSynchronize")
