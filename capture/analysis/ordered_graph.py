"""A graph, or one body of it, with the order that its edges give."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from .graph_part import GraphPart
from .order import OrderedEdges, order_edges, topological_order


class OrderedGraph(GraphPart):
    """A graph, or one body of it, with the order that its edges give."""

    @cached_property
    def order(self) -> Sequence[int] | None:
        """Positions with predecessors first; ``None`` when the edges form a cycle."""
        topology = self.graph.topology
        return topological_order(len(self.graph), topology.source, topology.target)

    @cached_property
    def rank(self) -> Sequence[int] | None:
        """Place of each position in :attr:`order`; ``None`` when the edges form a cycle."""
        order = self.order
        if order is None or isinstance(order, range):
            return order
        found = [0] * len(order)
        for place, node in enumerate(order):
            found[node] = place
        return found

    @cached_property
    def edges(self) -> OrderedEdges | None:
        """Edges such that all that lead to a node come before all that leave it."""
        return None if self.order is None else order_edges(self.graph.topology, self.order)

    @cached_property
    def predecessors(self) -> list[list[int]]:
        """Positions of predecessors by position, in the order of the edges."""
        return self._adjacent(self.graph.topology.target, self.graph.topology.source)

    @cached_property
    def successors(self) -> list[list[int]]:
        """Positions of successors by position, in the order of the edges."""
        return self._adjacent(self.graph.topology.source, self.graph.topology.target)

    def _adjacent(self, here: list[int], there: list[int]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in range(len(self.graph))]
        for one, other in zip(here, there, strict=True):
            found[one].append(other)
        return found
