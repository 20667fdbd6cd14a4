"""networkx's node-link JSON: one graph, as :func:`capture.topology.to_networkx` describes it.

``networkx.node_link_graph(document, edges="edges")`` reads the outermost level. What networkx
passes over stands beside it: ``info``, and ``bodies`` by path, each in node-link form.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..codec import dump, load
from ..errors import FormatError, InvalidGraphError, OutputError, TooLargeError
from ..model import Evidence, EvidenceKind, Graph, GraphInfo, Metadata, Recording
from . import documents
from .base import Format
from .cgl import stored_graph

if TYPE_CHECKING:
    import networkx

MARKER = "cudagraph-lens node-link"
MAX_FILE_BYTES = 1 << 28


def sniff(head: bytes, path: Path) -> int:
    """Recognise our marker, or the keys that networkx writes first."""
    if not head.lstrip().startswith(b"{"):
        return 0
    if f'"{MARKER}"'.encode() in head:
        return 95
    return 60 if b'"directed"' in head and b'"multigraph"' in head else 0


def write(recording: Recording, stream: BinaryIO, keys: Sequence[str]) -> None:
    """Write the graph of the only key.

    Raises
    ------
    OutputError
        Its nodes were not read.
    """
    import networkx as nx

    from ..topology import to_networkx, to_networkx_bodies

    (key,) = keys
    graph = stored_graph(recording, key)
    if graph is None:
        raise OutputError(f"graph {key!r} cannot be written: its nodes could not be read")
    origins = recording.origins(key)
    document = {
        "format": MARKER,
        "version": documents.VERSION,
        "info": dump(recording.info(key)),
        **nx.node_link_data(to_networkx(graph, "", origins), edges="edges"),
        "bodies": {
            path: nx.node_link_data(level, edges="edges")
            for path, level in to_networkx_bodies(graph, origins).items()
        },
    }
    stream.write(documents.encode(document, sort=False))


def read(path: Path) -> Recording:
    """Read a graph from node-link JSON; what it does not hold is marked absent.

    Raises
    ------
    FormatError
        It is no directed graph in node-link form, or its nodes are no CUDA graph nodes.
    """
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise TooLargeError(f"{path} has {size} bytes; node-link up to {MAX_FILE_BYTES} is read")
    where = str(path)
    document = documents.decode(path.read_bytes(), where)
    if isinstance(document, dict) and "format" in document:
        documents.check_marker(document, where, MARKER)
    graph = _graph(document, where)
    info = GraphInfo(key=graph.name or "graph", name=graph.name or path.stem)
    if isinstance(document, dict) and "info" in document:
        info = load(GraphInfo, document["info"], f"{where} info")
    else:
        info.evidence = {
            kind: Evidence(present=False, reason="node-link JSON without `info` does not have it")
            for kind in EvidenceKind
        }
    from .summary import summarise

    info.how = info.how or "node-link"
    summarise(info, graph)
    metadata = Metadata(title=path.name, source="node-link")
    return Recording(metadata, [info], loaded={info.key: graph})


def _graph(document: Any, where: str) -> Graph:
    from ..topology import from_networkx

    outermost = _level(document, where)
    bodies = documents.field(document, "bodies", dict, where)
    inner = {str(path): _level(level, f"{where} body {path}") for path, level in bodies.items()}
    try:
        _check_bodies({"": outermost, **inner})
        graph = from_networkx(outermost, inner)
    except FormatError as error:
        raise type(error)(f"{where}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(f"{where} is no CUDA graph in node-link form: {error!r}") from error
    return graph


def _check_bodies(levels: dict[str, networkx.DiGraph[Any]]) -> None:
    """Check that every body hangs in one place, the one that its path names.

    Without that, bodies that refer to each other would be followed without end.

    Raises
    ------
    InvalidGraphError
        One does not.
    """
    expected = set(levels) - {""}
    for path, level in levels.items():
        prefix = f"{path}/" if path else ""
        for number, (_, attributes) in enumerate(level.nodes(data=True)):
            if "bodies" not in attributes:
                continue
            position = attributes.get("position", number)
            for reference in json.loads(attributes["bodies"]):
                place = f"{prefix}{position}/{reference['index']}"
                if reference["graph"] != place or place not in expected:
                    raise InvalidGraphError(
                        f"node {position} of {path or 'the graph'} refers to body "
                        f"{reference['graph']!r}, expected {place!r}, once"
                    )
                expected.remove(place)
    if expected:
        raise InvalidGraphError(f"no node refers to body {min(expected)!r}")


def _level(document: Any, where: str) -> networkx.DiGraph[Any]:
    import networkx as nx

    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise FormatError(f"{where} has no list of nodes, so it is no node-link document")
    if document.get("directed") is not True or document.get("multigraph") is not False:
        raise FormatError(f"{where} is no simple directed graph; CUDA graphs are")
    edges = "links" if "links" in document and "edges" not in document else "edges"
    try:
        return nx.node_link_graph(document, edges=edges)
    except (KeyError, TypeError, ValueError, AttributeError, nx.NetworkXException) as error:
        raise FormatError(f"{where} is no node-link document: {error!r}") from error


FORMAT = Format(
    name="node-link",
    extensions=(".nodelink.json",),
    description="networkx's node-link JSON: one graph, bodies beside it",
    sniff=sniff,
    read=read,
    write=write,
    many=False,
)
