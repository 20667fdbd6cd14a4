"""When each node could run: earliest and latest starts from durations and edges alone.

The critical path method (Kelley and Walker, 1959), with unlimited parallelism: whatever is ready
runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import NamedTuple

from .order import OrderedEdges
from .subject import Subject

_UNSET = -(1 << 62)
CYCLE = "the edges form a cycle, so the graph has no longest path; no driver launches such a graph"


class Schedule(NamedTuple):
    """Earliest times, all in nanoseconds from the start of the replay.

    Attributes
    ----------
    start : list of int
        Earliest start per position.
    via : list of int
        The predecessor that decides it; -1 for roots.
    length : int
        Of the longest path.
    last : int
        Position at the end of the longest path; -1 for an empty graph.
    """

    start: list[int]
    via: list[int]
    length: int
    last: int


def durations_or_zero(subject: Subject) -> list[int]:
    """Return durations by position, 0 for nodes that were not timed."""
    return [duration or 0 for duration in subject.durations]


def schedule(
    edges: OrderedEdges,
    durations: Sequence[int],
    gaps: Sequence[int] | None = None,
    root_gap: int = 0,
) -> Schedule:
    """Compute earliest starts.

    Parameters
    ----------
    edges : OrderedEdges
    durations : sequence of int
        Nanoseconds by position.
    gaps : sequence of int, optional
        Nanoseconds between the end of an edge's source and the start of its target, per edge.
    root_gap : int
        Start of nodes without predecessors.

    Notes
    -----
    O(nodes + edges).
    """
    count = len(durations)
    start = [root_gap] * count
    via = [-1] * count
    sources, targets, _ = edges
    for target in targets:
        start[target] = _UNSET
    # Two loops, because this one decides how long 100,000 nodes take.
    if gaps is None:
        for source, target in zip(sources, targets, strict=True):
            ready = start[source] + durations[source]
            if ready > start[target]:
                start[target] = ready
                via[target] = source
    else:
        for source, target, gap in zip(sources, targets, gaps, strict=True):
            ready = start[source] + durations[source] + gap
            if ready > start[target]:
                start[target] = ready
                via[target] = source
    if not count:
        return Schedule(start, via, 0, -1)
    ends = list(map(add, start, durations))
    length = max(ends)
    last = ends.index(length)
    if ends.count(length) > 1:
        # A sink, so that nodes of no duration at the end of the path belong to it.
        inner = set(sources)
        ending = (node for node, end in enumerate(ends) if end == length and node not in inner)
        last = next(ending, last)
    return Schedule(start, via, max(0, length), last)


def slack(edges: OrderedEdges, durations: Sequence[int], found: Schedule) -> list[int]:
    """Return by how much each node may start later without making the longest path longer.

    Notes
    -----
    O(nodes + edges). Without gaps.
    """
    latest_end = [found.length] * len(durations)
    sources, targets, _ = edges
    for source, target in zip(reversed(sources), reversed(targets), strict=True):
        end = latest_end[target] - durations[target]
        if end < latest_end[source]:
            latest_end[source] = end
    return [
        end - duration - start
        for end, duration, start in zip(latest_end, durations, found.start, strict=True)
    ]


def path_to_last(found: Schedule) -> list[int]:
    """Return the positions of the longest path, first to last."""
    path: list[int] = []
    node = found.last
    while node >= 0:
        path.append(node)
        node = found.via[node]
    return path[::-1]
