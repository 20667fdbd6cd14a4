"""Memory pools at the end of a process: which graphs they belong to, and what keeps them."""

from __future__ import annotations

from ..memory.sums import PoolSum, against_torch, pool_sums
from ..memory_map import COMMON_POOL
from ..model import Recording
from .absent import NO_MEMORY
from .base import Analysis, Cell, Column, Quantity, Result, Scope, Severity, Unit
from .stored import OF_PROCESS, readable

COLUMNS = [
    Column("pool", Unit.TEXT),
    Column("graphs", Unit.TEXT),
    Column("graphs alive", Unit.COUNT),
    Column("segments", Unit.COUNT),
    Column("reserved", Unit.BYTES),
    Column("allocated", Unit.BYTES),
    Column("free", Unit.BYTES),
    Column("fragmented", Unit.RATIO),
]
GONE = ("reset", "destroyed")
NAMES = 3
PINNED = (
    "A pool goes back to the driver when its graphs are gone and nothing in it is allocated: "
    "tensors that a graph returned keep all of its pool. Clone what is to be kept, and drop the "
    "rest."
)


def run(recording: Recording) -> Result:
    """Return every pool of every process that was looked at when it ended."""
    result = Result(columns=COLUMNS)
    known = {item.graph for item in recording.executables}
    living = {item.graph for item in recording.executables if item.ended not in GONE}
    totals: list[PoolSum] = []
    pinned = 0
    differs = 0
    for owner, snapshot in readable(recording, "snapshots", result.notes, OF_PROCESS):
        users = _users(recording, int(owner) if owner.isdecimal() else -1)
        differs += sum(row.torch_bytes != row.summed_bytes for row in against_torch(snapshot))
        for row in pool_sums(snapshot):
            totals.append(row)
            keys = users.get(row.pool, [])
            alive = sum(key in living or key not in known for key in keys)
            if keys and not alive and row.reserved_bytes:
                pinned += row.reserved_bytes
            result.rows.append(_row(recording, row, keys, alive))
        result.notes.extend(snapshot.notes)
    if not totals:
        return Result.absent(result.notes[0].rstrip(".") if result.notes else NO_MEMORY)
    result.rows.sort(key=lambda row: -(row[4] if isinstance(row[4], int) else 0))
    private = [row for row in totals if row.pool != COMMON_POOL]
    result.figures = {
        "reserved": Quantity(sum(row.reserved_bytes for row in totals), Unit.BYTES),
        "allocated": Quantity(sum(row.allocated_bytes for row in totals), Unit.BYTES),
        "private": Quantity(sum(row.reserved_bytes for row in private), Unit.BYTES),
        "pools": Quantity(len(private), Unit.COUNT),
        "pinned": Quantity(pinned, Unit.BYTES),
        "differences": Quantity(differs, Unit.COUNT),
    }
    result.summary = (
        "torch had reserved {reserved}, of which {allocated} were allocated; private pools: "
        "{private}."
    )
    if pinned:
        result.severity = Severity.NOTICE
        result.summary += " {pinned} of that belong to pools whose graphs are gone."
        result.notes.insert(0, PINNED)
    if differs:
        result.notes.append("{differences} of these sums differ from torch's own counters.")
    return result


def _users(recording: Recording, process: int) -> dict[tuple[int, int], list[str]]:
    """Return the graphs of a process by pool."""
    found: dict[tuple[int, int], list[str]] = {}
    for key, info in recording.graphs.items():
        if info.pool is not None and info.process == process:
            found.setdefault(info.pool, []).append(key)
    return found


def _row(recording: Recording, row: PoolSum, keys: list[str], alive: int) -> tuple[Cell, ...]:
    names = ", ".join(recording.graphs[key].name for key in keys[:NAMES])
    if len(keys) > NAMES:
        names += f" and {len(keys) - NAMES} more"
    pool = "common" if row.pool == COMMON_POOL else f"{row.pool[0]}, {row.pool[1]}"
    return (
        pool,
        names,
        alive if keys else None,
        row.segments,
        row.reserved_bytes,
        row.allocated_bytes,
        row.free_bytes,
        row.fragmentation,
    )


ANALYSIS = Analysis(
    name="pool_owners",
    title="Memory pools at the end",
    description="Which graphs the memory pools belong to, and which nobody needs any more.",
    run=run,
    scope=Scope.RECORDING,
    overview=True,
)
