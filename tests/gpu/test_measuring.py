"""`cglens whatif` and the dashboard's button on a real GPU, from the command to the gain."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import capture
from graphviz_app import measurements
from graphviz_app.measuring import Measurer, Step, Workload
from graphviz_app.store import Store

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
    import torch
    big = torch.randn(2048, 2048, device="cuda")
    small = torch.randn(1024, device="cuda")
    def step():
        return (big @ big).sum() + small.relu().sum()
    if __name__ == "__main__":
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        for _ in range(60):
            graph.replay()
        torch.cuda.synchronize()
"""


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), before))))
    Path("work.py").write_text(dedent(SCRIPT), encoding="utf-8")
    return tmp_path


def cglens(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "graphviz_app", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def longest(recording: Any) -> tuple[str, int]:
    """Return the key of the only graph, and its longest node."""
    (key,) = recording.graphs
    (timings,) = recording.timings_of(key)
    row = max(range(len(timings.node)), key=lambda row: timings.median_ns[row])
    return key, int(timings.node[row])


def test_the_gain_without_a_matmul_is_measured_beside_its_prediction(workplace: Path) -> None:
    done = cglens("whatif", "work.py", "--free", "type:kernel", "--each", "--replays", "20")
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    assert "measured" in done.stdout
    recording = capture.read("work.whatif.cgl")
    key, node = longest(recording)
    benchmark = recording.benchmark(key)
    assert benchmark is not None
    by_node = {tuple(item.nodes): item for item in benchmark.removals if not item.reason}
    assert (str(node),) in by_node
    store = Store([("work.whatif.cgl", recording, workplace / "work.whatif.cgl")])
    found = {
        gain.asked: gain
        for gain in measurements.gains_of(
            store, next(iter(store.opened)), key, store.subject(next(iter(store.opened)), key)
        )
    }
    gain = found[f"node:{node}"]
    assert gain.measured_ns is not None
    assert gain.measured_ns > 0
    assert not gain.is_noise
    assert gain.predicted_ns is not None
    # A lead, not a promise: durations of one kernel that nothing overlaps.
    assert 0.5 < gain.predicted_ns / gain.measured_ns < 2


def test_the_dashboard_measures_this_sessions_workload(workplace: Path) -> None:
    done = cglens("record", "work.py")
    assert done.returncode == 0, done.stderr
    first = workplace / "work.cgl"
    store = Store([(first.name, capture.read(first), first)])
    key, node = longest(store.get("work").recording)
    measurer = store.measurer = Measurer(store, Workload("work.py"), first)
    measurer.start(["whatif", f"--free=node:{node}", "--replays", "10"], f"node:{node}", key)
    deadline = time.monotonic() + 240
    while measurer.progress().step is Step.RUNNING and time.monotonic() < deadline:
        time.sleep(0.2)
    now = measurer.progress()
    measurer.close()
    assert now.step is Step.DONE, now
    gains = measurements.gains_of(store, "work", key, store.subject("work", key))
    assert [(gain.asked, gain.source) for gain in gains] == [(f"node:{node}", now.recording)]
    assert (gains[0].measured_ns or 0) > 0


def test_a_bench_of_a_function_says_what_a_graph_removes(workplace: Path) -> None:
    done = cglens("bench", "--replays", "20", "work.py:step")
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    for words in ("replay, warm L2", "replay, cold L2", "eager call", "the launch of a replay"):
        assert words in done.stdout
    again = cglens("bench", "step.bench.cgl")
    assert again.returncode == 0
    assert again.stdout == done.stdout
