"""What is known about when a node ran, and what looking cost, as facts and sentences."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from capture.model import EvidenceKind, GraphInfo

from . import format as text
from .facts import Fact, Section
from .fields import show

if TYPE_CHECKING:
    from capture.analysis import Result, Subject
    from capture.timings import Timings

FROM_TRACE = {"cupti": "CUPTI activity records of the traced replays"}
NO_REASON = "this recording does not say why"
RECORD_THEM = "Record on a machine with CUPTI: `cglens record` times nodes where it can."


def absent_text(subject: Subject) -> str:
    """Return why there are no timings and what to do, as sentences."""
    reason = subject.lacks(EvidenceKind.TIMINGS) or NO_REASON
    sentence = f"No timings: {reason.rstrip('.')}."
    return sentence if "`cglens" in sentence else f"{sentence} {RECORD_THEM}"


def absent_reason(info: GraphInfo) -> str:
    """Return the same without opening the graph."""
    entry = info.evidence.get(EvidenceKind.TIMINGS)
    reason = entry.reason if entry is not None and not entry.present else ""
    sentence = f"No timings: {(reason or NO_REASON).rstrip('.')}."
    return sentence if "`cglens" in sentence else f"{sentence} {RECORD_THEM}"


def coverage_text(timings: Timings, node_count: int) -> str:
    """Return how many captured nodes have a timing.

    Parameters
    ----------
    timings : Timings
    node_count : int
        Nodes of the captured graph, bodies included.
    """
    timed = len({path for path in timings.node if path})
    return f"{text.count_text(timed)} of {text.counted(node_count, 'node')} timed"


def cost_text(timings: Timings) -> str:
    """Return what tracing did to the replays."""
    ratio = timings.tracing_ratio
    if ratio is None:
        return "what tracing cost was not measured"
    factor = text.factor_text(ratio)
    return f"traced replays took {factor} as long as untraced ones of the same process"


def caution(timings: Timings, node_count: int) -> str:
    """Return coverage and cost in one sentence, to stand wherever a timing is shown."""
    found = f"{coverage_text(timings, node_count)}; {cost_text(timings)}"
    ratio = timings.tracing_ratio
    if ratio is not None and ratio >= STRETCHED:
        added = added_per_node(timings)
        about = f" (about {text.duration_text(added)} a node)" if added else ""
        found += (
            f"{about}: durations and gaps of small kernels are longer here than without tracing, "
            f"and nothing is corrected for it"
        )
    return f"{found[:1].upper()}{found[1:]}."


def added_per_node(timings: Timings) -> float | None:
    """Return by how much tracing stretched a replay, over the nodes that it saw, in nanoseconds."""
    if not timings.node or not timings.untraced_replay_ns or not timings.traced_replay_ns:
        return None
    added = median(timings.traced_replay_ns) - median(timings.untraced_replay_ns)
    return added / len(timings.node) if added > 0 else None


def short_caution(timings: Timings, node_count: int) -> str:
    """Return coverage and cost in a few words, for a line that has little room."""
    ratio = timings.tracing_ratio
    cost = "cost of tracing not measured" if ratio is None else f"tracing {text.factor_text(ratio)}"
    return f"{coverage_text(timings, node_count)}, {cost}"


STRETCHED = 1.1


def source_text(timings: Timings) -> str:
    """Return where timings came from, for hover texts."""
    how = FROM_TRACE.get(timings.how, timings.how)
    return f"{how}, joined to nodes by {timings.joined_by}"


def node_section(subject: Subject, position: int, critical: Result) -> Section:
    """Return what is known about the time of one node.

    Parameters
    ----------
    subject : Subject
    position : int
        In the subject's graph.
    critical : Result
        Of the analysis of the critical path.
    """
    timings = subject.timings
    if timings is None or not subject.is_timed:
        return Section("Timing", absent=absent_text(subject))
    total = len(subject.graph) if subject.info is None else subject.info.node_count
    source = source_text(timings)
    facts = [Fact("", caution(timings, total), "", source)]
    rows = subject.rows_of(position)
    if not rows:
        path = subject.node_path(position)
        reason = timings.missing.get(path) or "it was not seen in any traced replay"
        return Section("Timing", [*facts, Fact("", f"This node is not timed: {reason}.")])
    duration = subject.durations[position]
    if len(rows) == 1:
        facts += _row_facts(subject, rows[0], source)
    elif duration is not None:
        facts.append(_fact("duration_ns", duration, "first start to last end; " + source))
        facts.append(Fact("rows", text.count_text(len(rows)), "", "nodes of the executable"))
    makespan = subject.makespan_ns
    if duration is not None and makespan:
        share = text.share_text(duration, makespan)
        whole = f"{duration:,} of {makespan:,} ns"
        facts.append(Fact("share of the makespan", share, whole, "median replay under tracing"))
    slack = critical.node_values.get(position)
    if slack is not None:
        found = _fact("slack_ns", round(slack), "from durations and edges alone, no gaps")
        facts.append(found)
        on_path = "yes" if position in set(critical.node_marks) else "no"
        facts.append(Fact("on the critical path", on_path, "", "longest path by durations"))
    if len(rows) > 1:
        return Section("Timing", facts, columns=ROW_COLUMNS, rows=_rows_table(subject, rows))
    return Section("Timing", facts)


def _fact(name: str, value: int, source: str) -> Fact:
    return Fact.of(show(name, value), source)


def _row_facts(subject: Subject, row: int, source: str) -> list[Fact]:
    facts = []
    for label, name, note in (
        ("median", "median_ns", ""),
        ("minimum", "minimum_ns", ""),
        ("95th percentile", "p95_ns", ""),
        ("start", "start_ns", "median offset from the replay's first start; "),
        ("gap before", "gap_ns", "median time since the last predecessor ended; "),
    ):
        values = subject.column(name)
        if values:
            shown = show(name, values[row])
            facts.append(Fact(label, shown.text, shown.exact, note + source))
    for label, name, note in (
        ("seen", "count", "traced replays; in a loop, runs"),
        ("hardware stream", "stream", "as CUPTI numbers them"),
    ):
        values = subject.column(name)
        if values:
            unit = " times" if name == "count" and values[row] != 1 else ""
            unit = " time" if name == "count" and values[row] == 1 else unit
            facts.append(Fact(label, f"{text.count_text(values[row])}{unit}", "", note))
    return facts


ROWS = 12
ROW_COLUMNS = ("node", "median", "start", "stream")


def _rows_table(subject: Subject, rows: list[int]) -> list[tuple[str, ...]]:
    """Return a table of the executable's nodes that one captured node became."""
    assert subject.timings is not None
    medians = subject.column("median_ns")
    starts, streams = subject.column("start_ns"), subject.column("stream")
    table: list[tuple[str, ...]] = [
        (
            subject.timings.node[row],
            text.duration_text(medians[row]) if medians else text.ABSENT,
            text.duration_text(starts[row]) if starts else text.ABSENT,
            text.count_text(streams[row]) if streams else text.ABSENT,
        )
        for row in rows[:ROWS]
    ]
    if len(rows) > ROWS:
        table.append((f"{len(rows) - ROWS:,} more", "", "", ""))
    return table


