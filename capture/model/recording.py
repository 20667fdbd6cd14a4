"""A recording: everything that one run left."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import LookupFailed
from ..timings import Timings
from .facts import Event, Executable, GraphInfo, Metadata, Process
from .graph import Extra, Graph


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
        self._timings: dict[str, Timings | Callable[[], Timings]] = dict(timings or {})

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

    @property
    def timed(self) -> list[str]:
        """Ids of the executables that have node timings."""
        return list(self._timings)

    def timings(self, executable: str) -> Timings | None:
        """Return the node timings of an executable, or ``None`` when it has none.

        Raises
        ------
        FormatError
            The stored timings are damaged.
        """
        found = self._timings.get(executable)
        if callable(found):
            found = self._timings[executable] = found()
        return found

    def timings_of(self, key: str) -> list[Timings]:
        """Return the node timings of a graph's executables, in order of instantiation."""
        found = (self.timings(item.id) for item in self.executables_of(key))
        return [timings for timings in found if timings is not None]

    @property
    def timeline(self) -> list[Event]:
        """Events ordered by start."""
        if callable(self._timeline):
            self._timeline = self._timeline()
        return self._timeline
