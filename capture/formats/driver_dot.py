"""The DOT that the CUDA driver writes (``cuGraphDebugDotPrint``), in all its forms; read only.

Each ``graph_N`` is a cluster of its own beside the others; a node that holds a graph names it in
its label. Numbers of graphs and nodes start anywhere and skip; nodes stand in creation order by
their number. A file that was cut off is read as far as it goes, with a warning.
"""

from __future__ import annotations

import gc
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import FormatError, InvalidGraphError, TooLargeError
from ..model import (
    Body,
    Evidence,
    EvidenceKind,
    Extra,
    Graph,
    GraphInfo,
    Metadata,
    Recording,
    Topology,
)
from .base import Format
from .dot_syntax import End, statements
from .driver_labels import Label
from .driver_payloads import Decoder, number
from .summary import summarise

MAX_FILE_BYTES = 1 << 30

_NODE = re.compile(r"(.+)_node_(\d{1,18})\Z", re.DOTALL)
_GRAPH = re.compile(r"graph_\w+\Z")
_BEGIN = re.compile(
    rb"(?:\s++|//[^\n]*+\n|#[^\n]*+\n|/\*(?:[^*]++|\*(?!/))*+\*/)*+(?:strict\s++)?(?:di)?graph\b",
    re.IGNORECASE,
)


@dataclass
class _Cluster:
    """One ``graph_N`` as it is read."""

    name: str
    labels: dict[int, tuple[str, str, bool]] = field(default_factory=dict)
    """Label, shape and whether it is cut, by the node's number."""
    edges: list[tuple[int, int, dict[str, str]]] = field(default_factory=list)
    bodies: list[tuple[int, int, str, str]] = field(default_factory=list)
    """(position, index, role, name of the graph)."""


def sniff(head: bytes, path: Path) -> int:
    """Recognise a DOT, and the driver's above others."""
    if _BEGIN.match(head) is None:
        return 0
    return 95 if b"graph_" in head and b"_node_" in head else 60


def read(path: Path) -> Recording:
    """Read the driver's DOT as a recording; what a DOT does not hold is marked absent.

    Raises
    ------
    FormatError
        It is no DOT, or not one that the driver wrote.
    InvalidGraphError
        An edge to a node that is not there, or graphs that hold each other.
    TooLargeError
        More than `MAX_FILE_BYTES`.
    """
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise TooLargeError(f"{path} has {size} bytes; DOT files up to {MAX_FILE_BYTES} are read")
    text = path.read_bytes().decode("utf-8", "replace")
    end = End()
    # Millions of small objects and no cycles: collections would only cost time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        clusters, ignored = _clusters(text, end)
        if not clusters:
            raise FormatError(
                "no node is called graph_N_node_M, so the CUDA driver did not write it: "
                "expected the output of cuGraphDebugDotPrint"
            )
        return _recording(path, clusters, ignored, end)
    except FormatError as error:
        raise type(error)(f"{path}: {error}") from error
    finally:
        if collecting:
            gc.enable()


def _clusters(text: str, end: End) -> tuple[dict[tuple[int, str], _Cluster], int]:
    clusters: dict[tuple[int, str], _Cluster] = {}
    ignored = 0
    names: dict[str, tuple[str, int] | None] = {}
    for graph, source, target, attributes, cut in statements(text, end):
        if not source:
            label = attributes.get("label", "")
            if _GRAPH.match(label):
                clusters.setdefault((graph, label), _Cluster(label))
            continue
        place = _split_name(source, names)
        if place is None:
            ignored += 1
            continue
        cluster = clusters.get((graph, place[0]))
        if cluster is None:
            cluster = clusters[graph, place[0]] = _Cluster(place[0])
        if not target:
            if attributes or place[1] not in cluster.labels:
                shape = attributes.get("shape", "")
                cluster.labels[place[1]] = (attributes.get("label", ""), shape, cut)
            continue
        other = _split_name(target, names)
        if other is None or other[0] != place[0]:
            raise InvalidGraphError(
                f"an edge leads from {source} to {target}, which is no node of the same graph"
            )
        cluster.edges.append((place[1], other[1], attributes))
    return clusters, ignored


