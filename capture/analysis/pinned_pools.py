"""Finding: a private pool whose graphs are gone, kept by outputs that are still alive."""

from __future__ import annotations

from collections.abc import Mapping

from ..memory.pointers import Memories
from ..memory.sums import pool_sums
from ..memory_map import COMMON_POOL, Snapshot
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
    NO_GRAPHS,
    Later,
    captured_us,
    device_of,
    laters,
    memories,
    without_memory,
)
from .pointed_at import allocated_at
from .pointing import (
    pointing,
)
from .replayed import Replays
from .workspaces import sizes_of, users

COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("node", Unit.NODE),
    Column("kernel", Unit.TEXT),
    Column("pool", Unit.TEXT),
    Column("pool holds", Unit.BYTES),
    Column("block", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("name", Unit.TEXT),
    Column("kind", Unit.TEXT),
    Column("confidence", Unit.TEXT),
    Column("allocated at", Unit.TEXT),
]
MAX_OPENED = 200
"""Graphs whose nodes are looked at, for the one that writes a block."""
WHY = (
    "A pool goes back to the driver when its graphs are gone and nothing in it is allocated: one "
    "small tensor that a graph returned keeps all of its pool, temporaries included. Clone what is "
    "to be kept before the graph goes, or take its numbers with item() or cpu(), and drop the rest."
)

MEASURED = (
    "Pools of graphs that were replayed again to be measured are left out: measuring keeps memory."
)

Pool = tuple[int, int]


def _gone_pools(recording: Recording, process: int, replays: Replays) -> dict[Pool, list[str]]:
    """Return the pools of a process whose graphs were all reset or destroyed, with those graphs."""
    users: dict[Pool, list[str]] = {}
    for key, info in recording.graphs.items():
        if info.pool not in (None, COMMON_POOL) and (info.process or 0) == process:
            assert info.pool is not None
            users.setdefault(info.pool, []).append(key)
    measured = set(recording.benchmarked)
    return {
        pool: keys
        for pool, keys in users.items()
        if all(replays.is_gone(key) for key in keys) and measured.isdisjoint(keys)
    }


def _kept(snapshot: Snapshot, pools: Mapping[Pool, list[str]]) -> dict[int, Pool]:
    """Return the blocks of pools that are allocated, by index."""
    blocks, segments = snapshot.blocks, snapshot.segments
    found: dict[int, Pool] = {}
    if blocks is None or segments is None:
        return found
    for at, state in enumerate(blocks.state):
        if state == ALLOCATED:
            pool = snapshot.pools[segments.pool[blocks.segment[at]]]
            if pool in pools:
                found[at] = pool
    return found


def _owners(
    recording: Recording,
    process: int,
    kept: set[tuple[Pool, int]],
    later: Later,
    damaged: list[str],
) -> dict[tuple[Pool, int], str]:
    """Return the first graph after whose capture a block was there that was not freed since."""
    found: dict[tuple[Pool, int], str] = {}
    for key, memory in memories(recording, damaged):
        blocks, segments = memory.blocks, memory.segments
        if (recording.graphs[key].process or 0) != process or blocks is None or segments is None:
            continue
        since = captured_us(memory)
        for at, address in enumerate(blocks.address):
            block = memory.pools[segments.pool[blocks.segment[at]]], address
            if block not in kept or block in found or blocks.state[at] != ALLOCATED:
                continue
            if later.fate(address, device_of(memory, at), since) is None:
                found[block] = key
    return found


