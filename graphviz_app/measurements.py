"""Stored benchmarks and what-if results of opened recordings, for pages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from capture.benchmarks import Benchmark
from capture.errors import GraphLensError
from capture.selection import select

from . import gain_facts
from .figures.curve import CurvePoint, point_of
from .gain_facts import Gain

if TYPE_CHECKING:
    from capture.analysis import Subject

    from .store import Store

ROW_BYTES = 1_000


def benchmark_of(store: Store, recording: str, key: str) -> Benchmark | None:
    """Return the benchmark of a graph, or ``None``.

    Raises
    ------
    FormatError
        What is stored is damaged.
    """
    opened = store.get(recording).recording
    with store.reading:
        found: Benchmark | None = opened.evidence("benchmarks", key, keep=False)
        return found


class CurveRow:
    """One graph in the table and the curve of a recording."""

    def __init__(self, key: str, name: str, label: str, benchmark: Benchmark) -> None:
        from .benchmark_facts import notes, payback

        self.key = key
        self.point: CurvePoint = point_of(name, label, benchmark)
        self.refused = benchmark.refused
        self.paid = payback(benchmark).replays
        self.notes = tuple(map(sys.intern, notes(benchmark)))


def curve_of(store: Store, recording: str) -> list[CurveRow]:
    """Return medians of every benchmark of a recording; damaged ones are left out."""
    opened = store.get(recording)
    infos = opened.recording.graphs

    def make() -> list[CurveRow]:
        rows = []
        for key in opened.recording.benchmarked:
            try:
                found = benchmark_of(store, opened.id, key)
            except GraphLensError:
                continue
            if found is not None and key in infos:
                rows.append(CurveRow(key, infos[key].name, infos[key].label, found))
        return rows

    return store.remember(("curve", opened.id), make, lambda rows: ROW_BYTES * (len(rows) + 1))


def common_notes(rows: Sequence[CurveRow]) -> list[str]:
    """Return what has to be known of every graph that was measured."""
    measured = [row.notes for row in rows if not row.refused]
    if not measured:
        return []
    return [note for note in measured[0] if all(note in notes for notes in measured)]


def gains_of(
    store: Store, recording: str, key: str, subject: Subject, executable: str = ""
) -> list[Gain]:
    """Return stored removals of a graph, with those that were measured from here.

    A recording that was made by measuring this session's workload holds the same graph when its
    key and its topology are the same.
    """
    opened = store.get(recording)
    info = opened.recording.info(key)
    each = store.result(recording, key, "", "what_if", executable) if subject.is_timed else None
    ours = store.measurer.measured if store.measurer is not None else []
    of_session = opened.id in ours or opened.id == next(iter(store.opened))
    found: list[Gain] = []
    for id_ in dict.fromkeys([opened.id, *(ours if of_session else [])]):
        other = store.get(id_).recording.graphs.get(key)
        if other is None or (other.topology or "") != (info.topology or ""):
            continue
        benchmark = benchmark_of(store, id_, key)
        source = "" if id_ == opened.id else id_
        for removal in benchmark.removals if benchmark is not None else []:
            found.append(gain_facts.measured(removal, subject, each, source))
    return gain_facts.ranked(found)


def prediction(
    store: Store, recording: str, key: str, subject: Subject, asked: str, executable: str = ""
) -> Gain:
    """Return what a selection is predicted to gain, without measurements.

    `executable` names the one that `subject` has its timings from.

    Raises
    ------
    LookupFailed
        The selection chooses nothing.
    """
    nodes = select(subject.graph, asked)
    name = subject.label(nodes[0]) if len(nodes) == 1 else ""
    if not subject.is_timed:
        return Gain(asked, len(nodes), name=name)
    each = store.result(recording, key, "", "what_if", executable)
    return Gain(asked, len(nodes), gain_facts.predicted(subject, nodes, each), name=name)
