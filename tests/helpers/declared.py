"""Graphs to declare: every topology, every node type, for the fake driver and for the real one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from capture.model import Body, Graph, Kernel, Topology
from capture.nodes.batch_mem_op import BatchMemOpPayload
from capture.nodes.conditional import ConditionalPayload
from capture.nodes.external_semaphore_signal import ExternalSemaphorePayload
from capture.nodes.host import HostPayload
from capture.nodes.kernel import KernelPayload
from capture.nodes.mem_alloc import MemAllocPayload
from capture.nodes.mem_free import MemFreePayload
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.nodes.memset import MemsetPayload
from capture.nodes.wait_event import EventPayload
from tests.helpers.fake_driver import packed, word


class World(Protocol):
    """A driver, something that builds declared graphs on it, and what they refer to."""

    driver: Any
    kernel: Kernel
    """``tiny(float *out, int index, float value)``."""
    function: int
    buffer: int
    """4,096 bytes of device memory."""
    other_buffer: int
    host_buffer: int
    """4,096 bytes of pinned memory."""
    event: int
    host_function: int
    host_symbol: tuple[str, str]

    def build(self, graph: Graph) -> int:
        """Build a graph and return its handle."""
        ...

    def occupancy(self, threads: int) -> int:
        """Return the resident blocks to expect of the kernel."""
        ...


class Declared(NamedTuple):
    """A node: its type, payload and the (role, graph) of its bodies."""

    type: str
    payload: Any = None
    bodies: tuple[tuple[str, Graph], ...] = ()


TOPOLOGIES: dict[str, tuple[int, list[tuple[int, int]]]] = {
    "one": (1, []),
    "unconnected": (5, []),
    "chain": (6, [(i, i + 1) for i in range(5)]),
    "diamond": (4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "fork_join": (10, [(0, i) for i in range(1, 9)] + [(i, 9) for i in range(1, 9)]),
    "made_backwards": (4, [(3, 2), (2, 1), (1, 0)]),
    "every_pair": (7, [(i, j) for j in range(7) for i in range(j)]),
}


def kernel(world: World, index: int = 3, **changes: Any) -> Declared:
    layout = world.kernel.parameters
    assert layout is not None
    values = [word(world.buffer), struct.pack("<i", index), struct.pack("<f", 0.5)]
    block = changes.get("block", (32, 1, 1))
    fields: dict[str, Any] = {
        "kernel": world.kernel,
        "grid": (2, 1, 1),
        "block": block,
        "dynamic_shared_bytes": 0,
        "cooperative": False,
        "priority": 0,
        "max_blocks_per_multiprocessor": world.occupancy(block[0] * block[1] * block[2]),
        "arguments": packed(layout, values),
        "function_handle": world.function,
    }
    return Declared("kernel", KernelPayload(**fields | changes))


def memcpy(world: World) -> Declared:
    return Declared(
        "memcpy",
        MemcpyPayload(
            kind="DtoD",
            source=MemcpyEnd(memory_type="device", address=world.buffer),
            destination=MemcpyEnd(memory_type="device", address=world.other_buffer),
            width_bytes=256,
            height=1,
            depth=1,
        ),
    )


def memcpy_from_host(world: World) -> Declared:
    return Declared(
        "memcpy",
        MemcpyPayload(
            kind="HtoD",
            source=MemcpyEnd(
                memory_type="host",
                address=world.host_buffer,
                x_bytes=16,
                y=1,
                pitch_bytes=128,
                height=8,
            ),
            destination=MemcpyEnd(
                memory_type="device", address=world.buffer, pitch_bytes=64, height=16
            ),
            width_bytes=32,
            height=4,
            depth=2,
        ),
    )


def memset(world: World) -> Declared:
    return Declared(
        "memset",
        MemsetPayload(
            address=world.buffer, value=0x2A, element_bytes=2, width=16, height=3, pitch_bytes=64
        ),
    )


def host(world: World) -> Declared:
    symbol, library = world.host_symbol
    return Declared(
        "host",
        HostPayload(
            function_address=world.host_function,
            symbol=symbol,
            library=library,
            user_data_address=0x1234,
        ),
    )


def batch_mem_op(world: World) -> Declared:
    return Declared(
        "batch_mem_op",
        BatchMemOpPayload(
            operations=[
                {
                    "operation": "write_value_32",
                    "address": world.buffer,
                    "value": 7,
                    "flags": 0,
                },
                {
                    "operation": "wait_value_64",
                    "address": world.buffer + 8,
                    "value": 1 << 40,
                    "flags": 0,
                },
            ],
            flags=0,
        ),
    )


def allocation(world: World, address: int = 0x302000000) -> Declared:
    return Declared(
        "mem_alloc",
        MemAllocPayload(
            address=address,
            size_bytes=1 << 20,
            allocation_type="pinned",
            handle_types="none",
            location_type="device",
            location_id=0,
        ),
    )


def semaphores(world: World, type_: str) -> Declared:
    fields = {"fence_value": 5, "nv_sci_sync": 0, "key": 9}
    if type_.endswith("wait"):
        fields["timeout_ms"] = 100
    return Declared(
        type_,
        ExternalSemaphorePayload(semaphore_handles=[0xABC0], parameters=[{**fields, "flags": 1}]),
    )


def conditional(kind: str, roles: tuple[str, ...]) -> Callable[[World], Declared]:
    def declare(world: World) -> Declared:
        bodies = tuple(
            (role, graph([kernel(world, index=number), kernel(world)], [(0, 1)]))
            for number, role in enumerate(roles)
        )
        payload = ConditionalPayload(kind=kind, conditional_handle=1, body_count=len(roles))
        return Declared("conditional", payload, bodies)

    return declare


def child_graph(world: World) -> Declared:
    inner = graph([kernel(world), Declared("empty"), memset(world)], [(0, 1), (1, 2)])
    return Declared("child_graph", None, (("child", inner),))


NODES: dict[str, Callable[[World], Declared]] = {
    "kernel": kernel,
    "kernel_wide": lambda world: kernel(world, grid=(3, 4, 5), block=(16, 4, 2)),
    "memcpy": memcpy,
    "memcpy_from_host": memcpy_from_host,
    "memset": memset,
    "host": host,
    "child_graph": child_graph,
    "empty": lambda world: Declared("empty"),
    "event_record": lambda world: Declared("event_record", EventPayload(event_handle=world.event)),
    "wait_event": lambda world: Declared("wait_event", EventPayload(event_handle=world.event)),
    "batch_mem_op": batch_mem_op,
    "conditional_if": conditional("if", ("if",)),
    "conditional_if_else": conditional("if", ("if", "else")),
    "conditional_while": conditional("while", ("while",)),
    "conditional_switch": conditional("switch", ("case 0", "case 1", "case 2")),
    "external_semaphore_signal": lambda world: semaphores(world, "external_semaphore_signal"),
    "external_semaphore_wait": lambda world: semaphores(world, "external_semaphore_wait"),
}
"""One declaration for each way a node can be; memory nodes come in pairs, see `memory_pair`."""


def memory_pair(world: World) -> Graph:
    alloc = allocation(world)
    free = Declared("mem_free", MemFreePayload(address=alloc.payload.address))
    return graph([alloc, free], [(0, 1)])


def graph(nodes: list[Declared], edges: list[tuple[int, int]], name: str = "") -> Graph:
    """Make a graph of declared nodes; edges are put in stored order."""
    from capture.model import Edge

    ordered = sorted(edges, key=lambda edge: (edge[1], edge[0]))
    assert all(isinstance(edge, tuple) for edge in edges)
    full = [Edge(*edge) for edge in ordered]

    def column(values: list[int]) -> list[int]:
        return values if any(values) else []

    return Graph(
        topology=Topology(
            types=[node.type for node in nodes],
            source=[edge.source for edge in full],
            target=[edge.target for edge in full],
            from_port=column([edge.from_port for edge in full]),
            to_port=column([edge.to_port for edge in full]),
            edge_type=column([edge.type for edge in full]),
        ),
        payloads=[node.payload for node in nodes],
        bodies=[
            Body(node=position, index=index, role=role, graph=inner)
            for position, node in enumerate(nodes)
            for index, (role, inner) in enumerate(node.bodies)
        ],
        name=name,
    )


def without_names(found: Graph) -> Graph:
    """Clear the names of a graph and its bodies, in place."""
    for _, inner in found.walk():
        inner.name = ""
    return found
