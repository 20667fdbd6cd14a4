"""Kinds of evidence that are stored beside graphs: one table, which all readers and writers go by.

A kind hangs on a graph or on an executable. Its name is the folder in a packed recording, the list
in the readable document and the record in a journal (``NAME_absent`` says why there is none). To
store another kind, add an entry to :data:`STORED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from .benchmarks import Benchmark
from .errors import FormatError
from .memory_after import FREE_COLUMNS, REBIND_COLUMNS
from .memory_checks import check as check_memory
from .memory_map import (
    BLOCK_COLUMNS,
    EVENT_COLUMNS,
    NAME_COLUMNS,
    RANGE_COLUMNS,
    SEGMENT_COLUMNS,
    SUM_COLUMNS,
    Memory,
    MemoryMap,
    Snapshot,
)
from .origin_checks import check as check_origins
from .origins import NODE_COLUMNS as ORIGIN_COLUMNS
from .origins import Origins
from .outside import STACK_COLUMNS, WORK_COLUMNS, Compilation, Outside
from .outside_checks import check as check_outside
from .timings import NODE_COLUMNS as TIMING_COLUMNS
from .timings import Timings
from .updates import ANSWER_COLUMNS, Updates, name_graphs, updates_told
from .writes import WATCHED_COLUMNS, WRITE_COLUMNS, Writes
from .writes import told as writes_told


class Columns(NamedTuple):
    """Fields of one length, one value per row; one that is empty is not there."""

    part: str
    """Field of the struct that has them, itself a struct; empty for the struct itself."""
    names: tuple[str, ...]
    key: str = ""
    """Column that has to be there when any other is."""


class StoredKind(NamedTuple):
    """One kind of evidence.

    Attributes
    ----------
    name : str
        As in :class:`~capture.model.EvidenceKind`, unless it belongs to a process.
    noun : str
        For sentences: what was, or was not, recorded.
    struct : type
        With a field ``graph``, and ``executable`` or ``process`` where it hangs on one.
    owner : str
        ``"graph"``, ``"executable"`` or ``"process"``: the field with what it hangs on. A process
        is its place in the recording's list, as text.
    columns : tuple of Columns
    told : callable
        Of an item: how it was got, and why it is no evidence all the same (empty if it is).
    texts : tuple of str
        Fields that map names to long texts, which many items have in common.
    check : callable
        Raises :class:`FormatError` where an item contradicts itself, beyond its columns' lengths.
    name_graphs : callable
        Puts the recording's keys of other graphs into an item, by their serials in the process.
    """

    name: str
    noun: str
    struct: type[msgspec.Struct]
    owner: str
    columns: tuple[Columns, ...]
    told: Callable[[Any], tuple[str, str]]
    texts: tuple[str, ...] = ()
    check: Callable[[Any, str], None] = lambda item, where: None
    name_graphs: Callable[[Any, dict[int, str]], None] = lambda item, keys: None

    def lengths(self, item: Any) -> Iterator[tuple[Columns, dict[str, int]]]:
        """Yield the columns of every part that an item has, with their lengths."""
        for columns in self.columns:
            part = getattr(item, columns.part) if columns.part else item
            if part is not None:
                yield columns, {name: len(getattr(part, name)) for name in columns.names}

    def validate(self, item: Any, where: str) -> None:
        """Check what a struct's types cannot say.

        Parameters
        ----------
        item : object
            Of type `struct`.
        where : str
            What it is, for messages.

        Raises
        ------
        FormatError
            Columns have different lengths, or the item contradicts itself.

        Notes
        -----
        Linear in the item's size.
        """
        for columns, lengths in self.lengths(item):
            here = f"{where}.{columns.part}" if columns.part else where
            filled = {name: count for name, count in lengths.items() if count}
            key = columns.key or next(iter(filled), "")
            rows = lengths.get(key, 0)
            for name, count in filled.items():
                if count != rows:
                    raise FormatError(
                        f"{here}.{name} has {count} values, expected {rows}, "
                        f"one per row as {key!r} has"
                    )
        self.check(item, where)


def _timings_told(timings: Timings) -> tuple[str, str]:
    replays = len(timings.makespan_ns)
    how = f"CUPTI activity records of {replays} replays, joined by {timings.joined_by}"
    early = timings.extra.get("ended_early")
    return f"{how}; later ones were not traced: {early}" if early else how, ""


def _benchmark_told(benchmark: Benchmark) -> tuple[str, str]:
    if benchmark.refused:
        return "", benchmark.refused
    replays = len(benchmark.replay_ns) + len(benchmark.cold_replay_ns)
    removals = sum(bool(removal.without_ns) for removal in benchmark.removals)
    costs = benchmark.nodes
    nodes = 0
    if costs is not None:
        nodes = sum(value >= 0 for value in costs.isolated_ns)
    measured = [
        text
        for count, text in (
            (replays, f"{replays} replays of our own"),
            (removals, f"replays without nodes for {removals} selections"),
            (nodes, f"{nodes} nodes by themselves"),
        )
        if count
    ]
    if not measured:
        why = "; ".join(removal.reason for removal in benchmark.removals if removal.reason)
        return "", why or "; ".join(benchmark.notes) or "nothing could be measured"
    return f"{', '.join(measured)}, of an executable made of a clone of the graph", ""


def _origins_told(origins: Origins) -> tuple[str, str]:
    return "; ".join(origins.how) or "recorded while the graph was captured", ""


def _memory_told(memory: MemoryMap) -> tuple[str, str]:
    return "; ".join(memory.how), memory.refused


def _check_benchmark(benchmark: Benchmark, where: str) -> None:
    eager = benchmark.eager
    for name, figures in eager.calls.items() if eager is not None else ():
        if len(figures) != 2:
            raise FormatError(
                f"{where}.eager.calls has {len(figures)} figures for {name!r}, expected a count "
                f"and a time"
            )


TIMINGS = StoredKind(
    name="timings",
    noun="node timings",
    struct=Timings,
    owner="executable",
    columns=(Columns("", (*TIMING_COLUMNS, "sample_runs", "sample_end_ns"), key="node"),),
    told=_timings_told,
)
BENCHMARKS = StoredKind(
    name="benchmarks",
    noun="benchmarks",
    struct=Benchmark,
    owner="graph",
    columns=(
        Columns("nodes", ("node", "isolated_ns", "marginal_ns"), key="node"),
        Columns(
            "conditions",
            ("at_ns", "sm_clock_mhz", "memory_clock_mhz", "power_mw", "temperature_c"),
            key="at_ns",
        ),
    ),
    told=_benchmark_told,
    check=_check_benchmark,
)
ORIGINS = StoredKind(
    name="origins",
    noun="origins of nodes",
    struct=Origins,
    owner="graph",
    columns=(Columns("", ORIGIN_COLUMNS),),
    told=_origins_told,
    texts=("sources",),
    check=check_origins,
)
_MEMORY_COLUMNS = (
    Columns("segments", SEGMENT_COLUMNS, key="address"),
    Columns("blocks", BLOCK_COLUMNS, key="address"),
    Columns("events", EVENT_COLUMNS, key="address"),
    Columns("names", NAME_COLUMNS, key="address"),
    Columns("sums", SUM_COLUMNS, key="mark"),
)
MEMORY = StoredKind(
    name="memory",
    noun="memory",
    struct=Memory,
    owner="graph",
    columns=(*_MEMORY_COLUMNS, Columns("ranges", RANGE_COLUMNS, key="address")),
    told=_memory_told,
    check=check_memory,
)
SNAPSHOTS = StoredKind(
    name="snapshots",
    noun="memory of the process",
    struct=Snapshot,
    owner="process",
    columns=(
        *_MEMORY_COLUMNS,
        Columns("frees", FREE_COLUMNS, key="address"),
        Columns("rebinds", REBIND_COLUMNS, key="address"),
    ),
    told=_memory_told,
    check=check_memory,
)


def _outside_told(outside: Outside) -> tuple[str, str]:
    return f"CUPTI activity records of {outside.windows} windows of traced replays", outside.reason


def _compilation_told(compilation: Compilation) -> tuple[str, str]:
    return "the compiler's own counters, log and trees of graphs", compilation.reason


OUTSIDE = StoredKind(
    name="outside",
    noun="work outside graphs",
    struct=Outside,
    owner="process",
    columns=(Columns("", (*WORK_COLUMNS, *STACK_COLUMNS), key="name"),),
    told=_outside_told,
    check=check_outside,
)
COMPILATION = StoredKind(
    name="compilation",
    noun="the compiler's coverage",
    struct=Compilation,
    owner="process",
    columns=(),
    told=_compilation_told,
)

WRITES = StoredKind(
    name="writes",
    noun="what nodes wrote",
    struct=Writes,
    owner="graph",
    columns=(
        Columns("", WRITE_COLUMNS, key="node"),
        Columns("watched", WATCHED_COLUMNS, key="address"),
    ),
    told=writes_told,
)

UPDATES = StoredKind(
    name="updates",
    noun="answers of the driver about updates",
    struct=Updates,
    owner="graph",
    columns=(Columns("", ANSWER_COLUMNS, key="after"),),
    told=updates_told,
    name_graphs=name_graphs,
)

_KINDS = (TIMINGS, BENCHMARKS, ORIGINS, MEMORY, SNAPSHOTS, OUTSIDE, COMPILATION, WRITES, UPDATES)
STORED = {kind.name: kind for kind in _KINDS}
"""Every stored kind of evidence, by name."""