def _split_name(name: str, names: dict[str, tuple[str, int] | None]) -> tuple[str, int] | None:
    try:
        return names[name]
    except KeyError:
        match = _NODE.match(name)
        found = names[name] = (match[1], int(match[2])) if match else None
        return found


class _Seen:
    """What the dump turned out to hold, for the evidence."""

    def __init__(self) -> None:
        self.decoder = Decoder()
        self.launches = self.attributes = False
        self.edges = self.head_ports = self.tail_ports = False
        self.warnings: list[str] = []


def _recording(
    path: Path, clusters: dict[tuple[int, str], _Cluster], ignored: int, end: End
) -> Recording:
    seen = _Seen()
    graphs = {key: _graph(cluster, seen) for key, cluster in clusters.items()}
    if end.line:
        count = sum(len(graph) for graph in graphs.values())
        seen.warnings.append(
            f"the file ends too early, at line {end.line}, inside {end.inside}: "
            f"{count} nodes were read until there"
        )
    if ignored:
        seen.warnings.append(f"{ignored} statements are not about nodes called graph_N_node_M")
    roots = _stitch(clusters, graphs, seen)
    infos: list[GraphInfo] = []
    loaded: dict[str, Graph] = {}
    for ordinal, key in enumerate(roots):
        graph = graphs[key]
        name = key[1] if key[1] not in loaded else f"{key[1]} of digraph {key[0]}"
        _name_bodies(graph, name)
        info = GraphInfo(key=name, name=name, ordinal=ordinal, how="driver-dot")
        info.evidence = _evidence(seen)
        info.warnings = list(seen.warnings)
        infos.append(summarise(info, graph))
        loaded[name] = graph
    metadata = Metadata(
        title=path.name, source="driver-dot", complete=not end.line, warnings=list(seen.warnings)
    )
    return Recording(metadata, infos, loaded=loaded)


def _graph(cluster: _Cluster, seen: _Seen) -> Graph:
    types: list[str] = []
    payloads: list[Any] = []
    node_extra: dict[int, Extra] = {}
    positions: dict[int, int] = {}
    for place in sorted(cluster.labels):
        text, shape, cut = cluster.labels[place]
        type_, value, extra, label = seen.decoder.node(text, shape, cut)
        if not type_ and cut:
            continue
        position = positions[place] = len(types)
        types.append(type_ or "unknown")
        payloads.append(value)
        if extra:
            node_extra[position] = extra
        if type_ == "kernel":
            seen.launches |= value.grid is not None
            seen.attributes |= value.priority is not None
        for index, (caption, name) in enumerate(label.bodies):
            cluster.bodies.append((position, index, _role(type_, label, caption, index), name))
    topology, extra = _topology(cluster, types, positions, seen)
    return Graph(topology=topology, payloads=payloads, node_extra=node_extra, extra=extra)


def _topology(
    cluster: _Cluster, types: list[str], positions: dict[int, int], seen: _Seen
) -> tuple[Topology, Extra]:
    sources: list[int] = []
    targets: list[int] = []
    from_port: list[int] = []
    to_port: list[int] = []
    others: dict[str, dict[str, str]] = {}
    seen.edges |= bool(cluster.edges)
    for source, target, attributes in cluster.edges:
        try:
            sources.append(positions[source])
            targets.append(positions[target])
        except KeyError as error:
            raise InvalidGraphError(
                f"an edge of {cluster.name} leads to node {error.args[0]}, which is not there"
            ) from None
        tail, head = attributes.get("taillabel"), attributes.get("headlabel")
        seen.tail_ports |= tail is not None
        seen.head_ports |= head is not None
        from_port.append(number(tail) or 0)
        to_port.append(number(head) or 0)
        if len(attributes) > (tail is not None) + (head is not None):
            left = {k: v for k, v in attributes.items() if k not in ("taillabel", "headlabel")}
            others[str(len(sources) - 1)] = left
    topology = Topology(
        types=types,
        source=sources,
        target=targets,
        from_port=from_port if any(from_port) else [],
        to_port=to_port if any(to_port) else [],
    )
    return topology, {"dot_edges": others} if others else {}


