"""Pairs of graphs over every rule of ``cuGraphExecUpdate``, declared for fake and real drivers.

What an H200's driver answered is in ``tests/compare/update_report.json``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from capture.model import Edge, Graph, Kernel
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.nodes.wait_event import EventPayload
from tests.helpers.declared import (
    Declared,
    World,
    batch_mem_op,
    child_graph,
    conditional,
    graph,
    host,
    kernel,
    memcpy,
    memcpy_from_host,
    memory_pair,
    memset,
)

USE_NODE_PRIORITY = 8
"""``CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY``, which torch sets."""


class UpdateWorld(World, Protocol):
    """A world with a few things more to refer to."""

    other_event: int
    array: int
    """One-dimensional, 64 floats."""
    managed_buffer: int
    other_host_function: int

    def kernel_named(self, name: str) -> Kernel:
        """Return another kernel of the same module."""
        ...


class Pair(NamedTuple):
    """Two graphs.

    Attributes
    ----------
    before, after : Graph
    flags : int
        With which the executable is made.
    elsewhere : str
        Functions and memory of `after` belong to another ``"context"`` of the device, or to
        another ``"device"``.
    """

    before: Graph
    after: Graph
    flags: int = 0
    elsewhere: str = ""


Make = Callable[[UpdateWorld], Pair]
MakeGraph = Callable[[UpdateWorld], Graph]


def changed(node: Declared, **fields: Any) -> Declared:
    if not fields:
        return node
    return node._replace(payload=msgspec.structs.replace(node.payload, **fields))


def one(node: Declared) -> Graph:
    return graph([node], [])


def both(make: Callable[[UpdateWorld], Declared], **fields: Any) -> Make:
    """Pair a node with itself, or with one of which some fields are others."""
    return lambda world: Pair(one(make(world)), one(changed(make(world), **fields)))


def nodes(before: Callable[[UpdateWorld], Declared], after: Callable[..., Declared]) -> Make:
    return lambda world: Pair(one(before(world)), one(after(world)))


def wired(before: list[tuple[int, int]], after: list[tuple[int, int]], *counts: int) -> Make:
    """Pair graphs of empty nodes; `counts` are the numbers of nodes where they differ."""
    sizes = [1 + max((max(edge) for edge in edges), default=-1) for edges in (before, after)]
    sizes = list(counts) or [max(sizes)] * 2
    declared = [[Declared("empty")] * size for size in sizes]
    return lambda world: Pair(graph(declared[0], before), graph(declared[1], after))


def launch(**changes: Any) -> Callable[[UpdateWorld], Declared]:
    return lambda world: kernel(world, **changes)


def launches(before: dict[str, Any], after: dict[str, Any], flags: int = 0) -> Make:
    return lambda world: Pair(one(kernel(world, **before)), one(kernel(world, **after)), flags)


def named(name: str) -> Callable[[UpdateWorld], Declared]:
    return lambda world: changed(kernel(world), kernel=world.kernel_named(name), arguments=b"")


def fill(world: World, **fields: Any) -> Declared:
    """Declare a memset of one dimension."""
    return changed(memset(world), **{"height": 1, "pitch_bytes": 0, "element_bytes": 4, **fields})


def copy(side: str, memory_type: str, **fields: Any) -> Callable[[UpdateWorld], Declared]:
    """Declare a flat copy of which one end is of a type of memory."""

    def make(world: UpdateWorld) -> Declared:
        addresses = {
            "host": world.host_buffer,
            "device": world.buffer,
            "unified": world.managed_buffer,
        }
        end = MemcpyEnd(memory_type=memory_type, address=addresses.get(memory_type))
        if memory_type == "array":
            end = MemcpyEnd(memory_type="array", array_handle=world.array)
        return changed(memcpy(world), **{side: end, **fields})

    return make


def to(address: str, node: Callable[[Any], Declared] = memcpy) -> Callable[..., Declared]:
    """Declare a copy with another destination."""

    def make(world: UpdateWorld) -> Declared:
        declared = node(world)
        end = declared.payload.destination
        moved = msgspec.structs.replace(end, address=getattr(world, address))
        return changed(declared, destination=moved)

    return make


def plane(world: World, **fields: Any) -> Declared:
    """Declare a copy of 4 rows of 32 bytes on the device."""
    ends = [
        MemcpyEnd(memory_type="device", address=address, pitch_bytes=64, height=8)
        for address in (world.buffer, world.other_buffer)
    ]
    payload = MemcpyPayload(
        kind="DtoD", source=ends[0], destination=ends[1], width_bytes=32, height=4, depth=1
    )
    return changed(Declared("memcpy", payload), **fields)


def event(type_: str, name: str) -> Callable[[UpdateWorld], Declared]:
    return lambda world: Declared(type_, EventPayload(event_handle=getattr(world, name)))


def operations(change: Callable[[list[dict[str, Any]]], Any]) -> Make:
    def make(world: UpdateWorld) -> Pair:
        after = batch_mem_op(world)
        change(after.payload.operations)
        return Pair(one(batch_mem_op(world)), one(after))

    return make


def child(*inner: Callable[[UpdateWorld], Declared]) -> Callable[[UpdateWorld], Declared]:
    """Declare a child graph: a chain."""

    def make(world: UpdateWorld) -> Declared:
        chain = [(at, at + 1) for at in range(len(inner) - 1)]
        body = graph([item(world) for item in inner], chain)
        return Declared("child_graph", None, (("child", body),))

    return make


def branch(*inner: Callable[[UpdateWorld], Declared]) -> Callable[[UpdateWorld], Declared]:
    """Declare a conditional node whose body is a chain."""

    def make(world: UpdateWorld) -> Declared:
        declared = conditional("if", ("if",))(world)
        return declared._replace(bodies=(("if", child(*inner)(world).bodies[0][1]),))

    return make


def chain(*items: Callable[[UpdateWorld], Declared], edge: tuple[int, ...] = ()) -> MakeGraph:
    """Make a graph of nodes one after another; `edge` has ports and type of the first edge."""

    def make(world: UpdateWorld) -> Graph:
        edges = [Edge(at, at + 1, *(edge if not at else ())) for at in range(len(items) - 1)]
        return graph([item(world) for item in items], edges)  # type: ignore[arg-type]

    return make


def graphs(before: Callable[..., Graph], after: Callable[..., Graph]) -> Make:
    return lambda world: Pair(before(world), after(world))


def resized(world: World, factor: int) -> Graph:
    built = memory_pair(world)
    built.payloads[0].size_bytes *= factor
    return built


def reordered(*edges: tuple[int, int]) -> Make:
    """Pair a graph with one whose first two edges are made the other way round."""

    def make(world: UpdateWorld) -> Pair:
        declared = [Declared("empty")] * (1 + max(map(max, edges)))
        before, after = graph(declared, list(edges)), graph(declared, list(edges))
        source = after.topology.source
        source[:2] = source[1], source[0]
        return Pair(before, after)

    return make


def unordered(*items: Callable[[UpdateWorld], Declared], then: bool = False) -> MakeGraph:
    """Make a graph of nodes beside each other; with `then` an empty node follows all."""

    def make(world: UpdateWorld) -> Graph:
        declared = [item(world) for item in items]
        edges = [(at, len(items)) for at in range(len(items))] if then else []
        return graph(declared + [Declared("empty")] * then, edges)

    return make


def everything(world: UpdateWorld) -> Graph:
    """Declare one node of most types, in a chain."""
    makes = (kernel, memcpy, fill, host, child_graph, conditional("if", ("if",)), batch_mem_op)
    return chain(*makes, event("event_record", "event"), lambda world: Declared("empty"))(world)


def empty(world: Any) -> Declared:
    return Declared("empty")


UPDATABLE = {"attributes": {"device_updatable_kernel_node": {"device_updatable": 1}}}
WINDOW = {
    "base_address": 0,
    "size_bytes": 0,
    "hit_ratio": 0.5,
    "hit_property": 2,
    "miss_property": 1,
}
CLUSTERS = {"grid": (4, 1, 1), "cluster": (2, 1, 1)}

KERNELS: dict[str, Make] = {
    "kernel, equal": both(kernel),
    "kernel, other scalar": nodes(kernel, launch(index=4)),
    "kernel, other grid": nodes(kernel, launch(grid=(7, 1, 1))),
    "kernel, grid of three dimensions": nodes(kernel, launch(grid=(3, 4, 5))),
    "kernel, other block": nodes(kernel, launch(block=(64, 1, 1))),
    "kernel, more dynamic shared memory": both(kernel, dynamic_shared_bytes=1024),
    "kernel, other function": nodes(kernel, named("nothing")),
    "kernel, other function of the same parameters": lambda w: Pair(
        one(kernel(w)), one(changed(kernel(w), kernel=w.kernel_named("tinier")))
    ),
    "kernel, function gets parameters": nodes(named("nothing"), kernel),
    "kernel, function uses local memory": nodes(named("nothing"), named("spills")),
    "kernel, function has static shared memory": nodes(named("nothing"), named("shares")),
    "kernel becomes cooperative": launches({}, {"cooperative": True}),
    "kernel is no longer cooperative": launches({"cooperative": True}, {}),
    "cooperative kernel, other grid": launches(
        {"cooperative": True}, {"cooperative": True, "grid": (5, 1, 1)}
    ),
    "kernel gets a cluster": launches({"grid": (4, 1, 1)}, CLUSTERS),
    "kernel loses its cluster": launches(CLUSTERS, {"grid": (4, 1, 1)}),
    "kernel, larger cluster": launches(CLUSTERS, {**CLUSTERS, "cluster": (4, 1, 1)}),
    "kernel with a cluster, other grid": launches(CLUSTERS, {**CLUSTERS, "grid": (8, 1, 1)}),
    "kernel, other priority, not used": launches({}, {"priority": -2}),
    "kernel, other priority, used": launches({}, {"priority": -2}, USE_NODE_PRIORITY),
    "kernel, equal priority, used": launches({"priority": -2}, {"priority": -2}, USE_NODE_PRIORITY),
    "kernel, other synchronization domain": launches({}, {"attributes": {"mem_sync_domain": 1}}),
    "kernel, other carveout": launches(
        {}, {"attributes": {"preferred_shared_memory_carveout": 50}}
    ),
    "kernel, other access policy window": launches(
        {}, {"attributes": {"access_policy_window": WINDOW}}
    ),
    "kernel becomes device-updatable": launches({}, UPDATABLE),
    "kernel is no longer device-updatable": launches(UPDATABLE, {}),
    "kernel, device-updatable in both": launches(UPDATABLE, UPDATABLE),
    "kernel, function launches kernels": nodes(named("nothing"), named("launches_kernel")),
    "kernel, function launches kernels in both": nodes(
        named("launches_kernel"), named("launches_kernel")
    ),
    "kernel, function no longer launches kernels": nodes(
        named("launches_kernel"), named("nothing")
    ),
    "kernel, function launches graphs": nodes(named("nothing"), named("launches_graph")),
    "kernel, function changes nodes": nodes(named("nothing"), named("updates_node")),
    "kernel, function of another device": lambda w: Pair(
        one(kernel(w)), one(kernel(w)), elsewhere="device"
    ),
    "kernel, function of another context": lambda w: Pair(
        one(kernel(w)), one(kernel(w)), elsewhere="context"
    ),
}
COPIES: dict[str, Make] = {
    "memcpy, equal": both(memcpy),
    "memcpy, smaller width": both(memcpy, width_bytes=64),
    "memcpy, larger width": both(memcpy, width_bytes=4096),
    "memcpy, other destination": nodes(memcpy, to("buffer")),
    "memcpy, destination becomes host": nodes(memcpy, copy("destination", "host", kind="DtoH")),
    "memcpy, source becomes host": nodes(memcpy, copy("source", "host", kind="HtoD")),
    "memcpy, source is no longer host": nodes(copy("source", "host", kind="HtoD"), memcpy),
    "memcpy, source becomes an array": nodes(memcpy, copy("source", "array")),
    "memcpy, source becomes unified": nodes(memcpy, copy("source", "unified", kind="default")),
    "memcpy, both ends change sides": nodes(
        copy("source", "host", kind="HtoD"), copy("destination", "host", kind="DtoH")
    ),
    "memcpy of several dimensions, equal": both(memcpy_from_host),
    "memcpy of several dimensions, other width": both(memcpy_from_host, width_bytes=16),
    "memcpy of several dimensions, other destination": nodes(
        memcpy_from_host, to("other_buffer", memcpy_from_host)
    ),
    "memcpy of two dimensions, equal": both(plane),
    "memcpy of two dimensions, other height": both(plane, height=2),
    "memcpy of two dimensions, other destination": nodes(plane, to("buffer", plane)),
    "memcpy becomes two-dimensional": nodes(memcpy, plane),
    "memcpy becomes flat": nodes(plane, memcpy),
    "memcpy, memory of another device": lambda w: Pair(
        one(memcpy(w)), one(memcpy(w)), elsewhere="device"
    ),
    "memcpy, memory of another context": lambda w: Pair(
        one(memcpy(w)), one(memcpy(w)), elsewhere="context"
    ),
    "memset, equal": both(fill),
    "memset, other value": both(fill, value=9),
    "memset, larger width": both(fill, width=512),
    "memset, smaller width": both(fill, width=1),
    "memset, other size of elements": both(fill, element_bytes=1),
    "memset, other address": lambda w: Pair(one(fill(w)), one(fill(w, address=w.other_buffer))),
    "memset, host memory": lambda w: Pair(one(fill(w)), one(fill(w, address=w.host_buffer))),
    "memset, managed memory": lambda w: Pair(one(fill(w)), one(fill(w, address=w.managed_buffer))),
    "memset of two dimensions, other value": both(memset, value=9),
    "memset of two dimensions, other address": lambda w: Pair(
        one(memset(w)), one(changed(memset(w), address=w.other_buffer))
    ),
    "memset of two dimensions, other height": both(memset, height=2),
    "memset of two dimensions, other width": both(memset, width=8),
    "memset of two dimensions, other pitch": both(memset, pitch_bytes=128),
    "memset of two dimensions, other size of elements": both(memset, element_bytes=4),
    "memset becomes two-dimensional": nodes(fill, memset),
    "memset becomes flat": nodes(memset, fill),
    "memset, memory of another device": lambda w: Pair(
        one(fill(w)), one(fill(w)), elsewhere="device"
    ),
    "memset, memory of another context": lambda w: Pair(
        one(fill(w)), one(fill(w)), elsewhere="context"
    ),
}
OTHERS: dict[str, Make] = {
    "empty, equal": nodes(empty, empty),
    "host, other data": both(host, user_data_address=0x99),
    "host, other function": lambda w: Pair(
        one(host(w)), one(changed(host(w), function_address=w.other_host_function))
    ),
    "event record, other event": nodes(
        event("event_record", "event"), event("event_record", "other_event")
    ),
    "event wait, other event": nodes(
        event("wait_event", "event"), event("wait_event", "other_event")
    ),
    "event record becomes wait": nodes(
        event("event_record", "event"), event("wait_event", "event")
    ),
    "batch of memory operations, equal": both(batch_mem_op),
    "batch of memory operations, other value": operations(lambda items: items[0].update(value=8)),
    "batch of memory operations, other address": operations(
        lambda items: items[0].update(address=items[0]["address"] + 64)
    ),
    "batch of memory operations, one less": operations(lambda items: items.pop()),
    "batch of memory operations, other kind": operations(
        lambda items: items[0].update(operation="wait_value_32")
    ),
    "batch of memory operations, other width": operations(
        lambda items: items[0].update(operation="write_value_64")
    ),
    "child graph, equal": both(child_graph),
    "child graph, other scalar inside": nodes(child(kernel), child(launch(index=4))),
    "child graph, other grid inside": nodes(child(kernel), child(launch(grid=(9, 1, 1)))),
    "child graph, more nodes": nodes(child(kernel), child(kernel, kernel)),
    "child graph, other type inside": nodes(child(kernel), child(fill)),
    "child graph, two-dimensional memset inside": nodes(
        child(kernel, memset), child(kernel, lambda w: changed(memset(w), width=8))
    ),
    "child graph, cooperative inside": nodes(child(kernel), child(launch(cooperative=True))),
    "child graph in a child graph, other scalar": nodes(
        child(child(kernel)), child(child(launch(index=4)))
    ),
    "child graph in a child graph, other type": nodes(child(child(kernel)), child(child(empty))),
    "child graph becomes a kernel": nodes(child(kernel), kernel),
    "if, equal": nodes(branch(kernel), branch(kernel)),
    "if becomes while": nodes(conditional("if", ("if",)), conditional("while", ("while",))),
    "if gets an else": nodes(conditional("if", ("if",)), conditional("if", ("if", "else"))),
    "switch, a case less": nodes(
        conditional("switch", ("case 0", "case 1", "case 2")),
        conditional("switch", ("case 0", "case 1")),
    ),
    "while, equal": nodes(conditional("while", ("while",)), conditional("while", ("while",))),
    "if, other scalar inside": nodes(branch(kernel), branch(launch(index=4))),
    "if, other grid inside": nodes(branch(kernel), branch(launch(grid=(9, 1, 1)))),
    "if, more nodes inside": nodes(branch(kernel), branch(kernel, kernel)),
    "if, other type inside": nodes(branch(kernel), branch(fill)),
    "if, cooperative inside": nodes(branch(kernel), branch(launch(cooperative=True))),
    "if, two-dimensional memset inside": nodes(
        branch(memset), branch(lambda w: changed(memset(w), width=8))
    ),
    "allocation and free, equal": graphs(memory_pair, memory_pair),
    "allocation, larger": graphs(memory_pair, lambda w: resized(w, 4)),
    "allocation, smaller": graphs(lambda w: resized(w, 4), memory_pair),
    "everything, equal": graphs(everything, everything),
}
TOPOLOGY: dict[str, Make] = {
    "empty graphs": wired([], []),
    "more nodes": wired([(0, 1)], [(0, 1), (1, 2)], 2, 3),
    "fewer nodes": wired([(0, 1), (1, 2)], [(0, 1)], 3, 2),
    "nodes against none": wired([(0, 1)], [], 2, 0),
    "more exit nodes": wired([(0, 1), (1, 2)], [(0, 1), (0, 2)]),
    "fewer exit nodes": wired([(0, 1), (0, 2)], [(0, 1), (1, 2)]),
    "a dependency more": wired(
        [(0, 1), (0, 2), (1, 3), (2, 3)], [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    ),
    "a dependency less": wired(
        [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], [(0, 1), (0, 2), (1, 3), (2, 3)]
    ),
    "a dependency on another node": wired(
        [(0, 1), (0, 2), (1, 3), (2, 3)], [(0, 1), (1, 2), (1, 3), (2, 3)]
    ),
    "nodes made in another order": wired([(0, 2), (1, 2)], [(1, 0), (2, 0)]),
    "a chain made backwards": wired([(0, 1), (1, 2)], [(2, 1), (1, 0)]),
    "dependencies made in another order": reordered((0, 2), (1, 2), (0, 3)),
    "dependencies made in another order, alike": reordered((0, 2), (1, 2)),
    "kernel becomes memset": nodes(kernel, fill),
    "empty becomes kernel": nodes(empty, kernel),
    "exit nodes of other types, in another order": graphs(
        unordered(kernel, fill), unordered(fill, kernel)
    ),
    "roots of other types, in another order": graphs(
        unordered(kernel, fill, then=True), unordered(fill, kernel, then=True)
    ),
    "kernels swapped": graphs(chain(kernel, named("nothing")), chain(named("nothing"), kernel)),
    "dependency becomes programmatic": graphs(
        chain(kernel, kernel), chain(kernel, kernel, edge=(1, 0, 1))
    ),
    "dependency is no longer programmatic": graphs(
        chain(kernel, kernel, edge=(1, 0, 1)), chain(kernel, kernel)
    ),
    "programmatic dependency, other scalar": graphs(
        chain(kernel, kernel, edge=(1, 0, 1)), chain(kernel, launch(index=4), edge=(1, 0, 1))
    ),
    "programmatic dependency, other port": graphs(
        chain(kernel, kernel, edge=(1, 0, 1)), chain(kernel, kernel, edge=(2, 0, 1))
    ),
}
PAIRS: dict[str, Make] = {**KERNELS, **COPIES, **OTHERS, **TOPOLOGY}
