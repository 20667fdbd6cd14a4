"""Independent nodes that ran one after the other."""

from __future__ import annotations

from typing import NamedTuple

from ..model import EvidenceKind
from .base import (
    Analysis,
    Argument,
    ArgumentKind,
    Column,
    Quantity,
    Result,
    Severity,
    Unit,
    rows_argument,
)
from .caveats import add_sample_caveats, add_timing_caveats
from .launch_shape import launch_shape
from .schedule import CYCLE
from .subject import Subject

NOTICE_SHARE = 0.05
COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("duration", Unit.NS),
    Column("other node", Unit.NODE),
    Column("other name", Unit.TEXT),
    Column("other duration", Unit.NS),
    Column("could overlap for", Unit.NS),
    Column("same hardware stream", Unit.TEXT),
    Column("room on the device", Unit.TEXT),
]


class Pair(NamedTuple):
    """Two independent nodes that did not overlap; neither is a predecessor of the other."""

    shorter_ns: int
    """Duration of the shorter one, the most that overlapping them could gain."""
    first: int
    second: int


def independent_pairs(subject: Subject, positions: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of `positions` of which neither is reachable from the other.

    Notes
    -----
    One pass over the edges with a bit per position: O((nodes + edges) k / 64 + k²) for k
    positions.

    Raises
    ------
    ValueError
        The edges form a cycle.
    """
    if subject.edges is None:
        raise ValueError(CYCLE)
    above = [0] * len(subject.graph)
    for number, position in enumerate(positions):
        above[position] = 1 << number
    for source, target in zip(subject.edges.source, subject.edges.target, strict=True):
        above[target] |= above[source]
    pairs = []
    for number, first in enumerate(positions):
        for other in range(number):
            second = positions[other]
            if not (above[first] >> other & 1 or above[second] >> number & 1):
                pairs.append((second, first))
    return pairs


def run(
    subject: Subject,
    minimum_ns: int = 2000,
    minimum_share: float = 0.005,
    longest: int = 256,
    rows: int = 200,
) -> Result:
    """Find independent nodes that are worth overlapping and ran one after the other.

    Only the `longest` nodes are compared with each other, and of them only those that last at
    least `minimum_ns` and `minimum_share` of the makespan.

    Notes
    -----
    O((nodes + edges) k / 64 + k²) for k = `longest`.
    """
    if subject.edges is None:
        return Result.absent(CYCLE)
    starts, ends = subject.starts, subject.ends
    durations = subject.durations
    makespan = subject.makespan_ns or 0
    least = max(minimum_ns, round(minimum_share * makespan), 1)
    if max(starts, default=-1) < 0:
        return Result.absent("no starts of nodes were recorded, only durations")
    long = [
        node
        for node, duration in enumerate(durations)
        if duration is not None and duration >= least and starts[node] >= 0
    ]
    long.sort(key=lambda node: (-(durations[node] or 0), node))
    compared = long[:longest]
    independent = independent_pairs(subject, compared)
    pairs = sorted(
        (
            Pair(min(durations[first] or 0, durations[second] or 0), first, second)
            for first, second in independent
            if not (starts[first] < ends[second] and starts[second] < ends[first])
        ),
        key=lambda pair: (-pair.shorter_ns, pair.first, pair.second),
    )
    result = Result(columns=COLUMNS, node_unit=Unit.NS, node_name="longest missed overlap")
    no_room = 0
    for pair in pairs:
        room = _room(subject, pair)
        no_room += room == "no"
        if room != "no":
            for node in (pair.first, pair.second):
                result.node_values.setdefault(node, pair.shorter_ns)
        if len(result.rows) < rows:
            result.rows.append(
                (
                    subject.node_path(pair.first),
                    subject.label(pair.first),
                    durations[pair.first],
                    subject.node_path(pair.second),
                    subject.label(pair.second),
                    durations[pair.second],
                    pair.shorter_ns,
                    _same_stream(subject, pair),
                    room,
                )
            )
    result.node_marks = sorted(result.node_values)
    result.mark_name = "independent of a node that it never overlapped"
    _sum_up(result, pairs, len(independent), no_room)
    if not compared:
        result.summary = "No node whose start is known lasts {least} or longer."
    if makespan and max(result.node_values.values(), default=0) >= NOTICE_SHARE * makespan:
        result.severity = Severity.NOTICE
    result.figures |= {
        "compared": Quantity(len(compared), Unit.COUNT),
        "long": Quantity(len(long), Unit.COUNT),
        "least": Quantity(least, Unit.NS),
    }
    result.notes.append(
        "Compared were {compared} of the {long} nodes that last {least} or more."
        if len(long) > len(compared)
        else "Compared were the {compared} nodes that last {least} or more."
    )
    add_timing_caveats(result, subject)
    add_sample_caveats(result, subject)
    return result


def _sum_up(result: Result, pairs: list[Pair], independent: int, no_room: int) -> None:
    result.figures |= {
        "pairs": Quantity(len(pairs), Unit.COUNT),
        "independent": Quantity(independent, Unit.COUNT),
    }
    if pairs:
        result.figures["most"] = Quantity(pairs[0].shorter_ns, Unit.NS)
        result.summary = (
            "{pairs} of {independent} pairs of independent nodes never overlapped; the longest "
            "could for {most}."
        )
        result.notes.append(
            "A node is in many pairs, so their times do not add up; and overlapping two nodes "
            "slows both when they need the same part of the device."
        )
    elif independent:
        result.summary = "All {independent} pairs of independent nodes overlapped."
    else:
        result.summary = "No two of the long nodes are independent of each other."
    if no_room:
        result.figures["no_room"] = Quantity(no_room, Unit.COUNT)
        result.notes.append(
            "In {no_room} pairs each kernel alone fills the device: overlapping them would gain "
            "little, and they are not marked."
        )
    if len(pairs) > len(result.rows):
        result.figures["rows"] = Quantity(len(result.rows), Unit.COUNT)
        result.notes.append("The table shows {rows} of {pairs} pairs.")


def _same_stream(subject: Subject, pair: Pair) -> str | None:
    streams, rows = subject.column("stream"), subject.first_rows
    if not streams:
        return None
    return "yes" if streams[rows[pair.first]] == streams[rows[pair.second]] else "no"


def _room(subject: Subject, pair: Pair) -> str | None:
    """Say whether the device had room for both; ``None`` where that is not known."""
    waves = []
    for node in (pair.first, pair.second):
        if subject.graph.topology.types[node] != "kernel":
            return "yes"
        shape = launch_shape(subject.graph.payloads[node], subject.gpu)
        if shape is None:
            return None
        waves.append(shape.waves)
    return "no" if min(waves) >= 1 else "yes"


ANALYSIS = Analysis(
    name="missed_overlap",
    title="Missed overlap",
    description="Which long nodes do not depend on each other and still ran one after the other.",
    run=run,
    needs=(EvidenceKind.TIMINGS,),
    uses=(EvidenceKind.PARAMETERS,),
    arguments=(
        Argument(
            "minimum_ns", ArgumentKind.INTEGER, 2000, "shortest node to look at", Unit.NS, minimum=0
        ),
        Argument(
            "minimum_share",
            ArgumentKind.NUMBER,
            0.005,
            "least share of the makespan of a node to look at",
            Unit.RATIO,
            minimum=0,
        ),
        Argument(
            "longest",
            ArgumentKind.INTEGER,
            256,
            "how many of the longest nodes are compared with each other",
            Unit.COUNT,
            minimum=2,
        ),
        rows_argument("pairs", default=200),
    ),
)
