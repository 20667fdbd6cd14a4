"""The findings of a whole recording: looked for graph by graph, kept without what is not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import msgspec

from capture.analysis import Analysis, Result, Scope, Severity, Subject, Unit, run_analysis
from capture.analysis.found import (
    CERTAIN,
    SEVERITIES,
    Finding,
    finders,
    findings_in,
    lean_subject,
    of_subject,
)
from capture.errors import GraphLensError
from capture.model import Recording

from . import result_text
from .finding_stacks import FindingStacks

MOST_ROWS = 500
"""Rows that are kept of one analysis of one graph; all are counted."""
MOST_LIMITS = 100
_STRUCTURE = (Unit.GRAPH, Unit.NODE)


@dataclass
class Kind:
    """What one analysis found in all graphs.

    Attributes
    ----------
    severity : Severity
        The most severe.
    counts : dict of str to int
        Findings by severity.
    certain : int
    graphs : set of str
        Keys of the graphs that are concerned.
    """

    name: str
    title: str
    severity: Severity = Severity.NOTICE
    counts: dict[str, int] = field(default_factory=dict)
    certain: int = 0
    graphs: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        """How many findings there are."""
        return sum(self.counts.values())


class Findings:
    """Findings of a recording, as far as they were looked for.

    Parameters
    ----------
    recording : Recording
    key : str, optional
        Look at this graph alone.

    Attributes
    ----------
    kinds : dict of str to Kind
        By name of the analysis; those that found nothing are left out.
    rows : list of Finding
        At most `MOST_ROWS` per analysis and graph.
    absent : dict of str to dict of str to int
        By name of the analysis, why it could not look, and at how many graphs.
    limits : dict of str to dict of str to int
        By name of an analysis that found nothing, what limits that, such as when nothing was
        seen, and of how many graphs; at most `MOST_LIMITS` sentences.
    looked, total : int
        Graphs.
    """

    def __init__(self, recording: Recording, key: str = "") -> None:
        self.recording = recording
        self._only = key
        self.kinds: dict[str, Kind] = {}
        self.rows: list[Finding] = []
        self.absent: dict[str, dict[str, int]] = {}
        self.limits: dict[str, dict[str, int]] = {}
        self.looked = 0
        self.total = 1 if key else len(recording.graphs)
        self._results: dict[tuple[str, str], Result] = {}

    def steps(
        self, reading: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> Iterator[None]:
        """Look for findings, one graph or analysis of the recording at a time.

        Parameters
        ----------
        reading : callable
            Returns what is held while the recording's file is read.
        """
        for key in [self._only] if self._only else self.recording.graphs:
            try:
                with reading():
                    subject = lean_subject(self.recording, key)
                results = of_subject(subject)
            except GraphLensError as error:
                results = {name: Result.absent(str(error)) for name in finders(Scope.GRAPH)}
            for name, result in results.items():
                self._add(name, result, key)
            self.looked += 1
            yield
        for name in finders(Scope.RECORDING):
            with reading():
                result = run_analysis(name, self.recording)
            self._add(name, result, "")
            yield

    def look(self) -> Findings:
        """Look for all of them, and return self."""
        for _ in self.steps():
            pass
        return self

    def _count(self, item: Finding, title: str) -> None:
        kind = self.kinds.setdefault(item.analysis, Kind(item.analysis, title))
        kind.counts[item.severity] = kind.counts.get(item.severity, 0) + 1
        kind.certain += item.confidence == CERTAIN
        kind.severity = min(kind.severity, item.severity, key=SEVERITIES.index)
        if item.graph:
            kind.graphs.add(item.graph)

    def _add(self, name: str, result: Result, key: str) -> None:
        entry = finders(Scope.GRAPH).get(name) or finders(Scope.RECORDING)[name]
        if not result.present:
            reasons = self.absent.setdefault(name, {})
            reasons[result.absent_reason] = reasons.get(result.absent_reason, 0) + 1
            return
        found = findings_in(entry, result, key)
        if self._only:
            found = [item for item in found if item.graph == self._only]
        if not found:
            self._limit(name, result)
            return
        for item in found:
            self._count(item, entry.title)
        most = MOST_ROWS if key else 10 * MOST_ROWS
        self.rows += found[:most]
        self._results[name, key] = msgspec.structs.replace(
            result, node_values={}, rows=result.rows[:most], series=[]
        )

    def _limit(self, name: str, result: Result) -> None:
        notes = self.limits.get(name, {})
        for note in result.notes:
            words = result_text.written(result, note)
            if words in notes or sum(map(len, self.limits.values())) < MOST_LIMITS:
                notes[words] = notes.get(words, 0) + 1
                self.limits[name] = notes

    def ranked(self) -> list[Kind]:
        """Return kinds, the most severe and then the most frequent first."""
        return sorted(
            self.kinds.values(), key=lambda kind: (SEVERITIES.index(kind.severity), -kind.count)
        )

    def ordered(self) -> list[Finding]:
        """Return findings, the most severe and the most certain first, then by graph and node."""
        places = {key: place for place, key in enumerate(self.recording.graphs)}
        sure = {CERTAIN: 0, "likely": 1, "": 1}

        def rank(item: Finding) -> tuple[int, int, str, int, list[int]]:
            path = [int(part) for part in item.node.split("/") if part.isdecimal()]
            return (
                SEVERITIES.index(item.severity),
                sure.get(item.confidence, 2),
                item.analysis,
                places.get(item.graph, -1),
                path,
            )

        return sorted(self.rows, key=rank)

    def result(self, item: Finding) -> Result:
        """Return the result that a finding is part of."""
        found = self._results.get((item.analysis, item.graph))
        return self._results[item.analysis, ""] if found is None else found

    def of_recording(self, name: str) -> Result:
        """Return what an analysis of the whole recording found."""
        return self._results[name, ""]

    def cells(self, item: Finding) -> dict[str, str]:
        """Return what a finding says, by the names of its result's columns."""
        result = self.result(item)
        if item.row < 0:
            return {}
        pairs = zip(result.columns, result.rows[item.row], strict=True)
        return {
            column.name: (
                str(cell)
                if column.unit in _STRUCTURE
                else result_text.value_text(column.name, cell, column.unit)
            )
            for column, cell in pairs
            if cell not in (None, "")
        }

    def words(self, item: Finding) -> str:
        """Return a finding in one line; that of a result as a whole is its summary."""
        result = self.result(item)
        if item.row < 0:
            return result_text.summary(result)
        return result_text.row_text(result, item.row)

    def document(self) -> dict[str, object]:
        """Return all as plain data for JSON.

        Stacks are lists of ``FILE:LINE FUNCTION``, innermost first; findings have their places.
        """
        lookup, stacks = FindingStacks(self.recording), dict[tuple[str, ...], int]()
        findings = [
            {
                **msgspec.to_builtins(item),
                "title": self.kinds[item.analysis].title,
                "says": self._plain(item),
                "notes": [self.result(item).text(note) for note in self.result(item).notes],
                "stacks": [
                    {
                        "what": stack.what,
                        "address": stack.address,
                        "stack": stacks.setdefault(
                            tuple(f"{at.file}:{at.line} {at.function}" for at in stack.frames),
                            len(stacks),
                        ),
                    }
                    for stack in lookup.of(item.graph, self.cells(item).values())
                ],
            }
            for item in self.ordered()
        ]
        return {
            "graphs": self.looked,
            "kinds": [
                {
                    "analysis": kind.name,
                    "title": kind.title,
                    "severity": str(kind.severity),
                    "count": kind.count,
                    "certain": kind.certain,
                    "graphs": len(kind.graphs),
                }
                for kind in self.ranked()
            ],
            "findings": findings,
            "stacks": [list(frames) for frames in stacks],
            "absent": self.absent,
            "limits": self.limits,
        }

    def _plain(self, item: Finding) -> dict[str, object] | str:
        result = self.result(item)
        if item.row < 0:
            return result.text(result.summary)
        names = (column.name for column in result.columns)
        return dict(zip(names, result.rows[item.row], strict=True))


