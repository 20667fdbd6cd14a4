"""Bytes by pool at each mark, beside what torch counts, and over graphs of a recording. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..memory_map import COMMON_POOL, STATES, Memory, MemoryMap
from .pointers import Place

_FREE = STATES.index("free")


class PoolSum(NamedTuple):
    """Bytes of a pool at a mark."""

    mark: int
    device: int
    pool: tuple[int, int]
    segments: int
    reserved_bytes: int
    allocated_bytes: int
    active_bytes: int
    requested_bytes: int
    largest_free_bytes: int

    @property
    def free_bytes(self) -> int:
        """Reserved, and neither allocated nor waiting for a stream."""
        return self.reserved_bytes - self.active_bytes

    @property
    def fragmentation(self) -> float | None:
        """Share of the free bytes that the largest free block is not; ``None`` if none is free."""
        if self.free_bytes <= 0:
            return None
        return 1 - self.largest_free_bytes / self.free_bytes


def pool_sums(memory: MemoryMap) -> list[PoolSum]:
    """Return the sums of every pool at every mark."""
    sums = memory.sums
    if sums is None:
        return []
    return [
        PoolSum(mark, device, memory.pools[pool], *rest)
        for mark, device, pool, *rest in zip(
            sums.mark,
            sums.device,
            sums.pool,
            sums.segments,
            sums.reserved_bytes,
            sums.allocated_bytes,
            sums.active_bytes,
            sums.requested_bytes,
            sums.largest_free_bytes,
            strict=True,
        )
    ]


class Difference(NamedTuple):
    """What torch counts at a mark on a device, and what its segments and blocks add up to."""

    mark: int
    device: int
    what: str
    """``"reserved"``, ``"allocated"``, ``"active"`` or ``"requested"``."""
    torch_bytes: int
    summed_bytes: int


def against_torch(memory: MemoryMap) -> list[Difference]:
    """Return torch's counters beside our sums, for every counter that is known."""
    found = []
    rows = pool_sums(memory)
    for counters in memory.counters:
        here = [row for row in rows if row.mark == counters.mark and row.device == counters.device]
        for what in ("reserved", "allocated", "active", "requested"):
            counted = getattr(counters, f"{what}_bytes")
            if counted is not None:
                summed = sum(getattr(row, f"{what}_bytes") for row in here)
                found.append(Difference(counters.mark, counters.device, what, counted, summed))
    return found


class Step(NamedTuple):
    """What one capture did to memory: a step of the waterfall over a recording."""

    graph: str
    pool: tuple[int, int] | None
    before_bytes: int
    """Reserved on the graph's device, all pools, before its capture."""
    after_bytes: int
    added_bytes: int
    """Reserved more than before; negative where the capture gave memory back."""
    pool_before_bytes: int
    """Reserved in its own pool before: what it could reuse."""
    pool_after_bytes: int
    kept_bytes: int
    """Allocated in its pool after the capture: outputs and what else is still alive."""


def step(memory: Memory) -> Step | None:
    """Return what a capture did to memory; ``None`` without sums before and after it."""
    if len(memory.marks) < 2:
        return None
    last = len(memory.marks) - 1
    rows = [row for row in pool_sums(memory) if memory.device in (None, row.device)]

    def total(mark: int, name: str, own: bool = False) -> int:
        return sum(
            getattr(row, name)
            for row in rows
            if row.mark == mark and (not own or row.pool == memory.pool)
        )

    before, after = total(0, "reserved_bytes"), total(last, "reserved_bytes")
    return Step(
        memory.graph,
        memory.pool,
        before,
        after,
        after - before,
        total(0, "reserved_bytes", own=True),
        total(last, "reserved_bytes", own=True),
        total(last, "allocated_bytes", own=True),
    )


class Share(NamedTuple):
    """Distinct blocks of one kind that a graph's nodes point into."""

    kind: str
    """Such as ``"own pool, kept"``, ``"common"``, ``"free"`` or ``"outside torch, host"``."""
    blocks: int
    size_bytes: int


def shares(memory: Memory, places: Iterable[Place]) -> list[Share]:
    """Return what memory a graph's nodes point into, by who holds it; largest first."""
    seen: dict[tuple[str, int], int] = {}
    for place in places:
        if place.kind == "block":
            if place.pool == memory.pool:
                kind = "own pool, temporary" if place.state == STATES[_FREE] else "own pool, kept"
            elif place.state == STATES[_FREE]:
                kind = "free"
            elif place.pool == COMMON_POOL:
                kind = "common"
            else:
                kind = "other pool"
        elif place.kind == "graph":
            kind = "allocated by the graph"
        elif place.kind == "outside":
            kind = f"outside torch, {place.state}"
        elif place.kind == "host":
            kind = "pageable"
        else:
            continue
        seen[kind, place.start] = place.size_bytes
    found: dict[str, list[int]] = {}
    for (kind, _), size in seen.items():
        found.setdefault(kind, []).append(size)
    rows = [Share(kind, len(sizes), sum(sizes)) for kind, sizes in found.items()]
    return sorted(rows, key=lambda row: -row.size_bytes)
