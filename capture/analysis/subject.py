"""The graph that an analysis looks at, with its evidence joined to positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import add
from statistics import median
from typing import TYPE_CHECKING

from ..codec import collection_paused
from ..errors import LookupFailed
from ..memory.accesses import Access, Accesses, accesses
from ..memory.flow import Cells, Flow, cells_of, flows_of
from ..memory.pointers import Place, Pointer, resolve
from ..memory.twins import judge, settle
from ..memory.words import words
from ..model import EvidenceKind, Executable, Gpu, Graph, GraphInfo
from ..origin_index import NO_ORIGINS, OriginIndex
from .joined import Interval, JoinedRows, join_rows
from .labels import label_of
from .order import OrderedEdges, order_edges, topological_order
from .stored_benchmark import why_no_benchmark

if TYPE_CHECKING:
    from ..benchmarks import Benchmark
    from ..memory.twins import Twin
    from ..memory_map import Memory
    from ..origins import Origins
    from ..timings import Timings
    from ..writes import Writes

NO_MEMORY = "memory was not looked at: record with `cglens record --memory`"
NO_WRITES = (
    "what nodes write was not measured: record with `cglens record --writes`, which replays graphs"
)
_NOWHERE = Place("unresolved")
NO_TIMINGS = "no node of this graph was timed: record with `cglens record --timings`"


class Subject:
    """One graph, or one body of a graph, with what is known about it.

    Parameters
    ----------
    graph : Graph
        With `path`, the body at that path and not the graph that holds it.
    info, timings, gpu, executable, origins, benchmark, memory, writes : optional
        Of the whole graph.
    path : str
        Where `graph` is in the captured graph, such as ``"3/0"``; positions count inside it.
    find_twin : callable, optional
        Returns a second capture of the same work, by which numbers are told from addresses.
    unreadable : mapping of EvidenceKind to str, optional
        Why stored evidence could not be read.

    Notes
    -----
    Everything is computed when first asked for and kept: O(nodes + edges) each, but for
    :attr:`edges` of a graph whose edges are stored in no topological order, which sorts them.
    Do not change the lists that are returned.
    """

    def __init__(
        self,
        graph: Graph,
        info: GraphInfo | None = None,
        timings: Timings | None = None,
        gpu: Gpu | None = None,
        executable: Executable | None = None,
        path: str = "",
        origins: Origins | None = None,
        unreadable: Mapping[EvidenceKind, str] | None = None,
        benchmark: Benchmark | None = None,
        memory: Memory | None = None,
        writes: Writes | None = None,
        find_twin: Callable[[], Twin | None] | None = None,
    ) -> None:
        self.graph = graph
        self.info = info
        self.timings = timings
        self.gpu = gpu
        self.executable = executable
        self.path = path
        self.origins = origins
        self.unreadable = dict(unreadable or {})
        self.benchmark = None if path else benchmark
        self.memory = memory
        self.writes = writes
        self._find_twin = find_twin

    def lacks(self, kind: EvidenceKind) -> str:
        """Return why a kind of evidence is absent, or ``""`` when it may be there."""
        if kind in self.unreadable:
            return self.unreadable[kind]
        evidence = self.info.evidence.get(kind) if self.info is not None else None
        reason = evidence.reason if evidence is not None and not evidence.present else ""
        if kind is EvidenceKind.TIMINGS:
            if self.is_timed:
                return ""
            if self.timings is not None and self.timings.missing:
                first = next(iter(self.timings.missing.values()))
                return f"no node of this graph was timed: {first}"
            return reason or NO_TIMINGS
        if kind is EvidenceKind.ORIGINS:
            return "" if self.origins is not None else reason or NO_ORIGINS
        if kind is EvidenceKind.MEMORY:
            return "" if self.memory is not None else reason or NO_MEMORY
        if kind is EvidenceKind.WRITES:
            found = self.writes
            refused = found.refused if found is not None else ""
            return "" if found is not None and not refused else refused or reason or NO_WRITES
        if kind is EvidenceKind.BENCHMARKS:
            return why_no_benchmark(self.benchmark, self.path, reason)
        if evidence is not None and not evidence.present:
            return reason or f"the recording holds no {kind.value.replace('_', ' ')}"
        return ""

    def node_path(self, position: int) -> str:
        """Return a node's path in the captured graph."""
        return f"{self.path}/{position}" if self.path else str(position)

    def label(self, position: int) -> str:
        """Return a node's short name."""
        return label_of(self.graph, position)

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
        with collection_paused():
            found = resolve(self.graph, self.memory)
            twin = self._find_twin() if self._find_twin is not None and not self.path else None
            if twin is None:
                return found
            return settle(found, judge(self.graph, self.memory, twin.graph, twin.memory))

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
        with collection_paused():
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
    def cells(self) -> Cells | None:
        """Pieces of memory with what touches them in order; ``None`` when edges form a cycle."""
        rank, groups = self.rank, self.accesses.groups
        if rank is None:
            return None
        if not isinstance(rank, range):
            groups = [sorted(group, key=lambda item: rank[item.node]) for group in groups]
        with collection_paused():
            return cells_of(groups)

    @cached_property
    def flows(self) -> list[Flow]:
        """Who wrote what each node reads; empty when the edges form a cycle."""
        if self.cells is None:
            return []
        with collection_paused():
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

    @cached_property
    def order(self) -> Sequence[int] | None:
        """Positions with predecessors first; ``None`` when the edges form a cycle."""
        topology = self.graph.topology
        return topological_order(len(self.graph), topology.source, topology.target)

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

    def column(self, name: str) -> list[int]:
        """Return a column of the timings, or ``[]`` when it is not there for every row."""
        if self.timings is None:
            return []
        values: list[int] = getattr(self.timings, name)
        return values if len(values) == len(self.timings.node) else []

    @cached_property
    def _joined(self) -> JoinedRows:
        names = self.timings.node if self.timings is not None else []
        return join_rows(self.graph, names, self.path)

    @property
    def is_timed(self) -> bool:
        """Whether any node has a duration."""
        return any(duration is not None for duration in self.durations)

    @property
    def first_rows(self) -> list[int]:
        """The first row of the timings per position; -1 where there is none."""
        return self._joined.first

    def rows_of(self, position: int) -> list[int]:
        """Return the rows of a node's timings; for a node with bodies, those of its bodies."""
        first, several, _ = self._joined[:3]
        return several.get(position) or ([first[position]] if first[position] >= 0 else [])

    @cached_property
    def durations(self) -> list[int | None]:
        """Nanoseconds per position; ``None`` where a node was not timed.

        The median over replays. A node with several rows (a memcpy that became two, or the nodes of
        a body) takes from the first start to the last end of the sample replay; where that is not
        known, the sum of the rows' medians.
        """
        medians = self.column("median_ns") or self.column("sample_duration_ns")
        found: list[int | None] = [None] * len(self.graph)
        if not medians:
            return found
        first, several, _ = self._joined[:3]
        if self._joined.is_plain and min(medians) >= 0:
            return [*medians]
        # A negative number is no duration, whatever wrote the file.
        found = [medians[row] if row >= 0 and medians[row] >= 0 else None for row in first]
        for position, rows in several.items():
            span = self._span(rows)
            timed = [medians[row] for row in rows if medians[row] >= 0]
            if span is not None and self.starts_from == "sample":
                found[position] = span[1] - span[0]
            else:
                found[position] = sum(timed) if timed else None
        return found

    @cached_property
    def starts_from(self) -> str:
        """Where starts come from: ``"sample"`` replay, ``"medians"`` over replays, or ``""``."""
        if self.column("sample_start_ns") and self.column("sample_duration_ns"):
            return "sample"
        return "medians" if self.column("start_ns") and self.column("median_ns") else ""

    @cached_property
    def _rows(self) -> tuple[list[int], list[int]]:
        """Start and end of every row; start -1 where the row did not run."""
        if self.starts_from == "sample":
            starts, durations = self.column("sample_start_ns"), self.column("sample_duration_ns")
        elif self.starts_from == "medians":
            starts, durations = self.column("start_ns"), self.column("median_ns")
        else:
            return [], []
        if min(durations) < 0:
            durations = [max(duration, 0) for duration in durations]
        ends = list(map(add, starts, durations))
        if self.starts_from == "sample":
            last = self.column("sample_end_ns")
            ends = list(map(max, ends, last)) if last else ends
        return starts, ends

    def _span(self, rows: list[int]) -> tuple[int, int] | None:
        starts, ends = self._rows
        ran = [row for row in rows if starts and starts[row] >= 0]
        if not ran:
            return None
        return min(starts[row] for row in ran), max(ends[row] for row in ran)

    @cached_property
    def _seen(self) -> tuple[list[int], list[int]]:
        starts, ends = self._rows
        first, several, _ = self._joined[:3]
        if not starts:
            return [-1] * len(first), [-1] * len(first)
        if self._joined.is_plain and min(starts) >= 0:
            return starts, ends
        # One value more, which the rows of nodes that have none (-1) find.
        starts = [*(start if start >= 0 else -1 for start in starts), -1]
        ends = [*(end if starts[row] >= 0 else -1 for row, end in enumerate(ends)), -1]
        begun, ended = [starts[row] for row in first], [ends[row] for row in first]
        for position, rows in several.items():
            begun[position], ended[position] = self._span(rows) or (-1, -1)
        return begun, ended

    @property
    def starts(self) -> list[int]:
        """Start per position in one replay; -1 where the node was not seen in it."""
        return self._seen[0]

    @property
    def ends(self) -> list[int]:
        """End per position in one replay; -1 where the node was not seen in it."""
        return self._seen[1]

    @cached_property
    def intervals(self) -> list[Interval]:
        """Every row as it ran in one replay, by start; rows of bodies and of no node included.

        What ran several times is one interval with all else below the same node: a loop is busy
        from its first start to its last end.
        """
        starts, ends = self._rows
        first, several, apart = self._joined[:3]
        if not starts:
            return []
        runs = self.column("sample_runs")
        places = [(position, row) for position, row in enumerate(first) if row >= 0]
        looped = {}
        for position, rows in several.items():
            if runs and max(runs[row] for row in rows) > 1:
                looped[position] = self._span(rows)
            else:
                places += [(position, row) for row in rows[1:]]
        places += [(-1, row) for row in apart]
        found = [
            Interval(starts[row], ends[row], position, row)
            for position, row in places
            if starts[row] >= 0 and position not in looped
        ]
        found += [
            Interval(*span, position, first[position])
            for position, span in looped.items()
            if span is not None
        ]
        return sorted(found)

    def describe(self, interval: Interval) -> tuple[str, str]:
        """Return the path and the short name of what ran in an interval."""
        if interval.position < 0 or self.timings is None:
            return "", "node of the executable only"
        path = self.timings.node[interval.row]
        relative = path[len(self.path) + 1 :] if self.path else path
        body, _, position = relative.rpartition("/")
        try:
            return path, label_of(self.graph.at(body), int(position))
        except (LookupFailed, ValueError):
            return path, "node that the recording does not have"

    @cached_property
    def makespan_ns(self) -> int | None:
        """Measured under tracing: the median replay's, or of a body its span in the sample."""
        if not self.path and self.timings is not None and self.timings.makespan_ns:
            return round(median(self.timings.makespan_ns))
        if not self.intervals:
            return None
        return max(item.end_ns for item in self.intervals) - self.intervals[0].start_ns

    @cached_property
    def untraced_ns(self) -> int | None:
        """Median GPU time of a whole replay without tracing."""
        if self.path or self.timings is None or not self.timings.untraced_replay_ns:
            return None
        return round(median(self.timings.untraced_replay_ns))
