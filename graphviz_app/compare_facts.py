"""What is known of both sides of a comparison, field by field: before beside after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from capture.analysis import Result, Subject
from capture.compare import FieldChange, Measure, NodeChange
from capture.compare.measures import Size, node_spread
from capture.model import EvidenceKind, Recording

from . import comparison, timing_facts
from .compared import Compared
from .facts import Section
from .fields import label_text
from .format import (
    ABSENT,
    bytes_text,
    command_text,
    count_text,
    duration_text,
    moment_text,
    signed_bytes_text,
    signed_duration_text,
)
from .node_facts import node_sections
from .origin_text import class_text, line_text, module_text

SIZES = "what torch's pool of the graph, or the executable, takes"


@dataclass(frozen=True, slots=True)
class Row:
    """One field of both sides; ``None`` where a side has none."""

    label: str
    before: str | None
    after: str | None
    hint: str = ""
    note: str = ""
    """What to think of the difference, such as that it is within the noise."""
    loud: bool = False
    """Whether the comparison counts it as a change."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A heading with fields, or with the reason why there are none."""

    title: str
    rows: list[Row] = field(default_factory=list)
    absent: str = ""


def side_by_side(before: Iterable[Section], after: Iterable[Section]) -> list[Sheet]:
    """Set the sections of two nodes against each other, by title and label.

    Examples
    --------
    >>> from graphviz_app.facts import Fact
    >>> one = Section("Launch", [Fact("grid", "2 x 1"), Fact("block", "64")])
    >>> other = Section("Launch", [Fact("grid", "4 x 1"), Fact("cluster", "2")])
    >>> [(row.label, row.before, row.after) for row in side_by_side([one], [other])[0].rows]
    [('grid', '2 x 1', '4 x 1'), ('block', '64', None), ('cluster', None, '2')]
    """
    left = {section.title: section for section in before}
    right = {section.title: section for section in after}
    found = []
    for title in dict.fromkeys([*left, *right]):
        sides = left.get(title), right.get(title)
        one, other = (dict(_lines(side)) if side is not None else {} for side in sides)
        hints = {
            fact.label: fact.source
            for side in sides
            if side is not None
            for fact in side.facts
            if fact.source
        }
        rows = [
            Row(label, one.get(label), other.get(label), hints.get(label, ""))
            for label in dict.fromkeys([*one, *other])
        ]
        absent = " ".join(dict.fromkeys(side.absent for side in sides if side and side.absent))
        found.append(Sheet(title, rows, absent))
    return found


def _lines(section: Section) -> Iterator[tuple[str, str]]:
    for fact in section.facts:
        if fact.label:
            yield fact.label, fact.text
    for number, row in enumerate(section.rows):
        note = section.notes[number] if number < len(section.notes) else ""
        value = " ".join(part for part in row[2:] if part) or ABSENT
        readable = value if len(row) > 2 and row[2] else note or value
        yield f"{section.columns[0]} {row[0]}", readable


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
    one, other = (comparison.value_text(item.field, value) for value in (item.before, item.after))
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


def graph_sheets(compared: Compared) -> list[Sheet]:
    """Return what is known of both graphs as wholes."""
    counts = compared.diff.counts
    nodes = [
        Row("nodes", count_text(counts.nodes_before), count_text(counts.nodes_after)),
        *(
            Row(title, one, other)
            for title, one, other in (
                ("edges", *_infos(compared, "edge_count")),
                ("width", *_infos(compared, "width")),
                ("depth", *_infos(compared, "depth")),
            )
        ),
    ]
    found = [Sheet("Graph", nodes), Sheet("Time", time_rows(compared.diff.measures))]
    if not found[1].rows:
        found[1] = Sheet("Time", absent=no_times(compared))
    sizes = size_rows(compared.diff.sizes)
    if sizes:
        found.append(Sheet("Memory", sizes))
    found.append(Sheet("Recorded", list(_recorded(compared))))
    return found


def _infos(compared: Compared, name: str) -> tuple[str | None, str | None]:
    infos = compared.before.info, compared.after.info
    one, other = (count_text(getattr(info, name)) if info is not None else None for info in infos)
    return one, other


def time_rows(measures: Iterable[Measure]) -> list[Row]:
    """Return times of both with the difference and its noise."""
    found = []
    for item in measures:
        note = ""
        if item.differs is not None and item.spread_ns is not None:
            noise = duration_text(item.spread_ns)
            note = (
                f"{signed_duration_text(item.difference_ns)}, noise {noise}"
                if item.differs
                else f"within the noise of {noise}"
            )
        elif item.difference_ns:
            note = signed_duration_text(item.difference_ns)
        samples = f"medians of {item.samples[0]:,} and {item.samples[1]:,} samples"
        found.append(
            Row(
                item.name,
                duration_text(item.before_ns),
                duration_text(item.after_ns),
                samples if item.spread_ns is not None else "computed from durations and edges",
                note,
                bool(item.differs),
            )
        )
    return found


def size_rows(sizes: Iterable[Size]) -> list[Row]:
    """Return amounts of memory of both with their difference."""
    return [
        Row(
            item.name,
            bytes_text(item.before_bytes),
            bytes_text(item.after_bytes),
            SIZES,
            ""
            if item.before_bytes == item.after_bytes
            else signed_bytes_text(item.after_bytes - item.before_bytes),
            item.before_bytes != item.after_bytes,
        )
        for item in sizes
    ]


def no_times(compared: Compared) -> str:
    """Return why times cannot be compared."""
    lacking = {
        words: timing_facts.absent_text(subject)
        for words, subject in (("Before", compared.before), ("After", compared.after))
        if not subject.is_timed
    }
    if len(lacking) == 2 and len(set(lacking.values())) == 1:
        return f"Before and after: {lacking['Before']}"
    return " ".join(f"{words}: {text}" for words, text in lacking.items())


def recording_sheets(before: Recording, after: Recording) -> list[Sheet]:
    """Return what is known of two recordings as wholes."""
    counts = [
        Row("graphs", count_text(len(before.graphs)), count_text(len(after.graphs))),
        Row("failed captures", count_text(len(before.failed)), count_text(len(after.failed))),
    ]
    one, other = (dict(_run(recording)) for recording in (before, after))
    rows = [Row(label, one.get(label), other.get(label)) for label in dict.fromkeys([*one, *other])]
    return [Sheet("Graphs", counts), Sheet("Recorded", rows)]


def _recorded(compared: Compared) -> Iterator[Row]:
    one, other = (dict(_run(recording)) for recording in compared.recordings)
    infos = compared.before.info, compared.after.info
    names = [info.name if info is not None else None for info in infos]
    yield Row("graph", names[0], names[1])
    for label in dict.fromkeys([*one, *other]):
        yield Row(label, one.get(label), other.get(label))


def _run(recording: Recording) -> Iterator[tuple[str, str]]:
    meta = recording.metadata
    if meta.command:
        yield "command", command_text(meta.command)
    if meta.started_unix_ns is not None:
        yield "when", moment_text(meta.started_unix_ns)
    if not recording.processes:
        return
    process = recording.processes[0]
    if process.gpus:
        yield "GPU", ", ".join(dict.fromkeys(gpu.name for gpu in process.gpus))
    for name, version in process.versions.items():
        yield label_text(name), version
