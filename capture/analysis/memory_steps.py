"""What each capture of a recording added to reserved memory, in order of capture."""

from __future__ import annotations

from ..memory.sums import Step, step
from ..model import Recording
from .absent import NO_MEMORY
from .base import Analysis, Cell, Column, Quantity, Result, Scope, Series, Unit
from .stored import OF_GRAPH, readable

COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("pool", Unit.TEXT),
    Column("reserved before", Unit.BYTES),
    Column("added", Unit.BYTES),
    Column("in its pool before", Unit.BYTES),
    Column("in its pool after", Unit.BYTES),
    Column("stays allocated", Unit.BYTES),
]


def steps_of(recording: Recording) -> tuple[list[tuple[str, Step]], list[str]]:
    """Return what each capture did, by key, and why some cannot be read."""
    found: list[tuple[str, Step]] = []
    damaged: list[str] = []
    for key, memory in readable(recording, "memory", damaged, OF_GRAPH, recording.graphs):
        made = step(memory)
        if made is not None:
            found.append((key, made))
    return found, damaged


def run(recording: Recording, rows: int = 1000) -> Result:
    """Return a step per capture that memory was looked at around."""
    found, damaged = steps_of(recording)
    if not found:
        return Result.absent(damaged[0].rstrip(".") if damaged else NO_MEMORY)
    result = Result(columns=COLUMNS, notes=damaged)
    for key, made in found[:rows]:
        pool = f"{made.pool[0]}, {made.pool[1]}" if made.pool else ""
        row: tuple[Cell, ...] = (
            key,
            pool,
            made.before_bytes,
            made.added_bytes,
            made.pool_before_bytes,
            made.pool_after_bytes,
            made.kept_bytes,
        )
        result.rows.append(row)
    steps = [made for _, made in found]
    result.series = [
        Series(
            name="reserved after each capture",
            x_unit=Unit.COUNT,
            y_unit=Unit.BYTES,
            x=list(range(1, len(steps) + 1)),
            y=[made.after_bytes for made in steps],
        )
    ]
    largest = max(found, key=lambda item: item[1].added_bytes)
    result.figures = {
        "graphs": Quantity(len(found), Unit.COUNT),
        "added": Quantity(sum(made.added_bytes for made in steps), Unit.BYTES),
        "first": Quantity(steps[0].before_bytes, Unit.BYTES),
        "last": Quantity(steps[-1].after_bytes, Unit.BYTES),
        "largest": Quantity(largest[1].added_bytes, Unit.BYTES),
        "largest_graph": Quantity(recording.graphs[largest[0]].name, Unit.TEXT),
        "pools": Quantity(len({made.pool for made in steps}), Unit.COUNT),
    }
    result.summary = (
        "The captures of {graphs} graphs in {pools} pools added {added} to reserved memory; the "
        "most, {largest}, came with {largest_graph}."
    )
    if len(found) > len(result.rows):
        result.figures["rows"] = Quantity(len(result.rows), Unit.COUNT)
        result.notes.append("The table shows the first {rows} of {graphs} graphs.")
    return result


ANALYSIS = Analysis(
    name="memory_steps",
    title="Memory by capture",
    description="What each capture added to reserved memory, and what it could reuse.",
    run=run,
    scope=Scope.RECORDING,
)
