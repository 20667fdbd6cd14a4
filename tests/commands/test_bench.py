"""`cglens bench` and `cglens whatif`: what they ask for, and what they print of what is stored."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.measure_request import EACH, MeasureRequest
from capture.model import Recording
from graphviz_app import cli
from graphviz_app.commands import _measuring
from graphviz_app.commands._targets import is_recording
from tests.helpers import synthetic, synthetic_benchmarks
from tests.recorder.conftest import ROOT, STAND_IN


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "stored.cgl"
    capture.write(synthetic_benchmarks.with_everything(), path)
    return path


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for the recorded child: it leaves the recording that a test puts in `result`."""
    calls: list[dict[str, Any]] = []
    monkeypatch.chdir(tmp_path)

    def record_to(
        output: Path,
        force: bool,
        module: bool,
        target: str,
        args: Any,
        measure: MeasureRequest | None = None,
    ) -> tuple[Path, int, bool]:
        calls.append({"target": target, "args": list(args), "module": module, "ask": measure})
        result: Recording = RESULTS.get(target, synthetic_benchmarks.with_everything)()
        capture.write(result, output, force=True)
        return output, CODES.get(target, 0), True

    monkeypatch.setattr(_measuring, "record_to", record_to)
    return calls


RESULTS: dict[str, Any] = {"bare.py": lambda: synthetic.recording({"a": synthetic.chain(3)})}
CODES = {"fails.py": 3}


def test_what_is_stored_is_printed_in_full(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", str(stored)]) == 0
    out = capsys.readouterr().out
    for words in ("replay, warm L2", "replay, cold L2", "launch of a replay", "python", "dispatch"):
        assert words in out
    assert "401 µs" in out
    assert "the graph removes 99.5 % of it" in out
    assert "has paid for itself after 7 replays" in out
    assert "SM clock was steady at 1,980 MHz" in out
    assert f"not replayed: {synthetic_benchmarks.REFUSAL}" in out
    assert "train.py:bare#2: No benchmark: synthetic: nobody asked for it." in out
    assert "2.6 µs" in out


def test_several_graphs_are_one_row_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ladder.cgl"
    capture.write(synthetic_benchmarks.ladder(), path)
    assert cli.main(["bench", str(path)]) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if "train.py:step_" in line]
    assert len(rows) == 9
    assert "batch_size=256" in rows[-1]
    assert "--graph KEY" in out
    assert cli.main(["bench", str(path), "--graph", "train.py:step_2#2"]) == 0
    assert "spread" in capsys.readouterr().out


def test_options_may_follow_a_recording(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", str(stored), "--json"]) == 0
    graphs = json.loads(capsys.readouterr().out)["graphs"]
    assert [entry["key"] for entry in graphs] == [
        "train.py:layers#0",
        "train.py:refused#1",
        "train.py:bare#2",
    ]
    assert graphs[0]["summary"]["replay, warm L2"]["count"] == 50
    assert graphs[0]["replays_to_pay"] == 7
    assert len(graphs[0]["benchmark"]["replay_ns"]) == 50
    assert graphs[2]["absent"].startswith("No benchmark")
    assert cli.main(["bench", str(stored), "more"]) == 2


def test_a_recording_without_benchmarks_says_how_to_make_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bare.cgl"
    capture.write(synthetic.recording({"a": synthetic.chain(3)}), path)
    assert cli.main(["bench", str(path)]) == 1
    out = capsys.readouterr().out
    assert "No benchmark" in out
    assert "cglens bench" in out


def test_a_workload_keeps_its_arguments(runs: list[dict[str, Any]]) -> None:
    code = cli.main(
        ["bench", "--replays", "7", "--no-cold", "--nodes", "train.py", "--json", "-o", "x"]
    )
    assert code == 0
    (call,) = runs
    assert call["args"] == ["--json", "-o", "x"]
    ask = call["ask"]
    assert (ask.bench, ask.replays, ask.cold, ask.nodes) == (True, 7, False, True)
    assert Path("train.bench.cgl").is_file()


def test_the_exit_code_is_the_workloads_or_says_that_nothing_was_measured(
    runs: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "fails.py"]) == 3
    assert cli.main(["bench", "bare.py"]) == 1
    assert "No benchmark" in capsys.readouterr().out


