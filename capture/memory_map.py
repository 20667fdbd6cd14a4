"""What an allocator held: segments, blocks, allocations and sums. Evidence of graphs and processes.

Every table has one array per field. Places in other tables are indices, -1 where nothing is known.
:class:`Memory` belongs to one graph and holds what that graph has to do with; :class:`Snapshot`
belongs to a process and holds all.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .memory_after import After, Frees, Rebinds

STATES = ("allocated", "awaiting_free", "free")
"""What the values of ``blocks.state`` mean: used; freed, but another stream may use it; free."""

ACTIONS = (
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "other",
)
"""What the values of ``events.action`` mean, as torch's memory history names them."""

PAGEABLE = "pageable"
"""Kind of ranges of ordinary memory of the process, which CUDA does not know."""

COMMON_POOL = (0, 0)
"""Of allocations outside any private pool."""

SEGMENT_COLUMNS = ("device", "address", "size_bytes", "pool", "stream", "small", "expandable")
BLOCK_COLUMNS = (
    "segment",
    "address",
    "size_bytes",
    "requested_bytes",
    "state",
    "stack",
    "pointed",
)
EVENT_COLUMNS = (
    "action",
    "device",
    "address",
    "size_bytes",
    "stream",
    "at_us",
    "stack",
    "nodes_before",
)
RANGE_COLUMNS = ("address", "size_bytes", "kind")
NAME_COLUMNS = ("address", "size_bytes", "name")
SUM_COLUMNS = (
    "mark",
    "device",
    "pool",
    "segments",
    "reserved_bytes",
    "allocated_bytes",
    "active_bytes",
    "requested_bytes",
    "largest_free_bytes",
)


class Segments(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Memory that the allocator took from the driver, by address."""

    device: list[int] = []
    address: list[int] = []
    size_bytes: list[int] = []
    pool: list[int] = []
    """Index into `pools`."""
    stream: list[int] = []
    """Handle."""
    small: list[int] = []
    """1 for blocks of at most 1 MiB."""
    expandable: list[int] = []


class Blocks(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Parts of segments, by address: what was handed out, and what is left."""

    segment: list[int] = []
    address: list[int] = []
    size_bytes: list[int] = []
    requested_bytes: list[int] = []
    state: list[int] = []
    """Index into :data:`STATES`."""
    stack: list[int] = []
    """Where it was allocated; -1 unless memory history was on."""
    pointed: list[int] = []
    """How many distinct addresses in it the graph's nodes hold, those that may be numbers too."""


class Events(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What torch's memory history says, in its order."""

    action: list[int] = []
    """Index into :data:`ACTIONS`."""
    device: list[int] = []
    address: list[int] = []
    size_bytes: list[int] = []
    stream: list[int] = []
    at_us: list[int] = []
    """Unix time."""
    stack: list[int] = []
    nodes_before: list[int] = []
    """How many nodes of the graph had been made, by the times of its operators."""


class Ranges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Memory outside torch's allocator that CUDA knew when it was asked, by address."""

    address: list[int] = []
    size_bytes: list[int] = []
    kind: list[str] = []
    """``"host"``, ``"device"``, ``"managed"``, ``"unknown"``, or :data:`PAGEABLE`."""


class Names(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What live tensors that have a name are stored in."""

    address: list[int] = []
    size_bytes: list[int] = []
    name: list[str] = []
    """Such as ``"Net: layers.0.weight"``."""


class Sums(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Bytes of every pool at every mark."""

    mark: list[int] = []
    """Index into `marks`."""
    device: list[int] = []
    pool: list[int] = []
    """Index into `pools`."""
    segments: list[int] = []
    reserved_bytes: list[int] = []
    allocated_bytes: list[int] = []
    active_bytes: list[int] = []
    """Allocated, or freed but waiting for another stream."""
    requested_bytes: list[int] = []
    """What was asked for before rounding."""
    largest_free_bytes: list[int] = []


class StackFrame(msgspec.Struct, frozen=True, array_like=True):
    """One line of a stack."""

    file: str
    line: int
    function: str


class Counters(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What torch and the driver themselves count of one device at a mark."""

    mark: int
    device: int
    reserved_bytes: int | None = None
    allocated_bytes: int | None = None
    active_bytes: int | None = None
    requested_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    """Since the process began, or since the script reset it."""
    peak_allocated_bytes: int | None = None
    driver_free_bytes: int | None = None
    driver_total_bytes: int | None = None


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A moment at which memory was looked at."""

    name: str
    """``"before capture"``, ``"after capture"`` or ``"end"``."""
    unix_us: int | None = None
    cost_ns: int | None = None


class MemoryMap(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What :class:`Memory` and :class:`Snapshot` have in common.

    Attributes
    ----------
    graph : str
        Key of the graph; empty for what belongs to a process.
    refused : str
        Why there is nothing, such as another allocator.
    how : list of str
    notes : list of str
        What is missing, each one sentence.
    backend : str
        ``"native"`` for torch's own allocator.
    history : str
        ``"off"``, ``"on"`` (the script's), or ``"switched on"`` (by the recording).
    pools : list of tuple of two int
        Ids of pools; ``(0, 0)`` is what belongs to no private pool.
    marks : list of Mark
        The last one is when `segments` and `blocks` were taken.
    frames, stacks
        Stacks are frames, innermost first.
    """

    graph: str = ""
    refused: str = ""
    how: list[str] = []
    notes: list[str] = []
    backend: str = ""
    history: str = ""
    pools: list[tuple[int, int]] = []
    marks: list[Mark] = []
    counters: list[Counters] = []
    sums: Sums | None = None
    segments: Segments | None = None
    blocks: Blocks | None = None
    events: Events | None = None
    names: Names | None = None
    frames: list[StackFrame] = []
    stacks: list[tuple[int, ...]] = []
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Memory(MemoryMap, kw_only=True, omit_defaults=True):
    """Memory of one graph, looked at before and after its capture.

    Attributes
    ----------
    pool : tuple of two int, or None
        The graph's own.
    device : int or None
    ranges : Ranges or None
        Where addresses of the graph lie outside torch's allocator.
    asked_ranges : bool
        Whether CUDA was asked about every such address.

    Notes
    -----
    `segments` and `blocks` are those of the graph's pool, and those that any of its nodes points
    into; `sums` are of all pools.
    """

    pool: tuple[int, int] | None = None
    device: int | None = None
    ranges: Ranges | None = None
    asked_ranges: bool = False


class Snapshot(MemoryMap, kw_only=True, omit_defaults=True):
    """Everything that torch's allocator held in one process, at its end or in a file.

    Attributes
    ----------
    process : str
        Index into the recording's processes, as text.
    after : After or None
        How captured graphs' memory was followed; ``None`` where it was not.
    frees, rebinds : Frees, Rebinds or None
        What became of it. Empty where it was followed and nothing happened.
    """

    process: str = ""
    after: After | None = None
    frees: Frees | None = None
    rebinds: Rebinds | None = None
