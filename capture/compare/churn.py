"""Graphs that are captured again and again at one place: what differed from the last time."""

from __future__ import annotations

from collections import Counter, defaultdict
from enum import StrEnum
from itertools import pairwise

import msgspec

from ..errors import LookupFailed
from ..model import GraphInfo, Recording
from .diff import SIZED, GraphDiff, compare_graphs


class Cause(StrEnum):
    """What differed, the one that weighs most."""

    TOPOLOGY = "topology"
    """Nodes or dependencies."""
    SHAPES = "shapes"
    """Kernels, launch dimensions or sizes of copies."""
    ARGUMENTS = "arguments"
    """Other fields: scalars, values, pointers to other buffers."""
    ADDRESSES = "addresses"
    """The same work on other buffers: with inputs that stay in place the graph could have been
    replayed, unless they are other weights."""
    NOTHING = "nothing"
    """The last graph could have been replayed."""


class Step(msgspec.Struct, kw_only=True, frozen=True):
    """One capture after another.

    Attributes
    ----------
    before, after : str
        Keys.
    cause : Cause
    words : str
        What differed, for people.
    capture_ns : int or None
        What the later capture took.
    """

    before: str
    after: str
    cause: Cause
    words: str
    capture_ns: int | None = None


class Churn(msgspec.Struct, kw_only=True, frozen=True):
    """Captures at one place with one label, in their order."""

    place: str
    label: str
    steps: list[Step]

    @property
    def causes(self) -> Counter[Cause]:
        """How often each cause stood behind a capture."""
        return Counter(step.cause for step in self.steps)


def churn(recording: Recording) -> list[Churn]:
    """Compare each graph with the one before it that was captured at the same place.

    Two objects whose captures go through one line, such as two layers, look the same.

    Returns
    -------
    list of Churn
        The most captures first; empty when no place captured a label twice.

    Notes
    -----
    Two graphs are held at a time.
    """
    places: defaultdict[tuple[object, ...], list[GraphInfo]] = defaultdict(list)
    for info in recording.graphs.values():
        if info.place is not None and info.node_count:
            where = (info.process, info.place.file, info.place.line, info.place.function)
            places[(*where, info.label)].append(info)
    found = []
    for members in places.values():
        if len(members) < 2:
            continue
        place = members[0].place
        assert place is not None
        steps = [_step(recording, one, other) for one, other in pairwise(members)]
        found.append(Churn(place=f"{place.file}:{place.line}", label=members[0].label, steps=steps))
    return sorted(found, key=lambda item: -len(item.steps))


def _step(recording: Recording, before: GraphInfo, after: GraphInfo) -> Step:
    try:
        loaded = recording.is_loaded(before.key)
        diff = compare_graphs(recording.graph(before.key), recording.graph(after.key))
        if not loaded:
            recording.forget(before.key)
        cause, words = _cause(diff)
    except LookupFailed as error:
        cause, words = Cause.TOPOLOGY, f"not known: {error}"
    return Step(
        before=before.key,
        after=after.key,
        cause=cause,
        words=words,
        capture_ns=after.capture_duration_ns,
    )


def _cause(diff: GraphDiff) -> tuple[Cause, str]:
    counts = diff.counts
    if counts.added or counts.removed or counts.moved or diff.edges:
        edges = counts.edges_added + counts.edges_removed + counts.edges_changed
        return (
            Cause.TOPOLOGY,
            f"{counts.added:,} nodes added, {counts.removed:,} removed, {counts.moved:,} moved, "
            f"{edges:,} dependencies differ",
        )
    fields = Counter(name for change in diff.changes for name in {f.field for f in change.fields})
    listed = ", ".join(f"{name} of {count:,} nodes" for name, count in fields.most_common(3))
    if SIZED & fields.keys():
        return Cause.SHAPES, listed
    if fields:
        return Cause.ARGUMENTS, listed
    if diff.addresses_moved:
        return Cause.ADDRESSES, f"{diff.addresses_moved:,} addresses are others"
    return Cause.NOTHING, "nothing differs"
