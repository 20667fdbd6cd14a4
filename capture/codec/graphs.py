"""One graph with all its bodies as one document, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..columns import MAX_ROWS, pack, pack_records, unpack, unpack_records
from ..errors import FormatError, InvalidGraphError, TooLargeError
from ..model import Body, Graph, Kernel, Topology
from ..nodes import node_type
from .structs import Document, collection_paused
from .tables import Tables

_KERNEL = "kernel"


def encode_graph(graph: Graph, tables: Tables) -> Document:
    """Turn a graph with all its bodies into one document; shared parts go into `tables`."""
    levels: list[Document] = []
    ids: dict[str, int] = {}
    roles = {"": (-1, -1, -1, "")}
    for path, level in graph.walk():
        parent, node, index, role = roles.pop(path)
        ids[path] = len(levels)
        prefix = f"{path}/" if path else ""
        for body in level.bodies:
            roles[f"{prefix}{body.node}/{body.index}"] = (
                len(levels),
                body.node,
                body.index,
                body.role,
            )
        document: Document = {
            "topology": tables.topology(level.topology),
            "name": level.name,
            "payloads": _encode_payloads(level, tables),
        }
        if parent >= 0:
            document |= {"parent": parent, "node": node, "index": index, "role": role}
        if level.node_extra:
            document["node_extra"] = {str(k): v for k, v in level.node_extra.items()}
        if level.extra:
            document["extra"] = level.extra
        levels.append(document)
    return {"levels": levels}


def _encode_payloads(graph: Graph, tables: Tables) -> Document:
    rows: dict[str, list[Any]] = {}
    for type_, payload in zip(graph.topology.types, graph.payloads, strict=True):
        rows.setdefault(type_, []).append(payload)
    result: Document = {}
    for type_, payloads in rows.items():
        read = [i for i, payload in enumerate(payloads) if payload is not None]
        if not read:
            continue
        document: Document = {"count": len(payloads)}
        if len(read) < len(payloads):
            document["rows"] = read
            payloads = [payloads[i] for i in read]
        document["columns"] = _encode_rows(payloads, tables)
        result[type_] = document
    return result


def _encode_rows(payloads: list[Any], tables: Tables) -> Document:
    first = payloads[0]
    if not isinstance(first, msgspec.Struct):
        return pack_records(payloads)
    columns: Document = {}
    fields = zip(type(first).__struct_fields__, type(first).__struct_defaults__, strict=True)
    for name, default in fields:
        values = [getattr(payload, name) for payload in payloads]
        if name == _KERNEL:
            values = [None if value is None else tables.kernel(value) for value in values]
        if default is None and not any(value is not None for value in values):
            continue
        sample = values[0]
        if (
            sample.__class__ is list
            or sample.__class__ is dict
            or isinstance(sample, msgspec.Struct)
        ):
            columns[name] = [msgspec.to_builtins(value) for value in values]
        else:
            columns[name] = pack(values)
    return columns


def decode_graph(
    document: Any,
    topologies: Mapping[str, Topology],
    kernels: Sequence[Kernel],
    where: str = "graph",
) -> Graph:
    """Turn a document of :func:`encode_graph` back into a graph.

    Parameters
    ----------
    document : object
        As decoded from JSON.
    topologies, kernels
        The tables it was encoded with.
    where : str
        What the document is, for messages.

    Raises
    ------
    FormatError
        The document has not the expected form.
    InvalidGraphError
        It contradicts itself.
    """
    with collection_paused():
        return _decode_levels(document, topologies, kernels, where)


def _decode_levels(
    document: Any, topologies: Mapping[str, Topology], kernels: Sequence[Kernel], where: str
) -> Graph:
    if not isinstance(document, dict) or not isinstance(document.get("levels"), list):
        raise FormatError(f"{where} has no list of levels")
    levels: list[Graph] = []
    total = 0
    for number, level in enumerate(document["levels"]):
        here = f"{where} level {number}"
        topology = _topology_of(level, topologies, here)
        # Levels may share a topology, so that a small document could unfold without end.
        total += len(topology.types) + len(topology.source)
        if total > MAX_ROWS:
            raise TooLargeError(f"{where} has more than {MAX_ROWS} nodes and edges")
        graph = _decode_level(level, topology, kernels, here)
        if number:
            parent, node, index = (level.get(key) for key in ("parent", "node", "index"))
            if not (type(parent) is int and 0 <= parent < number):
                raise InvalidGraphError(f"{here} is a body of level {parent!r}, which is not there")
            owner = levels[parent]
            if not (type(node) is int and 0 <= node < len(owner)):
                raise InvalidGraphError(f"{here} belongs to node {node!r}, which is not there")
            if type(index) is not int or index < 0:
                raise FormatError(f"{here} has body index {index!r}, expected 0 or more")
            role = level.get("role", "")
            owner.bodies.append(Body(node=node, index=index, role=str(role), graph=graph))
        levels.append(graph)
    if not levels:
        raise FormatError(f"{where} has no level")
    for graph in levels:
        graph.bodies.sort(key=lambda body: (body.node, body.index))
        places = [(body.node, body.index) for body in graph.bodies]
        if len(set(places)) < len(places):
            raise InvalidGraphError(f"{where} has two bodies in one place")
    return levels[0]


def _topology_of(level: Any, topologies: Mapping[str, Topology], where: str) -> Topology:
    if not isinstance(level, dict):
        raise FormatError(f"{where} is a {type(level).__name__}, expected a map")
    key = level.get("topology")
    topology = topologies.get(key) if isinstance(key, str) else None
    if topology is None:
        raise InvalidGraphError(f"{where} has topology {key!r}, which is not in the recording")
    return topology


def _decode_level(
    level: dict[str, Any], topology: Topology, kernels: Sequence[Kernel], where: str
) -> Graph:
    stored = level.get("payloads", {})
    if not isinstance(stored, dict):
        raise FormatError(f"{where}.payloads is a {type(stored).__name__}, expected a map")
    places: dict[str, list[int]] = {}
    for position, name in enumerate(topology.types):
        places.setdefault(name, []).append(position)
    payloads: list[Any] = [None] * len(topology.types)
    node_extra = {
        int(position): dict(value)
        for position, value in _map(level.get("node_extra"), f"{where}.node_extra").items()
        if position.isdigit() and isinstance(value, dict)
    }
    for type_, columns in stored.items():
        here = f"{where}.payloads.{type_}"
        positions = places.get(type_, [])
        if not isinstance(columns, dict) or columns.get("count") != len(positions):
            raise FormatError(f"{here} does not have the {len(positions)} rows of its topology")
        if "rows" in columns:
            rows = columns["rows"]
            if not isinstance(rows, list) or not all(
                type(row) is int and 0 <= row < len(positions) for row in rows
            ):
                raise FormatError(f"{here} names a row that is not there")
            positions = [positions[row] for row in rows]
        values, extras = _decode_rows(type_, columns.get("columns"), len(positions), kernels, here)
        for position, value in zip(positions, values, strict=True):
            payloads[position] = value
        for row, extra in extras.items():
            node_extra.setdefault(positions[row], {}).update(extra)
    return Graph(
        topology=topology,
        payloads=payloads,
        name=str(level.get("name", "")),
        node_extra=node_extra,
        extra=_map(level.get("extra"), f"{where}.extra"),
    )


def _map(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FormatError(f"{where} is a {type(value).__name__}, expected a map")
    return value


def _decode_rows(
    type_: str, columns: Any, count: int, kernels: Sequence[Kernel], where: str
) -> tuple[list[Any], dict[int, dict[str, Any]]]:
    payload = node_type(type_).payload
    if payload is None:
        return unpack_records(columns, count, where), {}
    fields = dict.fromkeys(payload.__struct_fields__)
    stored = _map(columns, where)
    known = {name: column for name, column in stored.items() if name in fields}
    unknown = {name: column for name, column in stored.items() if name not in fields}
    extras = {
        row: record for row, record in enumerate(unpack_records(unknown, count, where)) if record
    }
    unpacked = {
        name: unpack(column, count, f"{where}.{name}")
        for name, column in known.items()
        if name != _KERNEL
    }
    records: list[dict[str, Any]] = (
        [dict(zip(unpacked, row, strict=True)) for row in zip(*unpacked.values(), strict=True)]
        if unpacked
        else [{} for _ in range(count)]
    )
    try:
        values: list[Any] = msgspec.convert(records, list[payload])  # type: ignore[valid-type]
    except (msgspec.ValidationError, RecursionError) as error:
        raise FormatError(f"{where}: {error}") from error
    if _KERNEL in known:
        for value, place in zip(
            values, unpack(known[_KERNEL], count, f"{where}.{_KERNEL}"), strict=True
        ):
            if place is None:
                continue
            if type(place) is not int or not 0 <= place < len(kernels):
                raise InvalidGraphError(
                    f"{where} names kernel {place!r}, but the recording has {len(kernels)}"
                )
            value.kernel = kernels[place]
    return values, extras
