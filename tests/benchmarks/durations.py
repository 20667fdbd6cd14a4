"""Node durations of a recording against torch.profiler's, kernel by kernel.

``python -m tests.benchmarks.durations [--workloads NAME ...] [--out FILE]`` needs a GPU.

Each workload runs in two processes: one is recorded, in the other torch.profiler traces the
replays of the same graph. Nothing in the profiler's trace names a graph's node, so kernels are
matched in the order in which they ran, which is one and the same for a graph on one stream;
workloads whose graphs fork are left out. Per node the median over replays is compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

CHILD = "--child"
ROOT = Path(__file__).resolve().parents[2]
REPLAYS = 40
WORKLOADS = ("convnet_train", "gpt_train", "llama_decode", "moe_block", "triton_fused", "unet_step")


def child(kind: str, name: str) -> None:
    """Run a workload recorded or profiled; print the median duration of its kernels, in order."""
    from tests.workloads import load

    workload = load(name).build()
    workload.eager()
    found = recorded(workload) if kind == "recorded" else profiled(workload)
    print(json.dumps(found))


def recorded(workload: Any) -> list[int]:
    """Return durations from a recording."""
    import capture

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.cgl"
        with capture.record(path):
            workload.run(REPLAYS)
        recording = capture.read(path)
        (name,) = recording.timed
        timings = recording.timings(name)
        assert timings is not None
        types = recording.graph(timings.graph).topology.types
        rows = sorted(zip(timings.start_ns, timings.node, timings.median_ns, strict=True))
        return [duration for _, node, duration in rows if types[int(node)] == "kernel"]


def profiled(workload: Any) -> list[int]:
    """Return durations from a trace of torch.profiler: the kernels of each graph launch."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as trace:
        workload.run(REPLAYS)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        trace.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    launches = {
        event["args"]["correlation"]
        for event in events
        if event.get("cat") == "cuda_runtime" and event["name"] == "cudaGraphLaunch"
    }
    replays: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        if event.get("cat") == "kernel" and event["args"].get("correlation") in launches:
            replays[event["args"]["correlation"]].append((event["ts"], event["dur"]))
    lengths = {len(kernels) for kernels in replays.values()}
    assert len(lengths) == 1, f"replays of {lengths} kernels"
    rows = zip(*(sorted(kernels) for kernels in replays.values()), strict=True)
    return [round(statistics.median(duration for _, duration in row) * 1000) for row in rows]


def in_child(kind: str, name: str) -> list[int]:
    """Run one process and return its durations."""
    command = [sys.executable, "-m", "tests.benchmarks.durations", CHILD, kind, name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: list[int] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(name: str) -> dict[str, Any]:
    """Compare one workload's kernels."""
    ours, peer = in_child("recorded", name), in_child("profiled", name)
    if len(ours) != len(peer):
        raise SystemExit(f"{name}: {len(ours)} kernels recorded, {len(peer)} profiled")
    signed = sorted((a - b) / b for a, b in zip(ours, peer, strict=True))
    sizes = sorted(map(abs, signed))
    tenths = statistics.quantiles(sizes, n=10) if len(sizes) > 1 else sizes * 9
    return {
        "workload": name,
        "kernels": len(ours),
        "median_difference": round(statistics.median(sizes), 4),
        "p90_difference": round(tenths[8], 4),
        "largest_difference": round(sizes[-1], 4),
        "median_signed": round(statistics.median(signed), 4),
        "sum_ratio": round(sum(ours) / sum(peer), 4),
    }


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == [CHILD]:
        child(sys.argv[2], sys.argv[3])
        return
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.durations", description=__doc__
    )
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    from tests.gpu.conftest import environment

    results: list[dict[str, Any]] = []
    document = {"benchmark": "durations", **environment(), "results": results}
    for name in arguments.workloads:
        results.append(measure(name))
        print(json.dumps(results[-1]), flush=True)
        if arguments.out:  # each time: a run that is cut short has measured something
            arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    middle = statistics.median(result["median_difference"] for result in results)
    print(f"median over workloads: {middle:.2%}")


if __name__ == "__main__":
    main()
