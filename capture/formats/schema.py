"""The JSON Schema of the readable document, made from the model's structs.

``python -m capture.formats.schema`` prints it; ``recording.schema.json`` is that output.
"""

from __future__ import annotations

from typing import Any

from ..nodes import node_types
from .json_document import MARKER, SCHEMA_ID

REF = "#/$defs/{name}"

_HEX = {"type": "string", "pattern": "^([0-9a-f]{2})*$"}


def schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12, of version 1.

    Fields that are not listed are allowed everywhere: what is not understood is kept.
    """
    import msgspec

    from ..evidence import STORED
    from ..model import Event, Executable, GraphInfo, Metadata, Process

    types = {name: entry for name, entry in node_types().items() if entry.payload is not None}
    evidence = {name: kind.struct for name, kind in STORED.items()}
    structs = [Event, Executable, GraphInfo, Metadata, Process, *evidence.values()]
    payloads = {entry.payload for entry in types.values() if entry.payload is not None}
    ordered = sorted(payloads, key=lambda struct: struct.__name__)
    _, parts = msgspec.json.schema_components([*structs, *ordered], ref_template=REF)
    # Defaults that are tuples become JSON's arrays.
    parts = msgspec.json.decode(msgspec.json.encode(parts))
    for part in parts.values():
        part.get("properties", {}).pop("extra", None)
    _kernels(parts)
    definitions = {**parts, **_shapes(types)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "cudagraph-lens document",
        "description": "What `cglens export --format json` writes: CUDA graphs, node by node.",
        "type": "object",
        "required": ["format", "version", "metadata", "graphs"],
        "properties": {
            "format": {"const": MARKER},
            "version": {"type": "integer", "minimum": 0, "maximum": 1},
            "written_by": {"type": "string", "description": "version of cudagraph-lens"},
            "metadata": {"$ref": "#/$defs/Metadata"},
            "processes": _list("Process"),
            "executables": _list("Executable"),
            **{name: _list(struct.__name__) for name, struct in evidence.items()},
            "timeline": _list("Event"),
            "graphs": _list("RecordedGraph"),
            "failed": _list("RecordedGraph"),
        },
        "$defs": dict(sorted(definitions.items())),
    }


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": REF.format(name=name)}}


def _kernels(parts: dict[str, Any]) -> None:
    """Describe what is written differently from the structs: names and argument bytes."""
    parts["Kernel"]["properties"]["readable_name"] = {
        "type": "string",
        "description": "the name, demangled",
    }
    fields = parts["KernelPayload"]["properties"]
    del fields["arguments"]
    fields["arguments_hex"] = {**_HEX, "description": "the whole argument buffer"}
    fields["parameters"] = {"type": "array", "items": {"$ref": "#/$defs/Parameter"}}
    parts["Parameter"] = {
        "title": "Parameter",
        "description": "One kernel parameter: its place in the argument buffer, and its bytes.",
        "type": "object",
        "required": ["offset_bytes", "size_bytes", "hex"],
        "properties": {
            "offset_bytes": {"type": "integer", "minimum": 0},
            "size_bytes": {"type": "integer", "minimum": 0},
            "hex": _HEX,
        },
    }


def _shapes(types: dict[str, Any]) -> dict[str, Any]:
    position = {"type": "integer", "minimum": 0}
    port = {"type": "integer", "default": 0}
    return {
        "RecordedGraph": {
            "description": "A graph or a failed capture; without levels its nodes were not read.",
            "type": "object",
            "required": ["info"],
            "properties": {"info": {"$ref": "#/$defs/GraphInfo"}, "levels": _list("Level")},
        },
        "Level": {
            "description": "The nodes and edges of a graph, or of a body of one of its nodes.",
            "type": "object",
            "required": ["path", "nodes", "edges"],
            "properties": {
                "path": {
                    "type": "string",
                    "pattern": "^([0-9]+/[0-9]+(/[0-9]+/[0-9]+)*)?$",
                    "description": "empty for the graph; '3/0' for body 0 of node 3",
                },
                "name": {"type": "string"},
                "role": {"type": "string", "description": "child, if, else, while or case N"},
                "nodes": _list("Node"),
                "edges": _list("Edge"),
            },
        },
        "Node": {
            "description": "A node; its type says which fields it has.",
            "type": "object",
            "required": ["position", "type"],
            "properties": {
                "position": position,
                "type": {"type": "string"},
                "fields": {"type": "object"},
                "extra": {"type": "object", "description": "what was read and not understood"},
            },
            "allOf": [
                {
                    "if": {"properties": {"type": {"const": name}}},
                    "then": {
                        "properties": {"fields": {"$ref": f"#/$defs/{entry.payload.__name__}"}}
                    },
                }
                for name, entry in sorted(types.items())
            ],
        },
        "Edge": {
            "description": "A dependency: target starts after source.",
            "type": "object",
            "required": ["source", "target"],
            "properties": {
                "source": position,
                "target": position,
                "from_port": port,
                "to_port": port,
                "type": {**port, "description": "CUgraphDependencyType: 1 is programmatic"},
            },
        },
    }


def main() -> None:
    """Print the schema."""
    import json
    import sys

    sys.stdout.write(json.dumps(schema(), indent=1) + "\n")


if __name__ == "__main__":
    main()
