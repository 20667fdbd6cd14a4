"""Activity records of replays, turned into the timings of one executable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low

from ..model import Graph
from ..timings import Timings
from .cupti_library import Record


def split_replays(records: Iterable[Record]) -> list[list[Record]]:
    """Group records into replays, in the order in which they started.

    All nodes of one replay share the correlation id of its launch.
    """
    groups: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        groups[record.correlation].append(record)
    replays = [sorted(group, key=lambda record: record.start_ns) for group in groups.values()]
    return sorted(replays, key=lambda replay: replay[0].start_ns)


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
    streams: dict[int, int] = {}
    makespans: list[int] = []
    busy: list[int] = []
    for replay in replays:
        first = replay[0].start_ns
        makespans.append(max(record.end_ns for record in replay) - first)
        busy.append(busy_ns(replay))
        for record in replay:
            durations[record.node_id].append(record.end_ns - record.start_ns)
            starts[record.node_id].append(record.start_ns - first)
            streams[record.node_id] = record.stream
    result = Timings(executable=executable, graph=key, makespan_ns=makespans, busy_ns=busy)
    if not replays:
        return result
    middle = makespans.index(median_low(makespans))
    sample: dict[int, tuple[int, int]] = {}
    first = replays[middle][0].start_ns
    for record in replays[middle]:
        # A node in a loop ran several times: the sample spans all of them.
        begin, length = sample.get(record.node_id, (record.start_ns - first, 0))
        sample[record.node_id] = (begin, record.end_ns - first - begin)
    order = sorted(durations, key=lambda node: median_low(sorted(starts[node])))
    gaps = _gaps(graph, paths, sample)
    for node in order:
        values = sorted(durations[node])
        begin, length = sample.get(node, (-1, -1))
        result.node.append(paths.get(node, ""))
        result.count.append(len(values))
        result.minimum_ns.append(values[0])
        result.median_ns.append(median_low(values))
        result.p95_ns.append(percentile_95(values))
        result.start_ns.append(median_low(sorted(starts[node])))
        result.gap_ns.append(gaps.get(node, -1))
        result.stream.append(streams[node])
        result.sample_start_ns.append(begin)
        result.sample_duration_ns.append(length)
    return result


def _gaps(
    graph: Graph, paths: Mapping[int, str], sample: Mapping[int, tuple[int, int]]
) -> dict[int, int]:
    """Return, in the sample replay, the time from the last predecessor's end to each start.

    Predecessors that leave no record (an empty node, an event) hand on those before them. Only
    nodes of the outermost level have gaps: what a body waits for is not in its edges.
    """
    ends: dict[int, int] = {}
    for node, (begin, length) in sample.items():
        path = paths.get(node, "")
        if path.isdigit():
            position = int(path)
            ends[position] = max(ends.get(position, 0), begin + length)
    topology = graph.topology
    ready = [0] * len(topology.types)
    incoming: list[list[int]] = [[] for _ in topology.types]
    outgoing: list[list[int]] = [[] for _ in topology.types]
    waiting = [0] * len(topology.types)
    for source, target in zip(topology.source, topology.target, strict=True):
        incoming[target].append(source)
        outgoing[source].append(target)
        waiting[target] += 1
    queue = [position for position, count in enumerate(waiting) if not count]
    for position in queue:
        ready[position] = max(
            (ends.get(source, ready[source]) for source in incoming[position]), default=0
        )
        for target in outgoing[position]:
            waiting[target] -= 1
            if not waiting[target]:
                queue.append(target)
    return {
        node: max(0, begin - ready[int(paths[node])])
        for node, (begin, _) in sample.items()
        if paths.get(node, "").isdigit()
    }
