"""What each node of a graph writes: a clone is run node by node, and memory compared."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise
from time import perf_counter_ns as clock

from ...memory.addresses import Block, BlockMap
from ...memory.words import words
from ...model import Graph
from ...writes import Watched, Writes
from .memory_changes import Chunks, HostCompare, WatchedMemory
from .node_steps import NodeSteps
from .saved_state import Region
from .setup import Budget, Setup

ELSEWHERE = -1
"""In place of a position: what changed although the node that ran does not point into it."""
MOST_RANGES = 256
"""Of one node; more are joined where the gaps are smallest."""
FILLS = (0, 1)
"""What bytes of temporaries are before the first and the second time."""
HOW = (
    "a clone was run node by node, and the blocks that each node points into were compared before "
    "and after it"
)
EQUAL = (
    "Bytes that a node wrote with the values that they had are not seen: the lack of a range does "
    "not prove that nothing was written. All nodes were run twice, with memory that lives only "
    "within a replay filled with two different values before; what was allocated during the "
    "capture was cleared once. Other memory, such as inputs, was as the script left it."
)


def regions_of(graph: Graph, memory: BlockMap) -> dict[str, list[Region]]:
    """Return the memory that each node points into, by path."""
    found: dict[str, dict[Region, None]] = {}
    for word in words(graph):
        block = memory.find(word.address)
        if block is not None:
            found.setdefault(word.node, {})[Region(*block)] = None
    return {node: list(regions) for node, regions in found.items()}


def watchable(setup: Setup) -> BlockMap:
    """Return the memory that is saved, each part as one that nodes write independently.

    Blocks, allocations of others, and of private pools what lies side by side.
    """
    left_out = {setup.spans.find(region.start) for region in setup.state.left_out}
    spans = [span for span in setup.spans.blocks if span not in left_out]
    single = [one for one in setup.state.regions if setup.spans.find(one.start) is None]
    return BlockMap([*spans, *(Block(*region) for region in single)])


def measure(
    setup: Setup,
    found: Writes,
    memory: BlockMap,
    budget: Budget,
    temporaries: Collection[Region] = (),
    outputs: Collection[Region] = (),
    comparing: Callable[[HostCompare], Chunks] = lambda host: host,
) -> None:
    """Run every node of a graph and note what it changes.

    Parameters
    ----------
    setup : Setup
        With the memory saved; it is put back by whoever made it.
    found : Writes
        Gets rows, and notes on what was not watched.
    memory : BlockMap
        What is watched, see :func:`watchable`.
    budget : Budget
    temporaries : collection of Region
        Blocks whose contents matter only within a replay.
    outputs : collection of Region
        Blocks that were allocated while the graph was captured, and are not free: cleared once.
    comparing : callable, optional
        Returns what compares faster than the host.

    Raises
    ------
    DriverError
        The device refused or failed.
    HungError
        A node does not end.
    """
    start = clock()
    driver = setup.driver
    steps = NodeSteps(driver, setup.graph, setup.clone, setup.nodes)
    by_node = _by_position(regions_of(setup.graph, memory))
    every = sorted({region for regions in by_node.values() for region in regions})
    host = HostCompare(driver)
    watched: WatchedMemory | None = None
    rows: dict[int, list[Region]] = {}
    ran: set[int] = set(steps.order)
    try:
        watched = WatchedMemory(driver, every, host, comparing(host))
        for fill in FILLS:
            part = budget.part(1 if fill == FILLS[-1] else 0.5)
            blank = {*temporaries, *outputs} if fill == FILLS[0] else set(temporaries)
            reached = _walk(setup, steps, by_node, watched, blank, fill, part, rows)
            ran &= reached
        _explain(found, watched, setup.state.left_out, len(ran), len(steps.order))
    finally:
        if not setup.watch.hung:
            if watched is not None:
                watched.close()
            host.close()
    joined = 0
    for position in steps.order:
        ranges = merged(rows.get(position, ()))
        joined += len(ranges) > MOST_RANGES
        for region in fewest(ranges, MOST_RANGES):
            found.node.append(str(position))
            found.address.append(region.start)
            found.size_bytes.append(region.size_bytes)
    if joined:
        found.notes.append(
            f"{joined} nodes changed more than {MOST_RANGES} ranges each: the nearest were joined"
        )
    elsewhere = sum(region.size_bytes for region in merged(rows.get(ELSEWHERE, ())))
    if elsewhere:
        found.notes.append(
            f"{elsewhere:,} bytes were changed by nodes that do not hold their addresses "
            f"themselves, such as through a table: which nodes is not known"
        )
    found.ran = [str(position) for position in steps.order if position in ran]
    found.watched = Watched(
        address=[region.start for region in watched.regions],
        size_bytes=[region.size_bytes for region in watched.regions],
    )
    found.cost_ns = clock() - start


def _by_position(regions: dict[str, list[Region]]) -> dict[int, list[Region]]:
    """Give what nodes of a child graph point into to the node that holds it."""
    found: dict[int, dict[Region, None]] = {}
    for path, held in regions.items():
        found.setdefault(int(path.partition("/")[0]), {}).update(dict.fromkeys(held))
    return {position: list(held) for position, held in found.items()}


def _walk(
    setup: Setup,
    steps: NodeSteps,
    by_node: dict[int, list[Region]],
    watched: WatchedMemory,
    blank: Collection[Region],
    fill: int,
    budget: Budget,
    rows: dict[int, list[Region]],
) -> set[int]:
    """Run all nodes in order; add what changed to `rows`, return the positions that ran."""
    setup.restore(always=True)
    known = BlockMap(Block(*region) for region in watched.regions)
    for region in blank:
        if known.find(region.start) is not None:
            setup.driver.fill(region.start, region.size_bytes, fill, setup.watch.stream)
    setup.watch.idle()
    watched.take()
    ran: set[int] = set()
    for position in steps.order:
        if not budget:
            break
        near = by_node.get(position, ())
        # Whatever a node wrote that does not point there itself is not this one's.
        rows.setdefault(ELSEWHERE, []).extend(watched.changed(near))
        executable = steps.single(position)
        try:
            setup.driver.launch(executable, setup.watch.stream)
            setup.watch.idle()
        finally:
            setup.discard(setup.driver.destroy_executable, executable)
        ran.add(position)
        rows.setdefault(position, []).extend(watched.changed(near))
    else:
        rows.setdefault(ELSEWHERE, []).extend(watched.changed(watched.regions))
    return ran


def _explain(
    found: Writes, watched: WatchedMemory, unsaved: Collection[Region], ran: int, count: int
) -> None:
    found.how.append(HOW)
    found.notes.append(EQUAL)
    if ran < count:
        found.notes.append(f"{ran} of {count} nodes were watched twice: the time was up")
    left = {*watched.left_out, *unsaved}
    if left:
        size = sum(region.size_bytes for region in left)
        found.notes.append(
            f"{len(left)} blocks of {size >> 20:,} MiB together were not watched: there was no "
            f"room for a copy of them"
        )


def merged(ranges: Collection[Region]) -> list[Region]:
    """Return ranges by address, with those that touch as one.

    Examples
    --------
    >>> merged([Region(8, 4), Region(0, 9)])
    [Region(start=0, size_bytes=12)]
    """
    found: list[Region] = []
    for region in sorted(ranges):
        if found and region.start <= found[-1].start + found[-1].size_bytes:
            end = max(found[-1].start + found[-1].size_bytes, region.start + region.size_bytes)
            found[-1] = Region(found[-1].start, end - found[-1].start)
        else:
            found.append(region)
    return found


def fewest(ranges: list[Region], most: int) -> list[Region]:
    """Return ranges of which no more than `most` are left, joined where gaps are smallest.

    Examples
    --------
    >>> fewest([Region(0, 1), Region(2, 1), Region(9, 1)], 2)
    [Region(start=0, size_bytes=3), Region(start=9, size_bytes=1)]
    """
    if len(ranges) <= most:
        return ranges
    gaps = [
        (after.start - before.start - before.size_bytes, number)
        for number, (before, after) in enumerate(pairwise(ranges))
    ]
    closed = {number for _, number in sorted(gaps)[: len(ranges) - most]}
    found = [ranges[0]]
    for number, region in enumerate(ranges[1:]):
        if number in closed:
            start = found[-1].start
            found[-1] = Region(start, region.start + region.size_bytes - start)
        else:
            found.append(region)
    return found
