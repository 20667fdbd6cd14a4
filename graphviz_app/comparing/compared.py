"""Two graphs compared for the screen: what differs, in groups, and where each change is drawn."""

from __future__ import annotations

import threading
from collections.abc import Container
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from capture.analysis import Result, Subject, run_analysis
from capture.compare import (
    Alignment,
    GraphDiff,
    UpdateVerdict,
    compare_graphs,
    subject_of,
    update_between,
)
from capture.errors import FormatError

from ..figures.changes import Mark
from .change_groups import Group, Place, Tour, changed_groups, mark_of, time_groups
from .merged import Merged

if TYPE_CHECKING:
    from capture.compare import NodeChange
    from capture.model import Recording

    from ..store import Store

CHANGE_BYTES = 2_000
NODE_BYTES = 300
"""Estimate of what a node holds: its partner, its place in the union, its place on the screen."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two graphs of opened recordings."""

    recording: str
    graph: str
    after: str
    """Id of the recording of the graph after."""
    graph_after: str


class Compared:
    """The difference of two graphs and what the screen shows of it.

    Parameters
    ----------
    pair : Pair
    before, after : Subject
    recordings : (Recording, Recording)
        Those that the graphs are of.
    reading : context manager
        Held while something is read of them.
    """

    def __init__(
        self,
        pair: Pair,
        before: Subject,
        after: Subject,
        recordings: tuple[Recording, Recording],
        reading: AbstractContextManager[Any],
    ) -> None:
        self.pair, self.recordings = pair, recordings
        self.before, self.after = before, after
        self.diff: GraphDiff = compare_graphs(before, after)
        with reading:
            self.verdict: UpdateVerdict = update_between(*recordings, self.diff)
        self.levels: dict[str, Alignment] = {item.path_before: item for item in self.diff.levels}
        self.bodies_after = {item.path_after: item.path_before for item in self.diff.levels}
        self._merged: dict[str, Merged] = {}
        self._merging = threading.Lock()
        self._findings: dict[tuple[str, bool], Result] = {}

    @property
    def size_bytes(self) -> int:
        """Estimate of what this holds in memory, graphs and pictures left out."""
        nodes = sum(len(level.before) + len(level.after) for level in self.diff.levels)
        return 50_000 + NODE_BYTES * nodes + CHANGE_BYTES * len(self.diff.changes)

    @property
    def one_and_the_same(self) -> bool:
        """Whether a graph is compared with itself."""
        pair = self.pair
        return (pair.recording, pair.graph) == (pair.after, pair.graph_after)

    @property
    def nothing_to_draw(self) -> str:
        """Why the two are not drawn together, as a sentence; empty where they are."""
        counts = self.diff.counts
        if not counts.nodes_before and not counts.nodes_after:
            return "Both graphs are empty: there is nothing to draw and nothing that differs."
        if not counts.nodes_before or not counts.nodes_after:
            empty = "before" if not counts.nodes_before else "after"
            return f"The graph {empty} is empty, so there is nothing to set against the other."
        if not self.diff.in_common:
            return self.diff.notes[0]
        return ""

    @cached_property
    def groups(self) -> list[Group]:
        """Changes of nodes that are alike together, the most costly first."""
        found = [
            *changed_groups(self.diff.changes, self.place_of),
            *time_groups(self.diff.durations, self.place_before),
        ]
        return sorted(found, key=lambda item: -abs(item.cost_ns or 0))

    @cached_property
    def tour(self) -> Tour:
        """Every place of every group, in the order of the list."""
        bodies: dict[str, int] = {}
        tour = Tour([], [], [], [])
        for number, group in enumerate(self.groups):
            for place in group.places:
                tour.body.append(bodies.setdefault(place.body, len(bodies)))
                tour.node.append(place.node)
                tour.group.append(number)
        tour.bodies.extend(bodies)
        return tour

    @cached_property
    def _by_path(self) -> dict[tuple[str | None, str | None], NodeChange]:
        return {(change.before, change.after): change for change in self.diff.changes}

    def change_of(self, before: str | None, after: str | None) -> NodeChange | None:
        """Return the change of the node at two paths; ``None`` where no field differs."""
        return self._by_path.get((before, after))

    def finding(self, analysis: str, before: bool) -> Result:
        """Return what an analysis of one side finds; it runs once."""
        key = (analysis, before)
        if key not in self._findings:
            self._findings[key] = run_analysis(analysis, self.before if before else self.after)
        return self._findings[key]

    def place_of(self, change: NodeChange) -> Place:
        """Return where a change is drawn: of a moved node its new place."""
        if change.after is not None and (change.before is None or change.kind == "moved"):
            return self.place_after(change.after)
        return self.place_before(change.before or "0")

    def place_before(self, path: str) -> Place:
        """Return where a node before is drawn; within a body of its own side alone, its holder."""
        body, position = nearest(path, self.levels)
        return Place(body, position)

    def place_after(self, path: str) -> Place:
        """Return where a node after is drawn."""
        body, position = nearest(path, self.bodies_after)
        here = self.bodies_after[body]
        return Place(here, int(self.merged(here).union.index_after[position]))

    def merged(self, body: str = "") -> Merged:
        """Return both graphs, or the bodies at a path before, as one.

        Raises
        ------
        KeyError
            No body that both sides have is there.
        """
        with self._merging:
            if body not in self._merged:
                self._merged[body] = Merged(self.levels[body], *self._marks(body))
            return self._merged[body]

    def _marks(self, body: str) -> tuple[dict[int, Mark], dict[int, float]]:
        """Return marks and costs by position before, of one level."""
        marks: dict[int, Mark] = {}
        costs: dict[int, float] = {}
        for change in self.diff.durations:
            if body_of(change.before) == body:
                position = int(change.before.rpartition("/")[2])
                marks[position] = Mark.TIME
                costs[position] = change.after_ns - change.before_ns
        for item in self.diff.changes:
            if item.before is None:
                continue
            at, position = nearest(item.before, self.levels)
            if at != body:
                continue
            if body_of(item.before) == body:
                marks[position] = mark_of(item)
                costs[position] = item.cost_ns or 0
            else:
                marks.setdefault(position, Mark.CHANGED)  # it lost a body
        return marks, costs


