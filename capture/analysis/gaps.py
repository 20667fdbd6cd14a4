"""What lies between the end of a node and the start of the next, learned from a replay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain, compress
from operator import add
from statistics import median
from typing import NamedTuple

from .order import OrderedEdges
from .subject import Subject

MOST_NODES = 8_192
"""Enough for medians; more only cost time."""
BLOCKS = 64


class GapClass(NamedTuple):
    """What one kind of edge costs between the end of its source and the start of its target."""

    name: str
    edges: int
    median_ns: int


class Gaps(NamedTuple):
    """Gaps learned from one replay.

    Attributes
    ----------
    classes : list of GapClass
        Edges that decided a start, by node types, hardware streams and edge type.
    per_edge : list of int
        The gap of each ordered edge's class, in nanoseconds.
    root_ns : int
        Median start of nodes without predecessors.
    """

    classes: list[GapClass]
    per_edge: list[int]
    root_ns: int


def learn_gaps(subject: Subject) -> Gaps | None:
    """Learn the median gap of every class of edges from the sample replay.

    An edge decides its target's start when its source ends last. Nodes that were not timed (empty
    nodes, events) end when their last predecessor does, so a gap spans them.

    Returns
    -------
    Gaps or None
        ``None`` when no starts are known, or no edge connects two timed nodes.

    Notes
    -----
    O(nodes + edges), and sorting within each class for its median. Of more than `MOST_NODES` nodes,
    that many are learned from, in `BLOCKS` runs spread evenly over the graph.
    """
    edges, starts, ends = subject.edges, subject.starts, subject.ends
    if edges is None or max(starts, default=-1) < 0:
        return None
    nodes = _learned_from(len(starts))
    last_end, deciding = _deciding_edges(edges, starts, ends, nodes)
    classes = _Classes(subject)
    by_code: defaultdict[int, list[int]] = defaultdict(list)
    undecided: list[int] = []
    before, after, sources, types = classes.before, classes.after, edges.source, edges.type
    for target in chain.from_iterable(nodes):
        start, edge = starts[target], deciding[target]
        if start < 0:
            continue
        if edge < 0:
            undecided.append(target)
            continue
        code = before[sources[edge]] + after[target]
        if types:
            code += types[edge] * classes.codes
        by_code[code].append(start - last_end[target])
    # A node whose predecessors were all not seen is neither decided nor a root.
    inner = set(edges.target) if undecided and min(starts) < 0 else set()
    roots = [starts[target] for target in undecided if target not in inner]
    if not by_code:
        return None
    found: dict[tuple[str, str, bool, int], list[int]] = {}
    for code, some in by_code.items():
        found.setdefault(classes.key(code), []).extend(some)
    classes.medians = {key: round(median(gaps)) for key, gaps in found.items()}
    classes.overall = round(median(classes.medians.values()))
    named = [GapClass(_name(*key), len(gaps), classes.medians[key]) for key, gaps in found.items()]
    named.sort(key=lambda item: -item.edges)
    return Gaps(named, classes.gaps(edges), round(median(roots)) if roots else 0)


def _learned_from(count: int) -> list[range]:
    if count <= MOST_NODES:
        return [range(count)]
    firsts = (block * count // BLOCKS for block in range(BLOCKS))
    return [range(first, first + MOST_NODES // BLOCKS) for first in firsts]


def _deciding_edges(
    edges: OrderedEdges, starts: list[int], ends: list[int], nodes: list[range]
) -> tuple[list[int], list[int]]:
    """Return when the last predecessor of each node ended, and by which edge; -1 for none."""
    last_end = [-1] * len(starts)
    deciding = [-1] * len(starts)
    sources, targets, _ = edges
    if min(starts) >= 0:
        wanted: Iterable[int] = range(len(sources))
        if len(nodes) > 1:
            chosen = bytearray(len(starts))
            for some in nodes:
                chosen[some.start : some.stop] = b"\1" * len(some)
            wanted = compress(wanted, map(chosen.__getitem__, targets))
        for edge in wanted:
            end, target = ends[sources[edge]], targets[edge]
            if end > last_end[target]:
                last_end[target] = end
                deciding[target] = edge
    else:
        # Nodes that were not seen pass on their predecessors' ends, so all edges are needed.
        for edge, (source, target) in enumerate(zip(sources, targets, strict=True)):
            end = ends[source]
            if end < 0:
                end = last_end[source]
            if end > last_end[target]:
                last_end[target] = end
                deciding[target] = edge
    return last_end, deciding


class _Classes(dict[int, int]):
    """Gap by code of an edge; a code is made of small numbers for (type, stream) of both ends.

    The few codes that occur are looked into when first asked for, so an edge costs one addition
    and one lookup.
    """

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self.medians: dict[tuple[str, str, bool, int], int] = {}
        self.overall = 0
        column = subject.column("stream")
        # One value more, which the rows of nodes that have none (-1) find.
        streams: list[int | None] = [*column, None]
        rows = subject.first_rows if column else [-1] * len(subject.first_rows)
        timed = [start >= 0 for start in subject.starts]
        numbers: dict[tuple[str, int | None, bool], int] = {}
        self.after = [
            numbers.setdefault(kind, len(numbers))
            for kind in zip(
                subject.graph.topology.types, map(streams.__getitem__, rows), timed, strict=True
            )
        ]
        self.kinds = list(numbers)
        self.before = [number * len(numbers) for number in self.after]
        self.codes = len(numbers) ** 2
        """Codes that edges of one type can have."""

    def gaps(self, edges: OrderedEdges) -> list[int]:
        before, after = self.before, self.after
        codes = map(
            add, map(before.__getitem__, edges.source), map(after.__getitem__, edges.target)
        )
        if edges.type:
            codes = map(add, codes, (type_ * self.codes for type_ in edges.type))
        return list(map(self.__getitem__, codes))

    def _ends(self, code: int) -> tuple[tuple[str, int | None, bool], tuple[str, int | None, bool]]:
        before, after = divmod(code % self.codes, len(self.kinds))
        return self.kinds[before], self.kinds[after]

    def key(self, code: int) -> tuple[str, str, bool, int]:
        before, after = self._ends(code)
        apart = None not in (before[1], after[1]) and before[1] != after[1]
        return before[0], after[0], apart, code // self.codes

    def __missing__(self, code: int) -> int:
        timed = self._ends(code)[1][2]
        gap = self[code] = self.medians.get(self.key(code), self.overall) if timed else 0
        return gap


def _name(before: str, after: str, apart: bool, edge_type: int) -> str:
    text = f"{before} → {after}"
    if apart:
        text += ", other stream"
    if edge_type:
        text += ", programmatic" if edge_type == 1 else f", edge type {edge_type}"
    return text
