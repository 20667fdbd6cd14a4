"""What became, after captures, of the memory that graphs point into. Shared by findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..memory.pointers import Memories
from ..memory_after import Blind
from ..memory_map import STATES, Memory, MemoryMap, Snapshot
from ..model import Recording
from .absent import NO_MEMORY
from .base import Quantity, Result, Unit
from .pointed_at import allocated_at
from .stored import OF_GRAPH, OF_PROCESS, readable

ALLOCATED = STATES.index("allocated")
SHOWN_BLIND = 3
"""Times without sight that are told one by one."""
NO_HISTORY = (
    "Frees were not followed, because torch's memory history was off: memory was only compared at "
    "captures and at the end, so a block that was freed and handed out again unnoticed is missed, "
    "and it is not known what freed a block, or when. Record with --memory-stacks."
)
OLD = "Frees were not followed in this recording: only its end is compared with its captures."
NO_GRAPHS = "no graph is known of this memory, so it cannot be told whose it was"
OUTSIDE = (
    "{outside} graphs point into memory outside torch's allocator: it is only asked at the end "
    "whether CUDA still has it, and what another library's pool does with it is not seen."
)


class Fate(NamedTuple):
    """What became of a block after a capture."""

    row: int
    """Of the process's `frees`; -1 where only its end is known."""
    freed_us: float
    after_us: float
    """When it was last known to be allocated; `freed_us` where the free itself was seen."""
    what: str
    """``"free"``, ``"handed out again"`` or ``"given back to the driver"``."""
    freed_at: str = ""
    used_at: str = ""
    """What has this memory since."""

    @property
    def is_seen(self) -> bool:
        """Whether it is known when it was freed."""
        return self.row >= 0 and self.after_us == self.freed_us


class Later:
    """What a process's snapshot tells of the time after captures.

    Parameters
    ----------
    snapshot : Snapshot
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.after = snapshot.after
        self._rows: dict[int, list[int]] = {}
        frees = snapshot.frees
        for row, address in enumerate(frees.address if frees is not None else ()):
            self._rows.setdefault(address, []).append(row)
        self._end = Memories(snapshot) if self.after is None else None

    def fate(self, address: int, device: int, captured_us: float) -> Fate | None:
        """Return what became of a block; ``None`` while nothing is known to have.

        Parameters
        ----------
        address : int
            Where it starts.
        device : int
        captured_us : float
            When the capture that points into it had ended.
        """
        if self._end is not None:
            place = self._end.find(address)
            end_us = float(self.snapshot.marks[-1].unix_us or 0) if self.snapshot.marks else 0.0
            if place.kind == "block" and place.state != "free":
                return None
            what = "free" if place.kind == "block" else "given back to the driver"
            return Fate(-1, end_us, captured_us, what)
        frees = self.snapshot.frees
        for row in self._rows.get(address, ()):
            assert frees is not None
            if frees.device[row] != device or frees.freed_us[row] < captured_us:
                continue
            what = "free"
            if frees.reused_us[row]:
                what = "handed out again"
            elif frees.returned_us[row]:
                what = "given back to the driver"
            return Fate(
                row,
                frees.freed_us[row],
                frees.after_us[row],
                what,
                allocated_at(self.snapshot, frees.stack[row]),
                allocated_at(self.snapshot, frees.reused_stack[row]),
            )
        return None


def laters(recording: Recording, damaged: list[str]) -> dict[int, Later]:
    """Return what snapshots of processes tell, by process."""
    found = {}
    snapshot: Snapshot
    for owner, snapshot in readable(recording, "snapshots", damaged, OF_PROCESS):
        if owner.isdecimal() and snapshot.segments is not None:
            found[int(owner)] = Later(snapshot)
    return found


def captured_us(memory: Memory) -> float:
    """Return when a graph's memory was looked at after its capture."""
    mark = memory.marks[-1] if memory.marks else None
    if mark is None or mark.unix_us is None:
        return 0.0
    # The mark is made when looking is done; frees count from when it began.
    return mark.unix_us - (mark.cost_ns or 0) / 1000


def in_own_pool(memory: Memory, block: int) -> bool:
    """Say whether a block lies in the pool of the graph."""
    assert memory.segments is not None
    assert memory.blocks is not None
    return memory.pools[memory.segments.pool[memory.blocks.segment[block]]] == memory.pool


def in_private_pool(memory: Memory, block: int) -> bool:
    """Say whether a block lies in a private pool, of whichever graph."""
    assert memory.segments is not None
    assert memory.blocks is not None
    return memory.pools[memory.segments.pool[memory.blocks.segment[block]]] != (0, 0)


def device_of(memory: MemoryMap, block: int) -> int:
    """Return the device that a block lies on."""
    assert memory.segments is not None
    assert memory.blocks is not None
    segment = memory.blocks.segment[block]
    return memory.segments.device[segment] if memory.segments.device else 0


def add_blindness(result: Result, found: dict[int, Later], start_ns: int | None) -> None:
    """Say from when to when frees were not seen, and why."""
    told: list[str] = []
    spans: list[Blind] = []
    followed_us = 0
    for later in found.values():
        after = later.after
        if after is None:
            told.append(OLD)
            continue
        if after.how == "looks":
            told.append(NO_HISTORY)
            continue
        spans.extend(after.blind)
        if after.from_us is not None and after.until_us is not None:
            followed_us += after.until_us - after.from_us
    result.notes.extend(dict.fromkeys(told))
    if not spans:
        return
    result.figures["followed"] = Quantity(followed_us * 1000, Unit.NS)
    for place, span in enumerate(spans[:SHOWN_BLIND]):
        begin = span.from_us * 1000 - (start_ns or 0)
        result.figures[f"blind_from_{place}"] = Quantity(begin, Unit.NS)
        length = (span.until_us - span.from_us) * 1000
        result.figures[f"blind_for_{place}"] = Quantity(length, Unit.NS)
        result.notes.append(
            f"Frees were not seen for {{blind_for_{place}}} from {{blind_from_{place}}} after the "
            f"recording began: {span.reason}. What was freed and handed out again then is missed."
        )
    if len(spans) > SHOWN_BLIND:
        rest = sum(span.until_us - span.from_us for span in spans[SHOWN_BLIND:])
        result.figures["blind_rest"] = Quantity(rest * 1000, Unit.NS)
        result.notes.append(
            f"The same for {len(spans) - SHOWN_BLIND} other times, {{blind_rest}} together."
        )


def without_memory(recording: Recording, damaged: list[str]) -> Result:
    """Return the result where no graph has memory to look at: damaged, or absent with its reason.

    Parameters
    ----------
    recording : Recording
    damaged : list of str
        What :func:`memories` or :func:`laters` could not read, each as a sentence.
    """
    if damaged:
        return Result.absent(damaged[0].rstrip("."))
    for info in recording.graphs.values():
        evidence = info.evidence.get("memory")
        if evidence is not None and not evidence.present and evidence.reason:
            return Result.absent(evidence.reason)
    return Result.absent(NO_MEMORY)


def memories(recording: Recording, damaged: list[str]) -> Iterator[tuple[str, Memory]]:
    """Yield graphs with their memory, where it can be read; graphs that are not listed left out."""
    keys = [key for key in recording.stored("memory") if key in recording.graphs]
    memory: Memory
    for key, memory in readable(recording, "memory", damaged, OF_GRAPH, keys):
        if memory.blocks is not None and memory.segments is not None:
            yield key, memory