def by_sentence(told: Mapping[str, Mapping[str, int]]) -> list[tuple[str, list[str], int]]:
    """Return why, or what limits it, with the names of the analyses and of how many graphs.

    Parameters
    ----------
    told : mapping of str to mapping of str to int
        As :attr:`Findings.absent` and :attr:`Findings.limits`; a search may add to it meanwhile.

    Examples
    --------
    >>> by_sentence({"a": {"no memory": 2}, "b": {"no memory": 3, "no times": 1}})
    [('no memory', ['a', 'b'], 3), ('no times', ['b'], 1)]
    """
    found: dict[str, dict[str, int]] = {}
    for name, sentences in list(told.items()):
        for sentence, graphs in list(sentences.items()):
            found.setdefault(sentence, {})[name] = graphs
    ordered = sorted(found.items(), key=lambda pair: -sum(pair[1].values()))
    return [(sentence, list(names), max(names.values())) for sentence, names in ordered]


def marks_of(subject: Subject, found: Findings | None) -> dict[str, tuple[Analysis, Result]]:
    """Return the results about one graph that hold findings, by name of their analysis.

    Parameters
    ----------
    subject : Subject
    found : Findings or None
        Of the whole recording, where those are known.
    """
    results = {
        name: (finders(Scope.GRAPH)[name], result) for name, result in of_subject(subject).items()
    }
    if found is not None:
        for name, entry in finders(Scope.RECORDING).items():
            if name in found.kinds:
                results[name] = entry, found.of_recording(name)
    return {
        name: (entry, result)
        for name, (entry, result) in results.items()
        if result.present and result.severity is not Severity.INFO
    }
