"""A recording: everything that one run left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from ..benchmarks import Benchmark
from ..errors import LookupFailed
from ..evidence import STORED
from ..memory_map import Memory, Snapshot
from ..origins import Origins
from ..timings import Timings
from ..updates import Updates
from ..writes import Writes
from .facts import Event, Executable, GraphInfo, Metadata, Process
from .graph import Extra, Graph

MOST_KEPT = 32
"""Items of evidence that stay in memory after they were loaded; those looked at are few."""


class Recording:
    """What one run left: graphs, failed captures, executables, timeline and metadata.

    Graph bodies are loaded when asked for, one graph at a time.

    Parameters
    ----------
    metadata : Metadata
    graphs, failed : list of GraphInfo
        In order of capture. Failed captures are apart; keys are unique over both.
    load : callable, optional
        Returns the graph of a key; called at most once per key while the result is kept.
    timeline : callable or list, optional
        The events, or a function that loads them.
    timings : dict of str to (Timings or callable), optional
        Node timings by executable id, or functions that load them.
    benchmarks : dict of str to (Benchmark or callable), optional
        Replays of our own by graph key, or functions that load them.
    origins : dict of str to (Origins or callable), optional
        Where nodes come from, by key of a graph or a failed capture, or functions that load them.
    evidence : dict of str to dict, optional
        The same for any kind of :data:`capture.evidence.STORED`, by its name.
    """

    def __init__(
        self,
        metadata: Metadata,
        graphs: list[GraphInfo],
        failed: list[GraphInfo] | None = None,
        *,
        executables: list[Executable] | None = None,
        processes: list[Process] | None = None,
        load: Callable[[str], Graph] | None = None,
        timeline: Callable[[], list[Event]] | list[Event] | None = None,
        timings: Mapping[str, Timings | Callable[[], Timings]] | None = None,
        benchmarks: Mapping[str, Benchmark | Callable[[], Benchmark]] | None = None,
        origins: Mapping[str, Origins | Callable[[], Origins]] | None = None,
        evidence: Mapping[str, Mapping[str, Any]] | None = None,
        extra: Extra | None = None,
        loaded: dict[str, Graph] | None = None,
    ) -> None:
        self.metadata = metadata
        self.graphs: dict[str, GraphInfo] = {info.key: info for info in graphs}
        self.failed: dict[str, GraphInfo] = {info.key: info for info in failed or []}
        self.executables = executables or []
        self.processes = processes or []
        self.extra: Extra = extra or {}
        self._load = load
        self._graphs: dict[str, Graph] = dict(loaded or {})
        self._timeline = timeline if timeline is not None else []
        named = {"timings": timings, "benchmarks": benchmarks, "origins": origins}
        self._evidence: dict[str, dict[str, Any]] = {
            kind: {**(evidence or {}).get(kind, {}), **(named.get(kind) or {})} for kind in STORED
        }
        self._kept: dict[tuple[str, str], Any] = {}
        self._keeping = Lock()

    def info(self, key: str) -> GraphInfo:
        """Return what is known about a graph or a failed capture.

        Raises
        ------
        LookupFailed
            No graph has that key.
        """
        info = self.graphs.get(key) or self.failed.get(key)
        if info is None:
            known = list(self.graphs)[:5]
            more = f" and {len(self.graphs) - 5} more" if len(self.graphs) > 5 else ""
            raise LookupFailed(
                f"no graph {key!r} in this recording: it has {', '.join(known) or 'none'}{more}"
            )
        return info

    def graph(self, key: str) -> Graph:
        """Return a graph, loading it at most once.

        Raises
        ------
        LookupFailed
            No graph has that key.
        FormatError
            The stored graph is damaged.
        """
        self.info(key)
        graph = self._graphs.get(key)
        if graph is None:
            if self._load is None:
                raise LookupFailed(
                    f"graph {key!r} was not read: its nodes are not in the recording"
                )
            graph = self._graphs[key] = self._load(key)
        return graph

    def is_loaded(self, key: str) -> bool:
        """Say whether a graph is in memory."""
        return key in self._graphs

    def forget(self, key: str) -> None:
        """Drop a loaded graph from memory; it loads again when asked for."""
        if self._load is not None:
            self._graphs.pop(key, None)

    def executables_of(self, key: str) -> list[Executable]:
        """Return the executables that were instantiated from a graph."""
        return [item for item in self.executables if item.graph == key]

    def stored(self, kind: str) -> list[str]:
        """Return what has evidence of a kind of :data:`capture.evidence.STORED`.

        Ids of executables or keys of graphs, whichever the kind hangs on.
        """
        return list(self._evidence[kind])

    def evidence(self, kind: str, owner: str, keep: bool = True) -> Any:
        """Return the evidence of a kind for a graph's key or an executable's id, or ``None``.

        Parameters
        ----------
        kind : str
            Of :data:`capture.evidence.STORED`.
        owner : str
        keep : bool
            Whether what had to be loaded stays in memory, until `MOST_KEPT` others are loaded.

        Raises
        ------
        FormatError
            What is stored is damaged.
        """
        found = self._evidence[kind].get(owner)
        if not callable(found):
            return found
        item = self._kept.get((kind, owner))
        if item is None:
            item = found()
            if keep:
                with self._keeping:
                    self._kept[kind, owner] = item
                    while len(self._kept) > MOST_KEPT:
                        del self._kept[next(iter(self._kept))]
        return item

    @property
    def timed(self) -> list[str]:
        """Ids of the executables that have node timings."""
        return self.stored("timings")

    def timings(self, executable: str) -> Timings | None:
        """Return the node timings of an executable, or ``None`` when it has none.

        Raises
        ------
        FormatError
            The stored timings are damaged.
        """
        found: Timings | None = self.evidence("timings", executable)
        return found

    def timings_of(self, key: str) -> list[Timings]:
        """Return the node timings of a graph's executables, in order of instantiation."""
        found = (self.timings(item.id) for item in self.executables_of(key))
        return [timings for timings in found if timings is not None]

    @property
    def benchmarked(self) -> list[str]:
        """Keys of the graphs that have a benchmark, refused ones too."""
        return self.stored("benchmarks")

    def benchmark(self, key: str) -> Benchmark | None:
        """Return the benchmark of a graph, or ``None`` when it has none.

        Raises
        ------
        FormatError
            The stored benchmark is damaged.
        """
        found: Benchmark | None = self.evidence("benchmarks", key)
        return found

    @property
    def with_origins(self) -> list[str]:
        """Keys of the graphs and failed captures that have origins."""
        return self.stored("origins")

    def origins(self, key: str) -> Origins | None:
        """Return where the nodes of a graph or a failed capture come from, or ``None``.

        Raises
        ------
        FormatError
            The stored origins are damaged.
        """
        found: Origins | None = self.evidence("origins", key)
        return found

    def memory(self, key: str) -> Memory | None:
        """Return the memory of a graph, or ``None`` when it was not looked at.

        Raises
        ------
        FormatError
            What is stored is damaged.
        """
        found: Memory | None = self.evidence("memory", key)
        return found

    def updates(self, key: str) -> Updates | None:
        """Return what the driver said of updates of a graph's executable, or ``None``.

        Raises
        ------
        FormatError
            What is stored is damaged.
        """
        found: Updates | None = self.evidence("updates", key)
        return found

    def writes(self, key: str) -> Writes | None:
        """Return what the nodes of a graph wrote, or ``None`` when that was not measured.

        Raises
        ------
        FormatError
            What is stored is damaged.
        """
        found: Writes | None = self.evidence("writes", key)
        return found

    def snapshot(self, process: int) -> Snapshot | None:
        """Return all that the allocator held in a process when it was last looked at, or ``None``.

        Raises
        ------
        FormatError
            What is stored is damaged.
        """
        found: Snapshot | None = self.evidence("snapshots", str(process))
        return found

    @property
    def timeline(self) -> list[Event]:
        """Events ordered by start."""
        if callable(self._timeline):
            self._timeline = self._timeline()
        return self._timeline
