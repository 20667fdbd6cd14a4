"""What a series of graphs says to people."""

from __future__ import annotations

from capture.compare.churn import Cause, Churn
from capture.compare.series import Group, Series
from capture.compare.variations import Variation
from capture.names import short

from .comparison import ARROW, MOST_PATHS, Section, Table, value_text
from .format import bytes_text, count_text, counted, duration_text, label_text, three_digits


def sections(series: Series, rows: int | None) -> list[Section]:
    """Return what a series says; tables have at most so many rows."""
    facts = [
        ("graphs", count_text(series.executables)),
        ("topologies", count_text(len(series.groups))),
        ("ordered by", series.name),
        (
            "executables",
            f"{count_text(series.needed)} would do instead of {count_text(series.executables)}, "
            f"if they were updated",
        ),
    ]
    if series.saved_bytes is not None:
        facts.append(("device memory saved", bytes_text(series.saved_bytes)))
    if series.saved_ns is not None:
        facts.append(("instantiate saved", duration_text(series.saved_ns)))
    found = [Section("Graphs", facts, [], series.notes)]
    return found + [_group(group, series.name, rows) for group in series.groups]


def churn_section(found: list[Churn], rows: int | None) -> Section:
    """Return which graphs were captured again at one place, and what differed each time."""
    lines: list[tuple[str, ...]] = []
    for item in found:
        causes = ", ".join(f"{count_text(n)} {cause.value}" for cause, n in item.causes.items())
        where = f"{item.place}, {item.label}" if item.label else item.place
        lines.append((where, count_text(len(item.steps) + 1), causes, item.steps[-1].words))
    needless = sum(
        item.causes[cause] for item in found for cause in (Cause.NOTHING, Cause.ADDRESSES)
    )
    facts = [("places", count_text(len(found)))]
    if needless:
        facts.append(("alike", f"{counted(needless, 'capture')}, addresses apart"))
    columns = ("place", "captures", "what differed from the last one", "at the end")
    table = Table("By place", columns, lines if rows is None else lines[:rows], frozenset({1}))
    return Section("Captured again", facts, [table])


def _group(group: Group, name: str, rows: int | None) -> Section:
    numbers = f"{name} {group.numbers[0]}"
    if len(group.numbers) > 1:
        numbers += f" to {group.numbers[-1]}"
    facts = [
        ("graphs", f"{count_text(len(group.keys))}, {numbers}"),
        ("nodes", f"{count_text(group.node_count)}, {count_text(group.same)} the same in all"),
        ("topology", group.topology),
    ]
    if len(group.served) > 1:
        sizes = ", ".join(count_text(len(served)) for served in group.served)
        facts.append(("served by", f"{counted(len(group.served), 'executable')}: {sizes} graphs"))
    lines: list[tuple[str, ...]] = [
        (label_text(item.field), _nodes(item), _how(item, name)) for item in group.variations
    ]
    shown = lines if rows is None else lines[:rows]
    tables = [Table("What varies", ("field", "nodes", "how"), shown)] if lines else []
    notes = []
    if len(shown) < len(lines):
        notes.append(f"{counted(len(lines) - len(shown), 'row')} more: --rows 0 shows all.")
    return Section(f"{counted(len(group.keys), 'graph')} of one topology", facts, tables, notes)


def _nodes(item: Variation) -> str:
    text = ", ".join(item.nodes[:MOST_PATHS])
    more = len(item.nodes) - MOST_PATHS
    return f"{text} and {count_text(more)} more" if more > 0 else text


def _how(item: Variation, name: str) -> str:
    if item.how == "linear":
        if not item.intercept and 0 < item.slope < 1 and (1 / item.slope).is_integer():
            return f"one for each {count_text(round(1 / item.slope))} of {name}, rounded up"
        start = f"{three_digits(item.intercept)} + " if abs(item.intercept) >= 1 else ""
        return f"{start}{three_digits(item.slope)} for each {name}"
    if item.how == "switches":
        (_, first), *others = item.switches
        parts = [_value(item.field, first)]
        parts += [f"from {name} {number} {_value(item.field, value)}" for number, value in others]
        return "; ".join(parts)
    one, other = _value(item.field, item.lowest), _value(item.field, item.highest)
    return f"varies: {one} {ARROW} {other}"


def _value(field: str, value: object) -> str:
    if field == "kernel" and isinstance(value, str):
        return short(value)
    return value_text(field, value)
