"""Cost of the critical path on a layered DAG, against networkx ``dag_longest_path``.

    python -m tests.benchmarks.critical_path [-o RESULTS.json] [--nodes 100000] [--runs 5]

Both get the same synthetic graph with the same durations, in memory and in their own form; in turn,
in one process. Ours returns more (slack of every node, predictions, a table); the extra row
"path only" leaves out the prediction with gaps. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx

from capture import __version__
from capture.analysis import Subject, analyses, run_analysis
from capture.model import Graph, Topology
from capture.timings import Timings

GOAL_RATIO = 0.5
WIDTH = 8
PREDECESSORS = 3


def layered(nodes: int, width: int, seed: int = 1) -> tuple[Topology, list[int]]:
    """Return a synthetic DAG of equal layers, each node after some of the layer before."""
    random_ = random.Random(seed)
    source, target = [], []
    for node in range(width, nodes):
        first = (node // width - 1) * width
        for before in sorted(random_.sample(range(first, first + width), PREDECESSORS)):
            source.append(before)
            target.append(node)
    durations = [random_.randrange(1_000, 50_000) for _ in range(nodes)]
    return Topology(types=["kernel"] * nodes, source=source, target=target), durations


def timings_of(topology: Topology, durations: list[int]) -> Timings:
    """Return made-up timings: every node starts 1 us after its last predecessor."""
    starts = [0] * len(durations)
    for source, target in zip(topology.source, topology.target, strict=True):
        starts[target] = max(starts[target], starts[source] + durations[source] + 1_000)
    makespan = max(map(sum, zip(starts, durations, strict=True)))
    return Timings(
        executable="0",
        graph="synthetic",
        node=list(map(str, range(len(durations)))),
        median_ns=durations,
        stream=[7 + node % 4 for node in range(len(durations))],
        makespan_ns=[makespan],
        sample_start_ns=starts,
        sample_duration_ns=durations,
    )


def milliseconds(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall time, the process's CPU time, and what the function returns."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    found = function()
    return (time.perf_counter_ns() - wall) / 1e6, (time.process_time_ns() - cpu) / 1e6, found


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    topology, durations = layered(options.nodes, WIDTH)
    timings = timings_of(topology, durations)
    graph = Graph(topology=topology, payloads=[None] * options.nodes, name="synthetic layers")
    # networkx weighs edges: a path's weight is its nodes' durations but for the last one's.
    peer = networkx.DiGraph()
    peer.add_nodes_from(range(options.nodes))
    peer.add_weighted_edges_from(
        (source, target, durations[source])
        for source, target in zip(topology.source, topology.target, strict=True)
    )
    analyses()
    names = ("ours", "path only", "networkx")
    times: dict[str, list[float]] = {name: [] for name in names}
    cpu_times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.runs):
        for name, gaps in (("ours", True), ("path only", False)):
            # A new subject each time: nothing that it keeps is reused.
            cost, cpu, found = milliseconds(
                lambda gaps=gaps: run_analysis(  # type: ignore[misc]
                    "critical_path", Subject(graph, timings=timings), gaps=gaps
                )
            )
            assert found.present, found.absent_reason
            times[name].append(cost)
            cpu_times[name].append(cpu)
        cost, cpu, path = milliseconds(lambda: networkx.dag_longest_path(peer))
        times["networkx"].append(cost)
        cpu_times["networkx"].append(cpu)
    ends = sum(durations[node] for node in path[:-1])
    ours = sum(durations[node] for node in found.node_marks[:-1])
    medians = {name: statistics.median(values) for name, values in times.items()}
    cpu_medians = {name: statistics.median(values) for name, values in cpu_times.items()}
    ratios = {name: round(medians[name] / medians["networkx"], 3) for name in names}
    cpu_ratios = {name: round(cpu_medians[name] / cpu_medians["networkx"], 3) for name in names}
    results = {
        "benchmark": "critical_path",
        "goal_ratio": GOAL_RATIO,
        "nodes": options.nodes,
        "edges": len(topology.source),
        "width": WIDTH,
        "runs": options.runs,
        "median_ms": {name: round(value, 2) for name, value in medians.items()},
        "best_ms": {name: round(min(values), 2) for name, values in times.items()},
        "ratio_to_networkx": ratios,
        "cpu_median_ms": {name: round(value, 2) for name, value in cpu_medians.items()},
        "cpu_ratio_to_networkx": cpu_ratios,
        "length_without_last_node_ns": {"ours": ours, "networkx": ends},
        "versions": {
            "cudagraph-lens": __version__,
            "networkx": version("networkx"),
            "python": platform.python_version(),
        },
        "machine": f"{platform.machine()}, {platform.system()}",
    }
    for name, value in medians.items():
        print(
            f"{name}: {value:.1f} ms, {ratios[name]} of networkx (goal {GOAL_RATIO}); CPU time "
            f"{cpu_medians[name]:.1f} ms, {cpu_ratios[name]}"
        )
    print(json.dumps(results, indent=1))
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    # The last node weighs nothing for networkx, so ours, which counts it, may end elsewhere.
    if ours > ends:
        sys.exit("networkx found a shorter path than ours: one of the two is wrong")


if __name__ == "__main__":
    main()