def body_of(path: str) -> str:
    """Return the body that the node at a path is in.

    Examples
    --------
    >>> body_of("12"), body_of("3/0/12")
    ('', '3/0')
    """
    return path.rpartition("/")[0]


def nearest(path: str, known: Container[str]) -> tuple[str, int]:
    """Return the innermost known body around a node, and the position there that holds it.

    Examples
    --------
    >>> nearest("3/0/12", {"", "3/0"}), nearest("3/0/12/1/5", {"", "3/0"})
    (('3/0', 12), ('3/0', 12))
    """
    body, _, position = path.rpartition("/")
    while body not in known:
        holder = body.rpartition("/")[0]
        body, _, position = holder.rpartition("/")
    return body, int(position)


def subject_at(store: Store, recording: str, key: str, body: str = "") -> Subject:
    """Return a graph or body with its evidence; damaged timings count as absent.

    Raises
    ------
    LookupFailed
        There is no such recording, graph or body.
    FormatError
        The stored graph is damaged.
    """
    try:
        return store.subject(recording, key, body)
    except FormatError:
        graph = store.graph(recording, key, body)
        with store.reading:
            whole = subject_of(store.get(recording).recording, key)
        if not body:
            return whole
        return Subject(
            graph,
            whole.info,
            gpu=whole.gpu,
            path=body,
            origins=whole.origins,
            unreadable=whole.unreadable,
        )


def compared(store: Store, pair: Pair) -> Compared:
    """Return the comparison of two opened graphs; it is computed once.

    Raises
    ------
    LookupFailed
        There is no such recording or graph.
    FormatError
        A stored graph is damaged.
    """
    return store.remember(
        ("compared", pair),
        lambda: Compared(
            pair,
            subject_at(store, pair.recording, pair.graph),
            subject_at(store, pair.after, pair.graph_after),
            (store.get(pair.recording).recording, store.get(pair.after).recording),
            store.reading,
        ),
        lambda made: made.size_bytes,
    )
