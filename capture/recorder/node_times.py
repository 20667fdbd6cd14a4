"""Activity records of replays, turned into the timings of one executable."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low

from ..model import Graph
from ..timings import Timings
from .cupti_records import Record


def split_replays(records: Iterable[Record]) -> list[list[Record]]:
    """Group records into replays, in the order in which they started.

    All nodes of one replay share the correlation id of its launch, except those in bodies of
    conditionals, which the device launches: they have 0, and belong to the replay during which
    they started. One executable never runs twice at a time.
    """
    groups: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        groups[record.correlation].append(record)
    launched_by_device = groups.pop(0, [])
    replays = sorted(groups.values(), key=lambda group: min(record.start_ns for record in group))
    starts = [min(record.start_ns for record in replay) for replay in replays]
    for record in launched_by_device:
        # Without a replay before it, the launch's own records were lost: nobody knows its start.
        number = bisect_right(starts, record.start_ns) - 1
        if number >= 0:
            replays[number].append(record)
    return [sorted(replay, key=lambda record: record.start_ns) for replay in replays]


def busy_ns(replay: Sequence[Record]) -> int:
    """Return the time in which at least one node ran; `replay` is sorted by start."""
    total = 0
    end = 0
    for record in replay:
        start = max(record.start_ns, end)
        if record.end_ns > start:
            total += record.end_ns - start
            end = record.end_ns
    return total


def percentile_95(values: Sequence[int]) -> int:
    """Return the 95th percentile of a sorted sequence, by nearest rank."""
    return values[max(0, -(-95 * len(values) // 100) - 1)]


def timings(
    executable: str,
    graph: Graph,
    key: str,
    replays: Sequence[Sequence[Record]],
    paths: Mapping[int, str],
) -> Timings:
    """Sum up traced replays of one executable.

    Parameters
    ----------
    executable, key : str
        Id of the executable, key of the graph.
    graph : Graph
        As captured.
    replays : sequence of sequences of Record
        Sorted by start within a replay; see :func:`split_replays`.
    paths : mapping of int to str
        Path of the captured node by the id of its clone in the executable.

    Returns
    -------
    Timings
        One row per node id that ran, in order of median start.
    """
    durations: dict[int, list[int]] = defaultdict(list)
    starts: dict[int, list[int]] = defaultdict(list)
    gaps: dict[int, list[int]] = defaultdict(list)
    streams: dict[int, int] = {}
    makespans: list[int] = []
    busy: list[int] = []
    waits = _Waits(graph, paths)
    for replay in replays:
        first = replay[0].start_ns
        makespans.append(max(record.end_ns for record in replay) - first)
        busy.append(busy_ns(replay))
        for record in replay:
            durations[record.node_id].append(record.end_ns - record.start_ns)
            starts[record.node_id].append(record.start_ns - first)
            streams[record.node_id] = record.stream
        for node, gap in waits.gaps(replay):
            gaps[node].append(gap)
    result = Timings(executable=executable, graph=key, makespan_ns=makespans, busy_ns=busy)
    if not replays:
        return result
    sample = _runs(replays[makespans.index(median_low(makespans))])
    looped = any(len(runs) > 1 for runs in sample.values())
    middle_starts = {node: median_low(values) for node, values in starts.items()}
    for node in sorted(durations, key=middle_starts.__getitem__):
        values = sorted(durations[node])
        runs = sample.get(node, [])
        begin, end = runs[0] if runs else (-1, -2)
        result.node.append(paths.get(node, ""))
        result.count.append(len(values))
        result.minimum_ns.append(values[0])
        result.median_ns.append(median_low(values))
        result.p95_ns.append(percentile_95(values))
        result.start_ns.append(middle_starts[node])
        result.gap_ns.append(median_low(gaps[node]) if node in gaps else -1)
        result.stream.append(streams[node])
        result.sample_start_ns.append(begin)
        result.sample_duration_ns.append(end - begin)
        if looped:
            result.sample_runs.append(len(runs))
            result.sample_end_ns.append(max((end for _, end in runs), default=-1))
    return result


def _runs(replay: Sequence[Record]) -> dict[int, list[tuple[int, int]]]:
    """Return start and end of every run of each node, counted from the replay's start."""
    first = replay[0].start_ns
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for record in replay:
        found[record.node_id].append((record.start_ns - first, record.end_ns - first))
    return found


class _Waits:
    """Which nodes of the outermost level each of them waits for, ready for many replays."""

    def __init__(self, graph: Graph, paths: Mapping[int, str]) -> None:
        topology = graph.topology
        self.owner: dict[int, int] = {}
        """Position on the outermost level by node id, also of nodes in bodies."""
        self.direct: dict[int, int] = {}
        """The same, of nodes that are on that level themselves."""
        for node, path in paths.items():
            top, _, below = path.partition("/")
            if top.isdigit() and int(top) < len(topology.types):
                self.owner[node] = int(top)
                if not below:
                    self.direct[node] = int(top)
        self.incoming: list[list[int]] = [[] for _ in topology.types]
        outgoing: list[list[int]] = [[] for _ in topology.types]
        waiting = [0] * len(topology.types)
        for source, target in zip(topology.source, topology.target, strict=True):
            self.incoming[target].append(source)
            outgoing[source].append(target)
            waiting[target] += 1
        self.order = [position for position, count in enumerate(waiting) if not count]
        for position in self.order:
            for target in outgoing[position]:
                waiting[target] -= 1
                if not waiting[target]:
                    self.order.append(target)

    def gaps(self, replay: Sequence[Record]) -> list[tuple[int, int]]:
        """Return, per node id, the time from the last predecessor's end to its first start.

        A predecessor with bodies ends when the last of their nodes does. One that leaves no record
        (an empty node, an event) hands on those before it. Only nodes of the outermost level have
        gaps: what a body waits for is not in its edges.
        """
        first = replay[0].start_ns
        owner, direct = self.owner, self.direct
        count = len(self.incoming)
        ends = [-1] * count
        begun: dict[int, int] = {}
        for record in replay:
            node = record.node_id
            position = owner.get(node)
            if position is not None:
                end = record.end_ns - first
                if end > ends[position]:
                    ends[position] = end
                if node in direct and node not in begun:
                    begun[node] = record.start_ns - first
        ready = [0] * count
        for position in self.order:
            latest = 0
            for source in self.incoming[position]:
                end = ends[source]
                if end < 0:
                    end = ready[source]
                if end > latest:
                    latest = end
            ready[position] = latest
        return [(node, max(0, at - ready[direct[node]])) for node, at in begun.items()]
