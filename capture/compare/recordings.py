"""What differs between two recordings, graph by graph."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..analysis import Subject
from ..errors import FormatError
from ..model import EvidenceKind, Executable, Gpu, GraphInfo, Recording
from ..timings import Timings
from .answers import driver_answer
from .diff import GraphDiff, compare_graphs
from .update import UpdateVerdict, update_verdict

MOST_KEPT = 64
"""Pairs of which the graphs stay in memory."""


@dataclass(frozen=True, slots=True)
class GraphPair:
    """Two graphs that are one graph of two recordings.

    Attributes
    ----------
    before, after : GraphInfo
    paired_by : str
        ``"key"``, ``"topology and label"``, ``"label"``, ``"topology"``, ``"the only graph"`` or
        ``"request"``.
    diff : GraphDiff
        Without graphs where there are more than `MOST_KEPT` pairs.
    update : UpdateVerdict
        Whether the executable of `before` could be updated to `after`.
    """

    before: GraphInfo
    after: GraphInfo
    paired_by: str
    diff: GraphDiff
    update: UpdateVerdict


@dataclass(frozen=True, slots=True)
class RecordingDiff:
    """The difference of two recordings.

    Attributes
    ----------
    pairs : list of GraphPair
        In order of capture before.
    removed, added : list of GraphInfo
        Graphs that only one recording has.
    notes : list of str
    """

    pairs: list[GraphPair]
    removed: list[GraphInfo]
    added: list[GraphInfo]
    notes: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether both have the same graphs and no node or dependency differs."""
        return not self.removed and not self.added and all(pair.diff.same for pair in self.pairs)

    def document(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "same": self.same,
            "graphs": [
                {
                    "before": pair.before.key,
                    "after": pair.after.key,
                    "paired_by": pair.paired_by,
                    **pair.diff.document(),
                    "update": {
                        **msgspec.to_builtins(pair.update),
                        "disputed": pair.update.disputed,
                    },
                }
                for pair in self.pairs
            ],
            "removed": [info.key for info in self.removed],
            "added": [info.key for info in self.added],
            "notes": self.notes,
        }


def subject_of(recording: Recording, key: str) -> Subject:
    """Return a graph with its evidence; of several timed executables the one traced most often.

    Raises
    ------
    LookupFailed
        There is no such graph, or its nodes are not in the recording.
    FormatError
        The stored graph is damaged. Damaged evidence counts as absent, with that reason.
    """
    info, graph = recording.info(key), recording.graph(key)
    unreadable: dict[EvidenceKind, str] = {}

    def held(kind: EvidenceKind, load: Callable[[], Any]) -> Any:
        try:
            return load()
        except FormatError as error:
            unreadable[kind] = f"the {kind.value} cannot be read: {error}"
            return None

    shown: tuple[Executable | None, Timings | None] = held(
        EvidenceKind.TIMINGS, lambda: _most_traced(recording, key)
    ) or (None, None)
    return Subject(
        graph,
        info,
        shown[1],
        _gpu(recording, info),
        shown[0],
        origins=held(EvidenceKind.ORIGINS, lambda: recording.origins(key)),
        unreadable=unreadable,
        benchmark=held(EvidenceKind.BENCHMARKS, lambda: recording.benchmark(key)),
        memory=held(EvidenceKind.MEMORY, lambda: recording.memory(key)),
    )


def _most_traced(recording: Recording, key: str) -> tuple[Executable, Timings] | None:
    found = [
        (item, timings)
        for item in recording.executables_of(key)
        if (timings := recording.timings(item.id)) is not None
    ]
    return max(found, key=lambda pair: len(pair[1].makespan_ns), default=None)


def _gpu(recording: Recording, info: GraphInfo) -> Gpu | None:
    if info.process is None or not 0 <= info.process < len(recording.processes):
        return None
    gpus = recording.processes[info.process].gpus
    if info.device is None:
        return gpus[0] if gpus else None
    return next((gpu for gpu in gpus if gpu.index == info.device), None)


