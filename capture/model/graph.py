"""Graphs: topology, what each node holds, and bodies. Nothing of how they came about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ..errors import LookupFailed

Extra = dict[str, Any]
"""What was read and not understood; it is kept, shown and written back."""


class Kernel(msgspec.Struct, kw_only=True):
    """A device function, shared by every node that launches it.

    ``None`` means that the source of the recording did not say.
    """

    name: str
    """Mangled name, as the driver gives it."""
    registers: int | None = None
    static_shared_bytes: int | None = None
    local_bytes: int | None = None
    """Local memory per thread."""
    constant_bytes: int | None = None
    max_threads_per_block: int | None = None
    ptx_version: int | None = None
    binary_version: int | None = None
    parameters: list[tuple[int, int]] | None = None
    """(offset, size) in bytes of each parameter in the argument buffer."""
    extra: Extra = msgspec.field(default_factory=dict)


class Edge(NamedTuple):
    """A dependency: `target` starts after `source`."""

    source: int
    target: int
    from_port: int = 0
    to_port: int = 0
    type: int = 0
    """``CUgraphDependencyType``: 0 default, 1 programmatic."""


class Topology(msgspec.Struct, kw_only=True):
    """Node types in creation order, and edges as parallel columns of positions.

    ``from_port``, ``to_port`` and ``edge_type`` are empty when every value is 0.
    """

    types: list[str]
    source: list[int] = msgspec.field(default_factory=list)
    target: list[int] = msgspec.field(default_factory=list)
    from_port: list[int] = msgspec.field(default_factory=list)
    to_port: list[int] = msgspec.field(default_factory=list)
    edge_type: list[int] = msgspec.field(default_factory=list)


class Node(NamedTuple):
    """One node of a graph, as seen from its position."""

    position: int
    type: str
    """Name from :mod:`capture.nodes`, or ``"type_17"`` for a number without a name."""
    payload: Any
    """The node type's payload struct; a plain dict for an unknown type; ``None`` if unread."""
    extra: Extra


class Body(msgspec.Struct, kw_only=True):
    """A graph that a node refers to: a child graph, or one body of a conditional."""

    node: int
    """Position of the node that refers to it."""
    index: int
    """Which of the node's bodies this is, from 0."""
    role: str
    """``"child"``, ``"if"``, ``"else"``, ``"while"`` or ``"case 2"``."""
    graph: Graph


class Graph(msgspec.Struct, kw_only=True):
    """Nodes, edges and bodies.

    Attributes
    ----------
    topology : Topology
        May be one object shared by many graphs; never change it in place.
    payloads : list
        One entry per node; see :class:`Node`.
    bodies : list of Body
        Ordered by node, then index.
    name : str
        Name shown to people; bodies are named after the node that holds them.
    node_extra : dict of int to dict
        Unknown fields of single nodes, by position.
    """

    topology: Topology
    payloads: list[Any]
    bodies: list[Body] = msgspec.field(default_factory=list)
    name: str = ""
    node_extra: dict[int, Extra] = msgspec.field(default_factory=dict)
    extra: Extra = msgspec.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.topology.types)

    def node(self, position: int) -> Node:
        """Return the node at a position.

        Raises
        ------
        LookupFailed
            The graph has no such position.
        """
        if not 0 <= position < len(self):
            raise LookupFailed(
                f"no node {position} in graph {self.name!r}: it has {len(self)} nodes, "
                f"numbered from 0"
            )
        return Node(
            position,
            self.topology.types[position],
            self.payloads[position],
            self.node_extra.get(position, {}),
        )

    def nodes(self) -> Iterator[Node]:
        """Yield every node of this graph, without those of bodies, in creation order."""
        extras = self.node_extra
        for position, (type_, payload) in enumerate(
            zip(self.topology.types, self.payloads, strict=True)
        ):
            yield Node(position, type_, payload, extras.get(position, {}))

    def edges(self) -> Iterator[Edge]:
        """Yield every edge in stored order."""
        t = self.topology
        count = len(t.source)
        zeros = [0] * count
        yield from map(
            Edge,
            t.source,
            t.target,
            t.from_port or zeros,
            t.to_port or zeros,
            t.edge_type or zeros,
        )

    def bodies_of(self, position: int) -> list[Body]:
        """Return the bodies of one node, by index."""
        return [body for body in self.bodies if body.node == position]

    def walk(self, path: str = "") -> Iterator[tuple[str, Graph]]:
        """Yield this graph and all bodies below it with their paths, parents first.

        The graph itself has path ``""``, a body ``"3/0"``. Not recursive, so depth is no limit.
        """
        stack: list[tuple[str, Graph]] = [(path, self)]
        while stack:
            here, graph = stack.pop()
            yield here, graph
            prefix = f"{here}/" if here else ""
            stack.extend(
                (f"{prefix}{body.node}/{body.index}", body.graph) for body in reversed(graph.bodies)
            )

    def at(self, path: str) -> Graph:
        """Return the body at a path such as ``"3/0"``; ``""`` is the graph itself.

        Raises
        ------
        LookupFailed
            No body is there.
        """
        graph = self
        parts = [part for part in path.split("/") if part]
        if len(parts) % 2:
            raise LookupFailed(f"{path!r} names a node, expected a body such as '3/0'")
        for node, index in zip(parts[::2], parts[1::2], strict=True):
            match = [
                body.graph
                for body in graph.bodies
                if str(body.node) == node and str(body.index) == index
            ]
            if not match:
                raise LookupFailed(f"no body {path!r} in graph {self.name!r}")
            graph = match[0]
        return graph
