"""Statements of the driver's DOT to graphs: clusters, bodies put in their places, evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import FormatError, InvalidGraphError
from ...model import (
    Body,
    Extra,
    Graph,
    GraphInfo,
    Metadata,
    Recording,
    Topology,
)
from ..summary import summarise
from .evidence import Seen, evidence
from .labels import Label
from .payloads import number
from .syntax import End, statements

_NODE = re.compile(r"(.+)_node_(\d{1,18})\Z", re.DOTALL)
_GRAPH = re.compile(r"graph_\w+\Z")


@dataclass
class _Cluster:
    """One ``graph_N`` as it is read."""

    name: str
    labels: dict[int, tuple[str, str, bool]] = field(default_factory=dict)
    """Label, shape and whether it is cut, by the node's number."""
    edges: list[tuple[int, int, dict[str, str]]] = field(default_factory=list)
    bodies: list[tuple[int, int, str, str]] = field(default_factory=list)
    """(position, index, role, name of the graph)."""


def read_text(text: str, path: Path) -> Recording:
    """Return the graphs of a DOT file's text; `path` gives the title.

    Raises
    ------
    FormatError
        It is no DOT, or not one that the driver wrote.
    """
    end = End()
    clusters, ignored = _clusters(text, end)
    if not clusters:
        raise FormatError(
            "no node is called graph_N_node_M, so the CUDA driver did not write it: "
            "expected the output of cuGraphDebugDotPrint"
        )
    return _recording(path, clusters, ignored, end)


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


def _recording(
    path: Path, clusters: dict[tuple[int, str], _Cluster], ignored: int, end: End
) -> Recording:
    seen = Seen()
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
        info.evidence = evidence(seen)
        info.warnings = list(seen.warnings)
        infos.append(summarise(info, graph))
        loaded[name] = graph
    metadata = Metadata(
        title=path.name, source="driver-dot", complete=not end.line, warnings=list(seen.warnings)
    )
    return Recording(metadata, infos, loaded=loaded)


def _graph(cluster: _Cluster, seen: Seen) -> Graph:
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
    cluster: _Cluster, types: list[str], positions: dict[int, int], seen: Seen
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
    clusters: dict[tuple[int, str], _Cluster], graphs: dict[tuple[int, str], Graph], seen: Seen
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
