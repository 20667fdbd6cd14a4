"""Cost of reading a whole graph, against the driver's own verbose DOT of the same graph.

    python -m tests.benchmarks.reading [-o RESULTS.json] [--quick]

Chains of 1,000, 2,500, 10,000 and 100,000 kernels and a fork-join of 20,000, 64 wide; then a torch
capture of 2,500 kernels, alone and with reading before it ends. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capture.driver.cuda_bindings import CudaDriver
from capture.extract import Extraction, extract
from tests.gpu.conftest import environment
from tests.workloads.chains import chain, fork_join

VERBOSE = 1
GOAL_RATIO = 1.5
GOAL_US_A_NODE = 10.0


def milliseconds(started_ns: int) -> float:
    return (time.perf_counter_ns() - started_ns) / 1e6


def timed(function: Callable[[], Any], runs: int) -> list[float]:
    """Return the durations of some calls in milliseconds."""
    found = []
    for _ in range(runs):
        started = time.perf_counter_ns()
        function()
        found.append(milliseconds(started))
    return found


def print_dot(driver: CudaDriver, graph: int, path: str) -> None:
    """Let the driver print the graph; its text is not read."""
    driver.entry.check("cuGraphDebugDotPrint", graph, os.fsencode(path), VERBOSE)


def read_graph(driver: CudaDriver, name: str, graph: int, runs: int) -> dict[str, Any]:
    """Measure one graph, our reading and the driver's printing in turn."""
    nodes = driver.nodes(graph)
    extractions: list[Extraction] = []
    ours: list[float] = []
    dots: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "graph.dot")
        for _ in range(runs):
            ours += timed(lambda: extractions.append(extract(driver, graph)), 1)
            dots += timed(lambda: print_dot(driver, graph, path), 1)
        dot_bytes = Path(path).stat().st_size
    best = min(extractions, key=lambda item: item.duration_ns)
    listed = timed(lambda: driver.edges_by_list(graph, nodes), 1)
    asked = timed(lambda: driver.edges_by_dependencies(nodes), 1)
    everything = timed(lambda: extract(driver, graph, all_attributes=True), 1)
    count = len(nodes)
    return {
        "graph": name,
        "nodes": count,
        "edges": len(best.graph.topology.source),
        "warnings": best.warnings[:5],
        "reading_ms": round(statistics.median(ours), 3),
        "reading_best_ms": round(min(ours), 3),
        "verbose_dot_ms": round(statistics.median(dots), 3),
        "verbose_dot_best_ms": round(min(dots), 3),
        "verbose_dot_bytes": dot_bytes,
        "ratio": round(statistics.median(ours) / statistics.median(dots), 3),
        "reading_us_a_node": round(statistics.median(ours) * 1e3 / count, 2),
        "verbose_dot_us_a_node": round(statistics.median(dots) * 1e3 / count, 2),
        "phases_us_a_node": {
            phase: round(cost / 1e3 / count, 3) for phase, cost in best.phases_ns.items()
        },
        "edges_by_list_us_a_node": round(min(listed) * 1e3 / count, 3),
        "edges_by_dependencies_us_a_node": round(min(asked) * 1e3 / count, 3),
        "all_attributes_us_a_node": round(everything[0] * 1e3 / len(nodes), 2),
        "evidence": {kind: item.how for kind, item in best.evidence.items()},
    }


def read_captures(driver: CudaDriver, kernels: int, runs: int) -> dict[str, Any]:
    """Measure a torch capture alone and with reading before it ends, in turn."""
    import torch

    tensor = torch.zeros(1024, device="cuda")
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    readings: list[Extraction] = []

    def work() -> None:
        for _ in range(kernels):
            tensor.add_(1.0)

    def captured(reading: bool) -> tuple[float, float]:
        """Return (from begin to the reading, from begin to the end) in milliseconds."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            started = time.perf_counter_ns()
            graph.capture_begin()
            work()
            before = milliseconds(started)
            if reading:
                info = driver.capture_info(stream.cuda_stream)
                readings.append(extract(driver, info.graph))
            graph.capture_end()
            ended = milliseconds(started)
        torch.cuda.synchronize()
        graph.reset()
        return before, ended

    with torch.cuda.stream(stream):
        work()
    torch.cuda.synchronize()
    captured(False)
    captured(True)
    readings.clear()
    alone, both = [], []
    for _ in range(runs):
        alone.append(captured(False))
        both.append(captured(True))
    reading = statistics.median(item.duration_ns for item in readings) / 1e6
    return {
        "kernels": len(readings[-1].graph),
        "warnings": readings[-1].warnings[:5],
        "alone_ms": round(statistics.median(item[1] for item in alone), 3),
        "with_reading_ms": round(statistics.median(item[1] for item in both), 3),
        "begin_to_reading_ratio": round(
            statistics.median(item[0] for item in both)
            / statistics.median(item[0] for item in alone),
            3,
        ),
        "reading_ms": round(reading, 3),
        "reading_us_a_node": round(reading * 1e3 / len(readings[-1].graph), 2),
        "phases_us_a_node": {
            phase: round(cost / 1e3 / len(readings[-1].graph), 3)
            for phase, cost in readings[-1].phases_ns.items()
        },
    }


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--quick", action="store_true", help="one run each, no 100,000 nodes")
    options = parser.parse_args()
    # torch comes first, so that both use its context.
    import torch

    torch.zeros(1, device="cuda")
    driver = CudaDriver()
    # Larger graphs are read fewer times: at 100,000 nodes a round takes several seconds.
    sizes: list[tuple[str, Callable[[], int], int]] = [
        ("chain of 1,000", lambda: chain(1_000), 20),
        ("chain of 2,500", lambda: chain(2_500), 10),
        ("chain of 10,000", lambda: chain(10_000), 5),
        ("fork-join of 20,000, 64 wide", lambda: fork_join(20_000, 64), 3),
    ]
    if not options.quick:
        sizes.append(("chain of 100,000", lambda: chain(100_000), 2))
    results: dict[str, Any] = {"benchmark": "reading", **environment(), "graphs": []}
    for name, build, runs in sizes:
        graph = build()
        row = read_graph(driver, name, graph, 1 if options.quick else runs)
        driver.destroy(graph)
        results["graphs"].append(row)
        print(
            f"{name}: reading {row['reading_ms']} ms ({row['reading_us_a_node']} us a node), "
            f"verbose DOT {row['verbose_dot_ms']} ms ({row['verbose_dot_us_a_node']} us a node), "
            f"ratio {row['ratio']} (goal {GOAL_RATIO})"
        )
        for key in ("phases_us_a_node", "all_attributes_us_a_node"):
            print(f"  {key}: {row[key]}")
        print(
            f"  edges, us a node: list {row['edges_by_list_us_a_node']}, "
            f"dependencies {row['edges_by_dependencies_us_a_node']}"
        )
        if row["warnings"]:
            print(f"  warnings: {row['warnings']}")
    row = results["capture"] = read_captures(driver, 2_500, 3 if options.quick else 15)
    print(
        f"torch capture of {row['kernels']} kernels: alone {row['alone_ms']} ms, with reading "
        f"{row['with_reading_ms']} ms; reading {row['reading_us_a_node']} us a node "
        f"(goal {GOAL_US_A_NODE}); begin to reading {row['begin_to_reading_ratio']} (goal 1.05)"
    )
    print(f"  phases_us_a_node: {row['phases_us_a_node']}")
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
