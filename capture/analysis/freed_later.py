"""Finding: memory that a living graph points into, and that was freed after its capture."""

from __future__ import annotations

from ..memory.pointers import Memories
from ..memory_map import STATES, Memory, Snapshot
from ..model import Recording
from .base import (
    Analysis,
    Argument,
    ArgumentKind,
    Cell,
    Column,
    Quantity,
    Result,
    Scope,
    Severity,
    Unit,
)
from .pointed_at import allocated_at
from .stored import OF_GRAPH, OF_PROCESS, readable
from .subject import NO_MEMORY

COLUMNS = [
    Column("graph", Unit.TEXT),
    Column("block", Unit.TEXT),
    Column("name", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("at the end", Unit.TEXT),
    Column("addresses", Unit.COUNT),
    Column("confidence", Unit.TEXT),
    Column("allocated at", Unit.TEXT),
]
WHY = (
    "The graphs could still be replayed when the process ended, and would have used this memory, "
    "which was no longer theirs. Keep a reference to what a graph uses for as long as the graph, "
    "and copy new data into the same tensors."
)
LIKELY = (
    "Likely, since arguments may hold leftovers that no kernel reads; the graph's own findings and "
    "its page of memory tell which argument it is. When it was freed, and by whom, is not known."
)
_ALLOCATED, _FREE = STATES.index("allocated"), "free"


def freed(memory: Memory, end: Memories) -> list[tuple[int, str]]:
    """Return blocks outside the graph's pool that its nodes point into, and free at the end.

    Parameters
    ----------
    memory : Memory
        As it was after the capture.
    end : Memories
        Of the process, when it ended.

    Returns
    -------
    list of (int, str)
        Index of the block, and what is there at the end.
    """
    blocks, segments = memory.blocks, memory.segments
    if blocks is None or segments is None or not blocks.pointed:
        return []
    found = []
    for at, address in enumerate(blocks.address):
        own = memory.pools[segments.pool[blocks.segment[at]]] == memory.pool
        if own or not blocks.pointed[at] or blocks.state[at] != _ALLOCATED:
            continue
        place = end.find(address)
        if place.kind != "block":
            found.append((at, "given back to the driver"))
        elif place.state == _FREE:
            found.append((at, "free"))
    return found


def run(recording: Recording, rows: int = 1000) -> Result:
    """Compare what living graphs point into with the end of their process.

    Notes
    -----
    Linear in the blocks that were kept of each graph; no graph is opened.
    """
    ends: dict[int, Memories] = {}
    result = Result(columns=COLUMNS)
    snapshot: Snapshot
    for owner, snapshot in readable(recording, "snapshots", result.notes, OF_PROCESS):
        if owner.isdecimal() and snapshot.segments is not None:
            ends[int(owner)] = Memories(snapshot)
    alive = {item.graph for item in recording.executables if item.ended == "alive at exit"}
    looked = 0
    graphs = set()
    comparable = [
        key
        for key in recording.stored("memory")
        if key in alive and key in recording.graphs and recording.graphs[key].process in ends
    ]
    memory: Memory
    for key, memory in readable(recording, "memory", result.notes, OF_GRAPH, comparable):
        info = recording.graphs[key]
        end = ends[info.process or 0]
        looked += 1
        names = Memories(memory)
        for at, what in freed(memory, end):
            graphs.add(key)
            assert memory.blocks is not None
            blocks = memory.blocks
            place = names.find(blocks.address[at])
            row: tuple[Cell, ...] = (
                info.name,
                f"0x{blocks.address[at]:x}",
                place.name,
                blocks.size_bytes[at],
                what,
                blocks.pointed[at],
                "likely",
                allocated_at(memory, place.stack),
            )
            result.rows.append(row)
    if not looked:
        if result.notes:
            return Result.absent(result.notes[0].rstrip("."))
        if recording.stored("memory"):
            return Result.absent("no graph was alive when its process ended, or that was not seen")
        return Result.absent(NO_MEMORY)
    count = len(result.rows)
    result.figures = {
        "graphs": Quantity(len(graphs), Unit.COUNT),
        "looked": Quantity(looked, Unit.COUNT),
        "blocks": Quantity(count, Unit.COUNT),
        "bytes": Quantity(
            sum(row[3] for row in result.rows if isinstance(row[3], int)), Unit.BYTES
        ),
    }
    del result.rows[rows:]
    if count:
        result.severity = Severity.NOTICE
        result.summary = (
            "Freed after the capture, while a graph that points into it was alive: {blocks} blocks "
            "with {bytes} together, of {graphs} graphs."
        )
        result.notes[:0] = [WHY, LIKELY]
    else:
        result.summary = (
            "All that the {looked} graphs alive at the end point into was still allocated then."
        )
    return result


ANALYSIS = Analysis(
    name="freed_later",
    title="Memory freed after the capture",
    description="What graphs that were still alive point into, and was free at the end.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most blocks in the table",
            Unit.COUNT,
            minimum=0,
        ),
    ),
    finding=True,
)
