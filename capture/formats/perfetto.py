"""Chrome's trace JSON of one replay: a track per hardware stream, arrows along dependencies.

Perfetto (ui.perfetto.dev) and chrome://tracing read it. The form is Google's "Trace Event Format":
complete events (``"ph": "X"``) with times in microseconds, metadata events that name tracks, and
flow events (``"s"``, ``"f"``) from the end of a node to the start of its successors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..errors import OutputError
from ..model import Graph, Recording
from ..nodes import node_type
from ..origin_index import OriginIndex, origin_attributes
from .base import Format
from .cgl import stored_graph

if TYPE_CHECKING:
    from ..origins import Origins
    from ..timings import Timings

PROCESS = 1
MARKER = "cudagraph-lens"
_ONLY_EXECUTABLE = "node of the executable only"


def sniff(head: bytes, path: Path) -> int:
    """Recognise our own trace, to say that this format cannot be read."""
    return 96 if head.startswith(b'{"otherData": {"writer": "cudagraph-lens') else 0


def write(recording: Recording, stream: BinaryIO, keys: Sequence[str]) -> None:
    """Write the sample replay of the only key.

    Raises
    ------
    OutputError
        The graph has no timings, or its nodes were not read.
    """
    (key,) = keys
    graph = stored_graph(recording, key)
    if graph is None:
        raise OutputError(f"graph {key!r} cannot be traced: its nodes could not be read")
    found = recording.timings_of(key)
    timings = max(found, key=lambda item: len(item.makespan_ns), default=None)
    info = recording.info(key)
    if timings is None or not _runs(timings)[0]:
        evidence = info.evidence.get("timings")
        reason = evidence.reason if evidence is not None and not evidence.present else ""
        raise OutputError(
            f"graph {key!r} has no timings, and a trace is made of them"
            f"{f': {reason}' if reason else ''}; record it on a machine with CUPTI"
        )
    about: dict[str, Any] = {
        "writer": f"{MARKER} perfetto",
        "graph": info.name or key,
        "key": key,
        "executable": timings.executable,
        "replays_traced": len(timings.makespan_ns),
        "tracing_ratio": timings.tracing_ratio,
    }
    stream.write(f'{{"otherData": {json.dumps(about)}, "displayTimeUnit": "ns",\n'.encode())
    stream.write(b'"traceEvents": [')
    separator = b"\n"
    for event in events(graph, timings, info.name or key, recording.origins(key)):
        stream.write(separator + json.dumps(event).encode())
        separator = b",\n"
    stream.write(b"\n]}\n")


def _column(timings: Timings, name: str) -> list[int]:
    """Return a column of the timings, or nothing when it is not there for every row."""
    values: list[int] = getattr(timings, name)
    return values if len(values) == len(timings.node) else []


def _runs(timings: Timings) -> tuple[list[int], list[int]]:
    """Return start and length per row of the sample replay, else of medians; else nothing."""
    for start, length in (("sample_start_ns", "sample_duration_ns"), ("start_ns", "median_ns")):
        starts, lengths = _column(timings, start), _column(timings, length)
        if starts and lengths:
            return starts, lengths
    return [], []


def events(
    graph: Graph, timings: Timings, name: str, origins: Origins | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the events of one replay.

    Parameters
    ----------
    graph : Graph
    timings : Timings
        With a start per row.
    name : str
        Of the process in the trace.
    origins : Origins, optional
        Adds module, operator, line and phase to each node's arguments.
    """
    starts, lengths = _runs(timings)
    yield _metadata("process_name", 0, {"name": name})
    streams = _column(timings, "stream") or [0] * len(starts)
    for place, stream in enumerate(sorted(set(streams))):
        yield _metadata("thread_name", stream, {"name": f"stream {stream}"})
        yield _metadata("thread_sort_index", stream, {"sort_index": place})
    graphs = dict(graph.walk())
    known: dict[str, OriginIndex] = {}
    ran: dict[str, _Span] = {}
    for row, (path, start) in enumerate(zip(timings.node, starts, strict=True)):
        if start < 0:
            continue
        length = max(lengths[row], 0)
        stream = streams[row]
        type_, label, details = _described(graphs, path)
        if origins is not None:
            details |= _origin(graphs, path, origins, known)
        yield {
            "ph": "X",
            "pid": PROCESS,
            "tid": stream,
            "ts": start / 1000,
            "dur": length / 1000,
            "name": label,
            "cat": type_,
            "args": {"node": path, **_times(timings, row), **details},
        }
        if path:
            here = _Span(start, stream, start + length, stream)
            ran[path] = ran[path].with_row(here) if path in ran else here
    yield from _flows(graphs, ran)


