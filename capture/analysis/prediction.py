"""The makespan of a replay predicted from durations and edges, with two constants.

Every node starts a little after the last of its predecessors has ended, and a replay takes a while
from its launch to its first node. Both were measured once, on other graphs than the one that is
predicted; nothing is fitted to it. ``python -m tests.benchmarks.predicted_makespan`` learns them
again from recordings and prints how far predictions are off, each recording predicted with what
the others teach.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import LookupFailed
from ..model import EvidenceKind
from .order import OrderedEdges
from .schedule import CYCLE, durations_or_zero, schedule
from .subject import Subject

GAP_NS = 280
"""From the end of a node to the start of the next, in a replay that is not traced."""
LAUNCH_NS = 6_900
"""Between two events around a replay, beyond its makespan, when the device has work before it."""
LEARNED_FROM = "medians over ten workloads on one NVIDIA H200, driver 580.159 with CUDA 13.0"


def spaced(
    edges: OrderedEdges, durations: Sequence[int], timed: Sequence[bool], gap_ns: int
) -> list[int]:
    """Return durations with the gap to the next node added where there is one.

    A node that was not timed (an empty node, an event) does no work on the device and has no gap.

    Notes
    -----
    O(nodes + edges).
    """
    found = list(durations)
    if gap_ns:
        for node in set(edges.source):
            if timed[node]:
                found[node] += gap_ns
    return found


def predict_makespan(subject: Subject, free: Iterable[int] = (), gap_ns: int = GAP_NS) -> int:
    """Predict the nanoseconds from the first start to the last end of an untraced replay.

    Parameters
    ----------
    subject : Subject
        With timings.
    free : iterable of int
        Positions of nodes that take no time; their edges and gaps stay.
    gap_ns : int
        Between a node and the next; 0 leaves durations and edges alone.

    Raises
    ------
    LookupFailed
        There are no timings, no such node, or no order because of a cycle.

    Notes
    -----
    O(nodes + edges). Durations come from traced replays, in which nodes take a little longer.
    """
    if subject.edges is None:
        raise LookupFailed(CYCLE)
    if not subject.is_timed:
        raise LookupFailed(subject.lacks(EvidenceKind.TIMINGS))
    durations = durations_or_zero(subject)
    for position in free:
        durations[subject.graph.node(position).position] = 0
    timed = [duration is not None for duration in subject.durations]
    return schedule(subject.edges, spaced(subject.edges, durations, timed, gap_ns)).length


def predict_replay(subject: Subject, gap_ns: int = GAP_NS, launch_ns: int = LAUNCH_NS) -> int:
    """Predict the nanoseconds between two events around an untraced replay.

    Raises
    ------
    LookupFailed
        As :func:`predict_makespan`.
    """
    return predict_makespan(subject, gap_ns=gap_ns) + launch_ns
