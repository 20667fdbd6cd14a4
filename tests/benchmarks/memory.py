"""Cost of the analyses of memory on a big graph, against networkx ``topological_sort`` of it.

    python -m tests.benchmarks.memory [-o RESULTS.json] [--nodes 100000] [--runs 5] [--lanes 1 8]

The graph and its memory are synthetic: chains side by side in which every twentieth node is a copy
and all others are kernels with two pointers each into 20,000 blocks, all of them allocated, and no
chain uses another's, as in a healthy graph. In one chain every pair of nodes is ordered, which is
seen at once; branches cost more. Measured are all analyses of one graph that need memory or look
for faults. Both sides run in turn, in one process. What several analyses share ("resolve", and what
each node touches) is counted once. Both sides are measured once in each run, and of each the least
of all runs counts: what else a machine does makes work that fills the caches slower than the peer.
Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import struct
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx

from capture import __version__
from capture.analysis import Scope, Subject, analyses, run_analysis
from capture.memory.addresses import address_set
from capture.memory.torch_snapshot import Tables, add_segments
from capture.memory_map import Memory
from capture.model import EvidenceKind, Graph, Kernel
from capture.nodes.kernel import KernelPayload
from tests.helpers import synthetic_memory as made

GOAL_RATIO = 20
SEGMENTS, BLOCKS = 20, 1000


def names() -> list[str]:
    """Return the analyses of one graph that need memory, or look for faults."""
    return [
        name
        for name, entry in analyses().items()
        if entry.scope is Scope.GRAPH and (EvidenceKind.MEMORY in entry.needs or entry.finding)
    ]


def subject_of(nodes: int, lanes: int = 1) -> tuple[Graph, Memory]:
    """Return synthetic chains and the memory that they point into."""
    random_ = random.Random(1)
    memory = made.memory()
    blocks = [(512, "active_allocated")] * BLOCKS
    starts = [made.BASE + number * (4 << 20) for number in range(SEGMENTS)]
    add_segments(Tables(memory), [made.segment(start, blocks) for start in starts])
    kernels = [Kernel(name=made.SCALE, parameters=[(0, 8), (8, 8), (16, 8)]) for _ in range(50)]
    payloads: list[Any] = []
    for node in range(nodes):
        here, there = (
            random_.choice(starts) + 512 * random_.randrange(node % lanes, BLOCKS, lanes)
            for _ in range(2)
        )
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
    return made.graph(payloads, edges_of(nodes, lanes)), memory


def edges_of(nodes: int, lanes: int) -> list[tuple[int, int]]:
    """Return the edges of chains whose nodes take turns."""
    return [(node, node + lanes) for node in range(nodes - lanes)]


def seconds(call: Callable[[], Any]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def measure(nodes: int, runs: int, lanes: int = 1) -> dict[str, list[float]]:
    """Return the CPU time of every part, per run."""
    graph, memory = subject_of(nodes, lanes)
    peer: Any = networkx.DiGraph()
    peer.add_nodes_from(range(nodes))
    peer.add_edges_from(edges_of(nodes, lanes))
    found: dict[str, list[float]] = {}

    def note(name: str, call: Callable[[], Any]) -> None:
        found.setdefault(name, []).append(seconds(call))

    for _ in range(runs):
        subject = Subject(graph, memory=memory)
        note("topological_sort", lambda: list(networkx.topological_sort(peer)))
        note("addresses, in the recorder", lambda: address_set(graph))
        note("resolve", lambda subject=subject: subject.pointers)  # type: ignore[misc]
        note("what nodes touch", lambda subject=subject: subject.cells)  # type: ignore[misc]
        for name in names():
            note(name, lambda name=name, subject=subject: run_analysis(name, subject))  # type: ignore[misc]
    return found


def main() -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 8])
    options = parser.parse_args()
    results = []
    for lanes in options.lanes:
        found = measure(options.nodes, options.runs, lanes)
        base = min(found["topological_sort"])
        ratios = {name: min(times) / base for name, times in found.items()}
        total = sum(ratios[name] for name in ("resolve", "what nodes touch", *names()))
        print(f"{lanes} chains of {options.nodes:,} nodes together")
        for name, ratio in ratios.items():
            print(f"  {name:28} {ratio * base:8.3f} s {ratio:8.1f}x")
        print(f"  {'all analyses':28} {total * base:8.3f} s {total:8.1f}x, goal {GOAL_RATIO}x")
        results.append({"lanes": lanes, "seconds": found, "ratios": ratios, "total_ratio": total})
    if options.output:
        document = {
            "benchmark": "memory",
            "nodes": options.nodes,
            "runs": options.runs,
            "results": results,
            "goal_ratio": GOAL_RATIO,
            "python": platform.python_version(),
            "networkx": version("networkx"),
            "cudagraph_lens": __version__,
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
