"""Finding: a named tensor has other storage than the one that a graph uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..memory.pointers import Memories, Place, Pointer
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
    Pointing,
    pointing,
)
from .replayed import Replays

COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("node", Unit.NODE),
    Column("kernel", Unit.TEXT),
    Column("argument", Unit.TEXT),
    Column("name", Unit.TEXT),
    Column("old storage", Unit.TEXT),
    Column("new storage", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("old one now", Unit.TEXT),
    Column("replays since", Unit.COUNT),
    Column("nodes", Unit.COUNT),
    Column("confidence", Unit.TEXT),
    Column("replaced at", Unit.TEXT),
    Column("new one allocated at", Unit.TEXT),
    Column("old one allocated at", Unit.TEXT),
]
MAX_OPENED = 500
"""Graphs whose nodes are looked at; of others only the name is told."""
WHY = (
    "The graph goes on with the old storage: what was assigned, loaded or moved later has no "
    "effect on replays, and once the old storage is freed they use memory of others. Copy into the "
    "tensors that were captured (copy_, load_state_dict without assign), or capture again."
)
SURE = (
    "Certain: the node holds the exact address of the old storage, and the graph was replayed "
    "after the new one was there. Likely: replays ran since the old one was last seen in place, "
    "or a later graph uses the new one and both may be meant. May: no replay is known to be late."
)
UNNAMED = (
    "Looked at are parameters, buffers, gradients and optimizer state of modules and optimizers "
    "that were alive, and variables of the capturing modules and objects; local variables of "
    "functions are not."
)


class Rebound(NamedTuple):
    """One name that leads elsewhere, as one graph is concerned."""

    row: int
    """Of the process's `rebinds`."""
    place: Place
    """Of the old storage, after the capture."""
    fate: Fate | None
    replays: int
    confidence: str
    """Before the nodes are looked at."""


def rebound(
    key: str, memory: Memory, later: Later, replays: Replays, used_later: dict[int, float]
) -> Iterator[Rebound]:
    """Yield names that lead elsewhere now and whose old storage a graph points into.

    Parameters
    ----------
    key : str
    memory : Memory
        As it was after the capture.
    later : Later
        Of its process.
    replays : Replays
    used_later : dict of int to float
        When a graph that points at an address was captured last.
    """
    rebinds, blocks = later.snapshot.rebinds, memory.blocks
    if rebinds is None or blocks is None or not blocks.pointed:
        return
    names = Memories(memory)
    since = captured_us(memory)
    alive = replays.alive_at_exit(key)
    for row, address in enumerate(rebinds.address):
        if rebinds.noticed_us[row] < since:
            continue
        place = names.find(address)
        if place.kind != "block" or place.state != "allocated" or not blocks.pointed[place.number]:
            continue
        kind, own = rebinds.kind[row], place.pool == memory.pool
        device = memory.segments.device if memory.segments is not None else []
        fate = later.fate(place.start, device[blocks.segment[place.number]] if device else 0, since)
        if own and kind in ("gradient", "variable"):
            continue  # the graph writes its own gradients and results before anybody reads them
        if kind == "variable" and (fate is None or (fate.what == "free" and place.pool != (0, 0))):
            continue  # another variable may hold the tensor that was captured
        new_us = rebinds.new_us[row]
        moved_us: float = new_us or rebinds.noticed_us[row]
        if fate is not None and fate.is_seen:
            moved_us = fate.freed_us
        count = replays.after(key, moved_us)
        if not count and not alive:
            continue
        confidence = "certain" if count else "may"
        if not count and replays.after(key, new_us or rebinds.seen_us[row]):
            confidence = "likely"
        both = fate is None and used_later.get(rebinds.new_address[row], 0.0) > since
        if both and confidence == "certain":
            confidence = "likely"
        yield Rebound(row, place, fate, count, confidence)


