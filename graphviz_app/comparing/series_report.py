"""What a series of graphs says to people."""

from __future__ import annotations

from collections.abc import Sequence

from capture.compare.asked import Asked
from capture.compare.churn import Cause, Churn, Step
from capture.compare.series import Group, Series
from capture.compare.variations import Variation
from capture.names import short

from ..fields import label_text
from ..format import bytes_text, count_text, counted, duration_text, three_digits
from .report import ARROW, MOST_PATHS, Section, Table, value_text

MOST_REASONS = 3
MOST_SWITCHES = 6
"""Switches of a field that are told; JSON has all that are stored."""
LEAST_PREFIX = 6
MOST_NUMBERS = 8
MOST_EXECUTABLES = 6


def sections(series: Series, rows: int | None) -> list[Section]:
    """Return what a series says; tables have at most so many rows."""
    facts = [
        ("graphs", count_text(series.executables)),
        ("topologies", count_text(len(series.groups))),
        ("ordered by", series.name),
        ("executables", _needed(series)),
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
    shared = [group for group in series.groups if len(group.keys) > 1]
    single = [group for group in series.groups if len(group.keys) == 1]
    found += [_group(group, series.name, rows) for group in shared]
    return [*found, _single(single, series.name, rows)] if single else found


def _needed(series: Series) -> str:
    if series.needed == series.executables:
        return "one for each graph: an update would take none of them to another"
    return (
        f"{count_text(series.needed)} would do instead of {count_text(series.executables)}, "
        f"if they were updated"
    )


def _single(groups: list[Group], name: str, rows: int | None) -> Section:
    """Return the graphs of which no other has the topology, in order of their numbers."""
    groups = sorted(groups, key=lambda group: group.numbers[0])
    lines: list[tuple[str, ...]] = [
        (group.keys[0], count_text(group.numbers[0]), count_text(group.node_count))
        for group in groups
    ]
    columns = ("graph", name, "nodes")
    table = Table("Graphs", columns, lines if rows is None else lines[:rows], frozenset({1, 2}))
    more = len(lines) - len(table.rows)
    notes = [f"{counted(more, 'row')} more: --rows 0 shows all."] if more else []
    title = f"{counted(len(groups), 'graph')} whose topology no other has"
    return Section(title, [], [table], notes)


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
        causes = ", ".join(
            cause.value if n == 1 else f"{cause.value}, {count_text(n)} times"
            for cause, n in item.causes.items()
        )
        where = f"{item.place}, {item.label}" if item.label else item.place
        count = count_text(len(item.steps) + 1)
        lines.append((where, count, causes, _capture_time(item.steps), item.steps[-1].words))
    again = [step for item in found for step in item.steps]
    alike = [step for step in again if step.cause in (Cause.NOTHING, Cause.ADDRESSES)]
    facts = [("places", count_text(len(found))), ("captures again", _with_time(again))]
    if alike:
        facts.append(("of them alike", f"{_with_time(alike)}: they differ in addresses at most"))
    columns = ("place", "captures", "what differed from the last one", "time", "at the end")
    table = Table("By place", columns, lines if rows is None else lines[:rows], frozenset({1}))
    return Section("Captured again", facts, [table])


def _with_time(steps: Sequence[Step]) -> str:
    time = _capture_time(steps)
    return f"{count_text(len(steps))}, {time}" if time else count_text(len(steps))


def _capture_time(steps: Sequence[Step]) -> str:
    """Return what captures took together, empty where it is not known of all."""
    known = [step.capture_ns for step in steps if step.capture_ns is not None]
    return duration_text(sum(known)) if known and len(known) == len(steps) else ""


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
        facts.append(("served by", _served(group, name)))
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


def _served(group: Group, name: str) -> str:
    """Return how many executables are needed, and for which numbers each."""
    numbers = dict(zip(group.keys, group.numbers, strict=True))
    parts = []
    for keys in group.served:
        own = [numbers[key] for key in keys]
        if len(own) > MOST_NUMBERS:
            parts.append(f"{count_text(len(own))} graphs from {name} {own[0]} to {own[-1]}")
        else:
            parts.append(f"{name} {', '.join(map(str, own))}")
    shown = parts[:MOST_EXECUTABLES]
    if len(parts) > len(shown):
        shown.append(f"{count_text(len(parts) - len(shown))} more")
    return f"{counted(len(group.served), 'executable')}: {'; '.join(shown)}"


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
