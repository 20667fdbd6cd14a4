"""Finding: allocation nodes whose memory outlives a launch, and frees of memory from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..model import Graph
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("type", Unit.TEXT),
    Column("address", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("what", Unit.TEXT),
    Column("confidence", Unit.TEXT),
]
UNFREED, FOREIGN, TWICE = (
    "never freed in the graph",
    "freed here, allocated elsewhere",
    "freed twice in the graph",
)
WHY = (
    "What a graph allocates and does not free stays allocated after its launch: launching the "
    "executable again fails, unless the memory was freed in between or the executable was "
    "instantiated with CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH. torch sets that flag: each "
    "replay then frees what the one before allocated, so that addresses kept from a replay are "
    "stale after the next. Free inside the capture (cudaFreeAsync), or allocate before it."
)
FOREIGN_WHY = (
    "Memory that the graph frees and does not allocate is gone after the first launch: every other "
    "launch frees it again, which fails unless it was allocated again in between. Free where the "
    "memory was allocated."
)
ONCE = (
    "While an executable of a graph with memory nodes exists, the graph cannot be instantiated a "
    "second time, and such a graph can be neither cloned nor copied into another as a child."
)


class _Use(NamedTuple):
    node: str
    type: str
    address: int
    size_bytes: int | None


def _uses(graph: Graph) -> Iterator[_Use]:
    for path, level in graph.walk():
        for position, type_ in enumerate(level.topology.types):
            payload = level.payloads[position]
            if type_ in ("mem_alloc", "mem_free") and payload is not None and payload.address:
                node = f"{path}/{position}" if path else str(position)
                yield _Use(node, type_, payload.address, getattr(payload, "size_bytes", None))


def run(subject: Subject) -> Result:
    """Match allocations with frees by their address. O(nodes), bodies included.

    Notes
    -----
    CUDA C++ Programming Guide, *Graph memory nodes*, and ``cuGraphInstantiate``.
    """
    prefix = f"{subject.path}/" if subject.path else ""
    uses = list(_uses(subject.graph))
    # An address that was freed may be handed out again in the same graph.
    open_: dict[int, _Use] = {}
    unfreed: list[_Use] = []
    known: set[int] = set()
    found: list[tuple[_Use, str]] = []
    for use in uses:
        if use.type == "mem_alloc":
            if use.address in open_:
                unfreed.append(open_[use.address])
            open_[use.address] = use
            known.add(use.address)
        elif open_.pop(use.address, None) is None:
            found.append((use, TWICE if use.address in known else FOREIGN))
            known.add(use.address)
    unfreed += open_.values()
    found += [(use, UNFREED) for use in unfreed]
    unread = sum(
        type_ in ("mem_alloc", "mem_free") and payload is None
        for _, level in subject.graph.walk()
        for type_, payload in zip(level.topology.types, level.payloads, strict=True)
    )
    if unread and not found:
        return Result.absent(f"{unread} memory nodes were not read: what they free is not known")
    result = Result(
        columns=COLUMNS,
        mark_name="allocating or freeing beyond one launch",
        figures={
            "nodes": Quantity(len(uses), Unit.COUNT),
            "unfreed": Quantity(len(unfreed), Unit.COUNT),
            "unfreed_bytes": Quantity(sum(use.size_bytes or 0 for use in unfreed), Unit.BYTES),
            "others": Quantity(len(found) - len(unfreed), Unit.COUNT),
        },
    )
    for use, what in found:
        row: tuple[Cell, ...] = (
            f"{prefix}{use.node}",
            use.type,
            f"0x{use.address:x}",
            use.size_bytes,
            what,
            "certain",
        )
        result.rows.append(row)
    result.node_marks = sorted({int(use.node.partition("/")[0]) for use, _ in found})
    if not uses:
        result.summary = "The graph neither allocates nor frees memory."
        return result
    if not found:
        result.summary = "The graph frees all that it allocates, in {nodes} memory nodes."
    else:
        result.summary = (
            "The graph allocates {unfreed_bytes} that it does not free, in {unfreed} nodes, and "
            "{others} of its nodes free memory that is not theirs to free."
            if len(found) > len(unfreed)
            else "The graph allocates {unfreed_bytes} that it does not free, in {unfreed} nodes."
        )
        # torch frees what was left over; what is freed a second time fails whoever launches.
        result.severity = Severity.WARNING if len(found) > len(unfreed) else Severity.NOTICE
        if unfreed:
            result.notes.append(WHY)
        if len(found) > len(unfreed):
            result.notes.append(FOREIGN_WHY)
    result.notes.append(ONCE)
    return result


ANALYSIS = Analysis(
    name="memory_nodes",
    title="Memory nodes without a counterpart",
    description="Which allocation nodes make a second launch or a second instantiate fail.",
    run=run,
    finding=True,
)
