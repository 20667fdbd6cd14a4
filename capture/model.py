"""The data model: recordings, graphs, executables and the evidence beside them.

A :class:`Graph` is topology and what each node holds; everything that was observed about it
(when, where, by whom, what it cost) is in its :class:`GraphInfo` and hangs beside it. A node is
named by its path of positions, ``"3/0/12"``: node 12 of body 0 of node 3.

Nothing here knows how anything is stored, drawn or read from a driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from .errors import LookupFailed
from .timings import Timings

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


class EvidenceKind(StrEnum):
    """Kinds of evidence that can hang beside a graph."""

    PARAMETERS = "parameters"
    ATTRIBUTES = "attributes"
    EDGE_PORTS = "edge_ports"
    CAPTURE = "capture"
    TIMINGS = "timings"
    ORIGINS = "origins"
    MEMORY = "memory"
    BENCHMARKS = "benchmarks"


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Whether one kind of evidence is there, how it was got and what that cost."""

    present: bool
    how: str = ""
    cost_ns: int | None = None
    reason: str = ""
    """Why it is absent, and what would bring it."""
    extra: Extra = msgspec.field(default_factory=dict)


class Place(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A place in Python source."""

    file: str
    line: int
    function: str = ""


class Failure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why a capture did not become a graph."""

    error: str
    """Exception class, or the driver's result name."""
    message: str
    place: Place | None = None
    """Where the error surfaced in the user's code."""
    nodes_read: bool = True
    """Whether the nodes that had been captured until then could be read."""
    reason: str = ""
    """Why not, when they could not."""


class GraphInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is known about one captured graph without opening it.

    Counts include bodies; `width` and `depth` are of the outermost level.
    """

    key: str
    """Stable from run to run: file, function and ordinal of the capture. Unique in a recording."""
    name: str
    """For people: the place of capture and the label."""
    label: str = ""
    """What tells it from its siblings, such as ``"batch_size=8"``."""
    ordinal: int = 0
    how: str = ""
    """``"observed"``, ``"captured"``, ``"handle"`` or the file format it came from."""
    node_count: int = 0
    edge_count: int = 0
    body_count: int = 0
    type_counts: dict[str, int] = msgspec.field(default_factory=dict)
    width: int | None = None
    """Most nodes on one level (longest-path levels)."""
    depth: int | None = None
    """Levels on the longest path."""
    topology: str = ""
    """Digest; graphs with equal digests have equal topology, bodies included."""
    place: Place | None = None
    process: int | None = None
    """Index into the recording's processes."""
    thread: str = ""
    device: int | None = None
    stream: str = ""
    """The capturing stream's handle as hexadecimal text."""
    capture_mode: str = ""
    """``"global"``, ``"thread_local"`` or ``"relaxed"``."""
    pool: tuple[int, int] | None = None
    """Id of the private memory pool."""
    started_ns: int | None = None
    """Begin of the capture on the recording's clock (see Metadata.started_unix_ns)."""
    capture_duration_ns: int | None = None
    """From begin to end of the capture, without our reading."""
    read_duration_ns: int | None = None
    """What our reading added."""
    failure: Failure | None = None
    evidence: dict[str, Evidence] = msgspec.field(default_factory=dict)
    warnings: list[str] = msgspec.field(default_factory=list)
    extra: Extra = msgspec.field(default_factory=dict)


class Executable(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What instantiate made of a graph, and what became of it."""

    id: str
    graph: str
    """Key of the graph."""
    instantiate_duration_ns: int | None = None
    instantiated_ns: int | None = None
    uploads: int = 0
    updates: int = 0
    replays: int = 0
    ended: str = ""
    """``"reset"``, ``"destroyed"`` or ``"alive at exit"``; empty when unknown."""
    ended_ns: int | None = None
    note: str = ""
    extra: Extra = msgspec.field(default_factory=dict)


class EventKind(StrEnum):
    """What can stand on a recording's timeline."""

    CAPTURE = "capture"
    CAPTURE_FAILED = "capture_failed"
    INSTANTIATE = "instantiate"
    UPDATE = "update"
    UPLOAD = "upload"
    REPLAY = "replay"
    RESET = "reset"
    DESTROY = "destroy"


class Event(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Something that happened to a graph or an executable."""

    kind: str
    start_ns: int
    duration_ns: int = 0
    """For counted replays: from the first one's start to the last one's return."""
    count: int = 1
    """Consecutive replays of one executable are one event."""
    graph: str = ""
    executable: str = ""
    process: int = 0
    thread: str = ""
    detail: str = ""


class Gpu(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A device as the driver describes it."""

    index: int
    name: str
    compute_capability: tuple[int, int] | None = None
    multiprocessors: int | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    max_threads_per_multiprocessor: int | None = None
    extra: Extra = msgspec.field(default_factory=dict)


class Process(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One process that took part in a recording."""

    pid: int
    argv: list[str] = msgspec.field(default_factory=list)
    started_ns: int | None = None
    ended: str = ""
    """``"exit"``, or ``"lost"`` when its journal has no end: killed, crashed or ``os._exit``."""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    gpus: list[Gpu] = msgspec.field(default_factory=list)
    costs_ns: dict[str, int] = msgspec.field(default_factory=dict)
    """Wall time our recorder added, per kind of work."""
    warnings: list[str] = msgspec.field(default_factory=list)
    extra: Extra = msgspec.field(default_factory=dict)


class Metadata(msgspec.Struct, kw_only=True, omit_defaults=True):
    """When, how and with what a recording was made."""

    title: str = ""
    command: list[str] = msgspec.field(default_factory=list)
    """The command as the user typed it."""
    started_unix_ns: int | None = None
    """Unix time at which the recording's clock (nanoseconds, from 0) started."""
    duration_ns: int | None = None
    exit_code: int | None = None
    """Of the workload; negative for a signal, as in :mod:`subprocess`."""
    product_version: str = ""
    source: str = ""
    """``"recorded"``, or the format the recording was converted from."""
    complete: bool = True
    """False when a process vanished without closing its journal."""
    warnings: list[str] = msgspec.field(default_factory=list)
    extra: Extra = msgspec.field(default_factory=dict)


class Recording:
    """What one run left: graphs, failed captures, executables, timeline and metadata.

    Graph bodies are loaded when asked for, one graph at a time.

    Parameters
    ----------
    metadata : Metadata
    graphs, failed : list of GraphInfo
        In order of capture. Failed captures are apart; keys are unique over both.
    load : callable, optional
        Returns the graph of a key; called at most once per key while the result is kept.
    timeline : callable or list, optional
        The events, or a function that loads them.
    timings : dict of str to (Timings or callable), optional
        Node timings by executable id, or functions that load them.
    """

    def __init__(
        self,
        metadata: Metadata,
        graphs: list[GraphInfo],
        failed: list[GraphInfo] | None = None,
        *,
        executables: list[Executable] | None = None,
        processes: list[Process] | None = None,
        load: Callable[[str], Graph] | None = None,
        timeline: Callable[[], list[Event]] | list[Event] | None = None,
        timings: Mapping[str, Timings | Callable[[], Timings]] | None = None,
        extra: Extra | None = None,
        loaded: dict[str, Graph] | None = None,
    ) -> None:
        self.metadata = metadata
        self.graphs: dict[str, GraphInfo] = {info.key: info for info in graphs}
        self.failed: dict[str, GraphInfo] = {info.key: info for info in failed or []}
        self.executables = executables or []
        self.processes = processes or []
        self.extra: Extra = extra or {}
        self._load = load
        self._graphs: dict[str, Graph] = dict(loaded or {})
        self._timeline = timeline if timeline is not None else []
        self._timings: dict[str, Timings | Callable[[], Timings]] = dict(timings or {})

    def info(self, key: str) -> GraphInfo:
        """Return what is known about a graph or a failed capture.

        Raises
        ------
        LookupFailed
            No graph has that key.
        """
        info = self.graphs.get(key) or self.failed.get(key)
        if info is None:
            known = list(self.graphs)[:5]
            more = f" and {len(self.graphs) - 5} more" if len(self.graphs) > 5 else ""
            raise LookupFailed(
                f"no graph {key!r} in this recording: it has {', '.join(known) or 'none'}{more}"
            )
        return info

    def graph(self, key: str) -> Graph:
        """Return a graph, loading it at most once.

        Raises
        ------
        LookupFailed
            No graph has that key.
        FormatError
            The stored graph is damaged.
        """
        self.info(key)
        graph = self._graphs.get(key)
        if graph is None:
            if self._load is None:
                raise LookupFailed(
                    f"graph {key!r} was not read: its nodes are not in the recording"
                )
            graph = self._graphs[key] = self._load(key)
        return graph

    def is_loaded(self, key: str) -> bool:
        """Say whether a graph is in memory."""
        return key in self._graphs

    def forget(self, key: str) -> None:
        """Drop a loaded graph from memory; it loads again when asked for."""
        if self._load is not None:
            self._graphs.pop(key, None)

    def executables_of(self, key: str) -> list[Executable]:
        """Return the executables that were instantiated from a graph."""
        return [item for item in self.executables if item.graph == key]

    @property
    def timed(self) -> list[str]:
        """Ids of the executables that have node timings."""
        return list(self._timings)

    def timings(self, executable: str) -> Timings | None:
        """Return the node timings of an executable, or ``None`` when it has none.

        Raises
        ------
        FormatError
            The stored timings are damaged.
        """
        found = self._timings.get(executable)
        if callable(found):
            found = self._timings[executable] = found()
        return found

    def timings_of(self, key: str) -> list[Timings]:
        """Return the node timings of a graph's executables, in order of instantiation."""
        found = (self.timings(item.id) for item in self.executables_of(key))
        return [timings for timings in found if timings is not None]

    @property
    def timeline(self) -> list[Event]:
        """Events ordered by start."""
        if callable(self._timeline):
            self._timeline = self._timeline()
        return self._timeline
