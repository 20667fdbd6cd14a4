"""A graph in pieces that run: single nodes, and the first nodes in topological order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from ...analysis.order import topological_order
from ...driver.replay_protocol import ReplayDriver
from ...errors import DriverError, InvalidGraphError
from ...model import Graph, Topology
from .setup import CAN_BE_DISABLED, TORCH_FLAGS


def order_of(topology: Topology) -> list[int]:
    """Return positions with predecessors first, the same for equal topologies.

    Raises
    ------
    InvalidGraphError
        The edges form a cycle.

    Examples
    --------
    >>> order_of(Topology(types=["empty"] * 3, source=[2], target=[0]))
    [1, 2, 0]
    """
    found = topological_order(len(topology.types), topology.source, topology.target)
    if found is None:
        raise InvalidGraphError("its edges form a cycle: it has no order in which nodes could run")
    return list(found)


class NodeSteps:
    """Executables of parts of a clone.

    Parameters
    ----------
    driver : ReplayDriver
    graph : Graph
    clone : int
        Handle of a graph that is never changed here.
    nodes : sequence of int
        Its nodes, by position.

    Attributes
    ----------
    order : list of int
        Positions in the order in which nodes run.
    """

    def __init__(
        self, driver: ReplayDriver, graph: Graph, clone: int, nodes: Sequence[int]
    ) -> None:
        self._driver = driver
        self._graph = graph
        self._clone = clone
        self._nodes = nodes
        self._flags = TORCH_FLAGS
        self.order = order_of(graph.topology)

    def single(self, position: int) -> int:
        """Make an executable of one node; the caller destroys it.

        Raises
        ------
        DriverError
            The driver refuses.
        """
        number = CAN_BE_DISABLED.get(self._graph.topology.types[position])
        if number is None:
            # There is no call that copies a node of any type: all others are taken out instead.
            return self._without(at for at in reversed(self.order) if at != position)
        return self.copy(self._nodes[position], number)

    def inside(self, position: int) -> list[tuple[str, int, int]]:
        """Return the nodes that a child graph runs, in order; empty where it only runs as a whole.

        Returns
        -------
        list of (str, int, int)
            Path, handle, and number of the type, for :meth:`copy`.
        """
        if self._graph.topology.types[position] != "child_graph":
            return []
        found: list[tuple[str, int, int]] = []
        holder = self._nodes[position]
        pending = [(f"{position}/0", self._graph.bodies_of(position)[0].graph, holder)]
        try:
            return found if self._open(pending, found) else []
        except (DriverError, IndexError):
            return []

    def _open(
        self, pending: list[tuple[str, Graph, int]], found: list[tuple[str, int, int]]
    ) -> bool:
        path, body, holder = pending.pop()
        (handle,) = self._driver.child_graphs([holder]).values
        nodes = self._driver.nodes(handle or 0)
        for at in order_of(body.topology):
            type_ = body.topology.types[at]
            if type_ in CAN_BE_DISABLED:
                found.append((f"{path}/{at}", nodes[at], CAN_BE_DISABLED[type_]))
            elif type_ == "child_graph":
                pending.append((f"{path}/{at}/0", body.bodies_of(at)[0].graph, nodes[at]))
                if not self._open(pending, found):
                    return False
            elif type_ != "empty":
                return False
        return True

    def copy(self, node: int, number: int) -> int:
        """Make an executable of a copy of a node; the caller destroys it.

        Raises
        ------
        DriverError
            The driver refuses.
        """
        graph = self._driver.new_graph()
        try:
            self._driver.add_copy(graph, node, number, [])
            return self._instantiate(graph)
        finally:
            with suppress(DriverError):
                self._driver.destroy(graph)

    def prefix(self, count: int) -> int:
        """Make an executable of the first `count` nodes; the caller destroys it.

        No node of a prefix waits for one outside of it, so the edges inside are all it needs.

        Raises
        ------
        DriverError
            The driver refuses.
        """
        return self._without(reversed(self.order[count:]))

    def _without(self, positions: Iterable[int]) -> int:
        driver = self._driver
        clone = driver.clone(self._clone)
        try:
            nodes = driver.find_in_clone(self._nodes, clone)
            driver.destroy_nodes([nodes[at] for at in positions])
            return self._instantiate(clone)
        finally:
            with suppress(DriverError):
                driver.destroy(clone)

    def _instantiate(self, graph: int) -> int:
        try:
            return self._driver.instantiate(graph, self._flags)
        except DriverError:
            if not self._flags:
                raise
            self._flags = 0
            return self._driver.instantiate(graph, 0)