def run(recording: Recording, rows: int = 1000) -> Result:
    """Look for private pools at the end of processes that no graph needs any more.

    Notes
    -----
    Linear in graphs and in blocks; of the graphs of such pools the first `MAX_OPENED` are opened.
    """
    result = Result(columns=COLUMNS)
    found = laters(recording, result.notes)
    if not found:
        return without_memory(recording, result.notes)
    if not recording.graphs:
        return Result.absent(NO_GRAPHS)
    if recording.benchmarked:
        result.notes.append(MEASURED)
    replays = Replays(recording)
    pools = blocks = reserved = allocated = workspaces = 0
    for process, later in found.items():
        snapshot = later.snapshot
        gone = _gone_pools(recording, process, replays)
        kept = _kept(snapshot, gone)
        if not kept or snapshot.blocks is None:
            continue
        held = {row.pool: row.reserved_bytes for row in pool_sums(snapshot)}
        places = {(pool, snapshot.blocks.address[at]) for at, pool in kept.items()}
        owners = _owners(recording, process, places, later, result.notes)
        names = Memories(snapshot)
        uses = _uses(recording, owners, result.notes)
        kept = {
            at: pool
            for at, pool in kept.items()
            if not _is_workspace(snapshot, at, names, sizes_of(later), uses)
        }
        workspaces += len(places) - len(kept)
        pinned = set(kept.values())
        pools += len(pinned)
        blocks += len(kept)
        reserved += sum(held.get(pool, 0) for pool in pinned)
        allocated += sum(snapshot.blocks.size_bytes[at] for at in kept)
        for at, pool in kept.items():
            block = pool, snapshot.blocks.address[at]
            key = owners.get(block, gone[pool][0])
            use = uses.get(block)
            cells = (*(use[:2] if use else (None, "")), *_row(at, snapshot, names))
            place = f"{pool[0]}, {pool[1]}"
            result.rows.append((key, *cells[:2], place, held.get(pool), *cells[2:]))
    result.rows.sort(key=lambda row: -(row[4] if isinstance(row[4], int) else 0))
    result.figures = {
        "pools": Quantity(pools, Unit.COUNT),
        "blocks": Quantity(blocks, Unit.COUNT),
        "reserved": Quantity(reserved, Unit.BYTES),
        "allocated": Quantity(allocated, Unit.BYTES),
        "workspaces": Quantity(workspaces, Unit.COUNT),
    }
    del result.rows[rows:]
    if pools:
        result.severity = Severity.NOTICE
        result.summary = (
            f"{{pools}} private pool{'s' if pools != 1 else ''} whose graphs are gone still "
            f"hold{'' if pools != 1 else 's'} {{reserved}}, because {{allocated}} of it in "
            f"{{blocks}} block{'s' if blocks != 1 else ''} are allocated."
        )
        result.notes.insert(0, WHY)
    else:
        result.summary = "No private pool was kept by outputs of graphs that are gone."
    if workspaces:
        result.notes.append(
            "{workspaces} blocks that are kept look like workspaces of cuBLAS, which torch keeps "
            "for later products: they do not count."
        )
    return result


def _uses(
    recording: Recording, owners: Mapping[tuple[Pool, int], str], problems: list[str]
) -> dict[tuple[Pool, int], tuple[str | None, str, bool]]:
    """Return the last node that points at each block, its name, and whether only products do."""
    blocks: dict[str, list[tuple[Pool, int]]] = {}
    for block, key in owners.items():
        blocks.setdefault(key, []).append(block)
    found: dict[tuple[Pool, int], tuple[str | None, str, bool]] = {}
    for key in list(blocks)[:MAX_OPENED]:
        memory = recording.evidence("memory", key, keep=False)
        held = pointing(recording, key, memory, problems)
        for block in blocks[key] if held is not None else ():
            assert held is not None
            pointers = held.by_start.get(block[1], [])
            node = pointers[-1].word.node if pointers else None
            name = held.name_of(node) if node is not None else ""
            found[block] = node, name, users(held, block[1]) is not None
    return found


def _is_workspace(
    snapshot: Snapshot,
    at: int,
    names: Memories,
    sizes: tuple[int, ...],
    uses: Mapping[tuple[Pool, int], tuple[str | None, str, bool]],
) -> bool:
    """Say whether a block has the size of a workspace, no name, and only products point at it."""
    blocks, segments = snapshot.blocks, snapshot.segments
    assert blocks is not None
    assert segments is not None
    requested = blocks.requested_bytes[at] if blocks.requested_bytes else blocks.size_bytes[at]
    address = blocks.address[at]
    if requested not in sizes or names.name_at(address):
        return False
    use = uses.get((snapshot.pools[segments.pool[blocks.segment[at]]], address))
    return use is not None and use[2]


def _row(at: int, snapshot: Snapshot, names: Memories) -> tuple[Cell, ...]:
    """Return the cells of a block: address, size, name, kind, confidence, line."""
    blocks = snapshot.blocks
    assert blocks is not None
    address = blocks.address[at]
    name = names.name_at(address)
    return (
        f"0x{address:x}",
        blocks.size_bytes[at],
        name,
        "" if name else "tensor without a name",
        "certain",
        allocated_at(snapshot, blocks.stack[at] if blocks.stack else -1),
    )


ANALYSIS = Analysis(
    name="pinned_pools",
    title="Pools kept by outputs",
    description="Which private pools outlive their graphs because something in them is kept.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(rows_argument("blocks"),),
    finding=True,
)
