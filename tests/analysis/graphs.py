"""Synthetic graphs and timings for the analyses: made up here, never measured on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from capture.analysis import Subject
from capture.model import Body, Gpu, Graph, Kernel, Topology
from capture.nodes.conditional import ConditionalPayload
from capture.nodes.kernel import KernelPayload
from capture.timings import Timings

GPU = Gpu(index=0, name="Synthetic GPU", multiprocessors=100, max_threads_per_multiprocessor=2048)


def graph_of(
    count: int,
    edges: Sequence[tuple[int, int]],
    types: Sequence[str] | None = None,
    payloads: Sequence[Any] | None = None,
    bodies: Sequence[Body] = (),
    edge_type: Sequence[int] = (),
) -> Graph:
    return Graph(
        topology=Topology(
            types=list(types or ["kernel"] * count),
            source=[source for source, _ in edges],
            target=[target for _, target in edges],
            edge_type=list(edge_type),
        ),
        payloads=list(payloads or [None] * count),
        bodies=list(bodies),
        name="synthetic",
    )


def timings_of(
    durations: Sequence[int],
    starts: Sequence[int] | None = None,
    nodes: Sequence[str] | None = None,
    **fields: Any,
) -> Timings:
    """Return timings with a row per duration; with starts, a sample replay too."""
    names = list(nodes) if nodes is not None else list(map(str, range(len(durations))))
    timings = Timings(executable="0", graph="synthetic", node=names, median_ns=list(durations))
    if starts is not None:
        timings.sample_start_ns, timings.sample_duration_ns = list(starts), list(durations)
        ends = [start + length for start, length in zip(starts, durations, strict=True)]
        timings.makespan_ns = [max(ends) - min(starts)] if ends else []
    for name, value in fields.items():
        setattr(timings, name, value)
    return timings


def subject_of(
    count: int,
    edges: Sequence[tuple[int, int]],
    durations: Sequence[int] | None = None,
    starts: Sequence[int] | None = None,
    **fields: Any,
) -> Subject:
    timings = None if durations is None else timings_of(durations, starts, **fields)
    return Subject(graph_of(count, edges), timings=timings, gpu=GPU)


def kernel(name: str = "synthetic", blocks: int = 1, threads: int = 128, resident: int = 4) -> Any:
    return KernelPayload(
        kernel=Kernel(name=name),
        grid=(blocks, 1, 1),
        block=(threads, 1, 1),
        max_blocks_per_multiprocessor=resident,
    )


def with_loop() -> Graph:
    """Return kernel → while (two kernels) → kernel."""
    inner = graph_of(2, [(0, 1)], payloads=[kernel("step"), kernel("test")])
    return graph_of(
        3,
        [(0, 1), (1, 2)],
        types=["kernel", "conditional", "kernel"],
        payloads=[kernel("first"), ConditionalPayload(kind="while", body_count=1), kernel("last")],
        bodies=[Body(node=1, index=0, role="while", graph=inner)],
    )


@st.composite
def dags(
    draw: st.DrawFn, largest: int = 8, shuffled: bool = True
) -> tuple[int, list[tuple[int, int]], list[int]]:
    """Draw a small DAG in any creation order and any order of edges, with durations."""
    count = draw(st.integers(0, largest))
    possible = [(low, high) for high in range(count) for low in range(high)]
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    if shuffled:
        names = draw(st.permutations(range(count)))
        edges = [(names[low], names[high]) for low, high in edges]
    durations = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    return count, edges, durations


def paths(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return every path from a root, of any length: brute force."""
    after: dict[int, list[int]] = {}
    for source, target in edges:
        after.setdefault(source, []).append(target)
    roots = set(range(count)) - {target for _, target in edges}
    found, todo = [], [[root] for root in sorted(roots)]
    while todo:
        path = todo.pop()
        found.append(path)
        todo.extend([*path, target] for target in after.get(path[-1], []))
    return found


def longest(count: int, edges: Sequence[tuple[int, int]], durations: Sequence[int]) -> int:
    return max((sum(durations[node] for node in path) for path in paths(count, edges)), default=0)


def earliest_starts(
    count: int, edges: Sequence[tuple[int, int]], durations: Sequence[int], gap: int = 0
) -> list[int]:
    """Return when each node starts with unlimited parallelism: brute force."""
    starts = [0] * count
    for path in paths(count, edges):
        time = 0
        for number, node in enumerate(path):
            time += gap if number else 0
            starts[node] = max(starts[node], time)
            time += durations[node]
    return starts