def pair_graphs(
    before: Iterable[GraphInfo], after: Iterable[GraphInfo]
) -> tuple[list[tuple[GraphInfo, GraphInfo, str]], list[GraphInfo], list[GraphInfo]]:
    """Say which graph is which: by key and topology, then topology and label, key, label, topology.

    A key holds an ordinal, so a capture more at the start shifts the keys of all that follow;
    graphs of equal key and another topology are paired only after those of equal topology.

    Returns
    -------
    pairs : list of (before, after, paired by)
    removed, added : list of GraphInfo
    """
    left = {info.key: info for info in before}
    right = {info.key: info for info in after}
    order = {key: at for at, key in enumerate(left)}
    pairs: list[tuple[GraphInfo, GraphInfo, str]] = []
    rules: list[tuple[str, Callable[[GraphInfo], Hashable]]] = [
        ("key", lambda info: (info.key, info.topology)),
        ("topology and label", lambda info: info.topology and (info.topology, info.label)),
        ("key", lambda info: info.key),
        ("label", lambda info: info.label),
        ("topology", lambda info: info.topology),
    ]
    for words, rule in rules:
        waiting: defaultdict[Hashable, deque[GraphInfo]] = defaultdict(deque)
        for info in right.values():
            waiting[rule(info)].append(info)
        for info in list(left.values()):
            key = rule(info)
            if key and waiting[key]:
                other = waiting[key].popleft()
                pairs.append((info, other, words))
                del left[info.key], right[other.key]
    if len(left) == 1 and len(right) == 1 and not pairs:
        pairs = [(next(iter(left.values())), next(iter(right.values())), "the only graph")]
        left, right = {}, {}
    pairs.sort(key=lambda pair: order[pair[0].key])
    return pairs, list(left.values()), list(right.values())


def compare_recordings(
    before: Recording, after: Recording, key: str = "", key_after: str = ""
) -> RecordingDiff:
    """Compare two recordings graph by graph; graphs are loaded one pair at a time.

    Parameters
    ----------
    before, after : Recording
    key : str
        Compare only this graph of `before`; empty for all.
    key_after : str
        With this graph of `after`; empty for the one that it is paired with.

    Raises
    ------
    LookupFailed
        No such graph, or the graph of `key` has no counterpart and `key_after` is not given.
    """
    notes: list[str] = []
    if key or key_after:
        chosen, words = _requested(before, after, key, key_after)
        pairs, removed, added = [(*chosen, words)], list[GraphInfo](), list[GraphInfo]()
    else:
        pairs, removed, added = pair_graphs(before.graphs.values(), after.graphs.values())
    found = []
    for one, other, words in pairs:
        loaded = before.is_loaded(one.key), after.is_loaded(other.key)
        diff = compare_graphs(subject_of(before, one.key), subject_of(after, other.key))
        update = update_between(before, after, diff)
        if len(pairs) > MOST_KEPT:
            diff = diff.without_graphs()
        found.append(GraphPair(one, other, words, diff, update))
        if len(pairs) > 1 and not loaded[0]:
            before.forget(one.key)
        if len(pairs) > 1 and not loaded[1]:
            after.forget(other.key)
    for words, recording in (("before", before), ("after", after)):
        if not recording.graphs:
            notes.append(f"The recording {words} has no graphs.")
        elif not recording.metadata.complete:
            notes.append(f"The recording {words} is incomplete: a process ended without notice.")
    return RecordingDiff(found, removed, added, notes)


def update_between(before: Recording, after: Recording, diff: GraphDiff) -> UpdateVerdict:
    """Say whether an update would take one graph's executable to another, and what the driver says.

    Parameters
    ----------
    before, after : Recording
        One and the same where both graphs are of one recording: the driver may have been asked.
    diff : GraphDiff
        Of two of their graphs, told with what is known of them (``Subject.info``).
    """
    one, other = diff.before.info, diff.after.info
    if one is None or other is None:
        return update_verdict(diff.before.graph, diff.after.graph, diff=diff)
    answer, unasked = driver_answer(before, after, one.key, other.key)
    verdict = update_verdict(
        diff.before.graph,
        diff.after.graph,
        one,
        other,
        diff=diff,
        flags=answer.flags if answer is not None else None,
        one_process=before is after and one.process == other.process,
    )
    verdict.answer, verdict.unasked = answer, unasked
    return verdict


def _requested(
    before: Recording, after: Recording, key: str, key_after: str
) -> tuple[tuple[GraphInfo, GraphInfo], str]:
    if key and key_after:
        return (before.info(key), after.info(key_after)), "request"
    if key:
        one = before.info(key)
        pairs, _, _ = pair_graphs(before.graphs.values(), after.graphs.values())
        for left, right, words in pairs:
            if left is one:
                return (left, right), words
        # Nothing fits: what the other recording has is said by its own error.
        return (one, after.info(key)), "key"
    other = after.info(key_after)
    for left, right, words in pair_graphs(before.graphs.values(), after.graphs.values())[0]:
        if right is other:
            return (left, right), words
    return (before.info(key_after), other), "key"
