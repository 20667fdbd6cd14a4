"""Finding: graphs that hold a workspace of cuBLAS each, where one would do."""

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
    captured_us,
    laters,
    memories,
    without_memory,
)
from .pointed_at import allocated_at
from .pointing import (
    pointing,
    surest,
)
from .workspaces import Candidate, candidates, sizes_of, users

COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("node", Unit.NODE),
    Column("kernel", Unit.TEXT),
    Column("pool", Unit.TEXT),
    Column("block", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("confidence", Unit.TEXT),
    Column("allocated at", Unit.TEXT),
]
SMALLEST = 4 << 20
"""Bytes; smaller ones cost little, and many tensors have their size."""
MAX_OPENED = 500
"""Graphs whose nodes are looked at; others are left out, and counted."""
WHY = (
    "torch allocates cuBLAS's workspace at the first matrix product on a stream, in the pool of "
    "the graph that is captured then, where it stays reserved. Capture all graphs on one stream, "
    "in one pool (torch.cuda.graph_pool_handle), without clearing workspaces in between, or warm "
    "up on the stream that captures; CUBLAS_WORKSPACE_CONFIG makes it smaller."
)
LIKELY = (
    "Likely: a workspace is known by its size, and because nothing but matrix products points at "
    "it."
)


class Held(NamedTuple):
    """A workspace in the pool of a graph."""

    row: tuple[Cell, ...]
    stream: int
    since_us: float
    freed_us: float


def _needed(held: list[Held]) -> int:
    """Return how many workspaces one stream had at once: threads have handles of their own."""
    return max(
        sum(
            other.stream == item.stream and other.since_us <= item.since_us < other.freed_us
            for other in held
        )
        for item in held
    )


def _stream(memory: Memory, block: int) -> int:
    assert memory.blocks is not None
    assert memory.segments is not None
    streams = memory.segments.stream
    return streams[memory.blocks.segment[block]] if streams else 0


def run(recording: Recording, rows: int = 1000) -> Result:
    """Look for workspaces in the own pools of several graphs.

    Notes
    -----
    Linear in graphs and their blocks; graphs with such a block are opened.
    """
    result = Result(columns=COLUMNS)
    found = laters(recording, result.notes)
    looked = opened = left_out = 0
    seen: dict[tuple[int, int, int], set[tuple[tuple[int, int], int]]] = {}
    made: dict[tuple[int, int, int], list[Held]] = {}
    for key, memory in memories(recording, result.notes):
        looked += 1
        process = recording.graphs[key].process or 0
        for item in candidates(memory, sizes_of(found.get(process))):
            group = process, item.device, item.size_bytes
            block = memory.pool or (0, 0), item.address
            if not item.own or item.size_bytes < SMALLEST or block in seen.setdefault(group, set()):
                continue
            if opened >= MAX_OPENED:
                left_out += 1
                continue
            opened += 1
            row = _row(recording, key, memory, item, result.notes)
            if row is not None:
                seen[group].add(block)
                later = found.get(process)
                since = captured_us(memory)
                fate = later.fate(item.address, item.device, since) if later else None
                freed_us = fate.freed_us if fate is not None else float("inf")
                made.setdefault(group, []).append(
                    Held(row, _stream(memory, item.block), since, freed_us)
                )
    if not looked:
        return without_memory(recording, result.notes)
    needed = {group: _needed(same) for group, same in made.items()}
    several = {group: same for group, same in made.items() if len(same) > needed[group]}
    result.rows = [item.row for same in several.values() for item in same]
    graphs = len({row[0] for row in result.rows})
    result.figures = {
        "looked": Quantity(looked, Unit.COUNT),
        "graphs": Quantity(graphs, Unit.COUNT),
        "workspaces": Quantity(len(result.rows), Unit.COUNT),
        "bytes": Quantity(sum(group[2] * len(same) for group, same in several.items()), Unit.BYTES),
        "saved": Quantity(
            sum(group[2] * (len(same) - needed[group]) for group, same in several.items()),
            Unit.BYTES,
        ),
        "left_out": Quantity(left_out, Unit.COUNT),
    }
    del result.rows[rows:]
    if several:
        result.severity = Severity.NOTICE
        result.summary = (
            "{workspaces} workspaces of equal size lie in pools of {graphs} graphs, {bytes} "
            "together; sharing them would save {saved}."
        )
        result.notes[:0] = [WHY, LIKELY]
    else:
        result.summary = "No two graphs were seen to hold a workspace of equal size each."
    if left_out:
        result.notes.append("{left_out} graphs were not opened: there were too many.")
    return result


def _row(
    recording: Recording, key: str, memory: Memory, item: Candidate, problems: list[str]
) -> tuple[Cell, ...] | None:
    """Return the row of a block, or nothing where others than matrix products use it."""
    node, kernel = None, ""
    if item.pointed:
        held = pointing(recording, key, memory, problems)
        pointers = users(held, item.address) if held is not None else None
        if held is None or not pointers:
            return None
        node = surest(pointers).word.node
        kernel = held.name_of(node)
    blocks = memory.blocks
    assert blocks is not None
    stack = blocks.stack[item.block] if blocks.stack else -1
    pool = memory.pool or (0, 0)
    return (
        key,
        node,
        kernel,
        f"{pool[0]}, {pool[1]}",
        f"0x{item.address:x}",
        item.size_bytes,
        "likely",
        allocated_at(memory, stack),
    )


ANALYSIS = Analysis(
    name="identical_workspaces",
    title="A workspace for each graph",
    description="Which graphs hold a cuBLAS workspace of equal size each, and what one would save.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(rows_argument(),),
    finding=True,
)
