"""Capturing with and without looking at memory, in turns, and replaying what was captured.

``python -m tests.benchmarks.memory_recording [--nodes 2500 20000] [--rounds 3] [--out FILE]`` needs
a GPU.

All captures are recorded, with origins; the peer is recording without memory. Two processes, one
for ``--memory`` and one for ``--memory-stacks``: blocks keep their stacks, so that the one would
pay for what the other switched on. In each, captures without and with it take turns; memory history
is off in the turns without. Beside the model, so many tensors are alive that the allocator has
`BLOCKS` blocks more. Stacks are measured at the smaller sizes only.

``begin`` is the call that begins a capture, ``body`` what is captured, ``end`` the call that ends
it, with reading and writing; ``whole`` is all three. ``noted`` is what the recorder says that
memory cost. Replays of two graphs, one recorded with memory, take turns as well, untraced: the
time of the call on the host's clock, and that of the graph on the GPU's. ``between`` is what
following memory takes while graphs are replayed, once in five seconds.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.origins import SIZE, chain, model_forward, training_step, warm_up

GOAL_US_A_NODE = 25
GOAL_RATIO = 1.01
BLOCKS = 2_000
WITHOUT = "without"
KINDS = ("memory", "stacks")
CHILD = "--child"
SPIN_CYCLES = 400_000
SPIN_CYCLES_A_NODE = 800
"""Work before a replay, longer than any launch takes."""
ROOT = Path(__file__).resolve().parents[2]
PARTS = ("begin", "body", "end", "whole")


def others() -> list[Any]:
    """Return tensors of many sizes: in small and in large blocks."""
    import torch

    sizes = [256 << (number % 14) for number in range(BLOCKS)]
    return [torch.empty(size, device="cuda", dtype=torch.uint8) for size in sizes]


class Bench:
    """Captures with and without memory in one process, all recorded.

    Parameters
    ----------
    kind : str
        ``"memory"`` or ``"stacks"``.
    source : object
        The process's own source of memory evidence.
    """

    def __init__(self, kind: str, source: Any) -> None:
        import torch

        from capture.recorder import process, torch_allocator
        from capture.recorder.torch_follow import MAX_EVENTS

        self.torch = torch
        self.kind = kind
        self.source = source
        self.session = process.session()
        self._on = lambda: torch_allocator.switch_history_on(MAX_EVENTS)
        switch: Any = torch.cuda.memory._record_memory_history
        switch = getattr(switch, "__wrapped__", switch)
        self._off = lambda: switch(None)

    def turn(self, kind: str) -> None:
        """Let what follows be recorded with memory, or without."""
        if self.kind == "stacks":
            (self._off if kind == WITHOUT else self._on)()
        self.session.memory_source = None if kind == WITHOUT else self.source

    def capture(self, work: Callable[[], Any], kind: str) -> tuple[dict[str, float], Any]:
        """Return microseconds of each part with the number of nodes, and the graph."""
        torch = self.torch
        self.turn(kind)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        gc.collect()
        noted = self.session.costs().get("memory", 0)
        driver = self.session.driver()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            start_s = time.perf_counter()
            graph.capture_begin()
            begun_s = time.perf_counter()
            work()
            until_s = time.perf_counter()
            nodes = len(driver.nodes(driver.capture_info(stream.cuda_stream).graph))
            asked_s = time.perf_counter()
            graph.capture_end()
            end_s = time.perf_counter()
        found = {
            "nodes": nodes,
            "begin": (begun_s - start_s) * 1e6,
            "body": (until_s - begun_s) * 1e6,
            "end": (end_s - asked_s) * 1e6,
            "whole": (until_s - start_s + end_s - asked_s) * 1e6,
            "noted": (self.session.costs().get("memory", 0) - noted) / 1e3,
        }
        return found, graph

    def measure(self, name: str, work: Callable[[], Any], rounds: int) -> Any:
        """Let captures take turns and compare medians."""
        self.capture(work, WITHOUT)  # finds modules and operators
        self.turn(self.kind)
        self.source.before(self.session.driver())  # notices what the last workload has freed
        times: dict[str, list[dict[str, float]]] = {WITHOUT: [], self.kind: []}
        for number in range(rounds):
            for kind in list(times)[:: -1 if number % 2 else 1]:
                found, graph = self.capture(work, kind)
                times[kind].append(found)
                del graph
        nodes = int(times[WITHOUT][0]["nodes"])
        row: dict[str, Any] = {"workload": name, "nodes": nodes, "kind": self.kind}
        row["rounds"] = rounds
        for part in PARTS:
            plain, noted = ([item[part] for item in times[kind]] for kind in times)
            base, more = statistics.median(plain), statistics.median(noted)
            row[part] = {
                "without_us": round(base, 1),
                "with_us": round(more, 1),
                "more_us_a_node": round((more - base) / nodes, 2),
                "spread_of_without": round(spread(plain), 3),
            }
        noted = [item["noted"] for item in times[self.kind]]
        row["noted_us_a_node"] = round(statistics.median(noted) / nodes, 2)
        return row

    def replays(self, work: Callable[[], Any], nodes: int, replays: int, rounds: int) -> Any:
        """Replay both graphs in turns, and compare medians on both clocks."""
        torch: Any = self.torch
        graphs = {kind: self.capture(work, kind)[1] for kind in (WITHOUT, self.kind)}
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        times: dict[str, dict[str, list[float]]] = {
            clock: {kind: [] for kind in graphs} for clock in ("gpu_us", "host_us")
        }
        between = []
        for number in range(rounds):
            for kind in list(graphs)[:: -1 if number % 2 else 1]:
                self.turn(kind)
                graphs[kind].replay()  # another graph than before: counted apart
                for _ in range(replays):
                    torch.cuda._sleep(SPIN_CYCLES + SPIN_CYCLES_A_NODE * nodes)
                    start.record()
                    began_s = time.perf_counter()
                    graphs[kind].replay()
                    host_s = time.perf_counter() - began_s
                    end.record()
                    end.synchronize()
                    times["host_us"][kind].append(host_s * 1e6)
                    times["gpu_us"][kind].append(start.elapsed_time(end) * 1e3)
                if kind != WITHOUT:
                    began_s = time.perf_counter()
                    self.source.between()
                    between.append(time.perf_counter() - began_s)
        row: dict[str, Any] = {}
        for clock, found in times.items():
            base, noted = (statistics.median(found[kind]) for kind in found)
            row[clock] = {
                "without": round(base, 2),
                "with": round(noted, 2),
                "ratio": round(noted / base, 4),
                "spread_of_without": round(spread(found[WITHOUT]), 4),
            }
        row["between_us"] = round(statistics.median(between) * 1e6, 1)
        return row


def spread(values: list[float]) -> float:
    """Return the distance of the quartiles as a part of the median; 0 of a single value."""
    if len(values) < 2:
        return 0.0
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / statistics.median(values)


def child(kind: str, sizes: list[int], rounds: int, replays: int) -> None:
    """Measure everything with one kind of looking, and print rows as JSON."""
    os.environ["CGLENS_TIMINGS"] = "0"
    os.environ["CGLENS_MEMORY"] = {"memory": "1"}.get(kind, kind)
    import capture
    from capture.recorder import process

    # As in a process that is recorded from its start: history is on before anything is allocated.
    source = process.session().memory_source
    kept = others()
    cases = (("forward", model_forward), ("training step", training_step), ("chain", chain))
    folder = tempfile.mkdtemp()
    recording = capture.record(Path(folder) / "run.cgl")
    recording.__enter__()
    bench = Bench(kind, source)
    for size in sizes:
        for name, make in cases:
            bench.turn(kind)
            work = make(size)
            warm_up(work)
            row = bench.measure(name, work, rounds if size <= SIZE else 1)
            if size <= SIZE:
                row |= bench.replays(work, row["nodes"], replays, 4)
            print(json.dumps(row), flush=True)
            del work
            gc.collect()
    assert kept
    # What was recorded is of no use, and packing it would take most of the time.
    shutil.rmtree(folder)
    os._exit(0)


def in_child(kind: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run a process of one kind, and return its rows."""
    sizes = [size for size in options.nodes if size <= SIZE or kind == KINDS[0]]
    numbers = [options.rounds, options.replays, *sizes]
    me = [sys.executable, "-m", "tests.benchmarks.memory_recording", CHILD, kind]
    done = subprocess.Popen([*me, *map(str, numbers)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    rows: list[dict[str, Any]] = []
    assert done.stdout is not None
    for line in done.stdout:
        row = json.loads(line)
        rows.append(row)
        print(line.rstrip(), flush=True)
        more = row["whole"]["more_us_a_node"]
        print(
            f"{row['workload']}, {row['nodes']} nodes, {kind}: {more} us a node more "
            f"(goal {GOAL_US_A_NODE}), replay "
            f"{row.get('gpu_us', {}).get('ratio')} on the GPU, "
            f"{row.get('host_us', {}).get('ratio')} on the host",
            flush=True,
        )
    if done.wait():
        print(f"the process of {kind!r} failed with {done.returncode}", flush=True)
    return rows


def main() -> None:
    """Measure, print and write the results."""
    if sys.argv[1:2] == [CHILD]:
        rounds, replays, *sizes = map(int, sys.argv[3:])
        child(sys.argv[2], sizes, rounds, replays)
        return
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.memory_recording", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--nodes", type=int, nargs="+", default=[SIZE, 20_000])
    parser.add_argument("--replays", type=int, default=20)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    from tests.gpu.conftest import environment

    rows = [row for kind in arguments.kinds for row in in_child(kind, arguments)]
    document = {
        "benchmark": "memory_recording",
        **environment(),
        "goal_us_a_node": GOAL_US_A_NODE,
        "goal_replay_ratio": GOAL_RATIO,
        "other_blocks": BLOCKS,
        "results": rows,
    }
    if arguments.out:
        arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
