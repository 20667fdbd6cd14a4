"""Finding: nodes that touch the same bytes, one of them writing, and no path orders them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import compress, pairwise
from operator import add, eq
from typing import NamedTuple

from ..memory.directions import WRITE
from ..memory.flow import EXACT, clashes_of
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .schedule import CYCLE
from .subject import Subject

MOST_PAIRS = 200_000
"""Overlapping pairs that are looked at."""
NEXT = partial(add, 1)
AT_ONCE = 1024
"""Nodes whose successors are found in one pass over the edges."""
COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("other node", Unit.NODE),
    Column("other name", Unit.TEXT),
    Column("what", Unit.TEXT),
    Column("address", Unit.TEXT),
    Column("bytes", Unit.BYTES),
    Column("confidence", Unit.TEXT),
]
WHY = (
    "Which of the two comes first may differ from replay to replay. Join the streams before the "
    "second one while capturing (wait_stream, or an event), or give each its own memory."
)
LIKELY = (
    "Where the confidence is 'likely', kernels are among the two whose kind tells that they write "
    "or read there, but not how many bytes."
)
MAY = (
    "Where the confidence is 'may', one of the two is a kernel that holds an address inside what "
    "the other writes: whether it reads or writes there is not known."
)
WRITES = ("named", "convention")
"""How it is known, without looking, that a kernel writes."""


class Touch(NamedTuple):
    """Bytes that a node touches."""

    start: int
    end: int
    node: int
    writes: bool
    exact: bool
    """Whether the node certainly touches all of them, in the way said."""
    how: str = "exact"


def touches(subject: Subject) -> list[Touch]:
    """Return what nodes touch: copies, memsets and what was measured exactly, kernels as they may.

    Of a kernel's arguments only the byte that they point at counts, and no guesses.
    """
    found = []
    for group in subject.accesses.groups:
        for node, start, end, does, may, how, guess, _ in group:
            if how in EXACT and (does or how == "measured"):
                # Measured bytes that did not change were read, or left alone.
                if does or may == WRITE:
                    found.append(Touch(start, end, node, bool(does & WRITE), True, how))
            elif not guess:
                found.append(Touch(start, start + 1, node, bool(does & WRITE), False, how))
    return found


def overlaps(found: Sequence[Touch]) -> tuple[list[tuple[Touch, Touch]], bool]:
    """Return pairs of nodes that overlap where at least one certainly writes, and whether all.

    Notes
    -----
    O(n log n) and one step per overlapping pair, at most `MOST_PAIRS`.
    """
    pairs: list[tuple[Touch, Touch]] = []
    open_: list[Touch] = []
    looked = 0
    for touch in sorted(found):
        open_ = [other for other in open_ if other.end > touch.start]
        looked += len(open_)
        if looked > MOST_PAIRS:
            return pairs, False
        for other in open_:
            certain = (other.writes and other.exact) or (touch.writes and touch.exact)
            if certain and other.node != touch.node:
                pairs.append((other, touch))
        open_.append(touch)
    return pairs, True


def unordered(subject: Subject, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the pairs of nodes of which neither comes before the other.

    Notes
    -----
    O((nodes + edges) * distinct first nodes / `AT_ONCE`), each step on a number of that many bits.
    """
    order, edges = subject.order, subject.edges
    assert order is not None
    assert edges is not None
    place = [0] * len(order)
    for rank, node in enumerate(order):
        place[node] = rank
    asked: dict[int, set[int]] = {}
    for one, other in pairs:
        first, second = (one, other) if place[one] < place[other] else (other, one)
        asked.setdefault(first, set()).add(second)
    found: set[tuple[int, int]] = set()
    sources = sorted(asked)
    for begin in range(0, len(sources), AT_ONCE):
        batch = sources[begin : begin + AT_ONCE]
        reached = [0] * len(order)
        for bit, node in enumerate(batch):
            reached[node] = 1 << bit
        for source, target in zip(edges.source, edges.target, strict=True):
            bits = reached[source]
            if bits:
                reached[target] |= bits
        for bit, node in enumerate(batch):
            found.update((node, other) for other in asked[node] if not reached[other] >> bit & 1)
    return found


