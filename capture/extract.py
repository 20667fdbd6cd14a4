"""Reading a CUgraph: topology, payloads and bodies, from a handle.

It works on any graph the driver knows, also on one whose capture has not ended. Nothing is
changed, launched or synchronised; a node that the driver refuses to describe keeps its place and
its edges and loses only its payload.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from .driver.protocol import Driver
from .driver.records import RELAXED
from .errors import DriverError
from .model import Body, Evidence, EvidenceKind, Graph, Topology
from .nodes import by_number
from .nodes.reader import Reader, Source

UNREAD_TYPE = "type_unread"
"""Type of a node whose type the driver refused to tell."""


class Extraction(NamedTuple):
    """A graph and how reading it went."""

    graph: Graph
    warnings: list[str]
    evidence: dict[str, Evidence]
    duration_ns: int
    phases_ns: dict[str, int]
    """Where the time went, by kind of work."""
    handles: list[tuple[str, list[int]]]
    """Path of each level of the graph, as :meth:`~capture.model.Graph.walk` gives it, with the
    handles of its nodes in order."""


def _read_graph(
    reader: Reader, source: Source, name: str, path: str
) -> tuple[Graph, list[tuple[int, Source]]]:
    """Read one graph without its bodies; return it, and what bodies its nodes refer to."""
    driver = reader.driver
    with reader.phase("nodes"):
        nodes = source.nodes
        if nodes is None:
            nodes = driver.nodes(source.graph or 0)
        reader.enter(nodes, path)
    with reader.phase("launches"):
        numbers = reader.classify(nodes)
    topology = _topology(reader, source.graph, nodes, numbers)
    payloads = _payloads(reader, nodes, numbers)
    reader.handles.append((path, nodes))
    return Graph(topology=topology, payloads=payloads, name=name), reader.bodies()


def _payloads(reader: Reader, nodes: Sequence[int], numbers: Sequence[int | None]) -> list[Any]:
    kinds = set(numbers)
    payloads: list[Any] = [None] * len(nodes)
    for kind in sorted(number for number in kinds if number is not None):
        if len(kinds) == 1:
            return _decode(reader, kind, nodes)
        positions = [at for at, number in enumerate(numbers) if number == kind]
        decoded = _decode(reader, kind, [nodes[at] for at in positions])
        for at, payload in zip(positions, decoded, strict=True):
            payloads[at] = payload
    return payloads


def _decode(reader: Reader, number: int, handles: Sequence[int]) -> list[Any]:
    entry = by_number(number)
    try:
        payloads = entry.decode(reader, handles)
        if len(payloads) == len(handles):
            return payloads
        found = f"{len(payloads)} payloads for {len(handles)} nodes"
    except Exception as error:  # a decoder may come from another distribution
        found = f"{type(error).__name__}: {error}"
    reader.warn(f"{entry.name} nodes could not be described: {found}")
    return [None] * len(handles)


def _topology(
    reader: Reader, graph: int | None, nodes: Sequence[int], numbers: Sequence[int | None]
) -> Topology:
    with reader.phase("edges"):
        edges = reader.driver.edges(graph, nodes)
    reader.notes.setdefault("edges", edges.how)
    for index, error in edges.refused.items():
        reader.warn(f"predecessors of {reader.name_of(nodes[index])} could not be read: {error}")
    if edges.lost:
        reader.warn(f"{edges.lost} edges lead to nodes that were not in the graph when it was read")
    names = {
        number: UNREAD_TYPE if number is None else by_number(number).name for number in set(numbers)
    }
    return Topology(
        types=list(map(names.__getitem__, numbers)),
        source=edges.source,
        target=edges.target,
        from_port=edges.from_port,
        to_port=edges.to_port,
        edge_type=edges.type,
    )


def extract(
    driver: Driver, graph: int, *, name: str = "", all_attributes: bool = False
) -> Extraction:
    """Read a graph from its handle.

    Parameters
    ----------
    driver : Driver
    graph : int
        Handle of a ``CUgraph``; its capture may still be going on.
    name : str, optional
        Name shown to people.
    all_attributes : bool, optional
        Read every launch attribute of every kernel node, see Notes.

    Returns
    -------
    Extraction

    Raises
    ------
    DriverError
        The graph as a whole cannot be read, such as a handle that is none.

    Notes
    -----
    Cluster, cooperative launch and priority are read of every kernel node. The other launch
    attributes, which hardly any node has, are read of every node in graphs of at most 200
    kernel nodes, bodies included. In larger graphs they are read of the first and the last node
    of each distinct launch (equal function, dimensions, shared memory, cluster, cooperative
    launch and priority) and, if either of the two differs from the defaults, of every node of
    that launch; payloads of other nodes report none, and the evidence about attributes says how
    many nodes were read.

    Linear in nodes and edges. Python's cyclic garbage collector is paused meanwhile: a collection
    in the middle of a capture could free device memory of the script being recorded. The
    thread's capture mode is relaxed meanwhile, so that no call of ours can invalidate a capture.
    """
    started = time.perf_counter_ns()
    reader = Reader(driver, graph, all_attributes=all_attributes)
    collecting = gc.isenabled()
    gc.disable()
    mode = driver.exchange_capture_mode(RELAXED)
    try:
        outermost, bodies = _read_graph(reader, Source(0, "", graph, None), name, "")
        _read_bodies(reader, outermost, bodies)
    finally:
        driver.exchange_capture_mode(mode)
        if collecting:
            gc.enable()
    reader.close()
    duration_ns = time.perf_counter_ns() - started
    return Extraction(
        outermost,
        reader.warnings,
        _evidence(reader),
        duration_ns,
        dict(reader.phases_ns),
        reader.handles,
    )


def _read_bodies(reader: Reader, outermost: Graph, bodies: list[tuple[int, Source]]) -> None:
    pending = [(outermost, "", position, source) for position, source in reversed(bodies)]
    while pending:
        parent, path, position, source = pending.pop()
        where = f"{path}/{position}" if path else str(position)
        here = f"{where}/{source.index}"
        name = f"{parent.name} node {position} ({source.role})".lstrip()
        try:
            graph, inner = _read_graph(reader, source, name, here)
        except DriverError as error:
            reader.warn(f"body {source.index} of node {where} could not be read: {error}")
            continue
        parent.bodies.append(Body(node=position, index=source.index, role=source.role, graph=graph))
        pending.extend((graph, here, at, body) for at, body in reversed(inner))


def _evidence(reader: Reader) -> dict[str, Evidence]:
    phases, notes = reader.phases_ns, reader.notes

    def cost_ns(*names: str) -> int:
        return sum(phases.get(name, 0) for name in names)

    arguments, refused = notes.get("arguments", ""), notes.get("attributes refused", "")
    return {
        EvidenceKind.EDGE_PORTS: Evidence(
            present=True, how=notes.get("edges", ""), cost_ns=cost_ns("edges")
        ),
        EvidenceKind.PARAMETERS: Evidence(
            present=not arguments,
            how="" if arguments else "cuGraphKernelNodeGetParams, cuFuncGetParamInfo",
            cost_ns=cost_ns("launches", "functions", "arguments"),
            reason=arguments,
        ),
        EvidenceKind.ATTRIBUTES: Evidence(
            present=not refused,
            how="" if refused else _attributes_how(reader),
            cost_ns=cost_ns("attributes", "rare attributes"),
            reason=refused,
        ),
    }


def _attributes_how(reader: Reader) -> str:
    """Say which launch attributes were read, and of how many nodes."""
    always, others = (reader.notes.get(name) for name in ("attributes", "rare attributes"))
    names = ", ".join(filter(None, (always, others)))
    if not names:
        return ""
    how = f"cuGraphKernelNodeGetAttribute: {names}"
    rare = reader.rare
    if not others or rare.read == rare.kernels:
        return how
    how += (
        f"; rare attributes were read on {rare.read:,} of {rare.kernels:,} kernel nodes: "
        f"first and last of each distinct launch"
    )
    if rare.launches_in_full:
        how += f", and every node where one of the two differs ({rare.launches_in_full:,} of them)"
    return f"{how} (rare: {others})"