class _Span(NamedTuple):
    """When a captured node ran: first start and last end of its rows, each with its stream."""

    start_ns: int
    start_stream: int
    end_ns: int
    end_stream: int

    def with_row(self, row: _Span) -> _Span:
        starts = min(self, row)
        ends = max(self, row, key=lambda span: span.end_ns)
        return _Span(starts.start_ns, starts.start_stream, ends.end_ns, ends.end_stream)


def _metadata(name: str, thread: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "pid": PROCESS, "tid": thread, "name": name, "args": arguments}


def _times(timings: Timings, row: int) -> dict[str, Any]:
    names = ("count", "minimum_ns", "median_ns", "p95_ns", "gap_ns")
    columns = ((name, _column(timings, name)) for name in names)
    return {name: values[row] for name, values in columns if values}


def _described(graphs: dict[str, Graph], path: str) -> tuple[str, str, dict[str, Any]]:
    """Return type, short name and launch of the node at a path."""
    body, _, position = path.rpartition("/")
    graph = graphs.get(body)
    if graph is None or not position.isdecimal() or int(position) >= len(graph):
        return "executable", _ONLY_EXECUTABLE, {}
    node = graph.node(int(position))
    details: dict[str, Any] = {}
    for name in ("grid", "block", "cluster", "dynamic_shared_bytes"):
        value = getattr(node.payload, name, None)
        if value is not None:
            details[name] = list(value) if isinstance(value, tuple) else value
    kernel = getattr(node.payload, "kernel", None)
    if kernel is None:
        return node.type, node_type(node.type).label(node.payload), details
    from ..names import readable, short

    return node.type, short(kernel.name), {"kernel": readable(kernel.name), **details}


def _origin(
    graphs: dict[str, Graph], path: str, origins: Origins, known: dict[str, OriginIndex]
) -> dict[str, str]:
    """Return where the node at a path comes from; `known` keeps what was joined, by body."""
    body, _, position = path.rpartition("/")
    graph = graphs.get(body)
    if graph is None or not position.isdecimal() or int(position) >= len(graph):
        return {}
    if body not in known:
        known[body] = OriginIndex(origins, len(graph), body)
    return origin_attributes(known[body], int(position))


def _flows(graphs: dict[str, Graph], ran: dict[str, _Span]) -> Iterator[dict[str, Any]]:
    """Yield an arrow for each edge both of whose ends ran."""
    number = 0
    for path, graph in graphs.items():
        prefix = f"{path}/" if path else ""
        for edge in graph.edges():
            before = ran.get(f"{prefix}{edge.source}")
            after = ran.get(f"{prefix}{edge.target}")
            if before is None or after is None:
                continue
            number += 1
            common = {"pid": PROCESS, "name": "dependency", "cat": "edge", "id": number}
            # An arrow binds to the slice that encloses its time: just inside the ends.
            leave = max(before.end_ns - 1, before.start_ns) / 1000
            yield {**common, "ph": "s", "tid": before.end_stream, "ts": leave}
            arrive = after.start_ns / 1000
            yield {**common, "ph": "f", "bp": "e", "tid": after.start_stream, "ts": arrive}


FORMAT = Format(
    name="perfetto",
    extensions=(".trace.json", ".perfetto.json"),
    description="Chrome/Perfetto trace of one replay, with its dependencies (one graph, timed).",
    sniff=sniff,
    write=write,
    many=False,
)