def test_a_script_is_recorded_and_its_graph_replayed_with_the_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(STAND_IN), str(ROOT))))
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(
        "import sys, torch\n"
        "g = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(g):\n"
        "    torch.launch()\n"
        "print('ran with', *sys.argv[1:])\n"
    )
    assert cli.main(["bench", "--replays", "12", "script.py", "--epochs", "1"]) == 0
    said = capfd.readouterr()
    assert "ran with --epochs 1" in said.out
    assert "recorded 1 graph" in said.err
    warm = next(line for line in said.out.splitlines() if "replay, warm L2" in line)
    assert warm.split()[-1] == "12"
    assert Path("script.bench.cgl").is_file()


def test_options_of_whatif_may_follow_the_target(runs: list[dict[str, Any]]) -> None:
    words = ["whatif", "train.py", "--free", "type:memset", "--free=node:3", "--each", "--free-all"]
    assert cli.main(words) == 0
    (call,) = runs
    assert call["args"] == ["--free-all"]
    assert call["ask"].removals == [("", "type:memset"), ("", "node:3"), ("", EACH)]
    assert not call["ask"].bench


def test_options_that_follow_end_where_the_workloads_begin(runs: list[dict[str, Any]]) -> None:
    assert cli.main(["whatif", "train.py", "--each", "--replays", "9", "--epochs", "1"]) == 0
    assert cli.main(["whatif", "train.py", "--each", "--", "--replays", "9"]) == 0
    assert cli.main(["whatif", "--each", "train.py", "--replays", "9"]) == 0
    assert [call["args"] for call in runs] == [
        ["--epochs", "1"],
        ["--replays", "9"],
        ["--replays", "9"],
    ]
    assert [call["ask"].replays for call in runs] == [9, 50, 50]


def test_removals_are_asked_of_named_graphs(runs: list[dict[str, Any]]) -> None:
    key = "train.py:layers#0"
    assert cli.main(["whatif", "--graph", key, "--free", "all", "m:f", "--x"]) == 0
    (call,) = runs
    assert call["ask"].removals == [(key, "all")]
    assert call["ask"].graphs == [key]
    assert (call["target"], call["args"]) == ("m:f", ["--x"])


def test_whatif_asks_which_nodes(runs: list[dict[str, Any]]) -> None:
    assert cli.main(["whatif", "train.py"]) == 2
    assert runs == []


def test_measured_gains_stand_beside_predicted_ones(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["whatif", str(stored), "--free", "type:memset"]) == 0
    out = capsys.readouterr().out
    copies = next(line for line in out.splitlines() if "type:memcpy" in line)
    assert "3.44 µs" in copies
    assert "30.3 µs ± 741 ns" in copies
    assert "-89 %" in copies
    assert " noise" in next(line for line in out.splitlines() if "node:1 " in line)
    assert any(line.strip().startswith("type:memset") for line in out.splitlines())
    assert "type:kernel was not measured: synthetic: nothing would be left." in out
    assert "(22) could not be disabled" in out


def test_a_recording_predicts_and_says_how_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "timed.cgl"
    made = synthetic.recording({"layers": synthetic.layers(8)}, timed=["layers"])
    made.metadata.command = ["train.py", "--epochs", "1"]
    capture.write(made, path)
    assert cli.main(["whatif", str(path), "--free", "type:kernel"]) == 0
    out = capsys.readouterr().out
    assert "Predicted:" in out
    assert "cglens whatif --free type:kernel train.py --epochs 1" in out
    assert cli.main(["whatif", str(path), "--free", "family:nope"]) == 1
    assert "no kernel is of family 'nope'" in capsys.readouterr().out
    assert cli.main(["whatif", str(path), "--each", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["graphs"]
    assert entry["gains"]
    assert all(gain["asked"].startswith("node:") for gain in entry["gains"])


def test_a_target_is_told_by_what_is_in_it(tmp_path: Path, stored: Path) -> None:
    script = tmp_path / "digraph.py"
    script.write_text("digraph {}\n")
    dot = tmp_path / "graph.txt"
    dot.write_text("digraph a {\n  b -> c\n}\n")
    module = tmp_path / "tool"
    module.write_text("import sys\n")
    assert is_recording(str(stored))
    assert is_recording(str(dot))
    assert not is_recording(str(script))
    assert not is_recording(str(module))
    assert not is_recording("package.model:step")
    assert not is_recording(str(tmp_path))
    broken = tmp_path / "broken.cgl"
    broken.write_bytes(b"not a zip")
    assert is_recording(str(broken))
