"""Finding: nodes that touch the same bytes, one of them writing, and no path orders them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..memory.words import words
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .schedule import CYCLE
from .subject import Subject

MOST_PAIRS = 200_000
"""Overlapping pairs that are looked at."""
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
MAY = (
    "Where the confidence is 'may', one of the two is a kernel that holds an address inside what "
    "the other writes: whether it reads or writes there is not known."
)


class Touch(NamedTuple):
    """Bytes that a node touches."""

    start: int
    end: int
    node: int
    writes: bool
    exact: bool
    """Whether the node certainly touches all of them, in the way said."""


def touches(subject: Subject) -> list[Touch]:
    """Return what the nodes of one level touch: copies and memsets exactly, kernels as they may."""
    found = []
    resolved = (pointer.word for pointer in subject.pointers)
    for word in resolved if subject.memory is not None else words(subject.graph):
        if "/" in word.node:
            continue  # a body runs where its node stands
        node = int(word.node)
        if word.writes is not None and word.size_bytes:
            end = word.address + word.size_bytes
            found.append(Touch(word.address, end, node, word.writes, True))
        elif word.role == "argument" and not word.guess:
            found.append(Touch(word.address, word.address + 1, node, False, False))
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
    steps = {
        place[source]
        for source, target in zip(edges.source, edges.target, strict=True)
        if place[target] == place[source] + 1
    }
    if len(steps) == len(order) - 1:
        return set()  # a path through all nodes orders every pair
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


def run(subject: Subject, rows: int = 1000) -> Result:
    """Find unordered nodes that touch the same bytes with a write."""
    if subject.order is None:
        return Result.absent(CYCLE)
    found = touches(subject)
    exact = sum(touch.exact for touch in found)
    if not any(touch.writes and touch.exact for touch in found):
        return Result(
            summary="No memcpy or memset of this graph writes memory that is known.",
            columns=COLUMNS,
        )
    pairs, whole = overlaps(found)
    races = unordered(subject, {(one.node, other.node) for one, other in pairs})
    result = Result(columns=COLUMNS, mark_name="unordered with a node that touches the same bytes")
    marks: set[int] = set()
    certain = 0
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
        sure = one.exact and other.exact
        certain += sure
        start, end = max(one.start, other.start), min(one.end, other.end)
        row: tuple[Cell, ...] = (
            subject.node_path(first.node),
            subject.label(first.node),
            subject.node_path(second.node),
            subject.label(second.node),
            _what(first, second),
            f"0x{start:x}",
            end - start if sure else None,
            "certain" if sure else "may",
        )
        result.rows.append(row)
    count = len(result.rows)
    del result.rows[rows:]
    result.node_marks = sorted(marks)
    result.figures = {
        "pairs": Quantity(count, Unit.COUNT),
        "certain": Quantity(certain, Unit.COUNT),
        "ranges": Quantity(exact, Unit.COUNT),
    }
    if not count:
        result.summary = "Everything that touches what memcpys and memsets write is ordered."
    else:
        result.summary = (
            "{pairs} pairs of nodes touch the same bytes, one of them writes, and nothing orders "
            "them; {certain} of them are certain."
        )
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        result.notes.append(WHY)
        if certain < count:
            result.notes.append(MAY)
    if not whole:
        result.figures["looked_at"] = Quantity(MOST_PAIRS, Unit.COUNT)
        result.notes.append("Only the first {looked_at} overlapping pairs were looked at.")
    result.notes.append(
        "Exact for memcpys and memsets of bytes that lie side by side; what kernels write is not "
        "known, so two kernels are never compared."
    )
    return result


def _what(first: Touch, second: Touch) -> str:
    def verb(touch: Touch) -> str:
        return "touches" if not touch.exact else "writes" if touch.writes else "reads"

    return f"{verb(first)}, {verb(second)}"


ANALYSIS = Analysis(
    name="unordered_writes",
    title="Unordered nodes on the same bytes",
    description="Which copies and memsets race with other nodes over the same bytes.",
    run=run,
    finding=True,
)
