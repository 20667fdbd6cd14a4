"""What is known of one node on both sides of a comparison, field by field."""

from __future__ import annotations

from dataclasses import dataclass

from capture.analysis import Result, Subject
from capture.compare import FieldChange, NodeChange
from capture.compare.measures import node_spread
from capture.model import EvidenceKind, Recording

from .. import timing_facts
from ..fields import label_text
from ..format import duration_text
from ..node_facts import node_sections
from ..origin_text import class_text, line_text, module_text
from . import report
from .sheets import Row, Sheet, side_by_side


@dataclass(frozen=True, slots=True)
class NodeSide:
    """One side of a node: its graph or body with evidence, and its position there."""

    subject: Subject
    position: int
    critical: Result
    """Of the analysis of the critical path."""
    recording: Recording


Sides = tuple[NodeSide | None, NodeSide | None]


def node_sheets(
    before: NodeSide | None, after: NodeSide | None, change: NodeChange | None
) -> list[Sheet]:
    """Return all that is known of a node on both sides, what differs first."""
    found = [differing(change)] if change is not None and change.fields else []
    sides = (before, after)
    found += [_times(sides), _origins(sides)]
    sections = [
        node_sections(side.subject.graph.node(side.position), side.subject.info, side.recording)
        if side is not None and side.subject.info is not None
        else []
        for side in sides
    ]
    found += side_by_side(*sections)
    return [sheet for sheet in found if sheet.rows or sheet.absent]


def differing(change: NodeChange) -> Sheet:
    """Return the fields that the comparison counts as changed."""
    rows = [_changed(item) for item in change.fields]
    return Sheet("What differs", rows)


def _changed(item: FieldChange) -> Row:
    one, other = (report.value_text(item.field, value) for value in (item.before, item.after))
    return Row(label_text(item.field), one, other, loud=True)


def _times(sides: Sides) -> Sheet:
    """Return durations of one node with their noise, and when it ran."""
    sections = [
        [timing_facts.node_section(side.subject, side.position, side.critical)] if side else []
        for side in sides
    ]
    found = side_by_side(*sections)
    sheet = found[0] if found else Sheet("Timing")
    spreads = [node_spread(side.subject, side.position) if side else None for side in sides]
    if any(spread is not None for spread in spreads):
        one, other = (
            None if spread is None else f"\N{PLUS-MINUS SIGN} {duration_text(spread)}"
            for spread in spreads
        )
        at = next((i for i, row in enumerate(sheet.rows) if row.label == "median"), -1)
        why = "half of what lies between minimum and 95th percentile"
        sheet.rows.insert(at + 1, Row("noise", one, other, why))
    return sheet


def _origins(sides: Sides) -> Sheet:
    texts: list[dict[str, str]] = []
    for side in sides:
        index = side.subject.origin_index if side else None
        if side is None or index is None:
            texts.append({})
            continue
        position = side.position
        charge = index.charges[position]
        lines = [line_text(index.lines[at]) for at in charge.lines[:2]]
        modules = [index.modules[at] for at in index.node_modules[position][:2]]
        names = [index.operator_names[at] for at in index.node_operators[position][:3]]
        texts.append(
            {
                "line": ", ".join(lines),
                "module": ", ".join(module_text(item) for item in modules),
                "class": ", ".join(class_text(item.class_name) for item in modules),
                "operator": ", ".join(names),
            }
        )
    rows = [
        Row(label, texts[0].get(label) or None, texts[1].get(label) or None)
        for label in ("line", "module", "class", "operator")
        if texts[0].get(label) or texts[1].get(label)
    ]
    reasons = [] if rows else [_no_origins(side.subject) for side in sides if side]
    return Sheet("Origin", rows, " ".join(dict.fromkeys(filter(None, reasons))))


def _no_origins(subject: Subject) -> str:
    reason = subject.lacks(EvidenceKind.ORIGINS)
    return f"No origins: {reason.rstrip('.')}." if reason else ""
