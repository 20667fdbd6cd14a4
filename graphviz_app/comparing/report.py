"""What a comparison says to people, as headings, facts, tables and notes; no format of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from capture.analysis import analyses, run_analysis
from capture.compare import GraphDiff, GraphPair, Measure, NodeChange, RecordingDiff
from capture.compare.changes import DurationChange, place
from capture.compare.measures import Size
from capture.model import EvidenceKind

from .. import result_text
from ..fields import label_text, show
from ..format import bytes_text, count_text, counted, duration_text, type_text
from .verdict_text import setting_rows, verdict_facts

ARROW = "\N{RIGHTWARDS ARROW}"
MOST_FIELDS = 4
MOST_PATHS = 4
KINDS = ("changed", "added", "removed", "moved")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts under named columns; `numbers` are columns that line up on the right."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Section:
    """One heading with what belongs to it."""

    title: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def sections(diff: RecordingDiff, rows: int | None) -> list[Section]:
    """Return what a comparison of two recordings says.

    Parameters
    ----------
    diff : RecordingDiff
    rows : int or None
        Most rows of a table; ``None`` for all.
    """
    one = len(diff.pairs) == 1 and not diff.removed and not diff.added
    found = [] if one else [_summary(diff)]
    for pair in diff.pairs:
        if one or not pair.diff.same:
            found.append(graph_section(pair, rows))
    return found


def _summary(diff: RecordingDiff) -> Section:
    same = sum(pair.diff.same for pair in diff.pairs)
    facts = [
        ("compared", counted(len(diff.pairs), "graph")),
        ("the same", counted(same, "graph")),
        ("different", counted(len(diff.pairs) - same, "graph")),
        ("only before", ", ".join(info.key for info in diff.removed)),
        ("only after", ", ".join(info.key for info in diff.added)),
    ]
    tables = []
    rows = [
        (pair.before.key, pair.after.key if pair.after.key != pair.before.key else "", *_row(pair))
        for pair in diff.pairs
        if not pair.diff.same or any(item.differs for item in pair.diff.measures[:1])
    ]
    if rows:
        columns = ("graph", "after", "nodes", *KINDS, "replay")
        title = "Graphs that differ, or whose replay does"
        tables.append(Table(title, columns, rows, frozenset(range(2, 7))))
    return Section("Graphs", [(name, text) for name, text in facts if text], tables, diff.notes)


def _row(pair: GraphPair) -> tuple[str, ...]:
    counts, measured = pair.diff.counts, pair.diff.measures
    return (
        count_text(counts.nodes_after),
        *(count_text(getattr(counts, kind)) for kind in KINDS),
        measure_text(measured[0]) if measured else "",
    )


def graph_section(pair: GraphPair, rows: int | None) -> Section:
    """Return what is said of one pair of graphs."""
    diff, counts, verdict = pair.diff, pair.diff.counts, pair.update
    title = pair.before.name or pair.before.key
    facts = [("before", pair.before.key), ("after", pair.after.key)]
    if pair.paired_by not in ("key", "request"):
        facts.append(("paired by", pair.paired_by))
    if diff.same:
        facts.append(("nodes", f"{counted(counts.matched, 'node')}, none differs"))
    else:
        facts.append(
            (
                "nodes",
                f"{count_text(counts.nodes_before)} {ARROW} {count_text(counts.nodes_after)}: "
                + ", ".join(
                    f"{count_text(getattr(counts, kind))} {kind}"
                    for kind in ("unchanged", *KINDS)
                    if getattr(counts, kind)
                ),
            )
        )
        if counts.swapped:
            facts.append(("other kernel", counted(counts.swapped, "node")))
        edges = [
            f"{count_text(getattr(counts, f'edges_{kind}'))} {kind}"
            for kind in ("added", "removed", "changed")
            if getattr(counts, f"edges_{kind}")
        ]
        rewired = f" ({count_text(counts.edges_rewired)} between nodes of both)"
        facts.append(("dependencies", f"{', '.join(edges)}{rewired}" if edges else "none differs"))
    facts += [(item.name, measure_text(item)) for item in diff.measures]
    facts += [(item.name, size_text(item)) for item in diff.sizes]
    facts += verdict_facts(verdict)
    found = [*_findings(diff)]
    grouped = list(change_rows(diff.changes))
    tables = []
    if grouped:
        shown = grouped if rows is None else grouped[:rows]
        columns = ("kind", "nodes", "what", "change", "time")
        tables.append(Table("Changes, the most costly first", columns, shown))
        if len(shown) < len(grouped):
            found.append(f"{counted(len(grouped) - len(shown), 'row')} more: --rows 0 shows all.")
    lines = list(duration_rows(diff.durations))
    if lines:
        tables.append(
            Table(
                "Equal nodes that take another time",
                ("nodes", "what", "time", "difference"),
                lines if rows is None else lines[:rows],
            )
        )
    if verdict.violations:
        broken: list[tuple[str, ...]] = [
            (item.after or item.before or "", item.rule.replace("_", " "), item.words)
            for item in verdict.violations
        ]
        shown_rules = broken if rows is None else broken[:rows]
        tables.append(Table("Rules against an update", ("node", "rule", "found"), shown_rules))
    if verdict.settings and not verdict.possible and not verdict.obstacles:
        title = "What would have to be set instead, node by node"
        tables.append(
            Table(title, ("call", "nodes", "fields"), setting_rows(verdict.settings, rows))
        )
    if verdict.possible and verdict.answer is None:
        found += [f"Not checked of the update: {words}." for words in verdict.unchecked]
    return Section(title, facts, tables, [*found, *diff.notes])


def measure_text(item: Measure) -> str:
    """Return a time before and after, and whether the difference is more than noise."""
    text = f"{duration_text(item.before_ns)} {ARROW} {duration_text(item.after_ns)}"
    if item.differs is None:
        return text
    if not item.differs:
        return f"{text} (within the noise)"
    sign = "+" if item.difference_ns > 0 else "\N{MINUS SIGN}"
    return (
        f"{text} ({sign}{duration_text(abs(item.difference_ns))}, "
        f"noise {duration_text(item.spread_ns)})"
    )


def size_text(item: Size) -> str:
    """Return an amount of memory before and after."""
    if item.before_bytes == item.after_bytes:
        return f"{bytes_text(item.after_bytes)}, the same"
    change = item.after_bytes - item.before_bytes
    sign = "+" if change > 0 else "\N{MINUS SIGN}"
    before, after = bytes_text(item.before_bytes), bytes_text(item.after_bytes)
    return f"{before} {ARROW} {after} ({sign}{bytes_text(abs(change))})"


def within_noise(diff: GraphDiff, analysis: str) -> bool:
    """Say whether a finding rests on times that both sides have within the noise of each other."""
    calm = diff.same and bool(diff.measures) and not any(item.differs for item in diff.measures)
    return calm and EvidenceKind.TIMINGS in analyses()[analysis].needs


def _findings(diff: GraphDiff) -> Iterator[str]:
    for item in diff.findings:
        if bool(item.severity_before) == bool(item.severity_after):
            continue
        when, subject = ("new", diff.after) if item.severity_after else ("gone", diff.before)
        words = item.after or item.before
        if diff.levels:
            words = result_text.summary(run_analysis(item.analysis, subject))
        calm = within_noise(diff, item.analysis)
        noise = " Both times are within the noise of each other." if calm else ""
        yield f"Finding {when}: {item.title}. {words}{noise}"


def change_rows(changes: list[NodeChange]) -> Iterator[tuple[str, ...]]:
    """Yield one row for all changes that are alike, such as those of every layer."""
    groups: dict[tuple[str, ...], list[NodeChange]] = {}
    for change in changes:
        groups.setdefault((change.kind, what_text(change), fields_text(change)), []).append(change)
    ordered = sorted(
        groups.items(), key=lambda item: -abs(sum(change.cost_ns or 0 for change in item[1]))
    )
    for (kind, what, how), alike in ordered:
        ordered_alike = sorted(alike, key=place)
        paths = [path_text(change) for change in ordered_alike[:MOST_PATHS]]
        if len(alike) > MOST_PATHS:
            paths.append(f"and {count_text(len(alike) - MOST_PATHS)} more")
        yield kind, ", ".join(paths), what, how, time_text(alike)


def duration_rows(changes: list[DurationChange]) -> Iterator[tuple[str, ...]]:
    """Yield one row for all equal nodes of one name that take another time."""
    groups: dict[str, list[DurationChange]] = {}
    for change in changes:
        groups.setdefault(change.name, []).append(change)
    totals = [
        (sum(item.before_ns for item in alike), sum(item.after_ns for item in alike), name, alike)
        for name, alike in groups.items()
    ]
    for one, other, name, alike in sorted(totals, key=lambda item: -abs(item[1] - item[0])):
        sign = "+" if other >= one else "\N{MINUS SIGN}"
        yield (
            counted(len(alike), "node"),
            name,
            f"{duration_text(one)} {ARROW} {duration_text(other)}",
            f"{sign}{duration_text(abs(other - one))}",
        )


def path_text(change: NodeChange) -> str:
    """Return where a node is: its path, or both when they differ."""
    return both_paths(change.before, change.after)


def both_paths(before: str | None, after: str | None) -> str:
    """Return a path, or both when they differ."""
    if before is None or after is None or before == after:
        return before if before is not None else after or ""
    return f"{before} {ARROW} {after}"


def what_text(change: NodeChange) -> str:
    """Return the name of a node, or both names."""
    one, other = change.name_before or change.name_after, change.name_after or change.name_before
    text = one if one == other else f"{one} {ARROW} {other}"
    return text or type_text(change.type)


def fields_text(change: NodeChange) -> str:
    """Return the first fields that differ; another kernel is told by its names already."""
    fields = [item for item in change.fields if item.field != "kernel"]
    parts = [
        f"{label_text(item.field)} {value_text(item.field, item.before)} {ARROW} "
        f"{value_text(item.field, item.after)}"
        for item in fields[:MOST_FIELDS]
    ]
    if change.swapped:
        parts.insert(0, "other kernel of the same kind" if change.related else "other kernel")
    if len(fields) > MOST_FIELDS:
        parts.append(f"{count_text(len(fields) - MOST_FIELDS)} more fields")
    return "; ".join(parts)


def value_text(name: str, value: Any) -> str:
    """Return the value of a field."""
    return show(name.rpartition(".")[2], value).text


def time_text(changes: Sequence[NodeChange]) -> str:
    """Return what alike changes take together before and after; empty where one is not timed."""
    before = [change.duration_before_ns for change in changes]
    after = [change.duration_after_ns for change in changes]
    kind = changes[0].kind
    if kind == "added":
        before = [0] * len(changes)
    elif kind == "removed":
        after = [0] * len(changes)
    one = [value for value in before if value is not None]
    other = [value for value in after if value is not None]
    if len(one) < len(changes) or len(other) < len(changes):
        return ""
    if kind in ("added", "removed"):
        return duration_text(sum(one) + sum(other))
    return f"{duration_text(sum(one))} {ARROW} {duration_text(sum(other))}"
