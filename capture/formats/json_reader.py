"""Reading of the readable document; :mod:`capture.formats.json_document` says what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ..codec import collection_paused, decode_evidence, load
from ..errors import FormatError, InvalidGraphError, TooLargeError
from ..evidence import STORED
from ..model import (
    Body,
    Event,
    Executable,
    Graph,
    GraphInfo,
    Kernel,
    Metadata,
    Process,
    Recording,
    Topology,
)
from ..nodes import node_type
from . import documents
from .documents import field

_LISTS = ("processes", "executables", *STORED, "timeline", "graphs", "failed")
_KNOWN_FIELDS = frozenset(("$schema", "format", "version", "written_by", "metadata", *_LISTS))


def read_document(path: Path, marker: str, max_bytes: int) -> Recording:
    """Read a readable document.

    Parameters
    ----------
    path : Path
    marker : str
        What the document has to say that it is.
    max_bytes : int
        Size up to which a file is read.

    Raises
    ------
    FormatError
        It is damaged, too large, or newer than this version.
    """
    size = path.stat().st_size
    if size > max_bytes:
        raise TooLargeError(f"{path} has {size} bytes; documents up to {max_bytes} are read")
    where = str(path)
    document = documents.decode(path.read_bytes(), where)
    documents.check_marker(document, where, marker)
    with collection_paused():
        return _recording(document, where)


def _recording(document: dict[str, Any], where: str) -> Recording:
    lists = {name: field(document, name, list, where) for name in _LISTS}
    kernels = _Kernels()
    infos: dict[str, list[GraphInfo]] = {"graphs": [], "failed": []}
    loaded: dict[str, Graph] = {}
    for kind, found in infos.items():
        for number, item in enumerate(lists[kind]):
            here = f"{where} {kind}[{number}]"
            if not isinstance(item, dict):
                raise FormatError(f"{here} is a {type(item).__name__}, expected a map")
            info = load(GraphInfo, field(item, "info", dict, here), here)
            found.append(info)
            if "levels" in item:
                loaded[info.key] = _read_graph(field(item, "levels", list, here), kernels, here)
    documents.check_keys([info.key for part in infos.values() for info in part], where)
    evidence: dict[str, dict[str, Any]] = {}
    for stored in STORED.values():
        held = evidence[stored.name] = {}
        for number, item in enumerate(lists[stored.name]):
            here = f"{where} {stored.name}[{number}]"
            found_item = decode_evidence(stored, item, here)
            owner = getattr(found_item, stored.owner)
            if held.setdefault(owner, found_item) is not found_item:
                raise FormatError(f"{here} is of {owner!r}, which came before")
    try:
        timeline = msgspec.convert(lists["timeline"], list[Event])
    except msgspec.ValidationError as error:
        raise FormatError(f"{where} timeline: {error}") from error
    return Recording(
        load(Metadata, field(document, "metadata", dict, where), f"{where} metadata"),
        infos["graphs"],
        infos["failed"],
        executables=[load(Executable, i, f"{where} executables") for i in lists["executables"]],
        processes=[load(Process, item, f"{where} processes") for item in lists["processes"]],
        timeline=timeline,
        evidence=evidence,
        extra={name: value for name, value in document.items() if name not in _KNOWN_FIELDS},
        loaded=loaded,
    )


class _Kernels:
    """Kernels of a document, equal ones made once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Kernel] = {}

    def get(self, document: Any, where: str) -> Kernel:
        content = msgspec.json.encode(document)
        kernel = self._known.get(content)
        if kernel is None:
            if isinstance(document, dict):
                document = {k: v for k, v in document.items() if k != "readable_name"}
            kernel = self._known[content] = load(Kernel, document, where)
        return kernel


