"""Which updates the driver is asked of, among the graphs that a process kept. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

from ...model import Graph

FEW = 12
"""Graphs of one topology up to which every one is asked to become every other."""
MOST_QUESTIONS = 1_000
"""Questions of one process."""

NOT_CLONED = frozenset({"mem_alloc", "mem_free", "conditional"})
"""Types of nodes with which the driver does not clone a graph."""

Question = tuple[int, int]


def can_be_cloned(graph: Graph) -> bool:
    """Say whether the driver clones such a graph; that it may be replayed by us is not said."""
    types = {type_ for _, level in graph.walk() for type_ in level.topology.types}
    return bool(len(graph)) and not types & NOT_CLONED


def questions(graphs: Sequence[Graph]) -> tuple[list[Question], int]:
    """Choose pairs of graphs.

    Graphs of one topology come first, each to the next one: that is how an executable would be
    updated. The first graphs of different topologies follow.

    Parameters
    ----------
    graphs : sequence of Graph

    Returns
    -------
    pairs : list of (int, int)
        Places of the graph that is instantiated and of the one that it is to become, each pair
        once, at most :data:`MOST_QUESTIONS`.
    left_out : int
        Pairs that were chosen and are beyond that.

    Examples
    --------
    >>> from ...model import Topology
    >>> graph = Graph(topology=Topology(types=["empty"]), payloads=[None])
    >>> questions([graph, graph])
    ([(0, 1), (1, 0)], 0)
    """
    groups: defaultdict[object, list[int]] = defaultdict(list)
    for place, graph in enumerate(graphs):
        groups[_shape(graph)].append(place)
    found = dict.fromkeys(_chosen(list(groups.values())))
    listed = list(found)
    return listed[:MOST_QUESTIONS], max(0, len(listed) - MOST_QUESTIONS)


def _chosen(groups: list[list[int]]) -> Iterator[Question]:
    for places in groups:
        yield from pairwise(places)
    for places in groups:
        if len(places) <= FEW:
            yield from permutations(places, 2)
        else:
            yield from ((places[0], other) for other in places[1:])
            yield from ((other, places[0]) for other in places[1:])
    firsts = [places[0] for places in groups]
    if len(firsts) <= FEW:
        yield from permutations(firsts, 2)
    else:
        yield from pairwise(firsts)


def _shape(graph: Graph) -> object:
    topology = graph.topology
    bodies = tuple((body.node, body.index, _shape(body.graph)) for body in graph.bodies)
    return (
        tuple(topology.types),
        tuple(topology.source),
        tuple(topology.target),
        tuple(topology.edge_type),
        bodies,
    )