def _role(type_: str, label: Label, caption: str, index: int) -> str:
    if type_ != "conditional":
        return "child"
    kind = str(label.fields.get("Conditional Type", label.fields.get("Type", ""))).lower()
    if kind == "if" and index < 2:
        return ("if", "else")[index] if caption != "False" else "else"
    return "while" if kind == "while" else f"case {caption or index}"


def _stitch(
    clusters: dict[tuple[int, str], _Cluster], graphs: dict[tuple[int, str], Graph], seen: _Seen
) -> list[tuple[int, str]]:
    """Hang bodies into the nodes that name them; return the graphs that no node names."""
    owners: dict[tuple[int, str], tuple[int, str]] = {}
    for key, cluster in clusters.items():
        for position, index, role, name in cluster.bodies:
            inner = (key[0], name)
            if inner not in graphs:
                seen.warnings.append(
                    f"node {position} of {cluster.name} holds {name}, which is not in the file"
                )
                continue
            if inner in owners:
                raise InvalidGraphError(f"{name} is held by two nodes; a graph has one place")
            owners[inner] = key
            graphs[key].bodies.append(
                Body(node=position, index=index, role=role, graph=graphs[inner])
            )
    roots = [key for key in graphs if key not in owners]
    # Each graph has at most one owner, so one that no root leads to is inside itself.
    reached = sum(1 for root in roots for _ in graphs[root].walk())
    if reached < len(graphs):
        lost = next(key for key in owners if _leads_back(key, owners))
        raise InvalidGraphError(f"{lost[1]} holds itself")
    return roots


def _leads_back(key: tuple[int, str], owners: dict[tuple[int, str], tuple[int, str]]) -> bool:
    """Whether a graph is among its own owners."""
    seen: set[tuple[int, str]] = set()
    place = owners.get(key)
    while place is not None and place not in seen:
        if place == key:
            return True
        seen.add(place)
        place = owners.get(place)
    return False


def _name_bodies(graph: Graph, name: str) -> None:
    graph.name = name
    for _, level in graph.walk():
        for body in level.bodies:
            body.graph.name = f"{level.name} node {body.node} ({body.role})"


def _evidence(seen: _Seen) -> dict[str, Evidence]:
    again = "record the script with `cglens record` to get it"
    launch = (
        "launch dimensions are there, the arguments of kernels are not: no DOT has them"
        if seen.launches
        else "the DOT was printed without cudaGraphDebugDotFlagsVerbose and without the flags for "
        "parameters (or has no kernels), so there are neither launch dimensions nor arguments"
    )
    ports = seen.head_ports or seen.tail_ports
    printed = " and ".join(
        text for text, there in (("tail", seen.tail_ports), ("head", seen.head_ports)) if there
    )
    return {
        EvidenceKind.PARAMETERS: Evidence(present=False, reason=f"{launch}; {again}"),
        EvidenceKind.ATTRIBUTES: Evidence(
            present=seen.attributes,
            how="attributes that the driver's DOT prints" if seen.attributes else "",
            reason=""
            if seen.attributes
            else "the DOT was printed without cudaGraphDebugDotFlagsVerbose and without the flag "
            f"for kernel attributes, or has no kernels; {again}",
        ),
        EvidenceKind.EDGE_PORTS: Evidence(
            present=ports,
            how=f"{printed} labels of the DOT's edges; no DOT prints the edges' type"
            if ports
            else "",
            reason=""
            if ports
            else f"the DOT was printed without cudaGraphDebugDotFlagsVerbose; {again}"
            if seen.edges
            else "no edge was read",
        ),
        EvidenceKind.CAPTURE: Evidence(
            present=False, reason=f"a DOT does not say where and how a graph was captured; {again}"
        ),
        **{
            kind: Evidence(present=False, reason=f"a DOT has none; {again}")
            for kind in (
                EvidenceKind.TIMINGS,
                EvidenceKind.ORIGINS,
                EvidenceKind.MEMORY,
                EvidenceKind.BENCHMARKS,
            )
        },
    }


FORMAT = Format(
    name="driver-dot",
    extensions=(".dot",),
    description="the CUDA driver's own DOT, from cuGraphDebugDotPrint; read only",
    sniff=sniff,
    read=read,
)
