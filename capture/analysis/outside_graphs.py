"""What the GPU ran beside the graphs between traced replays: the script's own launches."""

from __future__ import annotations

from ..model import Recording
from ..names import short
from ..outside import INSIDE, Outside
from .base import (
    Analysis,
    Cell,
    Column,
    Quantity,
    Result,
    Scope,
    Severity,
    Unit,
    rows_argument,
)
from .stored import readable

NOTABLE = 0.05
"""Share of the time from which work outside graphs is worth a look."""
COLUMNS = [
    Column("work", Unit.TEXT),
    Column("total", Unit.NS),
    Column("share of the time", Unit.RATIO),
    Column("times", Unit.COUNT),
    Column("longest", Unit.NS),
    Column("launched", Unit.TEXT),
    Column("type", Unit.TEXT),
    Column("stream", Unit.COUNT),
]
NONE = (
    "no replay of this recording was traced, or it was made before this was recorded; work outside "
    "graphs is seen while replays are traced"
)
WINDOW = (
    "Seen from the first node of the first traced replay to the last node of the last one before "
    "tracing paused. What ran before, after and in the pauses is not in it."
)


def run(recording: Recording, rows: int = 100) -> Result:
    """Return kernels, copies and memsets without a graph node, longest first.

    Parameters
    ----------
    recording : Recording
    rows : int
        Most rows of the table.
    """
    found, damaged = stored(recording)
    if not found:
        return Result.absent(damaged[0].rstrip(".") if damaged else NONE)
    window = sum(item.window_ns for item in found)
    busy = sum(item.busy_ns for item in found)
    outside = sum(item.outside_ns for item in found)
    table = sorted(
        (row for item in found for row in _rows(item, window)), key=lambda row: -_number(row[1])
    )
    result = Result(
        figures={
            "windows": Quantity(sum(item.windows for item in found), Unit.COUNT),
            "replays": Quantity(sum(item.replays for item in found), Unit.COUNT),
            "window": Quantity(window, Unit.NS),
            "outside": Quantity(outside, Unit.NS),
            "outside_share": Quantity(outside / window if window else None, Unit.RATIO),
            "graphs": Quantity(sum(item.graphs_ns for item in found), Unit.NS),
            "idle_share": Quantity((window - busy) / window if window else None, Unit.RATIO),
            "pieces": Quantity(sum(sum(item.count) for item in found), Unit.COUNT),
        },
        columns=COLUMNS,
        rows=table[:rows],
        notes=[WINDOW, *damaged],
    )
    if table:
        result.summary = (
            "Between traced replays {pieces} pieces of work ran outside any graph, for {outside} "
            "of {window}: {outside_share} of the time. The GPU was idle for {idle_share} of it."
        )
        if window and outside >= NOTABLE * window:
            result.severity = Severity.NOTICE
    else:
        result.summary = (
            "Between {replays} traced replays nothing ran outside the graphs. The GPU was idle for "
            "{idle_share} of the time."
        )
    if any(not item.place_known for item in found) and table:
        result.notes.append(
            "Kernels that torch launches inside `replay()` itself, such as those that advance "
            "random numbers, count as the script's own here."
        )
    dropped = sum(item.dropped_records for item in found)
    if dropped:
        result.figures["dropped"] = Quantity(dropped, Unit.COUNT)
        result.notes.append("{dropped} records were too many to keep.")
    return result


def stored(recording: Recording) -> tuple[list[Outside], list[str]]:
    """Return what each process left, and what is damaged, each as a sentence."""
    damaged: list[str] = []
    items = readable(recording, "outside", damaged, "What process {owner} left")
    return [item for _, item in items if item.windows], damaged


def _rows(item: Outside, window_ns: int) -> list[tuple[Cell, ...]]:
    return [
        (
            short(name) if kind == "kernel" else name or kind,
            total,
            total / window_ns if window_ns else None,
            count,
            longest,
            "inside replay()" if place == INSIDE else "between replays",
            kind,
            stream,
        )
        for name, kind, place, stream, count, total, longest in zip(
            item.name,
            item.type,
            item.place,
            item.stream,
            item.count,
            item.total_ns,
            item.longest_ns,
            strict=True,
        )
    ]


def _number(cell: Cell) -> float:
    return cell if isinstance(cell, (int, float)) else 0


ANALYSIS = Analysis(
    name="outside_graphs",
    title="Work outside the graphs",
    description="Kernels and copies that ran beside the graphs between traced replays.",
    run=run,
    scope=Scope.RECORDING,
    overview=True,
    arguments=(rows_argument(default=100),),
)
