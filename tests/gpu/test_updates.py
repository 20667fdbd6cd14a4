"""``cglens series --ask-driver`` on a real script: the driver's answers, all as predicted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import capture
from capture.compare import compare_recordings
from capture.compare.asked import asked
from capture.compare.series import series
from capture.model import Recording

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256), torch.nn.LayerNorm(256)
).cuda().half()
kept = []
with torch.no_grad():
    for batch in (128, 64, 32, 16, 8, 4, 2, 1):
        x = torch.randn(batch, 256, device="cuda", dtype=torch.half)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        kept.append((batch, graph, x, y))
    extra = torch.cuda.CUDAGraph()
    with torch.cuda.graph(extra):
        z = model(x) + 1
    kept.append((batch, extra, x, z))
before = kept[0][3].clone()
kept[0][1].replay()
torch.cuda.synchronize()
print("replayed", torch.isfinite(kept[0][3]).all().item())
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("updates")
    (folder / "ladder.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "graphviz_app", "series", "--ask-driver", "-o", "out.cgl"]
    done = subprocess.run(
        [*command, "ladder.py"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))),
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "replayed True" in done.stdout
    assert "the driver says" in done.stdout
    print(done.stdout)
    return capture.read(folder / "out.cgl")


def test_every_answer_is_as_predicted(recording: Recording) -> None:
    found = asked(recording)
    assert found is not None
    assert found.disagreements == []
    assert found.answers == 8 * 7 + 2
    assert found.taken == 8 * 7
    assert found.update_ns is not None


def test_one_executable_serves_the_ladder(recording: Recording) -> None:
    found = series(recording)
    assert [len(group.served) for group in found.groups] == [1, 1]
    assert found.needed == 2


def test_a_comparison_of_two_of_its_graphs_tells_the_answer(recording: Recording) -> None:
    first, *_, last = recording.graphs
    (pair,) = compare_recordings(recording, recording, first, last).pairs
    assert pair.update.answer is not None
    assert pair.update.answer.result == "TOPOLOGY_CHANGED"
    assert not pair.update.disputed
