"""What all analyses for faults say of a recording, as plain data that a report can keep."""

from __future__ import annotations

import re
from pathlib import Path

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
    """All that the row says; the summary where the result as a whole is the finding."""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """All that was said of one recording."""

    graphs: int
    findings: list[Said]
    absent: dict[str, str]
    """Why an analysis said nothing, by name; one reason for each."""

    def of(self, analysis: str) -> list[Said]:
        """Return what one analysis said."""
        return [said for said in self.findings if said.analysis == analysis]


def listen(recording: Recording, script: Path) -> Heard:
    """Return all that is said of the graphs that one script captured.

    Parameters
    ----------
    recording : Recording
        May hold graphs of other scripts too. What is said of none of them is left out then.
    script : Path
    """
    file = f"{script.parent.name}/{script.name}"
    keys = [
        key
        for key, info in recording.graphs.items()
        if info.place is None or info.place.file.endswith(file)
    ]
    alone = len(keys) == len(recording.graphs)
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
            of = subjects.get(finding.graph)
            if of is None and not (alone and not finding.graph):
                continue
            found.append(
                Said(
                    analysis=name,
                    severity=str(finding.severity),
                    confidence=finding.confidence,
                    graph=keys.index(finding.graph) if of is not None else -1,
                    nodes=[_named(of, path, file) for path in _paths(finding, result)]
                    if of is not None
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
            lines.update(line.line for line in found if line.file.endswith(file))
    type_ = subject.graph.topology.types[at]
    return Named(path=path, type=type_, label=subject.label(at), lines=sorted(lines))


def _text(finding: Finding, result: Result) -> str:
    if finding.row < 0:
        text = result.text(result.summary)
    else:
        cells = result.rows[finding.row]
        text = " | ".join(str(cell) for cell in cells if cell not in (None, ""))
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)[:LONGEST]
