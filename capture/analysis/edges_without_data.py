"""Dependency edges between nodes that share no bytes, and how much shorter data alone would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..memory.cell_columns import links_between
from ..memory.sorting import are_in, distinct
from ..model import EvidenceKind
from .base import Analysis, Column, Quantity, Result, Unit, rows_argument
from .order import levels
from .schedule import CYCLE
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("successor", Unit.NODE),
    Column("successor name", Unit.TEXT),
]
CAUTION = (
    "Inferred: a kernel may use memory that its arguments do not name, such as a table of "
    "addresses, a symbol of its module, or managed memory. What is not known to be read only "
    "counts as written. Try it before you trust it."
)
WHAT = (
    "Such an edge may still order other nodes through the two. Work on one stream is one chain, "
    "whatever it needs: more streams while capturing make fewer edges."
)


class Split(NamedTuple):
    """The dependency edges of a graph, told apart by whether their nodes share bytes."""

    judged: int
    """Edges of which the memory of both nodes is known."""
    loose: list[tuple[int, int]]
    """Those of them that join nodes without common bytes, as positions."""
    links: list[tuple[int, int]]
    """Ranks of nodes that share bytes, or may, the later one first; in order."""


def split(subject: Subject) -> Split | None:
    """Tell dependency edges apart; ``None`` where they form a cycle, or memory is not known.

    Notes
    -----
    Sorts edges, and pairs of accesses that follow one another in the same memory.
    """
    if subject.memory is None:
        return None
    rank, columns = subject.rank, subject.cell_columns
    if rank is None or columns is None:
        return None
    import numpy

    topology, count = subject.graph.topology, len(subject.graph)
    later, earlier = links_between(columns, rank)
    data = distinct(later * count + earlier)
    place = numpy.array(rank, dtype=numpy.int64)
    source = numpy.array(topology.source, dtype=numpy.int64)
    target = numpy.array(topology.target, dtype=numpy.int64)
    edge = place[target] * count + place[source]
    shared = are_in(edge, data)
    seen = numpy.zeros(count, dtype=bool)
    seen[list(subject.accesses.seen)] = True
    both = seen[source] & seen[target]
    without = numpy.nonzero(~shared & both)[0].tolist()
    unknown = distinct(edge[~shared & ~both])
    links = numpy.sort(numpy.concatenate([data, unknown]))
    return Split(
        len(edge) - len(unknown),
        [(topology.source[at], topology.target[at]) for at in without],
        list(zip((links // count).tolist(), (links % count).tolist(), strict=True)),
    )


def run(subject: Subject, rows: int = 1000) -> Result:
    """Find dependencies that no bytes are known to need; see :func:`split` for the cost."""
    found = split(subject)
    if found is None or subject.cells is None:
        return Result.absent(CYCLE)
    judged, loose, links = found
    topology = subject.graph.topology
    result = Result(
        columns=COLUMNS,
        mark_name="waiting for a node that it shares no bytes with",
        node_marks=sorted({target for _, target in loose}),
        figures={
            "edges": Quantity(len(topology.source), Unit.COUNT),
            "judged": Quantity(judged, Unit.COUNT),
            "without_data": Quantity(len(loose), Unit.COUNT),
        },
    )
    if not judged:
        result.summary = "Of no dependency edge is it known what memory both of its nodes touch."
        return result
    result.rows = [
        (
            subject.node_path(source),
            subject.label(source),
            subject.node_path(target),
            subject.label(target),
        )
        for source, target in loose[:rows]
    ]
    result.summary = (
        "{without_data} of {judged} dependency edges join nodes that share no bytes, as far as is "
        "known."
    )
    if loose:
        _shorter(subject, result, links)
        result.notes += [CAUTION, WHAT]
    if not subject.cells.whole:
        result.notes.append("Where many ranges overlap, only those that begin alike were joined.")
    return result


def _shorter(subject: Subject, result: Result, links: Sequence[tuple[int, int]]) -> None:
    """Say how long the longest chain of nodes is by data, and by dependencies."""
    edges, count = subject.edges, len(subject.graph)
    assert edges is not None
    by_data = [1] * count
    for later, earlier in links:
        if by_data[earlier] >= by_data[later]:
            by_data[later] = by_data[earlier] + 1
    result.figures["data_chain"] = Quantity(max(by_data), Unit.COUNT)
    result.figures["edge_chain"] = Quantity(max(levels(count, edges)) + 1, Unit.COUNT)
    result.summary += (
        " The longest chain has {data_chain} nodes by shared bytes, {edge_chain} by dependencies."
    )


ANALYSIS = Analysis(
    name="edges_without_data",
    title="Dependencies that no data needs",
    description="Which nodes wait for a node that they share no bytes with.",
    run=run,
    needs=(EvidenceKind.MEMORY,),
    uses=(EvidenceKind.WRITES,),
    arguments=(rows_argument("edges"),),
)
