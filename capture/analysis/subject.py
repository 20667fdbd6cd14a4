"""The graph that an analysis looks at, with its evidence joined to positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..model import EvidenceKind, Executable, Gpu, Graph, GraphInfo
from ..origin_index import NO_ORIGINS
from .absent import NO_MEMORY, NO_TIMINGS, NO_WRITES
from .stored_benchmark import why_no_benchmark
from .timed_graph import TimedGraph
from .touched_graph import TouchedGraph

if TYPE_CHECKING:
    from ..benchmarks import Benchmark
    from ..memory.twins import Twin
    from ..memory_map import Memory
    from ..origins import Origins
    from ..timings import Timings
    from ..writes import Writes


class Subject(TimedGraph, TouchedGraph):
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
        TimedGraph.__init__(self, graph, path, timings)
        TouchedGraph.__init__(self, graph, path, memory, writes, origins, find_twin)
        self.info = info
        self.gpu = gpu
        self.executable = executable
        self.unreadable = dict(unreadable or {})
        self.benchmark = None if path else benchmark

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