def run(recording: Recording, rows: int = 1000) -> Result:
    """Compare where names led when graphs were captured with where they led later.

    Notes
    -----
    Linear in graphs times names that lead elsewhere. Of the graphs concerned the first `MAX_OPENED`
    are opened.
    """
    result = Result(columns=COLUMNS)
    found = laters(recording, result.notes)
    followed = [later for later in found.values() if later.snapshot.rebinds is not None]
    if not followed:
        if recording.stored("memory"):
            return Result.absent(
                "where names lead was not followed after the captures of this recording: record it "
                "again with --memory"
            )
        return without_memory(recording, result.notes)
    replays = Replays(recording)
    used_later: dict[int, float] = {}
    moved = any(later.snapshot.rebinds and later.snapshot.rebinds.address for later in followed)
    for _, memory in memories(recording, []) if moved else ():
        blocks = memory.blocks
        for at, address in enumerate(blocks.address if blocks is not None else ()):
            if blocks is not None and blocks.pointed and blocks.pointed[at]:
                used_later[address] = max(used_later.get(address, 0.0), captured_us(memory))
    graphs: set[str] = set()
    names: set[str] = set()
    total = certain = opened = 0
    for key, memory in memories(recording, result.notes) if moved else ():
        later = found.get(recording.graphs[key].process or 0)
        if later is None:
            continue
        items = list(rebound(key, memory, later, replays, used_later))
        if not items:
            continue
        held = pointing(recording, key, memory, result.notes) if opened < MAX_OPENED else None
        opened += 1
        for item in items:
            if held is not None and item.place.start not in held.by_start:
                continue  # numbers, by the signature of their kernel
            graphs.add(key)
            row, sure = _row(key, item, memory, later, held)
            total += 1
            certain += sure
            names.add(str(row[4]))
            result.rows.append(row)
    result.rows.sort(key=lambda row: (row[11] != "certain", not row[9]))
    result.figures = {
        "graphs": Quantity(len(graphs), Unit.COUNT),
        "names": Quantity(len(names), Unit.COUNT),
        "found": Quantity(total, Unit.COUNT),
        "certain": Quantity(certain, Unit.COUNT),
    }
    del result.rows[rows:]
    damaged, result.notes = result.notes, []
    if total:
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        result.summary = (
            "{names} named tensors have other storage than the one that {graphs} graphs use; "
            "certain: {certain} of {found}."
        )
        result.notes += [WHY, SURE]
    else:
        result.summary = "Every name that was followed leads to the storage that graphs use."
    result.notes += [UNNAMED, *damaged]
    for later in followed:
        result.notes += [text for text in later.snapshot.notes if text.startswith("Names were")]
    if moved:
        add_blindness(result, found, recording.metadata.started_unix_ns)
    return result


def _surest(pointers: list[Pointer], address: int) -> Pointer | None:
    """Return the pointer that is surest to be one to a storage."""
    return min(
        pointers,
        key=lambda pointer: (pointer.word.guess, pointer.word.address != address),
        default=None,
    )


def _row(
    key: str, item: Rebound, memory: Memory, later: Later, held: Pointing | None
) -> tuple[tuple[Cell, ...], bool]:
    """Return the row of a name, and whether it is certain."""
    rebinds = later.snapshot.rebinds
    assert rebinds is not None
    address, new = rebinds.address[item.row], rebinds.new_address[item.row]
    pointers = held.by_start.get(item.place.start, []) if held is not None else []
    first = _surest(pointers, address)
    exact = first is not None and (not first.word.guess or first.word.address == address)
    confidence = item.confidence
    if confidence == "certain" and not exact:
        confidence = "likely"
    row = (
        key,
        first.word.node if first is not None else None,
        held.name_of(first.word.node) if first is not None and held is not None else "",
        argument_of(first) if first is not None else "",
        rebinds.name[item.row],
        f"0x{address:x}",
        f"0x{new:x}" if new else "on no CUDA device",
        rebinds.size_bytes[item.row],
        item.fate.what if item.fate is not None else "still allocated",
        item.replays,
        len({pointer.word.node for pointer in pointers}) if held is not None else None,
        confidence,
        item.fate.freed_at if item.fate is not None else "",
        allocated_at(later.snapshot, rebinds.stack[item.row]),
        allocated_at(memory, item.place.stack),
    )
    return row, confidence == "certain"


ANALYSIS = Analysis(
    name="rebound_storage",
    title="Tensors with other storage than the captured one",
    description="Which weights, buffers, states and inputs no longer are what a graph uses.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(rows_argument(),),
    finding=True,
)