def replay_facts(subject: Subject) -> list[Fact]:
    """Return what is known about whole replays: makespan, busy and idle time.

    Coverage and the cost of tracing are in :func:`caution`, which stands with them.
    """
    timings = subject.timings
    if timings is None:
        return []
    facts: list[Fact] = []
    makespans, busy = timings.makespan_ns, timings.busy_ns
    if makespans:
        middle = round(median(makespans))
        span = f"{text.duration_text(min(makespans))} to {text.duration_text(max(makespans))}"
        facts.append(
            Fact("makespan", text.duration_text(middle), span, "median of the traced replays")
        )
        if len(busy) == len(makespans):
            part = round(median(busy))
            shown = f"{text.duration_text(part)} ({text.share_text(part, middle)})"
            facts.append(
                Fact("busy", shown, text.exact_duration_text(part), "time in which any node ran")
            )
            idle = round(median([a - b for a, b in zip(makespans, busy, strict=True)]))
            facts.append(
                Fact(
                    "idle",
                    text.duration_text(idle),
                    text.exact_duration_text(idle),
                    "makespan less busy",
                )
            )
        facts.append(Fact("traced replays", text.count_text(len(makespans))))
    if timings.untraced_replay_ns:
        untraced = round(median(timings.untraced_replay_ns))
        facts.append(
            Fact(
                "untraced replay",
                text.duration_text(untraced),
                text.exact_duration_text(untraced),
                f"median of {text.counted(len(timings.untraced_replay_ns), 'replay')}, from an "
                "event before to one after it: the launch is in it where the GPU waited for it",
            )
        )
    if timings.dropped_records:
        facts.append(Fact("records lost", text.count_text(timings.dropped_records), "", "by CUPTI"))
    return facts


def missing_facts(timings: Timings) -> list[Fact]:
    """Return which nodes are not timed and why, by reason."""
    reasons: dict[str, list[str]] = {}
    for path, reason in timings.missing.items():
        reasons.setdefault(reason, []).append(path)
    return [
        Fact(
            f"{', '.join(paths[:3])}{', …' if len(paths) > 3 else ''}",
            f"{text.counted(len(paths), 'node')}: {reason}",
        )
        for reason, paths in list(reasons.items())[:8]
    ]


def graph_sections(subject: Subject) -> list[Section]:
    """Return the timing sections of a graph's panel."""
    timings = subject.timings
    if timings is None or not subject.is_timed:
        return [Section("Timing", absent=absent_text(subject))]
    total = len(subject.graph) if subject.info is None else subject.info.node_count
    known = Fact("", caution(timings, total), "", source_text(timings))
    facts = [known, *replay_facts(subject)]
    sections = [Section("Timing", facts)]
    missing = missing_facts(timings)
    if missing:
        sections.append(Section("Not timed", missing))
    return sections
