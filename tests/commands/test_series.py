"""``cglens series`` on shipped recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphviz_app import cli

SAMPLES = Path(__file__).resolve().parent.parent.parent / "graphviz_app/samples"
BATCHES = str(SAMPLES / "batch_sizes.cgl")


def test_text_tells_lines_and_switches(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["series", BATCHES]) == 0
    out = capsys.readouterr().out
    assert "1 would do instead of 10" in out
    assert "one for each 2 of batch, rounded up" in out
    assert "from batch 128" in out


@pytest.mark.parametrize("form", ["markdown", "html", "json"])
def test_other_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["series", BATCHES, "--format", form]) == 0
    out = capsys.readouterr().out
    assert "dynamic" in out or "grid" in out
    if form == "json":
        assert json.loads(out)["needed"] == 1


def test_one_graph_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["series", str(SAMPLES / "fork_join.cgl")]) == 1
    assert "two graphs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ask-driver", BATCHES], "name the script instead"),
        (["train.py"], "give --ask-driver"),
        (["train.py", "--", "3"], "belong to --ask-driver"),
    ],
)
def test_only_a_workload_can_be_asked_about(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["series", *arguments]) == 2
    assert words in capsys.readouterr().err
