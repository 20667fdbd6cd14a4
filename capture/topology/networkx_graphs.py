"""Graphs as ``networkx.DiGraph`` with plain attributes, and back without loss.

One level is one DiGraph whose nodes are positions. Every attribute is a text, integer, float or
bool, so that networkx's own writers (GraphML, GML, node-link, adjacency, pickle) take it; what
is nested is JSON text. Node attributes:

- ``position``, ``type`` and ``name`` (for people);
- the fields of the payload that differ from their default; bytes as ``"0x..."``;
- ``payload``: fields of a type that has none of its own; ``unread``: the driver refused them;
- ``bodies``: ``[{"index": 0, "role": "if", "graph": "3/0"}]``; ``extra``: unknown fields;
- with origins: ``origin_line``, ``origin_module``, ``origin_operator``, ``origin_phase``.

Edge attributes, where not 0: ``from_port``, ``to_port``, ``type``; ``parallel`` holds further
edges between the same two nodes, ``position`` the stored order where it is not by target.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..errors import InvalidGraphError
from ..model import Body, Edge, Graph, Kernel, Topology
from ..origin_index import OriginIndex, origin_attributes
from .attributes import node_attributes, plain, read_payload, text

if TYPE_CHECKING:
    import networkx

    from ..origins import Origins

T = TypeVar("T")


class _Reference(msgspec.Struct, omit_defaults=True):
    """How a node names one of its bodies."""

    index: int
    role: str
    graph: str
    name: str = ""


def to_networkx(
    graph: Graph, body: str = "", origins: Origins | None = None
) -> networkx.DiGraph[int]:
    """Turn one level of a graph into a networkx graph.

    Parameters
    ----------
    graph : Graph
    body : str
        Path of a body such as ``"3/0"``; the outermost level when empty.
    origins : Origins, optional
        Of the whole graph, such as ``recording.origins(key)``; they are not read back.

    Returns
    -------
    networkx.DiGraph
        Nodes are positions; bodies are named by path, see :func:`to_networkx_bodies`.

    Raises
    ------
    LookupFailed
        No body has that path.

    Examples
    --------
    >>> chain = Graph(
    ...     topology=Topology(types=["empty", "empty"], source=[0], target=[1]),
    ...     payloads=[None, None],
    ... )
    >>> list(to_networkx(chain).edges)
    [(0, 1)]
    """
    return _level_to_networkx(graph.at(body), body, origins)


def to_networkx_bodies(
    graph: Graph, origins: Origins | None = None
) -> dict[str, networkx.DiGraph[int]]:
    """Turn every body of a graph into a networkx graph, by path, parents first."""
    return {path: _level_to_networkx(level, path, origins) for path, level in graph.walk() if path}


def _level_to_networkx(level: Graph, path: str, origins: Origins | None) -> networkx.DiGraph[int]:
    import networkx as nx

    found: networkx.DiGraph[int] = nx.DiGraph(name=text(level.name), body=path)
    if level.extra:
        found.graph["extra"] = json.dumps(level.extra)
    bodies: dict[int, list[_Reference]] = {}
    prefix = f"{path}/" if path else ""
    for body in level.bodies:
        bodies.setdefault(body.node, []).append(
            _Reference(
                index=body.index,
                role=body.role,
                graph=f"{prefix}{body.node}/{body.index}",
                name=body.graph.name,
            )
        )
    texts: dict[int, str] = {}
    index = OriginIndex(origins, len(level), path) if origins is not None else None
    for node in level.nodes():
        attributes = node_attributes(node.type, node.payload, texts)
        if node.position in bodies:
            attributes["bodies"] = json.dumps(msgspec.to_builtins(bodies[node.position]))
        if node.extra:
            attributes["extra"] = json.dumps(node.extra)
        if index is not None:
            found_origin = origin_attributes(index, node.position)
            attributes |= {name: text(value) for name, value in found_origin.items()}
        found.add_node(node.position, position=node.position, **attributes)
    _add_edges(found, level)
    return found


def _add_edges(found: networkx.DiGraph[int], level: Graph) -> None:
    edges = list(level.edges())
    keys = [(edge.target, edge.source) for edge in edges]
    ordered = all(a <= b for a, b in pairwise(keys))
    parallel: dict[tuple[int, int], list[list[int]]] = {}
    for position, edge in enumerate(edges):
        source, target, from_port, to_port, type_ = edge
        if found.has_edge(source, target):
            parallel.setdefault((source, target), []).append([position, from_port, to_port, type_])
            continue
        attributes = {"from_port": from_port, "to_port": to_port, "type": type_}
        attributes = {name: value for name, value in attributes.items() if value}
        if not ordered:
            attributes["position"] = position
        found.add_edge(source, target, **attributes)
    for (source, target), others in parallel.items():
        found.edges[source, target]["parallel"] = json.dumps(others)


def from_networkx(
    graph: networkx.DiGraph[Any], bodies: Mapping[str, networkx.DiGraph[Any]] | None = None
) -> Graph:
    """Turn networkx graphs made by :func:`to_networkx` back into a graph.

    Parameters
    ----------
    graph : networkx.DiGraph
        The outermost level. Nodes may have been renamed: their ``position`` counts, and without
        one their order.
    bodies : mapping of str to networkx.DiGraph, optional
        Bodies by path, as from :func:`to_networkx_bodies`.

    Raises
    ------
    InvalidGraphError
        A node has no ``type``, a position is missing or given twice, an attribute does not fit
        the node's type, or a body that a node refers to is not in `bodies`.
    """
    kernels: dict[str, Kernel] = {}
    left = dict(bodies or {})
    outermost, pending = _level_from_networkx(graph, kernels)
    while pending:
        owner, position, reference = pending.pop()
        level = left.pop(reference.graph, None)
        if level is None:
            raise InvalidGraphError(
                f"node {position} refers to the body {reference.graph!r}, which is not among "
                f"those given, or is another node's: pass to_networkx_bodies(graph) as `bodies`"
            )
        inner, more = _level_from_networkx(level, kernels)
        inner.name = reference.name
        owner.bodies.append(
            Body(node=position, index=reference.index, role=reference.role, graph=inner)
        )
        owner.bodies.sort(key=lambda body: (body.node, body.index))
        pending += more
    return outermost


def _level_from_networkx(
    graph: networkx.DiGraph[Any], kernels: dict[str, Kernel]
) -> tuple[Graph, list[tuple[Graph, int, _Reference]]]:
    names = list(graph.nodes)
    try:
        places = [int(graph.nodes[name].get("position", at)) for at, name in enumerate(names)]
    except (TypeError, ValueError) as error:
        raise InvalidGraphError(f"a node's position is no number: {error}") from error
    if sorted(places) != list(range(len(names))):
        raise InvalidGraphError(
            f"the positions of {len(names)} nodes are not 0 to {len(names) - 1}, each once"
        )
    position = dict(zip(names, places, strict=True))
    types: list[str] = [""] * len(names)
    payloads: list[Any] = [None] * len(names)
    extras: dict[int, dict[str, Any]] = {}
    references: list[tuple[int, _Reference]] = []
    for name, at in position.items():
        attributes = graph.nodes[name]
        if "type" not in attributes:
            raise InvalidGraphError(f"node {name!r} has no attribute 'type', such as 'kernel'")
        types[at] = str(plain(attributes["type"]))
        payloads[at] = read_payload(types[at], attributes, kernels, name)
        if "extra" in attributes:
            extras[at] = _nested(attributes["extra"], dict[str, Any], f"extra of node {name!r}")
        if "bodies" in attributes:
            found = _nested(attributes["bodies"], list[_Reference], f"bodies of node {name!r}")
            references += [(at, item) for item in found]
    level = Graph(
        topology=_topology_from_networkx(graph, types, position),
        payloads=payloads,
        name=str(plain(graph.graph.get("name", ""))),
        node_extra=dict(sorted(extras.items())),
        extra=_nested(graph.graph.get("extra", "{}"), dict[str, Any], "extra of the graph"),
    )
    return level, [(level, at, item) for at, item in references]


def _topology_from_networkx(
    graph: networkx.DiGraph[Any], types: list[str], position: dict[Any, int]
) -> Topology:
    rows: list[tuple[tuple[int, ...], Edge]] = []
    for source, target, attributes in graph.edges(data=True):
        ends = position[source], position[target]
        try:
            ports = [int(attributes.get(name, 0)) for name in ("from_port", "to_port", "type")]
            place = attributes.get("position")
            place = int(place) if place is not None else None
        except (TypeError, ValueError) as error:
            raise InvalidGraphError(f"edge {source!r} -> {target!r}: {error}") from error
        key = (place,) if place is not None else (ends[1], ends[0], -1)
        rows.append((key, Edge(*ends, *ports)))
        more = _nested(
            attributes.get("parallel", "[]"), list[tuple[int, int, int, int]], "parallel edges"
        )
        for at, *others in more:
            key = (at,) if place is not None else (ends[1], ends[0], at)
            rows.append((key, Edge(*ends, *others)))
    rows.sort()
    edges = [edge for _, edge in rows]

    def column(values: list[int]) -> list[int]:
        return values if any(values) else []

    return Topology(
        types=types,
        source=[edge.source for edge in edges],
        target=[edge.target for edge in edges],
        from_port=column([edge.from_port for edge in edges]),
        to_port=column([edge.to_port for edge in edges]),
        edge_type=column([edge.type for edge in edges]),
    )


def _nested(value: Any, type_: type[T], where: str) -> T:
    """Read JSON text of an attribute."""
    try:
        return msgspec.convert(json.loads(value), type_)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidGraphError(f"{where} cannot be read: {error}") from error
