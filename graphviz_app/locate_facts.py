"""What is known of a node that `cglens locate` found: its line, its memory, findings on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from capture.analysis import found as findings
from capture.analysis.base import Result, Scope, Severity, Unit
from capture.analysis.pointed_at import allocated_at, argument_of, where
from capture.errors import GraphLensError
from capture.origin_index import origin_attributes

from . import result_text
from .format import bytes_text
from .subjects import subject_of

if TYPE_CHECKING:
    from capture.analysis.subject import Subject
    from capture.located import Located
    from capture.memory.pointers import Pointer
    from capture.model import Recording

MOST_POINTERS = 40
ORIGIN_NAMES = {
    "origin_line": "line",
    "origin_module": "module",
    "origin_operator": "operator",
    "origin_phase": "phase",
}


@dataclass(frozen=True)
class Culprit:
    """The node that was found.

    Attributes
    ----------
    node : str
        Path.
    name : str
        Short name.
    kind : str
        Type of node.
    origin : dict of str to str
        Line, module, operator and phase, as far as known.
    arguments : list of str
        Where its addresses lead, one sentence each.
    findings : list of str
        What analyses say of it.
    notes : list of str
        What is not known of it.
    """

    node: str
    name: str
    kind: str
    origin: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def culprit(recording: Recording, located: Located) -> Culprit | None:
    """Return what is known of the node; ``None`` where none was found."""
    if not located.node:
        return None
    subject = subject_of(recording, located.graph, recording.graph(located.graph))
    head, _, inside = located.node.partition("/")
    position = int(head)
    kind = subject.graph.topology.types[position]
    found = Culprit(located.node, _name(subject, position, inside), kind)
    index = subject.origin_index
    if index is None:
        found.notes.append("Its line and operator are not known.")
    else:
        attributes = origin_attributes(index, position)
        found.origin.update({ORIGIN_NAMES[name]: text for name, text in attributes.items()})
    _arguments(subject, position, located.node, found)
    found.findings.extend(_findings(subject, located.node))
    return found


def _name(subject: Subject, position: int, inside: str) -> str:
    if not inside:
        return subject.label(position)
    from capture.analysis.labels import label_of

    body, _, last = f"{position}/{inside}".rpartition("/")
    try:
        return label_of(subject.graph.at(body), int(last))
    except (GraphLensError, ValueError):
        return subject.label(position)


def _arguments(subject: Subject, position: int, path: str, found: Culprit) -> None:
    memory = subject.memory
    if memory is None:
        found.notes.append("Where its arguments lead is not known: memory was not looked at.")
        return
    pointers = [one for one in subject.pointers_at.get(position, ()) if one.word.node == path]
    # Argument structures hold leftovers of the stack: what is a guess and leads nowhere is none.
    leading = [one for one in pointers if one.place.kind != "unresolved" or not one.word.guess]
    for pointer in leading[:MOST_POINTERS]:
        found.arguments.append(_leads(subject, pointer))
    if len(leading) > MOST_POINTERS:
        found.notes.append(f"and {len(leading) - MOST_POINTERS} more addresses")
    if len(leading) < len(pointers):
        found.notes.append(
            f"{len(pointers) - len(leading)} more words look like addresses and lead nowhere that "
            f"is known: numbers, as a rule"
        )


def _leads(subject: Subject, pointer: Pointer) -> str:
    memory = subject.memory
    assert memory is not None
    word, place = pointer
    if place.kind == "unresolved":
        return f"{argument_of(pointer)}: 0x{word.address:x}, no memory that is known"
    inside = f" + {bytes_text(word.address - place.start)}" if word.address > place.start else ""
    name = f" ({place.name})" if place.name else ""
    line = allocated_at(memory, place.stack)
    made = f", allocated at {line}" if line else ""
    size = f"{bytes_text(place.size_bytes)} at 0x{place.start:x}{inside}"
    return f"{argument_of(pointer)}: {size}{name}, {where(place, memory.pool)}{made}"


def _findings(subject: Subject, node: str) -> list[str]:
    said = []
    entries = findings.finders(Scope.GRAPH)
    for name, result in findings.of_subject(subject).items():
        if name != "guilty_node" and result.present and result.severity is not Severity.INFO:
            said += [f"{entries[name].title}: {row}" for row in _rows_of(result, node)]
    return said


def _rows_of(result: Result, node: str) -> list[str]:
    units = [column.unit for column in result.columns]
    if Unit.NODE not in units:
        marked = [str(position) for position in result.node_marks]
        return [result_text.summary(result)] if node in marked else []
    at = units.index(Unit.NODE)
    rows = []
    for row in result.rows:
        if str(row[at]) != node:
            continue
        cells = [
            f"{column.name} {result_text.value_text(column.name, value, column.unit)}"
            for column, value in zip(result.columns, row, strict=True)
            if value not in (None, "") and column.unit is not Unit.NODE
        ]
        rows.append(", ".join(cells))
    return rows
