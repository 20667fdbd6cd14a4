"""`cglens info` on a recording with origins: top modules, operators and lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import capture
from graphviz_app import cli
from tests.helpers import origins

LINE = origins.line_of(origins.SOURCE, "self.down(F.gelu")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    made = origins.recording(origins.transformer(3))
    path = tmp_path_factory.mktemp("info") / "run.cgl"
    capture.write(made, path)
    return path, next(iter(made.graphs))


def test_a_graph_in_full_names_modules_operators_and_lines(
    packed: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, key = packed
    assert cli.main(["info", str(path), "--graph", key]) == 0
    text = capsys.readouterr().out
    assert "Time by module" in text
    assert "head 3.07 ms" in text
    assert "aten.mm.default" in text
    assert f"model.py:{LINE} " in text


def test_the_same_in_json(packed: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    path, key = packed
    assert cli.main(["info", str(path), "--graph", key, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["analyses"]
    rows = found["by_source"]["rows"]
    assert f"{origins.FILE}:{LINE}" in [row[0] for row in rows[:3]]
    assert found["by_module"]["rows"][0][:2] == ["Transformer", "Transformer"]
    assert found["by_operator"]["figures"]["top_0"]["value"] == "aten.mm.default"
    assert not any(item.get("node_values") for item in found.values())


def test_one_analysis_has_its_whole_table(
    packed: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = packed
    assert cli.main(["info", "--analysis", "by_module", str(file)]) == 0
    out = capsys.readouterr().out
    assert "Time by module" in out
    assert "blocks.0.mlp.up" in out
    assert cli.main(["info", "--analysis", "by_operator", "--json", str(file)]) == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    assert "aten.gelu.default" in [row[0] for row in found["rows"]]
    assert cli.main(["info", "--analysis", "nothing", str(file)]) == 1
    assert "by_source" in capsys.readouterr().err
