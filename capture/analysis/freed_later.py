"""Finding: memory that a graph points into, and that was freed after its capture."""

from __future__ import annotations

from typing import NamedTuple

from ..memory.pointers import Memories
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
    ALLOCATED,
    OUTSIDE,
    Fate,
    Later,
    add_blindness,
    captured_us,
    device_of,
    in_own_pool,
    in_private_pool,
    laters,
    memories,
    without_memory,
)
from .pointed_at import allocated_at, argument_of
from .pointing import (
    Pointing,
    pointing,
    surest,
)
from .replayed import Replays

COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("node", Unit.NODE),
    Column("kernel", Unit.TEXT),
    Column("argument", Unit.TEXT),
    Column("block", Unit.TEXT),
    Column("name", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("now", Unit.TEXT),
    Column("replays since", Unit.COUNT),
    Column("nodes", Unit.COUNT),
    Column("confidence", Unit.TEXT),
    Column("freed at", Unit.TEXT),
    Column("allocated at", Unit.TEXT),
    Column("used since by", Unit.TEXT),
]
MAX_OPENED = 500
"""Graphs whose nodes are looked at; of others only the block is told."""
WHY = (
    "Replays went on to use, or could still have used, memory that was no longer theirs: they read "
    "what another tensor wrote there and overwrite what it holds, and no error tells. Keep a "
    "reference to what a graph uses for as long as the graph, and copy new data into the same "
    "tensors."
)
LIKELY = (
    "Likely: the word may be a leftover that the kernel does not read, because its signature is "
    "not known. May: no replay was seen to begin after the memory was freed."
)


class Lost(NamedTuple):
    """Memory of one graph that was freed after its capture."""

    key: str
    address: int
    size_bytes: int
    stack: int
    fate: Fate
    replays: int
    alive: bool


def _blocks(memory: Memory, later: Later) -> list[tuple[int, Fate]]:
    """Return blocks that a graph points into with what became of them.

    In its own pool a graph keeps what lives only in a replay. In the pool of another graph, memory
    that is free is still that graph's: only what was handed out again, or given back, is lost.
    """
    blocks = memory.blocks
    if blocks is None or not blocks.pointed:
        return []
    since = captured_us(memory)
    found = []
    for at, address in enumerate(blocks.address):
        if not blocks.pointed[at] or blocks.state[at] != ALLOCATED or in_own_pool(memory, at):
            continue
        fate = later.fate(address, device_of(memory, at), since)
        if fate is None or (fate.what == "free" and in_private_pool(memory, at)):
            continue
        found.append((at, fate))
    return found


def lost_memory(key: str, memory: Memory, later: Later, replays: Replays) -> list[Lost]:
    """Return memory that a graph lost while it could be replayed.

    Parameters
    ----------
    key : str
    memory : Memory
        As it was after the capture.
    later : Later
        Of its process.
    replays : Replays
    """
    alive = replays.alive_at_exit(key)
    found = []

    def add(address: int, size: int, stack: int, fate: Fate) -> None:
        count = replays.after(key, fate.freed_us)
        if count or alive:
            found.append(Lost(key, address, size, stack, fate, count, alive))

    blocks, ranges = memory.blocks, memory.ranges
    for at, fate in _blocks(memory, later):
        assert blocks is not None
        stack = blocks.stack[at] if blocks.stack else -1
        add(blocks.address[at], blocks.size_bytes[at], stack, fate)
    since = captured_us(memory)
    for address, size in (
        zip(ranges.address, ranges.size_bytes, strict=True)
        if ranges and later.after is not None
        else ()
    ):
        outside = later.fate(address, 0, since)
        if outside is not None:
            add(address, size, -1, outside)
    return found


def run(recording: Recording, rows: int = 1000) -> Result:
    """Follow what graphs point into from their captures to the end of their process.

    Notes
    -----
    Linear in the blocks that were kept of each graph and in the timeline. Of the graphs that lost
    memory the first `MAX_OPENED` are opened.
    """
    result = Result(columns=COLUMNS)
    found = laters(recording, result.notes)
    replays = Replays(recording)
    looked = outside = 0
    graphs: set[str] = set()
    total = replayed = certain = size = opened = 0
    for key, memory in memories(recording, result.notes):
        later = found.get(recording.graphs[key].process or 0)
        if later is None:
            continue
        looked += 1
        kinds = memory.ranges.kind if memory.ranges is not None else []
        outside += any(kind in ("device", "managed") for kind in kinds)
        lost = lost_memory(key, memory, later, replays)
        if not lost:
            continue
        held = pointing(recording, key, memory, result.notes) if opened < MAX_OPENED else None
        names = Memories(memory)
        opened += 1
        for item in lost:
            if held is not None and item.address not in held.by_start:
                # Numbers by their signature, or memory that the graph allocates itself.
                continue
            graphs.add(key)
            row, sure = _row(item, memory, names, held)
            total += 1
            size += item.size_bytes
            replayed += bool(item.replays)
            certain += sure
            result.rows.append(row)
    if not looked:
        return without_memory(recording, result.notes)
    result.rows.sort(key=lambda row: (row[10] != "certain", not row[8]))
    result.figures = {
        "graphs": Quantity(len(graphs), Unit.COUNT),
        "looked": Quantity(looked, Unit.COUNT),
        "blocks": Quantity(total, Unit.COUNT),
        "replayed": Quantity(replayed, Unit.COUNT),
        "certain": Quantity(certain, Unit.COUNT),
        "bytes": Quantity(size, Unit.BYTES),
        "outside": Quantity(outside, Unit.COUNT),
    }
    del result.rows[rows:]
    damaged, result.notes = result.notes, []
    if total:
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        result.summary = (
            "Freed after the capture of a graph that points into it: {blocks} blocks with {bytes} "
            "together, of {graphs} graphs; {replayed} of the blocks before further replays."
        )
        result.notes.append(WHY)
        if certain < total:
            result.notes.append(LIKELY)
    else:
        result.summary = (
            "Nothing that the {looked} graphs point into was seen to be freed while they could be "
            "replayed."
        )
    if outside:
        result.notes.append(OUTSIDE)
    result.notes += damaged
    if not replays.known:
        result.notes.append(
            "The recording has no start time: replays cannot be put in order with frees."
        )
    add_blindness(result, found, recording.metadata.started_unix_ns)
    return result


def _row(
    item: Lost, memory: Memory, names: Memories, held: Pointing | None
) -> tuple[tuple[Cell, ...], bool]:
    """Return the row of a block, and whether it is certain."""
    pointers = held.by_start.get(item.address, []) if held is not None else []
    first = surest(pointers) if pointers else None
    sure = bool(first is not None and not first.word.guess and item.replays)
    confidence = "certain" if sure else "likely" if item.replays else "may"
    row = (
        item.key,
        first.word.node if first is not None else None,
        held.name_of(first.word.node) if first is not None and held is not None else "",
        argument_of(first) if first is not None else "",
        f"0x{item.address:x}",
        names.name_at(item.address),
        item.size_bytes,
        item.fate.what,
        item.replays,
        len({pointer.word.node for pointer in pointers}) if held is not None else None,
        confidence,
        item.fate.freed_at,
        allocated_at(memory, item.stack),
        item.fate.used_at,
    )
    return row, sure


ANALYSIS = Analysis(
    name="freed_later",
    title="Memory freed after the capture",
    description="What graphs point into, and was freed while they could still be replayed.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(rows_argument("blocks"),),
    finding=True,
)
