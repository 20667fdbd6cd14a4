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
    done = subprocess.run(
        [sys.executable, "-P", "-m", "graphviz_app", "locate", "--json", *options, target],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
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
