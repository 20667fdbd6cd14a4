"""Findings: the rows of analyses that look for faults, each with its severity, graph and node.

The rows of such a result are findings once its severity is more than information. A row is about
the graph in its first column of unit ``graph`` and the node in its first column of unit ``node``;
a column called ``confidence`` says how sure it is, and what is not ``"certain"`` is a notice at
most. A result without such columns is one finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from ..errors import FormatError, GraphLensError
from ..memory.twins import twin_of
from ..model import EvidenceKind, Recording
from . import analyses, run_entry
from .base import Analysis, Cell, Result, Scope, Severity, Unit
from .subject import Subject

CERTAIN = "certain"
SEVERITIES = (Severity.WARNING, Severity.NOTICE)
"""Of findings, the more severe first."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding.

    Attributes
    ----------
    analysis : str
        Name of the analysis.
    severity : Severity
    confidence : str
        ``"certain"``, ``"likely"`` or ``"may"``; empty where the analysis does not tell.
    graph : str
        Key; empty for what concerns the recording.
    node : str
        Path; empty for what concerns the graph.
    row : int
        Index into the rows of its result; -1 where the result as a whole is the finding.
    """

    analysis: str
    severity: Severity
    confidence: str = ""
    graph: str = ""
    node: str = ""
    row: int = -1


def finders(scope: Scope) -> dict[str, Analysis]:
    """Return the analyses of a scope that look for faults, by name."""
    return {
        name: entry for name, entry in analyses().items() if entry.finding and entry.scope is scope
    }


def findings_in(entry: Analysis, result: Result, graph: str = "") -> list[Finding]:
    """Return the findings of one result.

    Parameters
    ----------
    entry : Analysis
    result : Result
    graph : str
        Key of the graph that was looked at; rows that name another one are about that.
    """
    if not result.present or result.severity is Severity.INFO:
        return []
    units = [column.unit for column in result.columns]
    names = [column.name for column in result.columns]
    node_at = units.index(Unit.NODE) if Unit.NODE in units else -1
    graph_at = units.index(Unit.GRAPH) if Unit.GRAPH in units else -1
    sure_at = names.index("confidence") if "confidence" in names else -1
    if not result.rows or (node_at, graph_at, sure_at) == (-1, -1, -1):
        node = str(result.node_marks[0]) if len(result.node_marks) == 1 else ""
        return [Finding(analysis=entry.name, severity=result.severity, graph=graph, node=node)]
    found = []
    for number, row in enumerate(result.rows):
        sure = _text(row, sure_at)
        mild = sure_at >= 0 and sure != CERTAIN
        found.append(
            Finding(
                analysis=entry.name,
                severity=Severity.NOTICE if mild else result.severity,
                confidence=sure,
                graph=_text(row, graph_at) or graph,
                node=_text(row, node_at),
                row=number,
            )
        )
    return found


def _text(row: tuple[Cell, ...], at: int) -> str:
    return str(row[at]) if at >= 0 and row[at] is not None else ""


def lean_subject(recording: Recording, key: str) -> Subject:
    """Return a graph with what findings look at: memory, origins, benchmark, and no timings.

    Raises
    ------
    LookupFailed
        There is no such graph, or its nodes are not in the recording.
    FormatError
        The stored graph is damaged. Damaged evidence counts as absent, with that reason.
    """
    unreadable: dict[EvidenceKind, str] = {}
    held = {}
    for kind, name in (
        (EvidenceKind.MEMORY, "memory"),
        (EvidenceKind.ORIGINS, "origins"),
        (EvidenceKind.BENCHMARKS, "benchmarks"),
    ):
        try:
            held[name] = recording.evidence(name, key, keep=False)
        except FormatError as error:
            unreadable[kind] = f"the {name} cannot be read: {error}"
    loaded = recording.is_loaded(key)
    graph = recording.graph(key)
    if not loaded:
        recording.forget(key)
    return Subject(
        graph,
        recording.info(key),
        origins=held.get("origins"),
        unreadable=unreadable,
        benchmark=held.get("benchmarks"),
        memory=held.get("memory"),
        find_twin=partial(twin_of, recording, key, held["memory"]) if held.get("memory") else None,
    )


def of_subject(subject: Subject) -> dict[str, Result]:
    """Return what every analysis for faults says of a graph, by name; absent ones as well."""
    return {name: run_entry(entry, subject) for name, entry in finders(Scope.GRAPH).items()}


def of_graph(recording: Recording, key: str) -> dict[str, Result]:
    """Return what every analysis for faults says of a graph; one that cannot be read says so."""
    try:
        subject = lean_subject(recording, key)
    except GraphLensError as error:
        return {
            name: Result.absent(str(error), entry.title)
            for name, entry in finders(Scope.GRAPH).items()
        }
    return of_subject(subject)


def of_recording(recording: Recording) -> dict[str, Result]:
    """Return what every analysis for faults of whole recordings says, by name."""
    return {name: run_entry(entry, recording) for name, entry in finders(Scope.RECORDING).items()}


def walk(recording: Recording) -> Iterator[tuple[str, dict[str, Result]]]:
    """Yield the results of the recording, under an empty key, and then those of each graph.

    One graph is in memory at a time.
    """
    yield "", of_recording(recording)
    for key in recording.graphs:
        yield key, of_graph(recording, key)
