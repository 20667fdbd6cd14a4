"""The readable document: JSON, node by node, every field in place; reads back without loss.

Described by ``recording.schema.json`` beside this module. Bodies of child graphs and conditionals
are levels of their graph, named by path: ``"3/0"`` is body 0 of node 3. The argument buffer of a
kernel is written as hexadecimal text, as a whole and cut into parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ..codec import dump
from ..evidence import STORED
from ..model import (
    Edge,
    Graph,
    Kernel,
    Node,
    Recording,
)
from ..names import readable
from . import documents
from .base import Format
from .cgl import product_version, stored_graph

MARKER = "cudagraph-lens document"
SCHEMA_ID = "urn:cudagraph-lens:schema:recording:1"
MAX_FILE_BYTES = 1 << 29

_CHUNK = 1000


def sniff(head: bytes, path: Path) -> int:
    """Recognise the marker, which stands at the beginning."""
    return 95 if head.lstrip().startswith(b"{") and f'"{MARKER}"'.encode() in head else 0


def write(recording: Recording, stream: BinaryIO, keys: Sequence[str]) -> None:
    """Write the graphs of `keys`; no more than one graph is in memory that was not before."""
    wanted = set(keys)
    everything = wanted >= {*recording.graphs, *recording.failed}

    def put(name: str, items: list[Any]) -> None:
        lines = b",\n".join(documents.encode(item) for item in items)
        stream.write(b',\n"%s": [\n%s\n]' % (name.encode(), lines))

    head = {
        **recording.extra,
        "metadata": dump(recording.metadata),
        "written_by": product_version(),
    }
    stream.write(b'{"format": "%s", "version": %d' % (MARKER.encode(), documents.VERSION))
    stream.write(b',\n"$schema": "%s"' % SCHEMA_ID.encode())
    for name, value in head.items():
        if name not in ("format", "version", "$schema"):
            stream.write(b",\n%s: %s" % (documents.encode(name), documents.encode(value)))
    put("processes", [dump(item) for item in recording.processes])
    executables = [item for item in recording.executables if everything or item.graph in wanted]
    put("executables", [dump(item) for item in executables])
    processes = len(recording.processes) if everything else 0
    for kind in STORED.values():
        found = (
            recording.evidence(kind.name, owner, keep=False)
            for owner in documents.owners(kind, keys, executables, processes)
        )
        stream.write(b',\n"%s": [' % kind.name.encode())
        for part in _lines(dump(item) for item in found if item is not None):
            stream.write(part)
        stream.write(b"\n]")
    put("timeline", [event for event in recording.timeline if everything or event.graph in wanted])
    for name, infos in (("graphs", recording.graphs), ("failed", recording.failed)):
        stream.write(b',\n"%s": [' % name.encode())
        separator = b"\n"
        for key in keys:
            if key not in infos:
                continue
            stream.write(separator + b'{"info": ' + documents.encode(dump(infos[key])))
            loaded = recording.is_loaded(key)
            graph = stored_graph(recording, key)
            if graph is not None:
                for part in _graph_parts(graph):
                    stream.write(part)
            if not loaded:
                recording.forget(key)
            stream.write(b"}")
            separator = b",\n"
        stream.write(b"\n]")
    stream.write(b"}\n")


def _graph_parts(graph: Graph) -> Iterator[bytes]:
    yield b',\n"levels": ['
    roles: dict[str, str] = {}
    for number, (path, level) in enumerate(graph.walk()):
        prefix = f"{path}/" if path else ""
        roles.update({f"{prefix}{body.node}/{body.index}": body.role for body in level.bodies})
        head: dict[str, Any] = {"path": path, "name": level.name}
        if path:
            head["role"] = roles.pop(path)
        if level.extra:
            head["extra"] = level.extra
        text = documents.encode(head, sort=False)
        yield (b",\n" if number else b"\n") + text[:-1] + b',\n"nodes": ['
        yield from _lines(node_document(node) for node in level.nodes())
        yield b'],\n"edges": ['
        yield from _lines(_edge(edge) for edge in level.edges())
        yield b"]}"
    yield b"]"


def _lines(items: Iterator[Any]) -> Iterator[bytes]:
    chunk: list[bytes] = []
    separator = b"\n"
    for item in items:
        chunk.append(documents.encode(item, sort=False))
        if len(chunk) == _CHUNK:
            yield separator + b",\n".join(chunk)
            separator = b",\n"
            chunk = []
    if chunk:
        yield separator + b",\n".join(chunk)


def node_document(node: Node) -> dict[str, Any]:
    """Return the readable document of one node."""
    document: dict[str, Any] = {"position": node.position, "type": node.type}
    payload = node.payload
    if payload is not None:
        fields = msgspec.to_builtins(payload)
        kernel = getattr(payload, "kernel", None)
        if isinstance(kernel, Kernel):
            fields["kernel"] = {**dump(kernel), "readable_name": readable(kernel.name)}
        arguments = getattr(payload, "arguments", None)
        if isinstance(arguments, bytes):
            del fields["arguments"]
            fields["arguments_hex"] = arguments.hex()
            if isinstance(kernel, Kernel) and kernel.parameters is not None:
                fields["parameters"] = [
                    {
                        "offset_bytes": offset,
                        "size_bytes": size,
                        "hex": arguments[offset : offset + size].hex(),
                    }
                    for offset, size in kernel.parameters
                    if offset >= 0 and size >= 0
                ]
        document["fields"] = fields
    if node.extra:
        document["extra"] = node.extra
    return document


def _edge(edge: Edge) -> dict[str, int]:
    document = {"source": edge.source, "target": edge.target}
    for name in ("from_port", "to_port", "type"):
        value = getattr(edge, name)
        if value:
            document[name] = value
    return document


def read(path: Path) -> Recording:
    """Read a readable document.

    Raises
    ------
    FormatError
        It is damaged, too large, or newer than this version.
    """
    from .json_reader import read_document

    return read_document(path, MARKER, MAX_FILE_BYTES)


FORMAT = Format(
    name="json",
    extensions=(".json",),
    description="the readable document, node by node, with a published JSON Schema",
    sniff=sniff,
    read=read,
    write=write,
)
