"""`cglens run`: record in a child, then open the dashboard on the file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from graphviz_app import cli
from graphviz_app.commands import run
from graphviz_app.commands._recording import default_output
from tests.recorder.conftest import ROOT, STAND_IN

GRAPH = """
import sys, torch
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    torch.launch()
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[Path], Any]]:
    calls: list[tuple[list[Path], Any]] = []
    monkeypatch.setattr(
        run, "run_dashboard", lambda files, **options: calls.append((list(files), options))
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(STAND_IN), str(ROOT))))
    monkeypatch.chdir(tmp_path)
    return calls


@pytest.mark.parametrize("code", [0, 3])
def test_the_dashboard_opens_on_what_was_recorded(
    opened: list[tuple[list[Path], Any]], capfd: pytest.CaptureFixture[str], code: int
) -> None:
    Path("script.py").write_text(GRAPH)
    assert cli.main(["run", "--port", "0", "--no-browser", "script.py", str(code)]) == code
    ((files, options),) = opened
    assert files == [Path("script.cgl")]
    assert files[0].is_file()
    assert (options["port"], options["no_browser"]) == (0, True)
    err = capfd.readouterr().err
    assert "recording script.py into script.cgl" in err
    assert "recorded 1 graph with 1 node in script.cgl" in err


def test_the_dashboard_stays_closed_when_nothing_was_recorded(
    opened: list[tuple[list[Path], Any]],
) -> None:
    Path("script.py").write_text("import sys; sys.exit(5)")
    assert cli.main(["run", "script.py"]) == 5
    Path("script.py").write_text("")
    assert cli.main(["run", "script.py"]) == 4
    assert opened == []


def test_recording_loads_no_torch_in_the_parent(opened: list[tuple[list[Path], Any]]) -> None:
    Path("script.py").write_text(GRAPH)
    before = set(sys.modules)
    assert cli.main(["run", "script.py", "0"]) == 0
    assert not {"torch", "cuda"} & (set(sys.modules) - before)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("train.py", "train.cgl"),
        ("bench/train.py", "train.cgl"),
        ("package.module", "module.cgl"),
        ("package.model:step", "step.cgl"),
        ("a/model.py:Model.step", "step.cgl"),
        ("folder/", "folder.cgl"),
    ],
)
def test_default_output(target: str, name: str) -> None:
    assert default_output(target) == Path(name)


def test_measuring_can_be_asked_for_at_once(
    opened: list[tuple[list[Path], Any]], capfd: pytest.CaptureFixture[str]
) -> None:
    import capture

    Path("script.py").write_text(GRAPH)
    words = ["run", "--bench", "--free", "node:0", "--free", "type:kernel", "script.py", "0"]
    assert cli.main(words) == 0
    recording = capture.read("script.cgl")
    (key,) = recording.graphs
    benchmark = recording.benchmark(key)
    assert benchmark is not None, capfd.readouterr()
    assert benchmark.replay_ns
    assert [item.asked for item in benchmark.removals] == ["node:0", "type:kernel"]
    (_, options), *_ = opened
    assert options["workload"].words == ["script.py", "0"]
