"""A CUDA driver over declared graphs: the protocol answered from :class:`capture.model.Graph`.

What is declared is what the real driver would hold, so reading it back must give the declared
graph. The same contract tests run on this and on the real driver, so that it cannot drift.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from capture.driver import records
from capture.driver.records import Answers
from capture.errors import DriverError, NotSupportedError
from capture.model import Gpu, Graph, Kernel
from capture.nodes import node_type
from capture.nodes.batch_mem_op import OPERATIONS
from capture.nodes.conditional import KINDS
from capture.nodes.mem_alloc import ACCESS_FLAGS, ALLOCATION_TYPES, HANDLE_TYPES, LOCATION_TYPES
from capture.nodes.memcpy import MEMORY_TYPES, MemcpyEnd
from tests.helpers.fake_replays import FakeReplays

T = TypeVar("T")


def number_of(names: dict[int, str], name: str) -> int:
    return next(number for number, known in names.items() if known == name)


class FakeDriver(FakeReplays):
    """Answers from the graphs that were built with :meth:`build`.

    Parameters
    ----------
    node_params : bool
        Whether ``cuGraphNodeGetParams`` is there, as from CUDA 13.2 on.
    """

    def __init__(self, *, node_params: bool = False, devices: int = 1) -> None:
        super().__init__()
        self.node_params = node_params
        self.device_count = devices
        self.calls: list[str] = []
        self.destroyed: set[int] = set()
        self.asked_rare: list[int] = []
        """Nodes that were asked for rare launch attributes."""
        self.refusing: set[int] = set()
        """Kernel nodes that tell their type and refuse their launch parameters."""
        self.capture_mode = 0
        self.capture_modes: list[int] = []
        self.captures: dict[int, records.CaptureInfo] = {}
        self.executables: dict[int, int] = {}
        self._handles = count(0x2C000000, 0x768)
        self._graphs: dict[int, tuple[Graph, list[int]]] = {}
        self._nodes: dict[int, tuple[int, int]] = {}
        self._bodies: dict[int, list[int]] = {}
        self._functions: dict[int, Kernel] = {}

    # Declaring

    def build(self, graph: Graph) -> int:
        """Hold a graph with its bodies and return its handle."""
        handle = next(self._handles)
        nodes = [next(self._handles) for _ in graph.topology.types]
        self._graphs[handle] = graph, nodes
        for position, node in enumerate(nodes):
            self._nodes[node] = handle, position
            self._bodies[node] = []
            payload = graph.payloads[position]
            if graph.topology.types[position] == "kernel" and payload is not None:
                self._functions[payload.function_handle] = payload.kernel
        for body in graph.bodies:
            self._bodies[nodes[body.node]].append(self.build(body.graph))
        return handle

    def put_body(self, graph: int, position: int, body: int) -> None:
        """Give a node a body that was built before."""
        self._bodies[self._graphs[graph][1][position]].append(body)

    def begin_capture(self, stream: int, graph: int) -> None:
        """Pretend that a graph is being captured on a stream."""
        self.captures[stream] = records.CaptureInfo(1, 7, graph, self._graphs[graph][1][-1:])

    # Devices and graphs

    def version(self) -> int:
        return 13020 if self.node_params else 13000

    def devices(self) -> list[Gpu]:
        return [
            Gpu(
                index=index,
                name="Declared GPU",
                compute_capability=(9, 0),
                multiprocessors=132,
                memory_bytes=1 << 37,
                l2_bytes=1 << 26,
                max_threads_per_multiprocessor=2048,
                extra={"memory_clock_khz": 3_200_000, "memory_bus_width_bits": 6144},
            )
            for index in range(self.device_count)
        ]

    def current_device(self) -> int | None:
        return 0 if self.device_count else None

    def exchange_capture_mode(self, mode: int) -> int:
        before, self.capture_mode = self.capture_mode, mode
        self.capture_modes.append(mode)
        return before

    def capture_info(self, stream: int) -> records.CaptureInfo:
        return self.captures.get(stream, records.CaptureInfo(0, 0, 0, []))

    def capture_info_address(self) -> int:
        return 0

    def capture_tip(self, stream: int) -> Callable[[], records.Tip]:
        def tip() -> records.Tip:
            info = self.capture_info(stream)
            if info.status != 1:
                return records.NOT_CAPTURING
            last = info.last_nodes
            return last[0] if len(last) == 1 else tuple(last) if last else 0

        return tip

    def _graph(self, handle: int, call: str) -> tuple[Graph, list[int]]:
        self.calls.append(call)
        if handle not in self._graphs or handle in self.destroyed:
            raise invalid(call)
        return self._graphs[handle]

    def nodes(self, graph: int) -> list[int]:
        return list(self._graph(graph, "cuGraphGetNodes")[1])

    def edges(self, graph: int | None, nodes: Sequence[int]) -> records.EdgeColumns:
        call = "cuGraphNodeGetDependencies" if graph is None else "cuGraphGetEdges"
        self.calls.append(call)
        refused = {}
        rows = []
        position = {node: index for index, node in enumerate(nodes)}
        for index, node in enumerate(nodes):
            if node in self.destroyed:
                refused[index] = invalid(call)
                continue
            owner, here = self._nodes[node]
            declared, handles = self._graphs[owner]
            rows += [
                (position[node], position[handles[edge.source]], edge)
                for edge in declared.edges()
                if edge.target == here
            ]
        rows.sort()

        def column(values: list[int]) -> list[int]:
            return values if any(values) else []

        return records.EdgeColumns(
            [row[1] for row in rows],
            [row[0] for row in rows],
            column([row[2].from_port for row in rows]),
            column([row[2].to_port for row in rows]),
            column([row[2].type for row in rows]),
            how=call,
            refused=refused,
        )

    def destroy(self, graph: int) -> None:
        self._graph(graph, "cuGraphDestroy")
        self.destroyed.add(graph)

    def instantiate(self, graph: int, flags: int = 0) -> int:
        self._graph(graph, "cuGraphInstantiateWithFlags")
        executable = next(self._handles)
        self.executables[executable] = graph
        self.made(executable)
        return executable

    def destroy_executable(self, executable: int) -> None:
        if self.executables.pop(executable, None) is None:
            raise invalid("cuGraphExecDestroy")
        self.free_bytes += self.executable_bytes

    def synchronize(self, stream: int) -> None:
        self.calls.append("cuStreamSynchronize")
        self._check("cuStreamSynchronize")

    # Nodes

    def _each(self, call: str, nodes: Sequence[int], make: Callable[[Any], T]) -> Answers[T]:
        self.calls.append(call)
        values: list[T | None] = []
        refused = {}
        for index, node in enumerate(nodes):
            if node in self.destroyed or node not in self._nodes:
                refused[index] = invalid(call)
                values.append(None)
            else:
                owner, position = self._nodes[node]
                values.append(make(self._graphs[owner][0].payloads[position]))
        return Answers(values, refused)

    def classify(self, nodes: Sequence[int]) -> records.Classified:
        types = self.node_types(nodes)
        kernels = [index for index, number in enumerate(types.values) if number == 0]
        launches = self.launches([nodes[index] for index in kernels])
        refused = {kernels[at]: error for at, error in launches.refused.items()}
        return records.Classified(types.values, iter(launches.values), types.refused | refused)

    def node_types(self, nodes: Sequence[int]) -> Answers[int]:
        """Answer for ``cuGraphNodeGetType``."""

        def number(node: int) -> int:
            owner, position = self._nodes[node]
            return node_type(self._graphs[owner][0].topology.types[position]).number

        answers = self._each("cuGraphNodeGetType", nodes, lambda payload: 0)
        return Answers(
            [
                None if value is None else number(node)
                for node, value in zip(nodes, answers.values, strict=True)
            ],
            answers.refused,
        )

    def launches(self, nodes: Sequence[int]) -> Answers[records.LaunchRow]:
        """Answer for ``cuGraphKernelNodeGetParams``, which other nodes refuse."""
        call = "cuGraphKernelNodeGetParams"
        answers = self._each(call, nodes, lambda payload: payload)
        types = self.node_types(nodes).values
        for index, node in enumerate(nodes):
            if types[index] != 0 or node in self.refusing:
                answers.values[index] = None
                answers.refused[index] = invalid(call)

        def row(payload: Any, node: int) -> records.LaunchRow:
            launch = records.Launch(
                payload.function_handle,
                *payload.grid,
                *payload.block,
                payload.dynamic_shared_bytes,
                # The pointer stands for the node, for arguments() below.
                parameters=node,
                packed=node if payload.arguments_packed else 0,
                kernel=0,
                context=0,
            )
            return tuple(launch)

        return Answers(
            [
                None if payload is None else row(payload, node)
                for payload, node in zip(answers.values, nodes, strict=True)
            ],
            answers.refused,
        )

    def function(self, function: int, kernel: int) -> records.Function:
        self.calls.append("cuFuncGetName")
        handle = function or kernel
        if handle not in self._functions:
            raise DriverError("cuFuncGetName", 400, "CUDA_ERROR_INVALID_HANDLE")
        return records.Function(handle, self._functions[handle])

    def occupancy(self, function: int, threads: int, dynamic_shared_bytes: int) -> int:
        self.calls.append("cuOccupancyMaxActiveBlocksPerMultiprocessor")
        return self.blocks(threads)

    @staticmethod
    def blocks(threads: int) -> int:
        """Return the resident blocks of a kernel that only its threads limit."""
        return min(32, 2048 // threads)

    def launch_attributes(self, nodes: Sequence[int]) -> records.LaunchAttributes:
        found = self._each("cuGraphKernelNodeGetAttribute", nodes, lambda payload: payload).values
        return records.LaunchAttributes(
            cluster=[payload and payload.cluster for payload in found],
            cooperative=[payload and payload.cooperative for payload in found],
            priority=[payload and payload.priority for payload in found],
            asked=("cooperative", "cluster_dimension", "priority"),
        )

    def rare_attributes(self, nodes: Sequence[int]) -> records.RareAttributes:
        found = self._each("cuGraphKernelNodeGetAttribute", nodes, lambda payload: payload).values
        self.asked_rare += nodes
        return records.RareAttributes(
            {
                index: payload.attributes
                for index, payload in enumerate(found)
                if payload is not None and payload.attributes
            },
            asked=("access_policy_window", "mem_sync_domain"),
        )

    def arguments(
        self, launches: Sequence[records.LaunchRow], layouts: Sequence[records.Layout | None]
    ) -> list[bytes | None]:
        found: list[bytes | None] = []
        for row, layout in zip(launches, layouts, strict=True):
            launch = records.Launch._make(row)
            owner, position = self._nodes[launch.parameters]
            payload = self._graphs[owner][0].payloads[position]
            known = launch.packed or layout is not None
            found.append(payload.arguments if known else None)
        return found

    def memcpys(self, nodes: Sequence[int]) -> Answers[records.Memcpy]:
        def end(side: MemcpyEnd) -> tuple[int, ...]:
            address = side.address or 0
            return (
                side.x_bytes,
                side.y,
                side.z,
                side.lod,
                number_of(MEMORY_TYPES, side.memory_type),
                address if side.memory_type == "host" else 0,
                address if side.memory_type != "host" else 0,
                side.array_handle or 0,
                side.pitch_bytes,
                side.height,
            )

        return self._each(
            "cuGraphMemcpyNodeGetParams",
            nodes,
            lambda payload: records.Memcpy._make(
                (
                    *end(payload.source),
                    *end(payload.destination),
                    *(payload.width_bytes, payload.height, payload.depth),
                )
            ),
        )

    def memsets(self, nodes: Sequence[int]) -> Answers[records.Memset]:
        return self._each(
            "cuGraphMemsetNodeGetParams",
            nodes,
            lambda payload: records.Memset(
                payload.address,
                payload.pitch_bytes,
                payload.value,
                payload.element_bytes,
                payload.width,
                payload.height,
            ),
        )

    def host_functions(self, nodes: Sequence[int]) -> Answers[tuple[int, int]]:
        return self._each(
            "cuGraphHostNodeGetParams",
            nodes,
            lambda payload: (payload.function_address, payload.user_data_address),
        )

    def recorded_events(self, nodes: Sequence[int]) -> Answers[int]:
        return self._each("cuGraphEventRecordNodeGetEvent", nodes, lambda p: p.event_handle)

    def awaited_events(self, nodes: Sequence[int]) -> Answers[int]:
        return self._each("cuGraphEventWaitNodeGetEvent", nodes, lambda p: p.event_handle)

    def semaphore_signals(self, nodes: Sequence[int]) -> Answers[records.Semaphores]:
        return self._semaphores("cuGraphExternalSemaphoresSignalNodeGetParams", nodes)

    def semaphore_waits(self, nodes: Sequence[int]) -> Answers[records.Semaphores]:
        return self._semaphores("cuGraphExternalSemaphoresWaitNodeGetParams", nodes)

    def _semaphores(self, call: str, nodes: Sequence[int]) -> Answers[records.Semaphores]:
        return self._each(
            call,
            nodes,
            lambda payload: records.Semaphores(payload.semaphore_handles, payload.parameters),
        )

    def allocations(self, nodes: Sequence[int]) -> Answers[records.Allocation]:
        flags = {name: bit for bit, name in HANDLE_TYPES.items()}
        return self._each(
            "cuGraphMemAllocNodeGetParams",
            nodes,
            lambda payload: records.Allocation(
                number_of(ALLOCATION_TYPES, payload.allocation_type),
                sum(flags.get(name, 0) for name in payload.handle_types.split(" | ")),
                number_of(LOCATION_TYPES, payload.location_type),
                payload.location_id,
                [
                    (
                        number_of(LOCATION_TYPES, peer["location_type"]),
                        peer["location_id"],
                        number_of(ACCESS_FLAGS, peer["access"]),
                    )
                    for peer in payload.access
                ],
                payload.size_bytes,
                payload.address,
            ),
        )

    def frees(self, nodes: Sequence[int]) -> Answers[int]:
        return self._each("cuGraphMemFreeNodeGetParams", nodes, lambda payload: payload.address)

    def memory_operations(self, nodes: Sequence[int]) -> Answers[records.MemoryOperations]:
        return self._each(
            "cuGraphBatchMemOpNodeGetParams",
            nodes,
            lambda payload: records.MemoryOperations(
                payload.flags,
                [
                    {**fields, "operation": number_of(OPERATIONS, fields["operation"])}
                    for fields in payload.operations
                ],
            ),
        )

    def child_graphs(self, nodes: Sequence[int]) -> Answers[int]:
        answers = self._each("cuGraphChildGraphNodeGetGraph", nodes, lambda payload: 0)
        return Answers(
            [
                None if value is None else self._bodies[node][0]
                for node, value in zip(nodes, answers.values, strict=True)
            ],
            answers.refused,
        )

    def conditionals(self, nodes: Sequence[int]) -> Answers[records.Conditional]:
        call = "cuGraphNodeGetParams"
        if not self.node_params:
            raise NotSupportedError(call, 801, "CUDA_ERROR_NOT_SUPPORTED")
        answers = self._each(
            call, nodes, lambda p: (p.conditional_handle, number_of(KINDS, p.kind))
        )
        return Answers(
            [
                None if value is None else records.Conditional(*value, self._bodies[node])
                for node, value in zip(nodes, answers.values, strict=True)
            ],
            answers.refused,
        )

    # The driver's DOT, as far as bodies are read from it

    def debug_dot(self, graph: int, flags: int) -> str:
        self._graph(graph, "cuGraphDebugDotPrint")
        reached = [graph]
        for handle in reached:
            for node in self._graphs[handle][1]:
                reached += self._bodies[node]
        numbers = {handle: index + 2 for index, handle in enumerate(reached)}
        clusters = "".join(self._cluster(handle, numbers, flags) for handle in reached)
        return f"digraph dot {{\n{clusters}}}\n"

    def _cluster(self, handle: int, numbers: dict[int, int], flags: int) -> str:
        name = f"graph_{numbers[handle]}"
        declared, nodes = self._graphs[handle]
        lines = [f'subgraph cluster_{numbers[handle]} {{\nlabel="{name}" graph[style="dashed"];\n']
        for position, node in enumerate(nodes):
            type_ = declared.topology.types[position]
            handle_text = f"0x{node:016X}"
            bodies = [f"graph_{numbers[body]}" for body in self._bodies[node]]
            if type_ == "conditional":
                payload = declared.payloads[position]
                roles = {"if": ["True ", "False"], "while": ["True"]}.get(
                    payload.kind, [str(index) for index in range(len(bodies))]
                )
                rows = [f"{{{role}|{body}}}" for role, body in zip(roles, bodies, strict=False)]
                lines.append(
                    f'"{name}_node_{position}"[style="bold" shape="record" label="{{\nCONDITIONAL\n'
                    f"| {{ID | {position}}}\n"
                    + (f"| {{node handle| {handle_text}}}\n" if flags & (1024 | 1) else "")
                    + (
                        f"| {{Conditional Handle|{payload.conditional_handle}}}\n"
                        if flags & 1
                        else ""
                    )
                    + f"| {{Conditional Type| {payload.kind.upper()}}}\n"
                    + "".join(f"| {row}\n" for row in rows)
                    + '}\n"];\n\n'
                )
            else:
                title = bodies[0] if bodies else type_.upper()
                lines.append(
                    f'"{name}_node_{position}"[style="solid" shape="rectangle" label="{position}\n'
                    f"{title}\n"
                    + (f"node handle: {handle_text}\n" if flags & (1024 | 1) else "")
                    + '"];\n\n'
                )
        for edge in declared.edges():
            lines.append(f'"{name}_node_{edge.source}" -> "{name}_node_{edge.target}";\n')
        return "".join(lines) + "}\n"


def invalid(call: str) -> DriverError:
    return DriverError(call, 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")


def packed(layout: Sequence[tuple[int, int]], values: Sequence[bytes]) -> bytes:
    """Put values at their offsets, zeros between them."""
    buffer = bytearray(max((offset + size for offset, size in layout), default=0))
    for (offset, size), value in zip(layout, values, strict=True):
        assert len(value) == size
        buffer[offset : offset + size] = value
    return bytes(buffer)


def word(value: int) -> bytes:
    return struct.pack("<Q", value)
