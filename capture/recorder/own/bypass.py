"""A graph without some nodes, its other nodes waiting for each other as before. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import GraphLensError
from ...model import Topology
from ...topology import levels

MOST_EDGES = 100_000


def bypass(topology: Topology, removed: Iterable[int]) -> list[tuple[int, int]]:
    """Return the edges that a graph needs when nodes are taken out of it.

    Parameters
    ----------
    topology : Topology
    removed : iterable of int
        Positions.

    Returns
    -------
    list of (int, int)
        Source and target: remaining nodes between which every path went through removed ones,
        ordered, without edges that are there already.

    Raises
    ------
    GraphLensError
        There would be more than :data:`MOST_EDGES` of them.

    Examples
    --------
    >>> chain = Topology(types=["kernel"] * 4, source=[0, 1, 2], target=[1, 2, 3])
    >>> bypass(chain, [1, 2])
    [(0, 3)]
    """
    gone = set(removed)
    before: dict[int, set[int]] = {}
    touched: set[int] = set()
    sources: dict[int, list[int]] = {}
    for source, target in zip(topology.source, topology.target, strict=True):
        if source in gone or target in gone:
            sources.setdefault(target, []).append(source)
            if target not in gone:
                touched.add(target)
    level = levels(topology) or list(range(len(topology.types)))
    count = 0
    for node in sorted(gone, key=level.__getitem__):
        found: set[int] = set()
        for source in sources.get(node, ()):
            found |= before[source] if source in gone else {source}
        before[node] = found
        count += len(found)
        if count > MOST_EDGES:
            raise _too_many()
    present = set(zip(topology.source, topology.target, strict=True))
    edges: set[tuple[int, int]] = set()
    for target in touched:
        for source in sources[target]:
            if source in gone:
                edges.update((other, target) for other in before[source])
        if len(edges) > MOST_EDGES:
            raise _too_many()
    return sorted(edges - present, key=lambda edge: (edge[1], edge[0]))


def _too_many() -> GraphLensError:
    return GraphLensError(
        f"without these nodes more than {MOST_EDGES:,} new edges are needed, so that the others "
        f"wait for each other as before: choose fewer nodes"
    )
