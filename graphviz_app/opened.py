"""Opened recordings by id, and their graphs, each read when someone looks at it.

Opening reads what a recording says about itself.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from capture.errors import LookupFailed
from capture.model import Event, Graph, GraphInfo, Recording

from .memo import Memo
from .source_access import SourceAccess

Made = TypeVar("Made")
LIMIT_BYTES = 512 * 1024**2
NODE_BYTES = 1300
"""What one node of an opened graph holds in memory: 1,310 bytes by tracemalloc on recorded graphs
of 49 nodes, nearly all kernels with arguments and attributes."""


@dataclass(frozen=True)
class Opened:
    """A recording that was opened under an id."""

    id: str
    title: str
    recording: Recording
    path: Path | None = None


def short_id(name: str, taken: Iterable[str] = ()) -> str:
    """Return a readable id for a file name, the same one whenever the file is opened.

    Examples
    --------
    >>> short_id("Train step (2).cgl"), short_id("a.cgl", taken={"a"})
    ('train-step-2', 'a-2')
    """
    stem = name[: -len(".cgl")] if name.endswith(".cgl") else name
    base = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:40].strip("-") or "recording"
    used, found, number = set(taken), base, 1
    while found in used:
        number += 1
        found = f"{base}-{number}"
    return found


class OpenRecordings:
    """Recordings by id; safe to use from several threads.

    Parameters
    ----------
    recordings : sequence of (name, Recording) or (name, Recording, Path)
        The name becomes the id.
    limit_bytes : int
        Bound on what is kept in memory of them.
    sources : SourceAccess, optional
        Which source files may be read; none by default.
    """

    def __init__(
        self,
        recordings: Sequence[tuple[str, Recording] | tuple[str, Recording, Path]],
        limit_bytes: int = LIMIT_BYTES,
        sources: SourceAccess | None = None,
    ) -> None:
        self.sources = sources or SourceAccess()
        self._opened: dict[str, Opened] = {}
        for name, recording, *path in recordings:
            id_ = short_id(name, self._opened)
            title = recording.metadata.title or name
            self._opened[id_] = Opened(id_, title, recording, path[0] if path else None)
        self.reading = threading.Lock()
        """Held while a recording's file is read: readers share one handle."""
        self._memo = Memo(limit_bytes)
        self._adding = threading.Lock()

    @classmethod
    def open(cls, files: Sequence[Path], sources: SourceAccess | None = None) -> Self:
        """Open files; no graph is read yet.

        Raises
        ------
        FormatError
            A file is not what it claims to be.
        """
        from capture import read

        named = [(file.resolve().name, read(file), file) for file in files]
        return cls(named, sources=sources)

    @property
    def opened(self) -> Mapping[str, Opened]:
        """Everything that is open, by id, in the order it was given."""
        return self._opened

    def add(self, name: str, recording: Recording, path: Path) -> str:
        """Open another recording, and return its id."""
        with self._adding:
            id_ = short_id(name, self._opened)
            title = recording.metadata.title or name
            # Others may be going through the mapping: it is replaced, never changed.
            self._opened = {**self._opened, id_: Opened(id_, title, recording, path)}
        return id_

    def remember(
        self, key: Hashable, make: Callable[[], Made], size: Callable[[Made], int]
    ) -> Made:
        """Return what was computed under a key, computing it when it is not kept."""
        return self._memo.get(key, make, size)

    def remembers(self, key: Hashable) -> bool:
        """Say whether something is kept under a key."""
        return self._memo.holds(key)

    def get(self, recording: str = "") -> Opened:
        """Return an opened recording; ``""`` is the first.

        Raises
        ------
        LookupFailed
            None has that id.
        """
        if not recording and self._opened:
            return next(iter(self._opened.values()))
        try:
            return self._opened[recording]
        except KeyError:
            known = ", ".join(self._opened) or "none"
            raise LookupFailed(
                f"no recording {recording!r} is open here: open are {known}"
            ) from None

    def info(self, recording: str, key: str) -> GraphInfo:
        """Return what is known about a graph or failed capture without reading it."""
        return self.get(recording).recording.info(key)

    def graph(self, recording: str, key: str, body: str = "") -> Graph:
        """Return a graph, or one body below it, reading it when needed.

        Raises
        ------
        LookupFailed
            There is no such recording, graph or body, or its nodes were not read.
        FormatError
            The stored graph is damaged.
        """
        opened = self.get(recording)
        opened.recording.info(key)

        def read() -> Graph:
            with self.reading:
                graph = opened.recording.graph(key)
                opened.recording.forget(key)
                return graph

        def size(graph: Graph) -> int:
            return NODE_BYTES * sum(len(part) for _, part in graph.walk())

        return self._memo.get(("graph", opened.id, key), read, size).at(body)

    def timeline(self, recording: str) -> Sequence[Event]:
        """Return the events of a recording, reading them when needed."""
        with self.reading:
            return self.get(recording).recording.timeline

    def twins(self, recording: str) -> Mapping[str, int]:
        """Return how many graphs of a recording share each topology, by digest."""
        opened = self.get(recording)

        def count() -> dict[str, int]:
            counts: dict[str, int] = {}
            for info in opened.recording.graphs.values():
                if info.topology:
                    counts[info.topology] = counts.get(info.topology, 0) + 1
            return counts

        return self._memo.get(("twins", opened.id), count, lambda counts: 100 * len(counts))
