"""What a series of graphs says to people."""

from __future__ import annotations

from capture.compare.asked import Asked
from capture.compare.churn import Cause, Churn
from capture.compare.series import Group, Series
from capture.compare.variations import Variation
from capture.names import short

from .comparison import ARROW, MOST_PATHS, Section, Table, value_text
from .format import bytes_text, count_text, counted, duration_text, label_text, three_digits

MOST_REASONS = 3
MOST_SWITCHES = 6
"""Switches of a field that are told; JSON has all that are stored."""
LEAST_PREFIX = 6


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
        facts.append(("device memory saved", _saved_bytes(series)))
    if series.saved_ns is not None:
        facts.append(("instantiate saved", _saved_time(series)))
    tables = []
    if series.asked is not None:
        facts += _asked_facts(series.asked)
        if series.asked.disagreements:
            tables.append(_disagreements(series.asked, rows))
    found = [Section("Graphs", facts, tables, series.notes)]
    return found + [_group(group, series.name, rows) for group in series.groups]


def _saved_bytes(series: Series) -> str:
    if series.saved_bytes:
        return bytes_text(series.saved_bytes)
    return (
        f"{bytes_text(0)} by the device's count, which gives memory in pieces of "
        f"{bytes_text(2 << 20)}"
    )


def _saved_time(series: Series) -> str:
    text = duration_text(series.saved_ns)
    if series.total_ns:
        text += f" of {duration_text(series.total_ns)} that capture and instantiate took"
    return text


def _asked_facts(asked: Asked) -> list[tuple[str, str]]:
    """Return what is said of the driver's own answers."""
    facts = []
    if asked.answers:
        same = "all as predicted"
        if asked.disagreements:
            same = f"{count_text(len(asked.disagreements))} otherwise than predicted"
        facts.append(
            (
                "the driver says",
                f"{count_text(asked.taken)} of {counted(asked.answers, 'update')} taken; {same}",
            )
        )
    if asked.update_ns is not None:
        facts.append(
            (
                "an update takes",
                f"{duration_text(asked.update_ns)}; to instantiate "
                f"{duration_text(asked.instantiate_ns)} (medians)",
            )
        )
    facts += [("not asked", reason) for reason in asked.reasons[:MOST_REASONS]]
    return facts


def _disagreements(asked: Asked, rows: int | None) -> Table:
    lines: list[tuple[str, ...]] = [
        (item.before, item.after, item.predicted, item.result, item.node)
        for item in asked.disagreements
    ]
    columns = ("executable of", "updated to", "predicted", "the driver says", "node")
    title = "Updates of which the driver says otherwise"
    return Table(title, columns, lines if rows is None else lines[:rows])


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
        (_nodes(item), item.what, label_text(item.field), _how(item, name))
        for item in group.variations
    ]
    shown = lines if rows is None else lines[:rows]
    tables = [Table("What varies", ("nodes", "what", "field", "how"), shown)] if lines else []
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
        prefix = _prefix(item)
        (_, first), *others = item.switches
        parts = [_value(item.field, first, prefix)]
        parts += [
            f"from {name} {number} {_value(item.field, value, prefix)}"
            for number, value in others[:MOST_SWITCHES]
        ]
        if len(others) > MOST_SWITCHES:
            more = len(others) - MOST_SWITCHES
            parts.append(counted(more, "more switch", "more switches"))
        return f"{prefix}: {'; '.join(parts)}" if prefix else "; ".join(parts)
    one, other = _value(item.field, item.lowest), _value(item.field, item.highest)
    return f"varies, {counted(item.distinct, 'value')}: {one} {ARROW} {other}"


def _prefix(item: Variation) -> str:
    """Return how all kernels of a field begin, where that is long enough to be told once."""
    if item.field != "kernel":
        return ""
    names = [short(str(value)) for _, value in item.switches]
    first, last = min(names), max(names)
    length = next(
        (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    common = first[:length].rpartition("_")[0]
    return common if len(common) >= LEAST_PREFIX else ""


def _value(field: str, value: object, prefix: str = "") -> str:
    if field == "kernel" and isinstance(value, str):
        return short(value).removeprefix(prefix).lstrip("_")
    return value_text(field, value)
