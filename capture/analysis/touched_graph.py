"""A graph with the memory that its nodes touch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from ..memory.accesses import Access, Accesses, accesses
from ..memory.cell_columns import CellColumns, columns_of
from ..memory.flow import Cells, Flow, cells_of, flows_of, large_cells
from ..memory.pointers import Place, Pointer, distinct_places, resolve
from ..memory.twins import judge, settle
from ..memory.words import words
from ..model import Graph
from ..origin_index import OriginIndex
from .graph_part import GraphPart
from .kept_objects import kept_objects
from .ordered_graph import OrderedGraph

if TYPE_CHECKING:
    from ..memory.twins import Twin
    from ..memory_map import Memory
    from ..origins import Origins
    from ..writes import Writes

_NOWHERE = Place("unresolved")


class TouchedGraph(OrderedGraph):
    """A graph, or one body of it, with what its nodes point into, read and write.

    Parameters
    ----------
    graph, path
        As of :class:`~capture.analysis.graph_part.GraphPart`.
    memory, writes, origins : optional
        Of the whole graph.
    find_twin : callable, optional
        Returns a second capture of the same work, by which numbers are told from addresses.
    """

    def __init__(
        self,
        graph: Graph,
        path: str = "",
        memory: Memory | None = None,
        writes: Writes | None = None,
        origins: Origins | None = None,
        find_twin: Callable[[], Twin | None] | None = None,
    ) -> None:
        GraphPart.__init__(self, graph, path)
        self.memory = memory
        self.writes = writes
        self.origins = origins
        self._find_twin = find_twin

    @cached_property
    def origin_index(self) -> OriginIndex | None:
        """Where each node comes from; ``None`` when that was not recorded."""
        if self.origins is None:
            return None
        return OriginIndex(self.origins, len(self.graph), self.path)

    @cached_property
    def pointers(self) -> list[Pointer]:
        """Where every address of every node leads, bodies included; nodes are paths from here.

        Empty when memory was not looked at.
        """
        if self.memory is None:
            return []
        with kept_objects():
            found = resolve(self.graph, self.memory)
            twin = self._find_twin() if self._find_twin is not None and not self.path else None
            if twin is None:
                return found
            return settle(found, judge(self.graph, self.memory, twin.graph, twin.memory))

    @cached_property
    def places(self) -> dict[int, Place]:
        """Places that :attr:`pointers` lead to, each object once, by identity."""
        found = self.pointers
        with kept_objects():
            return distinct_places(found)

    @cached_property
    def pointers_at(self) -> dict[int, list[Pointer]]:
        """:attr:`pointers` by position; those of a body belong to the node that holds it."""
        found: dict[int, list[Pointer]] = {}
        last = ""
        held: list[Pointer] = []
        for pointer in self.pointers:
            node = pointer[0][0]
            if node is not last:  # words of one node come one after another
                last = node
                held = found.setdefault(int(node.partition("/")[0]), [])
            held.append(pointer)
        return found

    @cached_property
    def nodes_at(self) -> dict[int, list[int]]:
        """Positions of the nodes that point into a place, by its first address."""
        found: dict[int, dict[int, None]] = {}
        for position, pointers in self.pointers_at.items():
            for pointer in pointers:
                if pointer.place.kind != "unresolved":
                    found.setdefault(pointer.place.start, {})[position] = None
        return {start: sorted(nodes) for start, nodes in found.items()}

    @cached_property
    def accesses(self) -> Accesses:
        """What each node touches; without memory, what copies, memsets and signatures tell."""
        found: Iterable[Pointer] = self.pointers
        if self.memory is None:
            found = (Pointer(word, _NOWHERE) for word in words(self.graph))
        with kept_objects():
            return accesses(
                self.graph,
                found,
                self.memory,
                None if self.path else self.writes,
                self._parameter_names() if not self.path else None,
            )

    def _parameter_names(self) -> dict[int, tuple[str, ...]]:
        """Return the names of the parameters of compiled kernels, by position."""
        index = self.origin_index
        kernels = self.origins.compiled_kernels if self.origins is not None else []
        if index is None or not any(kernel.parameters for kernel in kernels):
            return {}
        return {
            position: kernels[at].parameters
            for position, at in enumerate(index.column("compiled"))
            if at >= 0 and kernels[at].parameters
        }

    @cached_property
    def cells(self) -> Cells | None:
        """Pieces of memory with what touches them in order; ``None`` when edges form a cycle."""
        rank, found = self.rank, self.accesses
        if rank is None:
            return None
        # What a body touches comes after its graph, and belongs to the node that holds the body.
        in_order = isinstance(rank, range) and not self.graph.bodies
        with kept_objects():
            if found.columns is not None and found.group is not None:
                return large_cells(found.columns, found.group, None if in_order else rank)
            groups = found.groups
            if not in_order:
                groups = [sorted(group, key=lambda item: rank[item.node]) for group in groups]
            return cells_of(groups)

    @cached_property
    def cell_columns(self) -> CellColumns | None:
        """:attr:`cells` as arrays; ``None`` when edges form a cycle."""
        cells = self.cells
        return cells and (cells.columns or columns_of(cells.held))

    @cached_property
    def flows(self) -> list[Flow]:
        """Who wrote what each node reads; empty when the edges form a cycle."""
        if self.cells is None:
            return []
        with kept_objects():
            return flows_of(self.cells, len(self.graph))

    @cached_property
    def _flows_at(self) -> dict[int, tuple[list[Flow], list[Flow]]]:
        found: dict[int, tuple[list[Flow], list[Flow]]] = {}
        for flow in self.flows:
            found.setdefault(flow.reader, ([], []))[0].append(flow)
            found.setdefault(flow.writer, ([], []))[1].append(flow)
        return found

    def flows_at(self, position: int) -> tuple[list[Flow], list[Flow]]:
        """Return the flows into a node, and those out of it."""
        return self._flows_at.get(position, ([], []))

    def accesses_at(self, position: int) -> list[Access]:
        """Return what a node touches. O(accesses)."""
        return [item for group in self.accesses.groups for item in group if item.node == position]
