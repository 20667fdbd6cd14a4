"""Finding: a workspace of cuBLAS that several graphs use, and that was freed."""

from __future__ import annotations

from typing import NamedTuple

from ..memory_map import Memory
from ..model import Recording
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
from .later import (
    NO_GRAPHS,
    Fate,
    Later,
    add_blindness,
    captured_us,
    laters,
    memories,
    without_memory,
)
from .pointed_at import allocated_at, argument_of
from .pointing import (
    pointing,
    surest,
)
from .replayed import Replays
from .workspaces import Candidate, candidates, sizes_of, users

COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("node", Unit.NODE),
    Column("kernel", Unit.TEXT),
    Column("argument", Unit.TEXT),
    Column("block", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("used by graphs", Unit.COUNT),
    Column("now", Unit.TEXT),
    Column("replays since", Unit.COUNT),
    Column("confidence", Unit.TEXT),
    Column("freed at", Unit.TEXT),
    Column("allocated at", Unit.TEXT),
    Column("used since by", Unit.TEXT),
]
MAX_OPENED = 500
"""Graphs whose nodes are looked at; others are left out, and counted."""
WHY = (
    "torch keeps one workspace per handle and stream, and graphs captured on that stream hold its "
    "address. After torch._C._cuda_clearCublasWorkspaces(), which torch.compile's graphs call too, "
    "replays write into memory that may be another tensor's. Capture again after it was cleared, "
    "or clear before the capture, so that the workspace lies in the graph's own pool."
)
LIKELY = (
    "Likely: a workspace is known by its size and because only matrix products point at it; "
    "whether a kernel writes there depends on the algorithm that cuBLAS chose."
)
STREAMS = (
    "{shared} workspaces are used by several graphs: replays of these on several streams at once "
    "write over each other's."
)


class Use(NamedTuple):
    """A graph that points into what may be a workspace."""

    key: str
    memory: Memory
    candidate: Candidate
    since_us: float


def _uses(
    recording: Recording, found: dict[int, Later], damaged: list[str]
) -> dict[tuple[int, int, int], list[Use]]:
    """Return the graphs that point into each candidate, by process, device and address."""
    uses: dict[tuple[int, int, int], list[Use]] = {}
    for key, memory in memories(recording, damaged):
        process = recording.graphs[key].process or 0
        if process not in found:
            continue
        for item in candidates(memory, sizes_of(found[process])):
            if item.pointed:
                place = process, item.device, item.address
                uses.setdefault(place, []).append(Use(key, memory, item, captured_us(memory)))
    return uses


def _together(uses: list[Use], later: Later) -> list[tuple[list[Use], Fate | None]]:
    """Part the graphs that use one address by the allocation that was there."""
    parts: dict[float, tuple[list[Use], Fate | None]] = {}
    for use in uses:
        fate = later.fate(use.candidate.address, use.candidate.device, use.since_us)
        freed_us = fate.freed_us if fate is not None else float("inf")
        parts.setdefault(freed_us, ([], fate))[0].append(use)
    return list(parts.values())


def run(recording: Recording, rows: int = 1000) -> Result:
    """Look for workspaces of several graphs that were freed while those could be replayed.

    Notes
    -----
    Linear in graphs and their blocks; graphs are opened where such a block was freed.
    """
    result = Result(columns=COLUMNS)
    found = laters(recording, result.notes)
    if not found:
        return without_memory(recording, result.notes)
    if not recording.graphs:
        return Result.absent(NO_GRAPHS)
    replays = Replays(recording)
    shared = freed = opened = left_out = 0
    graphs: set[str] = set()
    for (process, _, _), uses in _uses(recording, found, result.notes).items():
        for together, fate in _together(uses, found[process]):
            if len(together) < 2:
                continue
            shared += 1
            if fate is None:
                continue
            concerned = [
                use
                for use in together
                if replays.after(use.key, fate.freed_us) or replays.alive_at_exit(use.key)
            ]
            made = []
            for use in concerned:
                if opened >= MAX_OPENED:
                    left_out += 1
                    continue
                opened += 1
                row = _row(recording, use, fate, len(together), replays, result.notes)
                if row is not None:
                    made.append(row)
                    graphs.add(use.key)
            freed += bool(made)
            result.rows += made
    result.rows.sort(key=lambda row: not row[8])
    result.figures = {
        "shared": Quantity(shared, Unit.COUNT),
        "freed": Quantity(freed, Unit.COUNT),
        "graphs": Quantity(len(graphs), Unit.COUNT),
        "left_out": Quantity(left_out, Unit.COUNT),
    }
    del result.rows[rows:]
    damaged, result.notes = result.notes, []
    if freed:
        result.severity = Severity.NOTICE
        result.summary = (
            "{freed} of the {shared} workspaces that several graphs use were freed while {graphs} "
            "of these graphs could be replayed."
        )
        result.notes += [WHY, LIKELY]
    else:
        result.summary = "No workspace that several graphs use was seen to be freed."
    if shared:
        result.notes.append(STREAMS)
    if left_out:
        result.notes.append("{left_out} graphs were not opened: there were too many.")
    result.notes += damaged
    add_blindness(result, found, recording.metadata.started_unix_ns)
    return result


def _row(
    recording: Recording,
    use: Use,
    fate: Fate,
    count: int,
    replays: Replays,
    problems: list[str],
) -> tuple[Cell, ...] | None:
    held = pointing(recording, use.key, use.memory, problems)
    pointers = users(held, use.candidate.address) if held is not None else None
    if held is None or not pointers:
        return None
    first = surest(pointers)
    blocks = use.memory.blocks
    assert blocks is not None
    stack = blocks.stack[use.candidate.block] if blocks.stack else -1
    since = replays.after(use.key, fate.freed_us)
    return (
        use.key,
        first.word.node,
        held.name_of(first.word.node),
        argument_of(first),
        f"0x{use.candidate.address:x}",
        use.candidate.size_bytes,
        count,
        fate.what,
        since,
        "likely" if since else "may",
        fate.freed_at,
        allocated_at(use.memory, stack),
        fate.used_at,
    )


ANALYSIS = Analysis(
    name="shared_workspaces",
    title="Workspaces that several graphs use",
    description="Which cuBLAS workspaces of several graphs were freed while these were alive.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(rows_argument(),),
    finding=True,
)
