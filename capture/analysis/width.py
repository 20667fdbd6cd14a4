"""Parallelism: how many nodes ran, or could run, at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..model import EvidenceKind
from .base import Analysis, Cell, Column, Quantity, Result, Series, Unit
from .caveats import add_sample_caveats, add_timing_caveats
from .joined import Interval
from .order import levels
from .schedule import CYCLE
from .subject import Subject

TIMED_COLUMNS = [
    Column("nodes at the same time", Unit.COUNT),
    Column("time", Unit.NS),
    Column("share of the makespan", Unit.RATIO),
]
LEVEL_COLUMNS = [Column("nodes on the level", Unit.COUNT), Column("levels", Unit.COUNT)]


def width_over_time(intervals: Sequence[Interval]) -> tuple[list[int], list[int]]:
    """Return times and how many intervals are open from each to the next; the last is 0.

    Intervals that touch do not overlap; those of no length count nowhere. O(n log n).
    """
    changes: Counter[int] = Counter()
    for item in intervals:
        changes[item.start_ns] += 1
        changes[item.end_ns] -= 1
    times: list[int] = []
    widths: list[int] = []
    open_ = 0
    for time in sorted(changes):
        open_ += changes[time]
        if not widths or widths[-1] != open_:
            times.append(time)
            widths.append(open_)
    return times, widths


def run(subject: Subject) -> Result:
    """Measure parallelism over time, and over longest-path levels, which need no timings.

    Notes
    -----
    O(nodes log nodes + edges).
    """
    edges = subject.edges
    if edges is None:
        return Result.absent(CYCLE)
    if not len(subject.graph):
        return Result.absent("the graph is empty")
    of_node = levels(len(subject.graph), edges)
    sizes = Counter(of_node)
    per_level = [sizes[level] for level in range(len(sizes))]
    result = Result(
        node_values=dict(enumerate(of_node)),
        node_name="level",
        series=[
            Series(
                name="nodes per level",
                x_unit=Unit.COUNT,
                y_unit=Unit.COUNT,
                x=list(range(len(per_level))),
                y=list(per_level),
            )
        ],
    )
    result.figures |= {
        "levels": Quantity(len(per_level), Unit.COUNT),
        "widest_level": Quantity(max(per_level), Unit.COUNT),
        "nodes_per_level": Quantity(len(of_node) / len(per_level), Unit.RATIO),
    }
    intervals = subject.intervals
    makespan = max((item.end_ns for item in intervals), default=0)
    makespan -= intervals[0].start_ns if intervals else 0
    if makespan <= 0:
        result.columns = LEVEL_COLUMNS
        result.rows = [*sorted(Counter(per_level).items())]
        result.summary = (
            "{levels} levels hold {nodes_per_level} nodes on average and {widest_level} at most."
        )
        reason = subject.lacks(EvidenceKind.TIMINGS) or "no starts of nodes were recorded"
        result.figures["reason"] = Quantity(reason, Unit.TEXT)
        result.notes.append(
            "This counts dependencies only; how many nodes ran at the same time is not known: "
            "{reason}."
        )
        return result
    _over_time(result, intervals, makespan)
    add_timing_caveats(result, subject)
    add_sample_caveats(result, subject)
    return result


def _over_time(result: Result, intervals: Sequence[Interval], makespan: int) -> None:
    times, widths = width_over_time(intervals)
    spent: Counter[int] = Counter()
    for place, width in enumerate(widths[:-1]):
        spent[width] += times[place + 1] - times[place]
    rows: list[tuple[Cell, ...]] = [
        (width, time, time / makespan) for width, time in sorted(spent.items())
    ]
    result.columns, result.rows = TIMED_COLUMNS, rows
    result.series.insert(
        0,
        Series(
            name="nodes running",
            x_unit=Unit.NS,
            y_unit=Unit.COUNT,
            x=times,
            y=list(widths),
        ),
    )
    running = sum(item.end_ns - item.start_ns for item in intervals)
    result.figures |= {
        "average": Quantity(running / makespan, Unit.RATIO),
        "widest": Quantity(max(widths), Unit.COUNT),
        "node_time": Quantity(running, Unit.NS),
        "makespan": Quantity(makespan, Unit.NS),
    }
    result.summary = (
        "On average {average} nodes ran at the same time and at most {widest}; the levels hold "
        "{nodes_per_level} on average and {widest_level} at most."
    )


ANALYSIS = Analysis(
    name="width",
    title="Width",
    description="How many nodes ran at the same time, and how many the dependencies allow.",
    run=run,
    uses=(EvidenceKind.TIMINGS,),
)
