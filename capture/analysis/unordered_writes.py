"""Finding: nodes that touch the same bytes, one of them writing, and no path orders them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..memory.accesses import Access
from ..memory.directions import WRITE
from ..memory.flow import EXACT, Cells, clashes_of
from ..memory.sorting import distinct
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


Pair = tuple[Access, Access]


def across_chains(cells: Cells, chains: Sequence[int]) -> Cells:
    """Return the cells that nodes of several chains touch: of the others all are in order."""
    columns = cells.columns
    if columns is None:
        held = [row for row in cells.held if len({chains[item[0]] for item in row[1]}) > 1]
        return Cells(held, cells.whole)
    import numpy

    chain = numpy.array(chains, dtype=numpy.int64)[columns.items.node]
    several = distinct(columns.cell[chain != chain[columns.first]])
    held = [cells.held[cell] for cell in several.tolist()]
    return Cells(held, cells.whole)


def overlaps(cells: Cells, chains: Sequence[int]) -> tuple[dict[tuple[int, int], Pair], bool]:
    """Return pairs of nodes that share bytes where at least one certainly writes, by positions.

    Of the others only what kernels certainly point at counts, and nothing that one chain orders.

    Returns
    -------
    pairs
    whole : bool
        Whether all were looked at.

    Notes
    -----
    One step per pair on a piece of memory that a copy, a memset or a measured write touches, at
    most `MOST_PAIRS`.
    """
    found: dict[tuple[int, int], Pair] = {}
    looked = 0
    for begin, items in cells.held:
        writers = [item for item in items if item[5] in EXACT and item[3] & WRITE]
        if not writers:
            continue
        others = [
            item
            for item in items
            if (item[5] in EXACT and item[3]) or not (item[6] or (begin and item[1] != begin))
        ]
        looked += len(writers) * len(others)
        if looked > MOST_PAIRS:
            return found, False
        for one in writers:
            for other in others:
                if chains[one[0]] == chains[other[0]]:
                    continue
                key = (one[0], other[0]) if one[0] < other[0] else (other[0], one[0])
                known = found.get(key)
                if known is None or _certain(one, other) > _certain(*known):
                    found[key] = (one, other) if one[0] < other[0] else (other, one)
    return found, cells.whole


def _certain(one: Access, other: Access) -> bool:
    return all(item[5] in EXACT and item[3] for item in (one, other))


def chains_of(subject: Subject) -> list[int]:
    """Return a number for each node; nodes of one number lie on one path.

    Notes
    -----
    O(nodes + edges).
    """
    edges = subject.edges
    assert edges is not None
    found = [-1] * len(subject.graph)
    continued = bytearray(len(found))
    chains = 0
    for source, target in zip(edges.source, edges.target, strict=True):
        if found[source] < 0:
            found[source] = chains
            chains += 1
        if found[target] < 0 and not continued[source]:
            found[target] = found[source]
            continued[source] = 1
    return [chain if chain >= 0 else chains + node for node, chain in enumerate(found)]


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


def between_kernels(cells: Cells, count: int, chains: Sequence[int]) -> dict[tuple[int, int], Pair]:
    """Return pairs of kernels of which one writes where the other points, as is known of its kind.

    Two neighbours of each piece of memory: where others lie between, one of those pairs is not
    ordered either.
    """
    found = {}
    for one, other, _ in clashes_of(cells, count, chains):
        if not {one[5], other[5]}.isdisjoint(EXACT):
            continue  # among the overlaps
        if (one[5] in WRITES and one[3] & WRITE) or (other[5] in WRITES and other[3] & WRITE):
            first, second = (one, other) if one[0] < other[0] else (other, one)
            found[first[0], second[0]] = first, second
    return found


def run(subject: Subject, rows: int = 1000) -> Result:
    """Find unordered nodes that touch the same bytes with a write."""
    if subject.order is None:
        return Result.absent(CYCLE)
    chains = chains_of(subject)
    if len(set(chains)) == 1:
        return Result(summary="One path leads through all nodes: all are ordered.", columns=COLUMNS)
    assert subject.cells is not None
    cells = across_chains(subject.cells, chains)
    pairs, whole = overlaps(cells, chains)
    pairs |= between_kernels(cells, len(chains), chains)
    races = unordered(subject, pairs)
    result = Result(columns=COLUMNS, mark_name="unordered with a node that touches the same bytes")
    marks: set[int] = set()
    counts = Counter[str]()
    for key, (one, other) in sorted(pairs.items(), key=lambda item: not _certain(*item[1])):
        if key in races:
            first, second = one, other
        elif key[::-1] in races:
            first, second = other, one
        else:
            continue
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


def _confidence(one: Access, other: Access) -> str:
    if _certain(one, other):
        return "certain"
    return "may" if {one.how, other.how} & {"declared", "unknown", "first"} else "likely"


def _what(first: Access, second: Access) -> str:
    def verb(item: Access) -> str:
        known = item.how in EXACT or item.how in WRITES
        return "touches" if not known else "writes" if item.does & WRITE else "reads"

    return f"{verb(first)}, {verb(second)}"


ANALYSIS = Analysis(
    name="unordered_writes",
    title="Unordered nodes on the same bytes",
    description="Which copies and memsets race with other nodes over the same bytes.",
    run=run,
    finding=True,
)
