"""What tracing a replay costs: ours, against bare CUPTI tracing, against no tracing.

``python -m tests.benchmarks.tracing [--nodes 100 1000 10000] [--rounds 3] [--out FILE]`` needs a
GPU.

Processes of three kinds take turns: one is recorded and its first replays are traced by us; one
switches CUPTI's activity records on with two calls, has buffers, and nothing else; one has
neither. In each a chain of equal kernels is captured and replayed with an event on either side,
and the median GPU time of its replays is taken. ``tracing`` is bare CUPTI over no tracing, which
is what any tool pays; ``ours`` is our traced replays over bare CUPTI's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

CHILD = "--child"
ROOT = Path(__file__).resolve().parents[2]
KINDS = ("ours", "bare", "none")
REPLAYS = 20
SPIN_CYCLES = 7000
"""Cycles of a kernel that spins, for about 5 us of a kernel with launch and end."""


def child(kind: str, nodes: int, long_kernels: bool) -> None:
    """Capture a chain, replay it as `kind` says, and print GPU times as JSON."""
    import torch

    import capture as lens
    from capture.recorder.cupti_library import Cupti

    x = torch.zeros(1, device="cuda")

    def chain() -> None:
        for _ in range(nodes):
            if long_kernels:
                torch.cuda._sleep(SPIN_CYCLES)
            else:
                x.add_(1)

    chain()
    torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.cgl"
        with lens.record(path) if kind == "ours" else nullcontext():
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                chain()
            if kind == "ours":
                for _ in range(2 * REPLAYS + 5):
                    graph.replay()
                    torch.cuda.synchronize()
        if kind == "ours":
            recording = lens.read(path)
            (found,) = (recording.timings(name) for name in recording.timed)
            assert found is not None
            assert len(found.node) == nodes, f"{len(found.node)} of {nodes} nodes were timed"
            print(
                json.dumps(
                    {
                        "replays_ns": found.traced_replay_ns,
                        "own_untraced_ns": found.untraced_replay_ns,
                        "node_ns": statistics.median(found.median_ns),
                    }
                )
            )
            return
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    if kind == "bare":
        cupti = Cupti()
        cupti.register()
        cupti.enable()
    found_ns = []
    for _ in range(REPLAYS):
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record()
        graph.replay()
        after.record()
        after.synchronize()
        found_ns.append(round(before.elapsed_time(after) * 1e6))
    if kind == "bare":
        cupti.flush()
        cupti.disable()
        count = len(cupti.records())
        assert count == nodes * REPLAYS, f"{count} records of {nodes * REPLAYS}"
    print(json.dumps({"replays_ns": found_ns}))


def in_child(kind: str, nodes: int, long_kernels: bool) -> dict[str, Any]:
    """Run one process and return its times."""
    command = [sys.executable, "-m", "tests.benchmarks.tracing", CHILD, kind, str(nodes)]
    command += ["long"] if long_kernels else ["short"]
    environment = {**os.environ, "CGLENS_TIMINGS": str(REPLAYS)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(nodes: int, long_kernels: bool, rounds: int) -> dict[str, Any]:
    """Let the three kinds take turns and compare medians over processes."""
    runs: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for number in range(rounds):
        for kind in KINDS[number % 3 :] + KINDS[: number % 3]:
            runs[kind].append(in_child(kind, nodes, long_kernels))
    middle = {
        kind: statistics.median(statistics.median(run["replays_ns"]) for run in found)
        for kind, found in runs.items()
    }
    own = [
        statistics.median(run["replays_ns"]) / statistics.median(run["own_untraced_ns"])
        for run in runs["ours"]
    ]
    bare = [statistics.median(run["replays_ns"]) for run in runs["bare"]]
    return {
        "nodes": nodes,
        "kernel_us": round(statistics.median(run["node_ns"] for run in runs["ours"]) / 1000, 2),
        "processes_of_each": rounds,
        "replay_us": {kind: round(value / 1000, 2) for kind, value in middle.items()},
        "ours": round(middle["ours"] / middle["bare"], 4),
        "spread_of_bare": round((max(bare) - min(bare)) / middle["bare"], 4),
        "tracing": round(middle["bare"] / middle["none"], 4),
        "tracing_as_a_recording_says": round(statistics.median(own), 4),
    }


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == [CHILD]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4] == "long")
        return
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.tracing", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    from tests.gpu.conftest import environment

    results = []
    for nodes in arguments.nodes:
        for long_kernels in (False, True):
            results.append(measure(nodes, long_kernels, arguments.rounds))
            print(json.dumps(results[-1]), flush=True)
    document = {"benchmark": "tracing", **environment(), "results": results}
    if arguments.out:
        arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
