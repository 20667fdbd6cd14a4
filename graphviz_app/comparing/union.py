"""The nodes and edges of either of two aligned graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.compare import Alignment

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Union:
    """The nodes and edges of either of two graphs.

    The nodes before come first, at their own positions; what only the graph after has follows in
    its order. A moved node is there twice: at its old place and at its new one.

    Attributes
    ----------
    before, after
        Positions of each node in the two graphs, -1 for none, shape ``(n,)``.
    in_before, in_after
        Which nodes stand in the picture of each side, shape ``(n,)``: of a moved one, one place
        each.
    twin
        The other place of a moved node, -1 for all others, shape ``(n,)``.
    index_after
        Node by position in the graph after: of a moved one its new place.
    source, target
        Ends of the edges, shape ``(e,)``.
    edge_in_before, edge_in_after
        Which edges each side has, shape ``(e,)``.
    order
        The nodes in an order of creation that both sides agree on as far as they can.
    """

    before: Ints
    after: Ints
    in_before: NDArray[np.bool_]
    in_after: NDArray[np.bool_]
    twin: Ints
    index_after: Ints
    source: Ints
    target: Ints
    edge_in_before: NDArray[np.bool_]
    edge_in_after: NDArray[np.bool_]
    order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.before)

    @classmethod
    def of(cls, level: Alignment) -> Union:
        """Join two aligned graphs. O((n + m) log(n + m)) for n nodes and m edges.

        Examples
        --------
        >>> from capture.compare import align
        >>> from capture.model import Graph, Topology
        >>> def chain(*types):
        ...     edges = range(len(types) - 1)
        ...     ends = {"source": list(edges), "target": [i + 1 for i in edges]}
        ...     topology = Topology(types=list(types), **ends)
        ...     return Graph(topology=topology, payloads=[None] * len(types))
        >>> joined = Union.of(align(chain("memset", "empty"), chain("memset", "host", "empty"))[0])
        >>> joined.before.tolist(), joined.after.tolist()
        ([0, 1, -1], [0, 2, 1])
        >>> [(int(s), int(t)) for s, t in zip(joined.source, joined.target)]
        [(0, 1), (0, 2), (2, 1)]
        """
        partner = np.asarray(level.partner, np.int64).reshape(-1)
        origin = np.asarray(level.origin, np.int64).reshape(-1)
        n, m = len(partner), len(origin)
        moved = np.asarray([there for _, there in level.moved_positions()], np.int64)
        is_moved = np.zeros(m, np.bool_)
        is_moved[moved] = True
        alone = (origin < 0) | is_moved
        index_after = np.where(alone, n + np.cumsum(alone) - 1, origin)
        extra = np.flatnonzero(alone)
        total = n + len(extra)
        before = np.concatenate([np.arange(n), np.where(is_moved[extra], origin[extra], -1)])
        after = np.concatenate([partner, extra])
        in_before = np.arange(total) < n
        in_after = np.ones(total, np.bool_)
        in_after[:n] = partner >= 0
        twin = np.full(total, -1, np.int64)
        if len(moved):
            old, new = origin[moved], index_after[moved]
            in_after[old] = False
            twin[old], twin[new] = new, old
        source, target, edge_in_before, edge_in_after = _edges(level, index_after, total)
        return cls(
            before=before.astype(np.int32),
            after=after.astype(np.int32),
            in_before=in_before,
            in_after=in_after,
            twin=twin.astype(np.int32),
            index_after=index_after.astype(np.int32),
            source=source.astype(np.int32),
            target=target.astype(np.int32),
            edge_in_before=edge_in_before,
            edge_in_after=edge_in_after,
            order=_order(index_after, n, total),
        )


def _edges(
    level: Alignment, index_after: NDArray[np.int64], total: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the distinct edges of either side, and which side has them."""
    one, other = level.before.topology, level.after.topology
    width = max(total, 1)
    left = np.asarray(one.source, np.int64) * width + np.asarray(one.target, np.int64)
    ends = np.asarray(other.source, np.int64), np.asarray(other.target, np.int64)
    right = index_after[ends[0]] * width + index_after[ends[1]] if len(ends[0]) else left[:0]
    keys = np.unique(np.concatenate([left, right]))
    return keys // width, keys % width, np.isin(keys, left), np.isin(keys, right)


def _order(index_after: NDArray[np.int64], n: int, total: int) -> NDArray[np.int64]:
    """Put what only the graph after has behind the node of both that comes before it there."""
    anchor = np.arange(total, dtype=np.int64)
    shared = index_after < n
    last = np.maximum.accumulate(np.where(shared, np.arange(len(index_after)), -1))
    held = np.append(index_after, -1)[last]
    anchor[index_after[~shared]] = held[~shared]
    return np.lexsort((np.arange(total), np.arange(total) >= n, anchor))
