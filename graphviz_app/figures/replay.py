"""The sample replay in time, as one JSON document for the canvas of ``assets/replay``.

Bars are parallel columns sorted by lane, then start; a lane is a hardware stream. Texts with units
are made here: the browser only writes plain numbers beside an axis whose unit it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from capture.analysis import Subject
from capture.analysis.absent import NO_TIMINGS
from capture.errors import LookupFailed
from capture.model import EvidenceKind, Graph

from ..format import counted, duration_text, time_unit, type_text
from ..naming import names, type_colour

ONLY_EXECUTABLE = "node of the executable only"
LABEL_CHARACTERS = 120


class Bars(msgspec.Struct):
    """Rows of the timings as they ran: parallel columns."""

    row: list[int] = msgspec.field(default_factory=list)
    start_ns: list[int] = msgspec.field(default_factory=list)
    end_ns: list[int] = msgspec.field(default_factory=list)
    stream: list[int] = msgspec.field(default_factory=list)


def bars_of(subject: Subject) -> Bars:
    """Return every row that ran in the sample replay, by stream, then start.

    A row that ran several times is one bar from its first start to its last end. Without a kept
    replay the bars are at medians over all replays.
    """
    starts = subject.column("sample_start_ns")
    lengths = subject.column("sample_duration_ns")
    if not starts or not lengths:
        starts, lengths = subject.column("start_ns"), subject.column("median_ns")
    if not starts or not lengths:
        return Bars()
    last, streams = subject.column("sample_end_ns"), subject.column("stream")
    found = []
    for row, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        if start >= 0:
            end = max(start + max(length, 0), last[row] if last else 0)
            found.append((streams[row] if streams else 0, start, end, row))
    found.sort()
    bars = Bars()
    for stream, start, end, row in found:
        bars.row.append(row)
        bars.start_ns.append(start)
        bars.end_ns.append(end)
        bars.stream.append(stream)
    return bars


def arrows_of(subject: Subject, bars: Bars) -> tuple[list[int], list[int]]:
    """Return dependencies as parallel lists of bars: from one's end to another's start.

    A node with several bars is left from the one that ends last and reached at the one that starts
    first; a node whose bodies ran stands for what ran in them. Edges of nodes without a bar are
    left out. O(bars + edges).
    """
    assert subject.timings is not None
    names = subject.timings.node
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for bar, row in enumerate(bars.row):
        path = names[row]
        while path:
            if path not in first or bars.start_ns[bar] < bars.start_ns[first[path]]:
                first[path] = bar
            if path not in last or bars.end_ns[bar] > bars.end_ns[last[path]]:
                last[path] = bar
            # What ran in a body also stands for the node that has the body.
            path = path.rpartition("/")[0].rpartition("/")[0] if "/" in path else ""
    sources: list[int] = []
    targets: list[int] = []
    for where, graph in subject.graph.walk():
        prefix = f"{where}/" if where else ""
        for source, target in zip(graph.topology.source, graph.topology.target, strict=True):
            start, stop = last.get(f"{prefix}{source}"), first.get(f"{prefix}{target}")
            if start is not None and stop is not None:
                sources.append(start)
                targets.append(stop)
    return sources, targets


def idle_of(bars: Bars) -> list[tuple[int, int]]:
    """Return when no lane was busy, between the first start and the last end, in order."""
    idle: list[tuple[int, int]] = []
    reach: int | None = None
    for start, end in sorted(zip(bars.start_ns, bars.end_ns, strict=True)):
        if reach is not None and start > reach:
            idle.append((reach, start))
        reach = end if reach is None else max(reach, end)
    return idle


class _Table:
    """Distinct texts, and an index per row."""

    def __init__(self) -> None:
        self.place: dict[str, int] = {}
        self.index: list[int] = []

    def add(self, text: str) -> None:
        self.index.append(self.place.setdefault(text, len(self.place)))

    @property
    def texts(self) -> list[str]:
        return list(self.place)


def encode_replay(subject: Subject, marks: list[int]) -> bytes:
    """Return the sample replay of a whole graph as JSON.

    Parameters
    ----------
    subject : Subject
        Of the captured graph, not of a body.
    marks : list of int
        Positions on the critical path; what runs in the bodies of such a node is marked with it.

    Raises
    ------
    LookupFailed
        No node was timed.
    """
    bars = bars_of(subject)
    if not bars.row or subject.timings is None:
        raise LookupFailed(subject.lacks(EvidenceKind.TIMINGS) or NO_TIMINGS)
    known = {path: _named(graph) for path, graph in subject.graph.walk()}
    critical = set(marks)
    labels, types, texts = _Table(), _Table(), _Table()
    paths: list[str] = []
    marked: list[int] = []
    lengths: dict[int, str] = {}
    rows, runs = subject.timings.node, subject.column("sample_runs")
    for row, start, end in zip(bars.row, bars.start_ns, bars.end_ns, strict=True):
        path = rows[row]
        paths.append(path)
        root = path.partition("/")[0]
        marked.append(int(root.isdecimal() and int(root) in critical))
        name, type_ = _described(known, path)
        labels.add(name[:LABEL_CHARACTERS])
        types.add(type_)
        several = f", {counted(runs[row], 'run')}" if runs and runs[row] > 1 else ""
        length = end - start
        if length not in lengths:
            lengths[length] = duration_text(length)
        texts.add(f"{lengths[length]}{several}")
    first, last = min(bars.start_ns), max(bars.end_ns)
    unit, scale = time_unit(max(last - first, 1))
    streams = sorted(set(bars.stream))
    lane = {stream: place for place, stream in enumerate(streams)}
    sources, targets = arrows_of(subject, bars)
    document: dict[str, Any] = {
        "unit": unit,
        "scale": scale,
        "first": first,
        "last": last,
        "span": duration_text(last - first),
        "lanes": [f"stream {stream}" for stream in streams],
        "types": [
            {"name": type_text(name), "colour": type_colour(name)} if name else _ELSEWHERE
            for name in types.texts
        ],
        "labels": labels.texts,
        "texts": texts.texts,
        "start": bars.start_ns,
        "end": bars.end_ns,
        "lane": [lane[stream] for stream in bars.stream],
        "type": types.index,
        "label": labels.index,
        "text": texts.index,
        "path": paths,
        "critical": marked,
        "idle": idle_of(bars),
        "from": sources,
        "to": targets,
    }
    return msgspec.json.encode(document)


Named = tuple[Sequence[str], Sequence[str]]
"""Short names and types of a graph's nodes, by position."""


def _named(graph: Graph) -> Named:
    return names(graph)[0], graph.topology.types


def _described(known: dict[str, Named], path: str) -> tuple[str, str]:
    """Return short name and type of the node at a path; no type for one that is not there."""
    body, _, position = path.rpartition("/")
    found = known.get(body)
    if found is None or not position.isdecimal() or int(position) >= len(found[1]):
        return ONLY_EXECUTABLE, ""
    labels, types = found
    return labels[int(position)], types[int(position)]


_ELSEWHERE = {"name": ONLY_EXECUTABLE, "colour": "#8A8F98"}
