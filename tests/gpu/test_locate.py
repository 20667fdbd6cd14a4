"""`cglens locate` on a real GPU: processes that break and hang, values that go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]


def located(folder: Path, text: str, *options: str, function: str = "") -> dict[str, Any]:
    """Run the command on a script and return what it prints."""
    script = folder / "work.py"
    script.write_text(dedent(text), encoding="utf-8")
    target = f"{script}:{function}" if function else str(script)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "graphviz_app", "locate", "--json", *options, target],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    print(done.stderr)
    assert "{" in done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    print(json.dumps({**found, "order": len(found.get("order", []))}, indent=1))
    return found


FREED = """
    import torch
    x = torch.ones(1024, device="cuda")
    big = torch.ones(64 << 20, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        z = torch.relu(y)
        w = big[:1024] + z
        v = w.sum()
    graph.replay()
    torch.cuda.synchronize()
    del big
    torch.cuda.empty_cache()
    graph.replay()
    torch.cuda.synchronize()
"""


def test_a_node_that_reads_memory_that_was_given_back(tmp_path: Path) -> None:
    found = located(tmp_path, FREED, "--timeout", "10")
    assert (found["symptom"], found["replay"], found["node"]) == ("fault", 1, "2")
    assert found["decided"] is True
    assert [run["what"] for run in found["runs"]] == ["fault", "fault", "fault", "clean"]
    culprit = found["culprit"]
    assert "aten.add" in culprit["origin"]["operator"]
    assert culprit["origin"]["line"].endswith("work.py:9")


HANGS = """
    import torch
    x = torch.ones(1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        torch.cuda._sleep(1 << 40)
        z = y + 1
    graph.replay()
    torch.cuda.synchronize()
"""


def test_a_node_that_does_not_end(tmp_path: Path) -> None:
    found = located(tmp_path, HANGS, "--timeout", "1.5")
    assert (found["symptom"], found["replay"], found["node"]) == ("hang", 0, "1")
    assert found["decided"] is True
    assert "spin" in found["culprit"]["name"]


NAN = """
    import torch
    x = torch.linspace(1, 2, 1024, device="cuda")
    mask = torch.full((1024,), float("-inf"), device="cuda")
    def step():
        a = x * 2
        b = torch.log(a - 3)
        c = b.masked_fill(a > 3.5, float("-inf"))
        return c + 1
    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    x += 1
    with torch.cuda.graph(graph):
        out = step()
    graph.replay()
    x.copy_(torch.linspace(1, 2, 1024, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
"""


def test_the_node_that_first_gives_nan(tmp_path: Path) -> None:
    found = located(tmp_path, NAN, "--symptom", "nan", "--timeout", "10")
    assert found["symptom"] == "nan"
    culprit = found["culprit"]
    assert "aten.log" in culprit["origin"]["operator"]
    assert found["decided"] is True
    assert found["replay"] == 1
    assert len(found["runs"]) == 2
    assert "NaN" in found["found"]["outputs"][0]
    assert found["found"]["inputs"] == []


STALE = """
    import torch
    torch.manual_seed(0)
    x = torch.randn(64, 64, device="cuda")
    weights = [torch.randn(64, 64, device="cuda") for _ in range(8)]
    calls = 0
    def step():
        global calls
        weight = weights[min(calls, 7)]
        calls += 1
        h = torch.nn.functional.dropout(x * 2, 0.5)
        y = h + 1
        z = y * weight
        return z.sum()
"""


def test_the_node_that_reads_what_eager_no_longer_does(tmp_path: Path) -> None:
    found = located(tmp_path, STALE, "--symptom", "eager", "--timeout", "10", function="step")
    assert found["symptom"] == "eager"
    culprit = found["culprit"]
    assert "aten.mul" in culprit["origin"]["operator"]
    assert culprit["origin"]["line"].endswith("work.py:13")
    assert found["decided"] is True
    assert len(found["found"]["moved"]) == 1
    assert any("random numbers" in note for note in found["notes"])
