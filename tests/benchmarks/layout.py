"""Time our layout of a graph against Graphviz ``dot`` on the DOT that we export of it.

``python -m tests.benchmarks.layout [RECORDING.cgl] [-o RESULT.json]``: without a recording a
synthetic training-like graph of 10,000 nodes is laid out (a spine, a copy stream, fork-joins).
``dot`` only computes positions (``-Tplain``); drawing is in neither figure.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import capture
from capture.model import Graph, GraphInfo, Metadata, Recording, Topology
from graphviz_app.layout.lanes import lane_layout

DOT_TIMEOUT_S = 600


def synthetic(nodes: int) -> Graph:
    """Return a spine with a fork-join of 8 every 50 nodes and a copy stream beside it."""
    source: list[int] = []
    target: list[int] = []
    types: list[str] = []
    last, copy = -1, -1
    while len(types) < nodes:
        here = len(types)
        if here % 50 == 49 and here + 10 < nodes:
            branches = range(here, here + 8)
            types += ["kernel"] * 9
            source += [last] * 8 + list(branches)
            target += list(branches) + [here + 8] * 8
            last = here + 8
            continue
        if here % 50 == 25:
            types.append("memcpy")
            if copy >= 0:
                source.append(copy)
                target.append(here)
            copy = here
            continue
        types.append("kernel")
        if last >= 0:
            source.append(last)
            target.append(here)
        if here % 50 == 45 and copy >= 0:
            source.append(copy)
            target.append(here)
        last = here
    topology = Topology(types=types, source=source, target=target)
    return Graph(topology=topology, payloads=[None] * len(types), name="synthetic")


def measure(graph: Graph, runs: int) -> dict[str, Any]:
    """Return medians of both, in seconds, and their ratio."""
    topology = graph.topology
    source = np.asarray(topology.source, dtype=np.int32)
    target = np.asarray(topology.target, dtype=np.int32)
    ours: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        lane_layout(len(graph), source, target)
        ours.append(time.perf_counter() - start)
    info = GraphInfo(key="graph", name="graph", node_count=len(graph), edge_count=len(source))
    recording = Recording(Metadata(title="layout"), [info], loaded={"graph": graph})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.dot"
        capture.write(recording, path)
        start = time.perf_counter()
        subprocess.run(
            ["dot", "-Tplain", "-o", f"{folder}/graph.plain", str(path)],
            check=True,
            timeout=DOT_TIMEOUT_S,
        )
        theirs = time.perf_counter() - start
    return {
        "nodes": len(graph),
        "edges": len(source),
        "layout_s": statistics.median(ours),
        "layout_runs": runs,
        "dot_s": theirs,
        "ratio": statistics.median(ours) / theirs,
        "goal": 0.02,
    }


def main() -> None:
    """Measure and print one line; with -o also write it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.layout", description=__doc__)
    parser.add_argument("recording", nargs="?", type=Path)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.recording:
        recording = capture.read(arguments.recording)
        graph = max((recording.graph(key) for key in recording.graphs), key=len)
    else:
        graph = synthetic(arguments.nodes)
    result = measure(graph, arguments.runs)
    version = subprocess.run(["dot", "-V"], capture_output=True, text=True, check=True).stderr
    result |= {
        "graph": str(arguments.recording or "synthetic"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "dot": version.strip(),
    }
    print(
        f"{result['nodes']:,} nodes: layout {result['layout_s'] * 1e3:.1f} ms, "
        f"dot {result['dot_s']:.2f} s, ratio {result['ratio']:.4f} (goal 0.02)"
    )
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