def _read_graph(levels: list[Any], kernels: _Kernels, where: str) -> Graph:
    graphs: dict[str, Graph] = {}
    for level in levels:
        path = level.get("path") if isinstance(level, dict) else None
        if not isinstance(path, str):
            raise FormatError(f"{where} has a level without a path")
        here = f"{where} level {path!r}"
        if path in graphs:
            raise InvalidGraphError(f"{here} is there twice")
        graph = _read_level(level, kernels, here)
        if path:
            above, _, place = path.rpartition("/")
            outer, _, node = above.rpartition("/")
            parent = graphs.get(outer)
            if parent is None or not (node.isdecimal() and place.isdecimal()):
                raise InvalidGraphError(f"{here} is the body of a node that is not there")
            if len(node) > 9 or len(place) > 9 or int(node) >= len(parent):
                raise InvalidGraphError(f"{here} is the body of a node that is not there")
            role = str(level.get("role", ""))
            body = Body(node=int(node), index=int(place), role=role, graph=graph)
            parent.bodies.append(body)
        elif graphs:
            raise InvalidGraphError(f"{here} comes after its bodies")
        graphs[path] = graph
    if "" not in graphs:
        raise FormatError(f"{where} has no outermost level")
    for graph in graphs.values():
        graph.bodies.sort(key=lambda body: (body.node, body.index))
    return graphs[""]


def _read_level(level: dict[str, Any], kernels: _Kernels, where: str) -> Graph:
    nodes, edges = field(level, "nodes", list, where), field(level, "edges", list, where)
    types: list[str] = []
    payloads: list[Any] = []
    node_extra: dict[int, dict[str, Any]] = {}
    for position, node in enumerate(nodes):
        here = f"{where} node {position}"
        if not isinstance(node, dict) or not isinstance(node.get("type"), str):
            raise FormatError(f"{here} has no type")
        if node.get("position", position) != position:
            raise InvalidGraphError(f"{here} claims position {node['position']!r}")
        types.append(node["type"])
        extra = dict(field(node, "extra", dict, here))
        extra.update(
            (name, value)
            for name, value in node.items()
            if name not in ("position", "type", "fields", "extra")
        )
        payload = None
        if "fields" in node:
            payload, unknown = _payload(
                node["type"], field(node, "fields", dict, here), kernels, here
            )
            extra.update(unknown)
        payloads.append(payload)
        if extra:
            node_extra[position] = extra
    return Graph(
        topology=_read_edges(types, edges, where),
        payloads=payloads,
        name=str(level.get("name", "")),
        node_extra=node_extra,
        extra=field(level, "extra", dict, where),
    )


def _payload(
    type_: str, fields: dict[str, Any], kernels: _Kernels, where: str
) -> tuple[Any, dict[str, Any]]:
    kind = node_type(type_).payload
    if kind is None:
        return fields, {}
    known = set(kind.__struct_encode_fields__)
    values = {k: v for k, v in fields.items() if k in known and k not in ("kernel", "arguments")}
    unknown = {k: v for k, v in fields.items() if k not in known}
    kernel = arguments = None
    if "kernel" in known:
        kernel = fields.get("kernel")
        text = unknown.pop("arguments_hex", None)
        unknown.pop("parameters", None)
        try:
            arguments = None if text is None else bytes.fromhex(text)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{where}: arguments_hex is not hexadecimal text") from error
    try:
        payload = msgspec.convert(values, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise FormatError(f"{where}: {error}") from error
    if kernel is not None:
        payload.kernel = kernels.get(kernel, where)  # type: ignore[attr-defined]
    if arguments is not None:
        payload.arguments = arguments  # type: ignore[attr-defined]
    return payload, unknown


def _read_edges(types: list[str], edges: list[Any], where: str) -> Topology:
    try:
        rows = msgspec.convert(edges, list[_Edge])
    except msgspec.ValidationError as error:
        raise FormatError(f"{where} edges: {error}") from error
    for row in rows:
        if not (0 <= row.source < len(types) and 0 <= row.target < len(types)):
            raise InvalidGraphError(
                f"{where} has an edge from {row.source} to {row.target}, but its nodes are "
                f"0 to {len(types) - 1}"
            )
    columns = {
        "from_port": [row.from_port for row in rows],
        "to_port": [row.to_port for row in rows],
        "edge_type": [row.type for row in rows],
    }
    return Topology(
        types=types,
        source=[row.source for row in rows],
        target=[row.target for row in rows],
        **{name: values for name, values in columns.items() if any(values)},
    )


class _Edge(msgspec.Struct):
    source: int
    target: int
    from_port: int = 0
    to_port: int = 0
    type: int = 0
