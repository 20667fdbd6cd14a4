"""Every graph of a recording in one table: what its replays take, by batch size and the like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ..distributions import Summary, summarise
from ..errors import FormatError
from ..model import GraphInfo, Recording
from .base import (
    Analysis,
    Cell,
    Column,
    Quantity,
    Result,
    Scope,
    Series,
    Unit,
    rows_argument,
)
from .stored_benchmark import median_ns

MOST_TIMED_NODES = 50_000
"""Timings are as large as their graph, so of larger recordings only benchmarks are read."""
BENCHMARK, SCRIPT = "benchmark", "the script's replays"
COLUMNS = [
    Column("graph", Unit.TEXT),
    Column("label", Unit.TEXT),
    Column("number", Unit.COUNT),
    Column("nodes", Unit.COUNT),
    Column("replay", Unit.NS),
    Column("spread", Unit.NS),
    Column("launch, on the CPU", Unit.NS),
    Column("replay, cold L2", Unit.NS),
    Column("replay per item", Unit.NS),
    Column("measured in", Unit.TEXT),
]

_NAMED = re.compile(r"([A-Za-z_][\w.]*)\s*=\s*(\d{1,12})(?![\w.])")
_BARE = re.compile(r"(?<![\w.])\d{1,12}(?![\w.])")


class Point(NamedTuple):
    """What is known of one graph's replays."""

    info: GraphInfo
    replay: Summary
    source: str
    launch_ns: int | None = None
    cold_ns: int | None = None


def numbers_of(label: str) -> dict[str, int]:
    """Return the numbers in a label by name; those without a name by their place.

    Examples
    --------
    >>> numbers_of("batch=8 seq=128"), numbers_of("layer 3")
    ({'batch': 8, 'seq': 128}, {'#0': 3})
    """
    named = {name: int(value) for name, value in _NAMED.findall(label)}
    return named or {f"#{at}": int(value) for at, value in enumerate(_BARE.findall(label))}


def varying(labels: Iterable[str]) -> str:
    """Return the name of the number that tells most labels apart; empty if none does."""
    seen: Counter[str] = Counter()
    values: set[tuple[str, int]] = set()
    for label in labels:
        for name, value in numbers_of(label).items():
            seen[name] += (name, value) not in values
            values.add((name, value))
    name, count = max(seen.items(), key=lambda item: item[1], default=("", 0))
    return name if count > 1 else ""


def run(recording: Recording, rows: int = 1000) -> Result:
    """Sum up the replays of every graph that was measured, in the order of its number.

    Notes
    -----
    Reads every benchmark of the recording; of graphs that have none their timings, as long as
    these have no more than `MOST_TIMED_NODES` nodes in all. Nothing that was read is kept.
    """
    points, damaged = _points(recording)
    if not points:
        return Result.absent(
            "no replay of any graph was measured: measure them with `cglens bench`, or record "
            "with `cglens record --timings`",
            notes=damaged,
        )
    name = varying(point.info.label for point in points)
    numbered = [(numbers_of(point.info.label).get(name), point) for point in points]
    numbered.sort(key=lambda item: (item[0] is None, item[0] or 0))
    result = Result(columns=COLUMNS, rows=[_row(*item) for item in numbered[:rows]])
    medians = [point.replay.median for point in points]
    result.figures |= {
        "graphs": Quantity(len(recording.graphs), Unit.COUNT),
        "measured": Quantity(len(points), Unit.COUNT),
        "shortest": Quantity(min(medians), Unit.NS),
        "longest": Quantity(max(medians), Unit.NS),
    }
    result.summary = (
        "{measured} of {graphs} graphs were measured; their replays take {shortest} to {longest}."
    )
    if name:
        _curve(result, name, [(number, point) for number, point in numbered if number is not None])
    if any(point.source == SCRIPT for point in points):
        result.notes.append(
            "Replays of the script's own are timed between two events, with what the launch takes "
            "when the device is idle."
        )
    if len(points) > rows:
        result.notes.append("The table shows the first graphs.")
    result.notes += damaged
    return result


def _curve(result: Result, name: str, points: list[tuple[int, Point]]) -> None:
    result.figures |= {
        "by": Quantity(name if not name.startswith("#") else "number", Unit.TEXT),
        "least": Quantity(points[0][0], Unit.COUNT),
        "most": Quantity(points[-1][0], Unit.COUNT),
    }
    result.summary = (
        "{measured} of {graphs} graphs were measured, with {by} {least} to {most}; their replays "
        "take {shortest} to {longest}."
    )
    result.series.append(
        Series(
            name="replay",
            x_unit=Unit.COUNT,
            y_unit=Unit.NS,
            x=[number for number, _ in points],
            y=[point.replay.median for _, point in points],
        )
    )
    cheapest = min(
        ((point.replay.median / number, number) for number, point in points if number > 0),
        default=None,
    )
    if cheapest is not None:
        result.figures["least_per_item"] = Quantity(round(cheapest[0]), Unit.NS)
        result.figures["least_per_item_at"] = Quantity(cheapest[1], Unit.COUNT)
        result.notes.append(
            "Per item a replay takes least with {by} {least_per_item_at}: {least_per_item}."
        )


def _points(recording: Recording) -> tuple[list[Point], list[str]]:
    points: list[Point] = []
    damaged: list[str] = []
    benchmarked = set(recording.benchmarked)
    executables: dict[str, list[str]] = {}
    timed = set(recording.timed)
    for item in recording.executables:
        if item.id in timed:
            executables.setdefault(item.graph, []).append(item.id)
    nodes = sum(info.node_count for key, info in recording.graphs.items() if key in executables)
    for key, info in recording.graphs.items():
        try:
            point = _benchmarked(recording, info) if key in benchmarked else None
            if point is None and nodes <= MOST_TIMED_NODES:
                point = _timed(recording, info, executables.get(key, []))
        except FormatError as error:
            damaged.append(f"What was measured of {key} cannot be read: {error}.")
            continue
        if point is not None:
            points.append(point)
    return points, damaged[:5]


def _benchmarked(recording: Recording, info: GraphInfo) -> Point | None:
    benchmark = recording.evidence("benchmarks", info.key, keep=False)
    replay = summarise(benchmark.replay_ns)
    if replay is None:
        return None
    return Point(
        info,
        replay,
        BENCHMARK,
        median_ns(benchmark.launch_cpu_ns),
        median_ns(benchmark.cold_replay_ns),
    )


def _timed(recording: Recording, info: GraphInfo, executables: list[str]) -> Point | None:
    samples: list[int] = []
    for name in executables:
        timings = recording.evidence("timings", name, keep=False)
        samples += timings.untraced_replay_ns
    replay = summarise(samples)
    return None if replay is None else Point(info, replay, SCRIPT)


def _row(number: int | None, point: Point) -> tuple[Cell, ...]:
    replay = point.replay
    return (
        point.info.key,
        point.info.label or None,
        number,
        point.info.node_count,
        replay.median,
        replay.iqr,
        point.launch_ns,
        point.cold_ns,
        round(replay.median / number) if number else None,
        point.source,
    )


ANALYSIS = Analysis(
    name="replay_curve",
    title="Replays by batch size",
    description="What a replay of every graph takes, as a curve over what their labels count.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(rows_argument("graphs"),),
)
