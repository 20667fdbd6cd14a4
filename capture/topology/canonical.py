"""An order of nodes that does not depend on the order in which they were made."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from ..model import Topology

ROUNDS = 3


def canonical_order(topology: Topology, keys: Sequence[int]) -> list[int]:
    """Return positions in a topological order that keys and dependencies alone decide.

    Of several nodes that may come next, the one that follows the node taken last comes first, then
    the one whose surroundings, refined by rounds of hashing neighbours, sort first.

    Parameters
    ----------
    topology : Topology
    keys : sequence of int
        What each node is; equal numbers for equal nodes.

    Returns
    -------
    list of int
        In creation order where nothing else tells nodes apart, and for graphs with a cycle.

    Notes
    -----
    O((nodes + edges) log nodes). The refinement is that of Weisfeiler and Leman (1968), cut off
    after `ROUNDS` rounds.
    """
    count = len(topology.types)
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in zip(topology.source, topology.target, strict=True):
        after[source].append(target)
        before[target].append(source)
    colours = list(keys)
    for _ in range(ROUNDS):
        signatures = [
            (
                colours[node],
                tuple(sorted(colours[other] for other in before[node])),
                tuple(sorted(colours[other] for other in after[node])),
            )
            for node in range(count)
        ]
        # The numbers have to be equal on both sides of a comparison: no ranks among one side's.
        colours = [hash(signature) for signature in signatures]
    waiting = [len(nodes) for nodes in before]
    ready = [(0, colours[node], node) for node in range(count) if not waiting[node]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)[-1]
        order.append(node)
        for other in after[node]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, (-len(order), colours[other], other))
    return order if len(order) == count else list(range(count))
