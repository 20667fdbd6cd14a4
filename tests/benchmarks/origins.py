"""Capturing with and without origins, in turns, and replaying what was captured.

``python -m tests.benchmarks.origins [--nodes 2500 20000] [--rounds 5] [--out FILE]`` needs a GPU.

Both observers of operators are measured: the one in C++, and the one in Python that takes its place
where it cannot be compiled. Both captures are recorded; the peer is recording without origins.
``until_end`` is from the begin of the capture until its end is asked for: what origins add there is
in the way of the script. ``whole`` includes the end, reading the graph and writing both to the
journal. Replays of the two graphs take turns as well, untraced.
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

from capture.recorder.origins.settings import OBSERVER

GOAL_US_A_NODE = 13
SIZE = 2_500
"""Nodes of the graphs that the goal is about."""
BLOCK_NODES = 11
"""Kernels of one block of the model below, forward."""


def model_forward(nodes: int) -> Callable[[], Any]:
    """Return the forward of a stack of transformer-like blocks of about so many nodes."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            query, key, value = self.qkv(self.norm(x)).chunk(3, dim=-1)
            mixed = torch.softmax(query @ key.transpose(-1, -2), dim=-1) @ value
            x = x + self.out(mixed)
            hidden: torch.Tensor = self.down(F.gelu(self.up(self.norm_mlp(x))))
            return x + hidden

    torch.manual_seed(1)
    blocks = nn.Sequential(*(Block(64) for _ in range(max(1, nodes // BLOCK_NODES)))).cuda().half()
    x = torch.randn(4, 32, 64, device="cuda", dtype=torch.half)

    def forward() -> Any:
        with torch.no_grad():
            return blocks(x)

    return forward


def training_step(nodes: int) -> Callable[[], Any]:
    """Return forward, backward and optimizer step of a perceptron of about so many nodes."""
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    for _ in range(max(1, nodes // 9)):
        layers += [nn.Linear(64, 64), nn.GELU()]
    torch.manual_seed(1)
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=False)
    x = torch.randn(16, 64, device="cuda")

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def chain(nodes: int) -> Callable[[], Any]:
    """Return a chain of one operator: the least that an operator can do, so the worst ratio."""
    import torch

    x = torch.zeros(64, device="cuda")

    def adds() -> Any:
        for _ in range(nodes):
            x.add_(x)
        return x

    return adds


Times = dict[bool, list[tuple[float, float]]]
"""(until the end is asked for, whole) in microseconds, by whether origins were recorded."""


class Bench:
    """Captures with and without origins in one process, both recorded.

    Parameters
    ----------
    observer : str
        ``"native"`` or ``"python"``.
    """

    def __init__(self, observer: str) -> None:
        import torch

        from capture.recorder import process
        from capture.recorder.torch_origins_capture import OriginSource

        self.torch = torch
        self.session = process.session()
        os.environ[OBSERVER] = observer
        self.source: Any = OriginSource()
        self.source.prepare()
        watcher = self.source._watcher
        if watcher.observer.name != observer:
            raise SystemExit(f"no {observer} observer here: {watcher.not_native}")

    def close(self) -> None:
        """Give the operators back, for the next observer."""
        self.source._watcher.close()

    def capture(self, work: Callable[[], Any], origins: bool) -> tuple[float, float, Any]:
        """Return (until the end is asked for, whole) in microseconds, and the graph."""
        torch = self.torch
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        self.session.origin_source = self.source if origins else None
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                start_s = time.perf_counter()
                graph.capture_begin()
                work()
                until_s = time.perf_counter()
                graph.capture_end()
                end_s = time.perf_counter()
        finally:
            self.session.origin_source = None
        return (until_s - start_s) * 1e6, (end_s - start_s) * 1e6, graph

    def turns(self, work: Callable[[], Any], rounds: int) -> Times:
        """Let both captures take turns; return their times without and with origins."""
        times: Times = {False: [], True: []}
        for number in range(rounds + 1):
            for origins in (True, False) if number % 2 else (False, True):
                until, whole, graph = self.capture(work, origins)
                if number:  # the first round finds modules and operators
                    times[origins].append((until, whole))
                del graph
        return times

    def replays(self, work: Callable[[], Any], replays: int, rounds: int) -> dict[str, Any]:
        """Replay both graphs in turns, and compare medians on the GPU's clock."""
        torch = self.torch
        graphs = {origins: self.capture(work, origins)[2] for origins in (False, True)}
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        times: dict[bool, list[float]] = {False: [], True: []}
        for number in range(rounds):
            for origins in (True, False) if number % 2 else (False, True):
                for _ in range(replays):
                    start.record()
                    graphs[origins].replay()
                    end.record()
                    end.synchronize()
                    times[origins].append(start.elapsed_time(end) * 1e3)
        base = statistics.median(times[False])
        quarters = statistics.quantiles(times[False], n=4)
        return {
            "replay_us": {
                "without_origins": round(base, 2),
                "with_origins": round(statistics.median(times[True]), 2),
                "ratio": round(statistics.median(times[True]) / base, 4),
                "spread_of_without": round((quarters[2] - quarters[0]) / base, 4),
            }
        }


def compared(times: Times, nodes: int) -> dict[str, Any]:
    """Compare medians of captures without and with origins."""
    row: dict[str, Any] = {}
    for at, what in enumerate(("until_end_us", "whole_us")):
        plain, noted = ([item[at] for item in times[which]] for which in (False, True))
        quarters = statistics.quantiles(plain, n=4)
        base = statistics.median(plain)
        row[what] = {
            "without_origins": round(base, 1),
            "with_origins": round(statistics.median(noted), 1),
            "ratio": round(statistics.median(noted) / base, 3),
            "more_us_a_node": round((statistics.median(noted) - base) / nodes, 2),
            "spread_of_without": round((quarters[2] - quarters[0]) / base, 3),
        }
    return row


def warm_up(work: Callable[[], Any]) -> None:
    """Run work on a side stream: libraries initialise, lazy state appears."""
    import torch as module

    torch: Any = module
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            work()
    torch.cuda.synchronize()


def count_nodes(path: Path) -> list[int]:
    """Return the nodes of every graph of a recording, in the order of their captures."""
    import capture

    return [info.node_count for info in capture.read(path).graphs.values()]


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.origins", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, nargs="+", default=[SIZE, 20_000])
    parser.add_argument("--replays", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    os.environ["CGLENS_TIMINGS"] = "0"
    import capture
    from tests.gpu.conftest import environment

    few = max(3, arguments.rounds // 3)
    cases = [
        # The one in Python takes the other's place where that cannot be compiled.
        (observer, name, make, size)
        for size in arguments.nodes
        for observer in (("native", "python") if size == SIZE else ("native",))
        for name, make in (
            ("forward", model_forward),
            ("training step", training_step),
            ("chain of adds", chain),
        )
    ]
    rows: list[dict[str, Any]] = []
    for observer, name, make, size in cases:
        goal = observer == "native" and size == SIZE
        rounds = arguments.rounds if goal else few
        work = make(size)
        warm_up(work)
        bench = Bench(observer)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.cgl"
            with capture.record(path):
                times = bench.turns(work, rounds)
                replays = bench.replays(work, arguments.replays, 3) if goal else {}
            nodes = count_nodes(path)[-1]
        bench.close()
        row = {"observer": observer, "workload": name, "nodes": nodes, "rounds": rounds}
        row |= compared(times, nodes) | replays
        rows.append(row)
        more = row["until_end_us"]["more_us_a_node"]
        print(json.dumps(row), flush=True)
        print(
            f"{observer}: {name}, {nodes} nodes: {more} us a node more (goal {GOAL_US_A_NODE})",
            flush=True,
        )
    document = {
        "benchmark": "origins",
        **environment(),
        "goal_us_a_node": GOAL_US_A_NODE,
        "results": rows,
    }
    if arguments.out:
        arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
