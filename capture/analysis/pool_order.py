"""Outputs of graphs that share a pool, and who replays over them. Shared by findings. Pure.

A graph's temporaries are free after its capture, so that a later capture of the pool may place its
outputs there: replaying the earlier graph then writes over the later one's outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..memory_map import STATES, Memory
from .later import ALLOCATED, Later, captured_us, device_of, in_own_pool
from .replayed import Run

MAX_PAIRS = 200_000
"""Pairs of an output and a graph that may write over it, per process."""
NO_TIME_US = 4.0
"""Between two replays of one thread: too short to launch anything that could read an output.

Measured on an H200: 0.8 to 2.4 us with nothing in between, from 7.2 us on with one copy.
"""
HARDLY_TIME_US = 16.0
"""The same where one of the graphs is replayed for the first time: 13 us with nothing in between,
119 us with the first copy, and perhaps 19 us with a copy that is not the first."""
_FREE = STATES.index("free")


class Output(NamedTuple):
    """A block that a graph's capture left allocated in its pool."""

    graph: str
    pool: tuple[int, int]
    block: int
    device: int
    address: int
    size_bytes: int
    since_us: float
    freed_us: float
    """Infinite while nothing says that it was freed."""


class Sharing(NamedTuple):
    """Outputs of one process with those graphs of their pools that concern them."""

    outputs: list[Output]
    over: dict[str, list[int]]
    """Outputs that may lie in a graph's temporaries, by graph."""
    of: dict[str, list[int]]
    """A graph's own outputs."""
    readers: dict[str, list[int]]
    """Outputs of others that a graph points into."""
    left_out: int


class Overwriting(NamedTuple):
    """An output that another graph's replay wrote over."""

    output: Output
    by: str
    read_by: str
    """The graph that was replayed on it afterwards; empty if none, and nothing else could be."""
    times: int
    sure: bool = True
    """Without a reader, whether there was surely no time to read it."""


def sharing(
    graphs: Iterable[tuple[str, Memory]], later: Later, workspaces: Sequence[int]
) -> Sharing:
    """Find outputs that may lie in temporaries of graphs captured before, without any nodes.

    Parameters
    ----------
    graphs : iterable of (str, Memory)
        Of one process.
    later : Later
        Of that process.
    workspaces : sequence of int
        Bytes that workspaces have, which are no outputs.
    """
    found = Sharing([], {}, {}, {}, 0)
    temporaries: dict[tuple[int, int], list[tuple[str, int, int]]] = {}
    owned: dict[tuple[tuple[int, int], int], int] = {}
    pairs = left_out = 0
    for key, memory in sorted(graphs, key=lambda item: captured_us(item[1])):
        blocks, pool = memory.blocks, memory.pool
        if blocks is None or memory.segments is None or pool is None or not blocks.pointed:
            continue
        since = captured_us(memory)
        before = temporaries.setdefault(pool, [])
        mine: list[tuple[str, int, int]] = []
        for at, address in enumerate(blocks.address):
            if not blocks.pointed[at]:
                continue
            if not in_own_pool(memory, at):
                elsewhere = memory.pools[memory.segments.pool[blocks.segment[at]]]
                known = owned.get((elsewhere, address))
                if known is not None and found.outputs[known].freed_us > since:
                    found.readers.setdefault(key, []).append(known)
                continue
            size = blocks.size_bytes[at]
            if blocks.state[at] == _FREE:
                mine.append((key, address, address + size))
                continue
            if blocks.state[at] != ALLOCATED:
                continue
            known = owned.get((pool, address))
            if known is not None and found.outputs[known].freed_us > since:
                found.readers.setdefault(key, []).append(known)
                continue
            if blocks.requested_bytes and blocks.requested_bytes[at] in workspaces:
                continue
            device = device_of(memory, at)
            fate = later.fate(address, device, since)
            freed_us = fate.freed_us if fate is not None else float("inf")
            number = len(found.outputs)
            owned[pool, address] = number
            found.outputs.append(Output(key, pool, at, device, address, size, since, freed_us))
            found.of.setdefault(key, []).append(number)
            writers = {
                other for other, start, end in before if start < address + size and address < end
            }
            if pairs + len(writers) > MAX_PAIRS:
                left_out += 1
                continue
            pairs += len(writers)
            for other in writers:
                found.over.setdefault(other, []).append(number)
        before += mine
    return found._replace(left_out=left_out)


def overwritings(found: Sharing, runs: Sequence[Run]) -> list[Overwriting]:
    """Walk through replays, and return outputs that were written over before they were read.

    That is certain of what another graph reads later. What reads outside of graphs is not seen:
    of that, only outputs are returned which after every replay of their graph were written over at
    once, so that nothing can have read them in between. An output comes once for each pair of
    graphs concerned, the most frequent first.

    Parameters
    ----------
    found : Sharing
    runs : sequence of Run
        Of the process, in order.

    Notes
    -----
    Linear in runs times the outputs that concern the graph replayed.
    """
    state: dict[int, str] = {}
    """Who wrote over an output since its graph was replayed; empty for nobody."""
    periods: dict[int, int] = {}
    at_once: dict[int, dict[str, int]] = {}
    doubtful: dict[int, dict[str, int]] = {}
    met: set[str] = set()
    read: dict[tuple[int, str, str], int] = {}
    previous: Run | None = None
    for run in runs:
        for number in found.over.get(run.graph, ()):
            output = found.outputs[number]
            if state.get(number) != "" or output.freed_us <= run.start_us:
                continue
            state[number] = run.graph
            if previous is None or previous.graph != output.graph or previous.thread != run.thread:
                continue
            gap_us = run.start_us - previous.end_us
            if gap_us < NO_TIME_US:
                counts = at_once.setdefault(number, {})
            elif gap_us < HARDLY_TIME_US and not (run.graph in met and periods[number] > 1):
                counts = doubtful.setdefault(number, {})
            else:
                continue
            counts[run.graph] = counts.get(run.graph, 0) + 1
        for number in found.readers.get(run.graph, ()):
            by = state.get(number)
            if by:
                place = number, by, run.graph
                read[place] = read.get(place, 0) + 1
        for number in found.of.get(run.graph, ()):
            state[number] = ""
            periods[number] = periods.get(number, 0) + 1
        met.add(run.graph)
        previous = run
    made = [
        Overwriting(found.outputs[number], by, reader, times)
        for (number, by, reader), times in sorted(read.items(), key=lambda item: -item[1])
    ]
    told = {number for number, _, _ in read}
    for number in {**at_once, **doubtful}:
        sure, unsure = at_once.get(number, {}), doubtful.get(number, {})
        count = sum(sure.values()) + sum(unsure.values())
        if number not in told and count == periods.get(number):
            counts = sure or unsure
            by = max(counts, key=lambda name: counts[name])
            made.append(Overwriting(found.outputs[number], by, "", counts[by], bool(sure)))
    return made