def is_path(subject: Subject) -> bool:
    """Say whether one path leads through all nodes, which orders every pair of them."""
    order, topology = subject.order, subject.graph.topology
    if order is None:
        return False
    if isinstance(order, range):
        steps = set(compress(topology.target, map(eq, topology.target, map(NEXT, topology.source))))
        return len(steps) == len(order) - 1
    following = set(pairwise(order))
    return len(following & set(zip(topology.source, topology.target, strict=True))) == len(
        following
    )


def between_kernels(subject: Subject) -> list[tuple[Touch, Touch]]:
    """Return pairs of kernels of which one writes where the other points, as is known of its kind.

    Two neighbours of each piece of memory: where others lie between, one of those pairs is not
    ordered either.
    """
    if subject.cells is None:
        return []
    found = []
    for one, other, address in clashes_of(subject.cells, len(subject.graph)):
        if not {one.how, other.how}.isdisjoint(EXACT):
            continue  # among the overlaps
        if (one.how in WRITES and one.does & WRITE) or (other.how in WRITES and other.does & WRITE):
            first, second = (
                Touch(address, address + 1, item.node, bool(item.does & WRITE), False, item.how)
                for item in (one, other)
            )
            found.append((first, second))
    return found


def run(subject: Subject, rows: int = 1000) -> Result:
    """Find unordered nodes that touch the same bytes with a write."""
    if subject.order is None:
        return Result.absent(CYCLE)
    if is_path(subject):
        return Result(summary="One path leads through all nodes: all are ordered.", columns=COLUMNS)
    found = touches(subject)
    exact = sum(touch.exact for touch in found)
    pairs, whole = overlaps(found)
    pairs += between_kernels(subject)
    races = unordered(subject, {(one.node, other.node) for one, other in pairs})
    result = Result(columns=COLUMNS, mark_name="unordered with a node that touches the same bytes")
    marks: set[int] = set()
    counts = Counter[str]()
    seen: set[tuple[int, int]] = set()
    for one, other in sorted(pairs, key=lambda pair: not (pair[0].exact and pair[1].exact)):
        key = (one.node, other.node)
        if key in races:
            first, second = one, other
        elif key[::-1] in races:
            first, second = other, one
        else:
            continue
        key = (first.node, second.node)
        if key in seen:
            continue
        seen.add(key)
        marks |= set(key)
        sure = _confidence(one, other)
        counts[sure] += 1
        start, end = max(one.start, other.start), min(one.end, other.end)
        row: tuple[Cell, ...] = (
            subject.node_path(first.node),
            subject.label(first.node),
            subject.node_path(second.node),
            subject.label(second.node),
            _what(first, second),
            f"0x{start:x}",
            end - start if sure == "certain" else None,
            sure,
        )
        result.rows.append(row)
    count, certain = len(result.rows), counts["certain"]
    del result.rows[rows:]
    result.node_marks = sorted(marks)
    result.figures = {
        "pairs": Quantity(count, Unit.COUNT),
        "certain": Quantity(certain, Unit.COUNT),
        "ranges": Quantity(exact, Unit.COUNT),
    }
    if not count:
        result.summary = "No two nodes are known to touch the same bytes out of order with a write."
    else:
        result.summary = (
            "{pairs} pairs of nodes touch the same bytes, one of them writes, and nothing orders "
            "them; {certain} of them are certain."
        )
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        result.notes.append(WHY)
        if counts["likely"]:
            result.notes.append(LIKELY)
        if counts["may"]:
            result.notes.append(MAY)
    if not whole:
        result.figures["looked_at"] = Quantity(MOST_PAIRS, Unit.COUNT)
        result.notes.append("Only the first {looked_at} overlapping pairs were looked at.")
    result.notes.append(
        "Exact for memcpys and memsets of bytes that lie side by side, and where writes were "
        "measured. Of other kernels only those are compared of which it is known what they write."
    )
    return result


def _confidence(one: Touch, other: Touch) -> str:
    if one.exact and other.exact:
        return "certain"
    return "may" if {one.how, other.how} & {"declared", "unknown", "first"} else "likely"


def _what(first: Touch, second: Touch) -> str:
    def verb(touch: Touch) -> str:
        known = touch.exact or touch.how in WRITES
        return "touches" if not known else "writes" if touch.writes else "reads"

    return f"{verb(first)}, {verb(second)}"


ANALYSIS = Analysis(
    name="unordered_writes",
    title="Unordered nodes on the same bytes",
    description="Which copies and memsets race with other nodes over the same bytes.",
    run=run,
    finding=True,
)
