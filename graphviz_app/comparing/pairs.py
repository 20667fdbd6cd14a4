"""Which graphs of two recordings belong together, and what differs, one pair after another.

Thousands of pairs take minutes, so a thread compares them while the table of pairs is on the
screen; of each only numbers are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from capture.compare import (
    Counts,
    GraphDiff,
    Measure,
    UpdateVerdict,
    compare_graphs,
    pair_graphs,
    subject_of,
    update_between,
)
from capture.errors import GraphLensError
from capture.model import GraphInfo

from .compared import Pair, compared

if TYPE_CHECKING:
    from ..store import Store

ROW_BYTES = 3_000
LARGE_NODES = 3_000
"""Pairs of larger graphs are kept whole, as opened ones are."""


@dataclass(frozen=True, slots=True)
class PairSummary:
    """What differs between two graphs, as numbers.

    Attributes
    ----------
    counts : Counts
    in_common : bool
    times : int
        Nodes that differ in nothing but their time.
    replay : Measure or None
        The first time that was measured of both.
    possible : bool or None
        Whether an update of the executable is predicted to be taken.
    result : str
        What the driver would answer.
    problem : str
        Why it could not be compared; all else means nothing then.
    """

    counts: Counts
    in_common: bool = True
    times: int = 0
    replay: Measure | None = None
    possible: bool | None = None
    result: str = ""
    problem: str = ""

    @property
    def same(self) -> bool:
        """Whether no node and no dependency differs."""
        counts = self.counts
        differing = counts.added + counts.removed + counts.changed + counts.moved
        return not (differing or counts.edges_added or counts.edges_removed or counts.edges_changed)


class Pairs:
    """The pairs of two recordings, compared by a thread of their own.

    Attributes
    ----------
    matched : list of (GraphInfo, GraphInfo, str)
        With the words for what they were paired by.
    removed, added : list of GraphInfo
        Graphs that only one recording has.
    """

    def __init__(self, store: Store, before: str, after: str) -> None:
        one, other = (store.get(name).recording for name in (before, after))
        self.matched, self.removed, self.added = pair_graphs(
            one.graphs.values(), other.graphs.values()
        )
        self._store, self._ids = store, (before, after)
        self._done: list[PairSummary] = []
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """Estimate of what this holds in memory when it is done."""
        return 10_000 + ROW_BYTES * len(self.matched)

    @property
    def finished(self) -> bool:
        """Whether every pair was compared."""
        return len(self._done) == len(self.matched)

    def done(self) -> Sequence[PairSummary]:
        """Return what was compared until now, in the order of `matched`."""
        return self._done[:]

    def start(self) -> None:
        """Compare in the background, if that has not begun."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._compare, daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Return when every pair was compared."""
        self.start()
        if self._thread is not None:
            self._thread.join()

    def _compare(self) -> None:
        for one, other, _ in self.matched:
            try:
                self._done.append(self._summary(one, other))
            except GraphLensError as error:
                self._done.append(PairSummary(Counts(), problem=str(error)))
            except Exception as error:
                # A thread that ends early would leave the table waiting for ever.
                problem = f"comparing failed ({type(error).__name__}: {error})"
                self._done.append(PairSummary(Counts(), problem=problem))

    def _summary(self, one: GraphInfo, other: GraphInfo) -> PairSummary:
        store = self._store
        if max(one.node_count or 0, other.node_count or 0) > LARGE_NODES:
            # Whoever opens this pair meanwhile waits for the same result.
            kept = compared(store, Pair(self._ids[0], one.key, self._ids[1], other.key))
            return _summed(kept.diff, kept.verdict)
        subjects = []
        for name, info in zip(self._ids, (one, other), strict=True):
            recording = store.get(name).recording
            with store.reading:
                subjects.append(subject_of(recording, info.key))
                recording.forget(info.key)
        diff = compare_graphs(*subjects)
        with store.reading:
            one_recording, other_recording = (store.get(name).recording for name in self._ids)
            verdict = update_between(one_recording, other_recording, diff)
        return _summed(diff, verdict)


def _summed(diff: GraphDiff, verdict: UpdateVerdict) -> PairSummary:
    measured = diff.measures
    return PairSummary(
        diff.counts,
        diff.in_common,
        len(diff.durations),
        measured[0] if measured else None,
        verdict.possible,
        verdict.result,
    )


def pairs_of(store: Store, before: str, after: str) -> Pairs:
    """Return the pairs of two opened recordings; they are compared once.

    Raises
    ------
    LookupFailed
        One is not open.
    """
    return store.remember(
        ("pairs", before, after), lambda: Pairs(store, before, after), lambda made: made.size_bytes
    )


def counterpart(store: Store, before: str, after: str, key: str) -> GraphInfo | None:
    """Return the graph of the recording after that a graph is paired with."""
    for one, other, _ in pairs_of(store, before, after).matched:
        if one.key == key:
            return other
    return None
