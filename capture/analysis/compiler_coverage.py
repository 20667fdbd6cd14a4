"""What torch.compile made graphs of, what it left out, and what it recorded again."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..model import GraphInfo, Recording
from ..outside import Compilation
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

COLUMNS = [
    Column("what", Unit.TEXT),
    Column("of", Unit.TEXT),
    Column("why", Unit.TEXT),
    Column("place", Unit.TEXT),
    Column("times", Unit.COUNT),
    Column("replays", Unit.COUNT),
]
NONE = "nothing in this recording was compiled by torch.compile"
WORDS = {
    "skipped": "left out",
    "parted": "between graphs",
    "break": "graph break",
    "warned": "warning",
}


def run(recording: Recording, rows: int = 200) -> Result:
    """Return what the compiler's trees hold, and what its counters and log say of the rest.

    Parameters
    ----------
    recording : Recording
    rows : int
        Most rows of the table.
    """
    compilations, damaged = _stored(recording)
    functions = _functions(recording)
    if not compilations and not functions:
        return Result.absent(damaged[0].rstrip(".") if damaged else NONE)
    counters: dict[str, int] = defaultdict(int)
    for item in compilations:
        for name, count in item.counters.items():
            counters[name] += count
    table: list[tuple[Cell, ...]] = []
    again = 0
    for graphs in functions.values():
        row, repeated = _function_row(recording, graphs)
        again += repeated
        table.append(row)
    said = [item for compilation in compilations for item in compilation.said]
    table += [
        (WORDS.get(item.kind, item.kind), "", item.text, item.place, item.count, None)
        for item in said
    ]
    skipped = sum(item.count for item in said if item.kind == "skipped")
    skipped = max(skipped, counters.get("cudagraph_skips", 0))
    parted = sum(item.count for item in said if item.kind == "parted")
    breaks = sum(item.count for item in said if item.kind == "break")
    result = Result(
        figures={
            "functions": Quantity(len(functions), Unit.COUNT),
            "graphs": Quantity(sum(map(len, functions.values())), Unit.COUNT),
            "again": Quantity(again, Unit.COUNT),
            "skipped": Quantity(skipped, Unit.COUNT),
            "breaks": Quantity(breaks, Unit.COUNT),
        },
        columns=COLUMNS,
        rows=table[:rows],
        notes=damaged,
    )
    result.summary = (
        "torch.compile recorded {graphs} graphs of {functions} functions, {again} of them again "
        "for other inputs; it left out {skipped} and broke its trace {breaks} times."
    )
    if parted:
        result.figures["parted"] = Quantity(parted, Unit.COUNT)
        result.notes.append(
            "{parted} operators run between graphs, because the compiler parts a function around "
            "what cannot be in one. What it took from its cache is not counted here."
        )
    if skipped or again or parted:
        result.severity = Severity.NOTICE
    if "unique_graphs" in counters:
        result.figures["traced"] = Quantity(counters["unique_graphs"], Unit.COUNT)
        result.notes.append("The compiler traced {traced} different graphs of operators.")
    if again:
        result.notes.append(
            "A function is recorded again at the same place of the tree when its inputs are not "
            "what the first graph was recorded with: another address, or another size. The "
            "compiler gives the reason in its log with TORCH_LOGS=+cudagraphs."
        )
    if skipped and not any(item.kind == "skipped" for item in said):
        result.notes.append("The compiler counted what it left out, and gave no reason in its log.")
    return result


def _stored(recording: Recording) -> tuple[list[Compilation], list[str]]:
    damaged: list[str] = []
    words = "What the compiler said in process {owner}"
    items = readable(recording, "compilation", damaged, words)
    return [item for _, item in items if not item.reason], damaged


Graphs = list[tuple[GraphInfo, dict[str, Any]]]


def _functions(recording: Recording) -> dict[tuple[Any, ...], Graphs]:
    """Return the graphs of the compiler's trees by process, device and function."""
    found: dict[tuple[Any, ...], Graphs] = defaultdict(list)
    for info in recording.graphs.values():
        compiled = info.extra.get("compiled")
        if isinstance(compiled, dict) and isinstance(compiled.get("function"), int):
            found[info.process, info.device, compiled["function"]].append((info, compiled))
    return found


def _function_row(recording: Recording, graphs: Graphs) -> tuple[tuple[Cell, ...], int]:
    """Return the row of one function, and how many of its graphs were recorded again."""
    first, compiled = graphs[0]
    parents = {item.get("parent") for _, item in graphs}
    again = len(graphs) - len(parents)
    keys = {info.key for info, _ in graphs}
    replays = sum(item.replays for item in recording.executables if item.graph in keys)
    why = []
    if len(parents) > 1:
        why.append(f"recorded after {len(parents)} different graphs")
    if again:
        why.append(f"{again} recorded again for other inputs")
    copied = compiled.get("copied")
    if isinstance(copied, int) and copied:
        why.append(
            f"{copied} of {compiled.get('inputs', '?')} inputs are copied before each replay"
        )
    place = f"{first.place.file}:{first.place.line}" if first.place is not None else ""
    name = first.name or first.key
    return ("recorded", name, "; ".join(why), place, len(graphs), replays), again


ANALYSIS = Analysis(
    name="compiler_coverage",
    title="Coverage of torch.compile",
    description="What the compiler made graphs of, what it left out or recorded again, and why.",
    run=run,
    scope=Scope.RECORDING,
    overview=True,
    arguments=(rows_argument(default=200),),
)
