"""Cost of reading a whole graph, against the driver's own verbose DOT of the same graph.

    python -m tests.benchmarks.reading [-o RESULTS.json] [--quick]

Chains of 1,000, 2,500, 10,000 and 100,000 kernels and a fork-join of 20,000, 64 wide; then a torch
capture of 2,500 kernels, alone and with reading before it ends. Needs a GPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from capture.driver.cuda_bindings import CudaDriver
from capture.extract import Extraction, extract
from tests.gpu.conftest import environment
from tests.workloads.chains import chain, fork_join

VERBOSE = 1
GOAL_RATIO = 1.5
GOAL_US_A_NODE = 10.0
COSTS = ("phases_us_a_node", "outside_phases_us_a_node", "collections_us_a_node")


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


class Collections:
    """Time that Python's garbage collector takes while this is entered."""

    def __init__(self) -> None:
        self.ns = 0
        self._started = 0

    def __enter__(self) -> Collections:
        gc.callbacks.append(self._watch)
        return self

    def __exit__(self, *unused: object) -> None:
        gc.callbacks.remove(self._watch)

    def _watch(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._started = time.perf_counter_ns()
        else:
            self.ns += time.perf_counter_ns() - self._started


class Costs(NamedTuple):
    """What is kept of an extraction: graphs that pile up would slow down those after them."""

    duration_ns: int
    phases_ns: dict[str, int]

    @classmethod
    def of(cls, extraction: Extraction) -> Costs:
        return cls(extraction.duration_ns, extraction.phases_ns)


def typical_of(readings: list[Costs]) -> Costs:
    """Return the one whose duration is in the middle."""
    return sorted(readings, key=lambda reading: reading.duration_ns)[len(readings) // 2]


def costs(readings: list[Costs], collected_ns: int, count: int) -> dict[str, Any]:
    """Return where the time of a typical extraction went, and what lies outside its phases."""
    typical = typical_of(readings)
    outside_ns = typical.duration_ns - sum(typical.phases_ns.values())
    return {
        "phases_us_a_node": {
            phase: round(cost / 1e3 / count, 3) for phase, cost in typical.phases_ns.items()
        },
        "outside_phases_us_a_node": round(outside_ns / 1e3 / count, 3),
        "collections_us_a_node": round(collected_ns / len(readings) / 1e3 / count, 3),
    }


def read_graph(driver: CudaDriver, name: str, graph: int, runs: int) -> dict[str, Any]:
    """Measure one graph, our reading and the driver's printing in turn."""
    nodes = driver.nodes(graph)
    readings: list[Costs] = []
    ours: list[float] = []
    dots: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "graph.dot")
        collected_ns = 0
        for _ in range(runs):
            with Collections() as collections:
                started = time.perf_counter_ns()
                found = extract(driver, graph)
                ours.append(milliseconds(started))
            collected_ns += collections.ns
            readings.append(Costs.of(found))
            dots += timed(lambda: print_dot(driver, graph, path), 1)
        dot_bytes = Path(path).stat().st_size
    listed = timed(lambda: driver.edges_by_list(graph, nodes), 1)
    asked = timed(lambda: driver.edges_by_dependencies(nodes), 1)
    everything = timed(lambda: extract(driver, graph, all_attributes=True), 1)
    count = len(nodes)
    return {
        "graph": name,
        "nodes": count,
        "edges": len(found.graph.topology.source),
        "warnings": found.warnings[:5],
        "reading_ms": round(statistics.median(ours), 3),
        "reading_best_ms": round(min(ours), 3),
        "verbose_dot_ms": round(statistics.median(dots), 3),
        "verbose_dot_best_ms": round(min(dots), 3),
        "verbose_dot_bytes": dot_bytes,
        "ratio": round(statistics.median(ours) / statistics.median(dots), 3),
        "reading_us_a_node": round(statistics.median(ours) * 1e3 / count, 2),
        "verbose_dot_us_a_node": round(statistics.median(dots) * 1e3 / count, 2),
        "best_ratio": round(min(ours) / min(dots), 3),
        **costs(readings, collected_ns, count),
        "edges_by_list_us_a_node": round(min(listed) * 1e3 / count, 3),
        "edges_by_dependencies_us_a_node": round(min(asked) * 1e3 / count, 3),
        "all_attributes_us_a_node": round(everything[0] * 1e3 / len(nodes), 2),
        "evidence": {kind: item.how for kind, item in found.evidence.items()},
    }


def read_captures(driver: CudaDriver, kernels: int, runs: int) -> dict[str, Any]:
    """Measure a torch capture alone and with reading before it ends, in turn."""
    import torch

    tensor = torch.zeros(1024, device="cuda")
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    readings: list[Costs] = []
    collected = [0]
    last: list[Extraction] = []

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
                with Collections() as collections:
                    last[:] = [extract(driver, info.graph)]
                collected[0] += collections.ns
                readings.append(Costs.of(last[0]))
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
    collected[0] = 0
    alone, both = [], []
    for _ in range(runs):
        alone.append(captured(False))
        both.append(captured(True))
    reading = typical_of(readings).duration_ns / 1e6
    count = len(last[0].graph)
    return {
        "kernels": count,
        "warnings": last[0].warnings[:5],
        "alone_ms": round(statistics.median(item[1] for item in alone), 3),
        "with_reading_ms": round(statistics.median(item[1] for item in both), 3),
        "begin_to_reading_ratio": round(
            statistics.median(item[0] for item in both)
            / statistics.median(item[0] for item in alone),
            3,
        ),
        "reading_ms": round(reading, 3),
        "reading_us_a_node": round(reading * 1e3 / count, 2),
        **costs(readings, collected[0], count),
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
        for key in (*COSTS, "best_ratio", "all_attributes_us_a_node"):
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
    for key in COSTS:
        print(f"  {key}: {row[key]}")
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
