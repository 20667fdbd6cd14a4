"""What all analyses for faults say of a recording, as plain data that a report can keep."""

from __future__ import annotations

import re

import msgspec

from capture.analysis import Result, Subject, Unit, analyses
from capture.analysis.found import Finding, findings_in, lean_subject, of_recording, of_subject
from capture.model import Recording

LONGEST = 2_000
"""Characters of a finding's text that are kept."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A node that a finding names."""

    path: str
    type: str
    label: str
    lines: list[int]
    """Of the script, that launched it; of a backward node also those of its forward operator."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One finding."""

    analysis: str
    severity: str
    confidence: str
    graph: int
    """Position in the recording; -1 where none is named."""
    nodes: list[Named]
    text: str
    """All that the row says, and what the result says of all rows."""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """All that was said of one recording."""

    graphs: int
    findings: list[Said]
    absent: dict[str, str]
    """Why an analysis said nothing, by name; one reason for each."""

    def of(self, analysis: str) -> list[Said]:
        """Return what one analysis said."""
        return [said for said in self.findings if said.analysis == analysis]


def listen(recording: Recording, file: str) -> Heard:
    """Return all that is said of a recording of one script.

    Parameters
    ----------
    recording : Recording
    file : str
        Name of the script, whose lines are told.
    """
    keys = list(recording.graphs)
    subjects = {key: lean_subject(recording, key) for key in keys}
    results = [("", name, result) for name, result in of_recording(recording).items()]
    for key, subject in subjects.items():
        results += [(key, name, result) for name, result in of_subject(subject).items()]
    found: list[Said] = []
    absent: dict[str, str] = {}
    for key, name, result in results:
        if not result.present:
            absent.setdefault(name, result.absent_reason)
        for finding in findings_in(analyses()[name], result, key):
            subject = subjects.get(finding.graph)
            found.append(
                Said(
                    analysis=name,
                    severity=str(finding.severity),
                    confidence=finding.confidence,
                    graph=keys.index(finding.graph) if finding.graph in subjects else -1,
                    nodes=[_named(subject, path, file) for path in _paths(finding, result)]
                    if subject is not None
                    else [],
                    text=_text(finding, result),
                )
            )
    return Heard(graphs=len(keys), findings=found, absent=absent)


def _paths(finding: Finding, result: Result) -> list[str]:
    if finding.row < 0:
        return [str(position) for position in result.node_marks]
    cells = zip(result.columns, result.rows[finding.row], strict=True)
    named = [str(cell) for column, cell in cells if column.unit is Unit.NODE and cell is not None]
    return list(dict.fromkeys(path for path in named if path))


def _named(subject: Subject, path: str, file: str) -> Named:
    at = int(path.partition("/")[0])
    lines: set[int] = set()
    index = subject.origin_index
    for column in ("stack", "forward") if index is not None else ():
        assert index is not None
        stack = index.column(column)[at]
        if stack >= 0:
            found = (index.lines[line] for line in index.lines_of_stack[stack])
            lines.update(line.line for line in found if line.file.endswith(f"/{file}"))
    type_ = subject.graph.topology.types[at]
    return Named(path=path, type=type_, label=subject.label(at), lines=sorted(lines))


def _text(finding: Finding, result: Result) -> str:
    cells = result.rows[finding.row] if finding.row >= 0 else ()
    said = [
        *(str(cell) for cell in cells if cell not in (None, "")),
        result.text(result.summary),
        *(result.text(note) for note in result.notes),
    ]
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", " | ".join(said))[:LONGEST]
