"""What tracing a replay costs: ours, against bare CUPTI tracing, against no tracing.

``python -m tests.benchmarks.tracing [--nodes 100 1000 10000] [--rounds 3] [--out FILE]`` needs a
GPU.

Processes of three kinds take turns, each going through all chains: one is recorded and its first
replays are traced by us; one switches CUPTI's activity records on with two calls, has buffers, and
nothing else; one has neither. In each a chain of equal kernels is captured and replayed with an
event on either side, and the median GPU time of its replays is taken. ``tracing`` is bare CUPTI
over no tracing, which is what any tool pays; ``ours`` is our traced replays over bare CUPTI's.
Processes differ by more than what is asked for, so each is compared with itself too, traced with
untraced.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capture.recorder.cupti_library import Cupti

CHILD = "--child"
ROOT = Path(__file__).resolve().parents[2]
KINDS = ("ours", "bare", "none")
REPLAYS = 20
WARM_UP_S = 0.4
SPIN_CYCLES = 7000
"""Cycles of a kernel that spins, for about 5 us of a kernel with launch and end."""


def child(kind: str, cases: list[tuple[int, bool]]) -> None:
    """Capture chains, replay each as `kind` says, and print GPU times as JSON, a line a case."""
    import torch

    from capture.recorder.cupti_library import Cupti

    x = torch.zeros(1, device="cuda")
    cupti = Cupti() if kind == "bare" else None
    if cupti is not None:
        cupti.register()
    for nodes, long_kernels in cases:

        def chain(nodes: int = nodes, long_kernels: bool = long_kernels) -> None:
            for _ in range(nodes):
                if long_kernels:
                    torch.cuda._sleep(SPIN_CYCLES)
                else:
                    x.add_(1)

        warm_up(chain)
        print(json.dumps(ours(chain, nodes) if kind == "ours" else other(chain, nodes, cupti)))


def warm_up(chain: Callable[[], None]) -> None:
    """Keep the GPU busy until its clocks have risen: a graph's first replays are short."""
    import torch

    until = time.monotonic() + WARM_UP_S
    while time.monotonic() < until:
        chain()
        torch.cuda.synchronize()


def captured(chain: Callable[[], None]) -> Any:
    """Return a graph of a chain."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chain()
    return graph


def ours(chain: Callable[[], None], nodes: int) -> dict[str, Any]:
    """Replay a chain while it is recorded; return times of the replays that were traced."""
    import torch

    import capture as lens

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.cgl"
        with lens.record(path):
            graph = captured(chain)
            for _ in range(2 * REPLAYS + 5):
                graph.replay()
                torch.cuda.synchronize()
        recording = lens.read(path)
        (found,) = (recording.timings(name) for name in recording.timed)
    assert found is not None
    assert len(found.node) == nodes, f"{len(found.node)} of {nodes} nodes were timed"
    return {
        "replays_ns": found.traced_replay_ns,
        "own_untraced_ns": found.untraced_replay_ns,
        "node_ns": statistics.median(found.median_ns),
    }


def other(chain: Callable[[], None], nodes: int, cupti: Cupti | None) -> dict[str, Any]:
    """Replay a chain with bare CUPTI tracing, or without any; return times of the replays.

    As many replays as ours are traced in one go, after as many that are not.
    """
    import torch

    graph = captured(chain)
    times_ns: list[list[int]] = []
    for traced in (False, cupti is not None):
        if cupti is not None and traced:
            cupti.enable()
        found_ns: list[int] = []
        times_ns.append(found_ns)
        for _ in range(REPLAYS):
            before = torch.cuda.Event(enable_timing=True)
            after = torch.cuda.Event(enable_timing=True)
            before.record()
            graph.replay()
            after.record()
            after.synchronize()
            found_ns.append(round(before.elapsed_time(after) * 1e6))
    if cupti is not None:
        cupti.flush()
        cupti.disable()
        count = len(cupti.records())
        assert count == nodes * REPLAYS, f"{count} records of {nodes * REPLAYS}"
    return {"replays_ns": times_ns[1], "own_untraced_ns": times_ns[0]}


def in_child(kind: str, cases: list[tuple[int, bool]]) -> list[dict[str, Any]]:
    """Run one process and return its times, one entry a case."""
    command = [sys.executable, "-m", "tests.benchmarks.tracing", CHILD, kind, json.dumps(cases)]
    environment = {**os.environ, "CGLENS_TIMINGS": str(REPLAYS)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure(cases: list[tuple[int, bool]], rounds: int) -> Iterator[list[dict[str, Any]]]:
    """Let the three kinds take turns; yield what is known after each round."""
    runs: dict[str, list[list[dict[str, Any]]]] = {kind: [] for kind in KINDS}
    for number in range(rounds):
        for kind in KINDS[number % 3 :] + KINDS[: number % 3]:
            runs[kind].append(in_child(kind, cases))
        yield [
            compared(nodes, [runs[kind] for kind in KINDS], at)
            for at, (nodes, _) in enumerate(cases)
        ]


def compared(nodes: int, runs: list[list[list[dict[str, Any]]]], number: int) -> dict[str, Any]:
    """Return the figures of one case."""
    ours_runs, bare_runs, none_runs = ([run[number] for run in kind] for kind in runs)
    ours_ns, bare_ns, none_ns = (
        [statistics.median(run["replays_ns"]) for run in found]
        for found in (ours_runs, bare_runs, none_runs)
    )
    own, bare = (
        [
            statistics.median(run["replays_ns"]) / statistics.median(run["own_untraced_ns"])
            for run in found
        ]
        for found in (ours_runs, bare_runs)
    )
    ours_us, bare_us, none_us = (
        statistics.median(values) / 1000 for values in (ours_ns, bare_ns, none_ns)
    )
    return {
        "nodes": nodes,
        "kernel_us": round(statistics.median(run["node_ns"] for run in ours_runs) / 1000, 2),
        "processes_of_each": len(ours_runs),
        "replay_us": {
            "ours": round(ours_us, 2),
            "bare": round(bare_us, 2),
            "none": round(none_us, 2),
        },
        "ours": round(ours_us / bare_us, 4),
        "spread_of_bare": round((max(bare_ns) - min(bare_ns)) / 1000 / bare_us, 4),
        "tracing": round(bare_us / none_us, 4),
        "tracing_within_a_process": {
            "ours": round(statistics.median(own), 4),
            "bare": round(statistics.median(bare), 4),
            "spread_of_bare": round(max(bare) - min(bare), 4),
        },
    }


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == [CHILD]:
        child(sys.argv[2], json.loads(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.tracing", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    from tests.gpu.conftest import environment

    cases = [(nodes, long_kernels) for nodes in arguments.nodes for long_kernels in (False, True)]
    about = environment()
    for results in measure(cases, arguments.rounds):
        document = {"benchmark": "tracing", **about, "results": results}
        if arguments.out:  # each time: a run that is cut short has measured something
            arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for result in results:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
