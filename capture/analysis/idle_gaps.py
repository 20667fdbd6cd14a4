"""Times in which nothing of the graph ran."""

from __future__ import annotations

from typing import NamedTuple

from ..model import EvidenceKind
from .base import (
    Analysis,
    Argument,
    ArgumentKind,
    Cell,
    Column,
    Quantity,
    Result,
    Severity,
    Unit,
)
from .caveats import add_sample_caveats, add_timing_caveats
from .joined import Interval
from .subject import Subject

NOTICE_SHARE = 0.1
COLUMNS = [
    Column("start", Unit.NS),
    Column("idle", Unit.NS),
    Column("share of the makespan", Unit.RATIO),
    Column("node before", Unit.NODE),
    Column("name before", Unit.TEXT),
    Column("node after", Unit.NODE),
    Column("name after", Unit.TEXT),
    Column("edge between", Unit.TEXT),
]


class Gap(NamedTuple):
    """Nothing ran between the end of `before` and the start of `after`."""

    before: Interval
    after: Interval

    @property
    def length_ns(self) -> int:
        """Time in which nothing ran."""
        return self.after.start_ns - self.before.end_ns


def find_gaps(intervals: list[Interval]) -> list[Gap]:
    """Return the gaps between intervals that are sorted by start; O(n)."""
    found: list[Gap] = []
    last: Interval | None = None
    for item in intervals:
        if last is not None and item.start_ns > last.end_ns:
            found.append(Gap(last, item))
        if last is None or item.end_ns > last.end_ns:
            last = item
    return found


def run(subject: Subject, minimum_ns: int = 0, rows: int = 1000) -> Result:
    """List when nothing ran in the sample replay, longest first.

    Notes
    -----
    O(nodes log nodes + edges). The time before the first start is not part of a replay here.
    """
    intervals = subject.intervals
    if not intervals:
        return Result.absent("no starts of nodes were recorded, only durations")
    makespan = max(item.end_ns for item in intervals) - intervals[0].start_ns
    gaps = find_gaps(intervals)
    total = sum(gap.length_ns for gap in gaps)
    long = sorted((gap for gap in gaps if gap.length_ns >= minimum_ns), key=lambda g: -g.length_ns)
    result = Result(columns=COLUMNS, node_unit=Unit.NS, node_name="idle time before the node")
    result.figures |= {
        "gaps": Quantity(len(gaps), Unit.COUNT),
        "idle": Quantity(total, Unit.NS),
        "makespan": Quantity(makespan, Unit.NS),
        "share": Quantity(total / makespan if makespan else 0.0, Unit.RATIO),
        "longest": Quantity(max((gap.length_ns for gap in gaps), default=0), Unit.NS),
    }
    for gap in gaps:
        if gap.after.position >= 0:
            result.node_values[gap.after.position] = gap.length_ns
    for gap in long[:rows]:
        result.rows.append(_row(subject, gap, makespan))
    if gaps:
        result.summary = (
            "Nothing ran for {idle} of {makespan} ({share}), in {gaps} gaps of at most {longest}."
        )
    else:
        result.summary = "Something of the graph ran at every moment of its {makespan}."
    if len(result.rows) < len(gaps):
        result.figures["rows"] = Quantity(len(result.rows), Unit.COUNT)
        result.notes.append("The table shows the {rows} longest of {gaps} gaps.")
    if makespan and total / makespan >= NOTICE_SHARE:
        result.severity = Severity.NOTICE
    add_timing_caveats(result, subject)
    add_sample_caveats(result, subject)
    return result


def _row(subject: Subject, gap: Gap, makespan: int) -> tuple[Cell, ...]:
    before, after = gap.before, gap.after
    start = before.end_ns
    edge: str | None = None
    if before.position >= 0 and after.position >= 0:
        if before.position == after.position:
            edge = "inside one node"
        else:
            depends = before.position in subject.predecessors[after.position]
            edge = "yes" if depends else "no"
    share = gap.length_ns / makespan
    return (
        start,
        gap.length_ns,
        share,
        *subject.describe(before),
        *subject.describe(after),
        edge,
    )


ANALYSIS = Analysis(
    name="idle_gaps",
    title="Idle gaps",
    description="When nothing of the graph ran, between which nodes, and for how long in all.",
    run=run,
    needs=(EvidenceKind.TIMINGS,),
    arguments=(
        Argument(
            "minimum_ns",
            ArgumentKind.INTEGER,
            0,
            "shortest gap in the table",
            Unit.NS,
            minimum=0,
        ),
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most gaps in the table; the longest are shown",
            Unit.COUNT,
            minimum=0,
        ),
    ),
)
