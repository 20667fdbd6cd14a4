"""Cost of the analyses of memory on a big graph, against networkx ``topological_sort`` of it.

    python -m tests.benchmarks.memory [-o RESULTS.json] [--nodes 100000] [--runs 3]

The graph and its memory are synthetic: a chain in which every twentieth node is a copy and all
others are kernels with two pointers each into 20,000 blocks, all of them allocated, as in a healthy
graph. In a chain every pair of nodes is ordered, which is seen at once; branches cost more. Both
sides run in turn, in one process. "resolve" is shared by the analyses below it and counted once.
Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import struct
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx

from capture import __version__
from capture.analysis import Subject, run_analysis
from capture.memory.addresses import addresses
from capture.memory.torch_snapshot import Tables, add_segments
from capture.memory_map import Memory
from capture.model import Graph, Kernel
from capture.nodes.kernel import KernelPayload
from tests.helpers import synthetic_memory as made

GOAL_RATIO = 20
SEGMENTS, BLOCKS = 20, 1000
ANALYSES = (
    "pools",
    "pointed_at",
    "stale_pointers",
    "host_memory",
    "unordered_writes",
    "empty_graph",
)


def subject_of(nodes: int) -> tuple[Graph, Memory]:
    """Return a synthetic chain and the memory that it points into."""
    random_ = random.Random(1)
    memory = made.memory()
    blocks = [(512, "active_allocated")] * BLOCKS
    starts = [made.BASE + number * (4 << 20) for number in range(SEGMENTS)]
    add_segments(Tables(memory), [made.segment(start, blocks) for start in starts])
    kernels = [Kernel(name=made.SCALE, parameters=[(0, 8), (8, 8), (16, 8)]) for _ in range(50)]
    payloads: list[Any] = []
    for node in range(nodes):
        here, there = (random_.choice(starts) + 512 * random_.randrange(BLOCKS) for _ in range(2))
        if node % 20 == 0:
            payloads.append(made.copy(here, there, 512))
            continue
        payloads.append(
            KernelPayload(
                kernel=kernels[node % 50],
                arguments=struct.pack("<QQQ", here, 7, there),
                grid=(1, 1, 1),
                block=(1, 1, 1),
            )
        )
    return made.graph(payloads, [(node, node + 1) for node in range(nodes - 1)]), memory


def seconds(call: Callable[[], Any]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def measure(nodes: int, runs: int) -> dict[str, list[float]]:
    """Return the CPU time of every part, per run."""
    graph, memory = subject_of(nodes)
    peer: Any = networkx.DiGraph()
    peer.add_nodes_from(range(nodes))
    peer.add_edges_from((node, node + 1) for node in range(nodes - 1))
    found: dict[str, list[float]] = {}

    def note(name: str, call: Callable[[], Any]) -> None:
        found.setdefault(name, []).append(seconds(call))

    for _ in range(runs):
        subject = Subject(graph, memory=memory)
        note("topological_sort", lambda: list(networkx.topological_sort(peer)))
        note("addresses, in the recorder", lambda: addresses(graph))
        note("resolve", lambda subject=subject: subject.pointers)  # type: ignore[misc]
        for name in ANALYSES:
            note(name, lambda name=name, subject=subject: run_analysis(name, subject))  # type: ignore[misc]
    return found


def main() -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    found = measure(options.nodes, options.runs)
    base = statistics.median(found["topological_sort"])
    ratios = {name: statistics.median(times) / base for name, times in found.items()}
    total = sum(ratios[name] for name in ("resolve", *ANALYSES))
    for name, ratio in ratios.items():
        print(f"{name:28} {ratio * base:8.3f} s {ratio:8.1f}x")
    print(
        f"{'resolve and all analyses':28} {total * base:8.3f} s {total:8.1f}x, goal {GOAL_RATIO}x"
    )
    if options.output:
        document = {
            "benchmark": "memory",
            "nodes": options.nodes,
            "runs": options.runs,
            "seconds": found,
            "ratios": ratios,
            "total_ratio": total,
            "goal_ratio": GOAL_RATIO,
            "python": platform.python_version(),
            "networkx": version("networkx"),
            "cudagraph_lens": __version__,
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
