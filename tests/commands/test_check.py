"""``cglens check``: exit codes and every form of report."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import capture
from capture.model import GraphInfo, Metadata, Recording
from graphviz_app import cli
from tests.compare.graphs import kernels

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = str(ROOT / "graphviz_app/samples/train_step.cgl")
NASTY = 'a "key" <with> & 100%, more:\nlines'


@pytest.fixture
def nasty(tmp_path: Path) -> str:
    info = GraphInfo(key=NASTY, name="n", node_count=3)
    path = tmp_path / "nasty.cgl"
    capture.write(Recording(Metadata(), [info], loaded={NASTY: kernels("abc")}), path)
    return str(path)


@pytest.fixture
def strict(tmp_path: Path) -> str:
    path = tmp_path / "strict.toml"
    path.write_text("[nodes]\nmost = 1\n", encoding="utf-8")
    return str(path)


def test_held_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", SAMPLE, "--baseline", SAMPLE]) == 0
    assert ": held (" in capsys.readouterr().out


def test_broken_is_1_and_says_what(strict: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", SAMPLE, "--policy", strict]) == 1
    assert "nodes.most" in capsys.readouterr().out


@pytest.mark.parametrize(
    "args",
    [
        ["nope.cgl"],
        [SAMPLE, "--baseline", "nope.cgl"],
        [SAMPLE, "--policy", "nope.toml"],
        [SAMPLE, "--graph", "nope"],
    ],
)
def test_what_cannot_be_read_is_2(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", *args]) == 2
    assert "nope" in capsys.readouterr().err


def test_an_unknown_key_is_2_with_the_closest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.toml"
    path.write_text("[node]\nmost = 1\n", encoding="utf-8")
    assert cli.main(["check", SAMPLE, "--policy", str(path)]) == 2
    assert "did you mean 'nodes.most'" in capsys.readouterr().err


def test_missing_times_are_2(nasty: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", nasty, "--baseline", nasty]) == 2
    assert "could not tell" in capsys.readouterr().out


def test_a_key_with_signs_of_patterns_is_found(tmp_path: Path) -> None:
    info = GraphInfo(key="a[1]*", name="n", node_count=1)
    path = tmp_path / "k.cgl"
    capture.write(Recording(Metadata(), [info], loaded={"a[1]*": kernels("a")}), path)
    assert cli.main(["check", str(path), "--graph", "a[1]*"]) == 0


def test_json(nasty: str, strict: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", nasty, "--policy", strict, "--format", "json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["state"] == "broken"
    broken = [check for check in content["checks"] if check["state"] == "broken"]
    assert [(check["rule"], check["graph"]) for check in broken] == [("nodes.most", NASTY)]


def test_junit_is_well_formed(
    nasty: str, strict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "report.xml"
    args = ["check", nasty, "--policy", strict, "--format", "junit", "-o", str(target)]
    assert cli.main(args) == 1
    assert capsys.readouterr().out == ""
    suite = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    cases = suite.findall("testcase")
    assert suite.get("tests") == str(len(cases))
    failing = [case for case in cases if case.find("failure") is not None]
    assert [case.get("name") for case in failing] == ["nodes.most"]
    assert "<with> & 100%" in (failing[0].get("classname") or "")


def test_annotations_are_one_line_each(
    nasty: str, strict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", nasty, "--policy", strict, "--format", "github"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=")
    assert "100%25" in line
    assert "%0Alines" in line
