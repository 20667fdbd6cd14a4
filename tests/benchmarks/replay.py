"""Replay of a recorded graph against one never recorded, and what reading costs per node.

``python -m tests.benchmarks.replay [--nodes 100 1000] [--rounds 9] [--out FILE]`` needs a GPU.
With ``--after-tracing`` the recorded processes trace their first replays, and those after that are
compared; so do processes of a third kind, which trace with two calls of CUPTI and nothing of ours.

Replays: processes of their own, with and without the recorder, take turns; in each a chain of
short kernels is captured and replayed, the time of one replay on the host's clock and on the GPU's
is taken, and medians over processes are compared. The spread is that of the unrecorded runs. The
GPU is given other work first, which lasts until the replay is launched: what launching takes shall
not count twice.

Reading: chains are captured alone and with recording. ``until_end`` is from the begin of the
capture until its end is asked for, which is when the reading starts; ``whole`` includes the end,
the reading and the writing to the journal.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CHILD = "--child"
KINDS = ("never_recorded", "recorded", "bare_cupti")
SPIN_CYCLES = 400_000
SPIN_CYCLES_A_NODE = 800
"""About 0.2 ms and 0.4 us a node: longer than any launch took."""
ROOT = Path(__file__).resolve().parents[2]


def child(nodes: int, replays: int, bare: bool) -> None:
    """Capture a chain, replay it, and print times of this process as JSON."""
    import time

    import torch

    cupti = None
    if bare:
        from capture.recorder.cupti_library import Cupti

        cupti = Cupti()
        cupti.register()
    x = torch.zeros(1, device="cuda")

    def chain() -> None:
        for _ in range(nodes):
            x.add_(1)

    def capture() -> tuple[Any, float, float]:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            graph.capture_begin()
            began_s = time.perf_counter()
            chain()
            captured_s = time.perf_counter()
            graph.capture_end()
            ended_s = time.perf_counter()
        return graph, captured_s - began_s, ended_s - began_s

    chain()
    captures = [capture() for _ in range(5)]
    graph = captures[-1][0]
    if cupti is not None:
        cupti.enable()
    # More than are ever traced and timed in turns with those.
    for _ in range(60):
        graph.replay()
        torch.cuda.synchronize()
    if cupti is not None:
        cupti.flush()
        cupti.disable()
        cupti.records()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    host_s, gpu_ms = [], []
    sleep: Any = torch.cuda._sleep
    for _ in range(replays):
        sleep(SPIN_CYCLES + SPIN_CYCLES_A_NODE * nodes)
        start.record()
        began_s = time.perf_counter()
        graph.replay()
        host_s.append(time.perf_counter() - began_s)
        end.record()
        end.synchronize()
        gpu_ms.append(start.elapsed_time(end))
    print(
        json.dumps(
            {
                # The first capture of a process also finds the driver's functions.
                "until_end_us": statistics.median(item[1] for item in captures[1:]) * 1e6,
                "whole_us": statistics.median(item[2] for item in captures[1:]) * 1e6,
                "host_us": statistics.median(host_s) * 1e6,
                "gpu_us": statistics.median(gpu_ms) * 1e3,
            }
        )
    )


def in_child(nodes: int, replays: int, kind: str, traced: bool) -> dict[str, Any]:
    """Run one process and return its times, and what the recording says of reading."""
    bare = str(int(kind == "bare_cupti"))
    me = ["-m", "tests.benchmarks.replay", CHILD, str(nodes), str(replays), bare]
    recorded = kind == "recorded"
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / "run.cgl")
        command = [sys.executable, *me]
        if recorded:
            command = [sys.executable, "-P", "-m", "graphviz_app", "record", "-o", output, *me]
        # Untraced replays are what is compared; tracing has figures of its own in a recording.
        environment = {**os.environ, "CGLENS_TIMINGS": "20" if traced else "0"}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(ROOT), environment.get("PYTHONPATH", "")))
        )
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        times: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if recorded:
            import capture

            recording = capture.read(output)
            if traced and len(recording.timed) != 1:
                raise SystemExit("the replayed graph has no timings: nothing was traced")
            infos = list(recording.graphs.values())[1:]
            times["read_us"] = statistics.median(
                (info.read_duration_ns or 0) / 1000 for info in infos
            )
    return times


def measure(nodes: int, replays: int, rounds: int, traced: bool = False) -> dict[str, Any]:
    """Let recorded and unrecorded processes take turns and compare their medians."""
    kinds = KINDS if traced else KINDS[:2]
    runs: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in kinds[number % len(kinds) :] + kinds[: number % len(kinds)]:
            runs[kind].append(in_child(nodes, replays, kind, traced))
    plain, recorded = runs["never_recorded"], runs["recorded"]
    result: dict[str, Any] = {"nodes": nodes, "processes_of_each": rounds, "replays": replays}
    for name in ("host_us", "gpu_us"):
        medians = {kind: statistics.median(run[name] for run in runs[kind]) for kind in kinds}
        a = [run[name] for run in plain]
        quarters = statistics.quantiles(a, n=4) if len(a) > 1 else [a[0]] * 3
        base = medians["never_recorded"]
        result[name] = {
            **{kind: round(value, 3) for kind, value in medians.items()},
            "ratio": round(medians["recorded"] / base, 4),
            "spread_of_never_recorded": round((quarters[2] - quarters[0]) / base, 4),
        }
        if traced:
            result[name]["ratio_to_bare_cupti"] = round(
                medians["recorded"] / medians["bare_cupti"], 4
            )
    read = statistics.median(run["read_us"] for run in recorded)
    result["read_us_per_node"] = round(read / nodes, 3)
    for name in ("until_end_us", "whole_us"):
        alone = statistics.median(run[name] for run in plain)
        with_reading = statistics.median(run[name] for run in recorded)
        result[name] = {
            "never_recorded": round(alone, 1),
            "recorded": round(with_reading, 1),
            "ratio": round(with_reading / alone, 4),
        }
    return result


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == [CHILD]:
        child(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "1")
        return
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.replay", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10, 100, 2500])
    parser.add_argument("--replays", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--after-tracing", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    from tests.gpu.conftest import environment

    results = []
    for nodes in arguments.nodes:
        replays = max(50, arguments.replays * 10 // max(10, nodes))
        results.append(measure(nodes, replays, arguments.rounds, arguments.after_tracing))
        print(json.dumps(results[-1]), flush=True)
    name = "replay_after_tracing" if arguments.after_tracing else "replay"
    document = {"benchmark": name, **environment(), "results": results}
    if arguments.out:
        arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
