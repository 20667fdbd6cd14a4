"""Findings of a whole recording: on the command line, as JSON, on their page, on the graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import capture
from capture.model import GraphInfo, Metadata, Recording
from graphviz_app import cli
from graphviz_app.findings import Findings
from tests.analysis.graphs import graph_of
from tests.helpers.synthetic_memory import BASE, copy, graph, kernel, memory

SCALE = "_Z5scalePfyPKf"


def recording() -> Recording:
    """Return a healthy graph, one with a stale pointer, an empty one, and one that is broken."""
    stale = graph([kernel(SCALE, BASE, 0, BASE), kernel(SCALE, BASE + 600, 0, BASE)], [(0, 1)])
    loaded = {
        "healthy": graph([copy(BASE, BASE + 64, 8), copy(BASE + 64, BASE, 8)], [(0, 1)]),
        "stale": stale,
        "empty": graph_of(0, []),
    }
    infos = [
        GraphInfo(key=key, name=f"graph {key}", node_count=2)
        for key in ("healthy", "stale", "empty", "broken")
    ]
    evidence = {"memory": {key: memory(key) for key in ("healthy", "stale")}}
    return Recording(Metadata(), infos, loaded=loaded, evidence=evidence)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("findings") / "run.cgl"
    made = recording()
    del made.graphs["broken"]  # what was not read cannot be written
    capture.write(made, path)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["info", "--findings", *arguments]) == 0
    return capsys.readouterr().out


def test_findings_are_counted_by_kind_and_ordered() -> None:
    found = Findings(recording()).look()
    assert [(kind.name, kind.count, kind.certain, kind.graphs) for kind in found.ranked()] == [
        ("stale_pointers", 1, 1, {"stale"}),
        ("empty_graph", 1, 0, {"empty"}),
    ]
    assert found.looked == found.total == 4
    assert [(item.graph, item.node) for item in found.ordered()] == [("stale", "1"), ("empty", "")]
    (stale,) = [item for item in found.rows if item.node]
    assert found.cells(stale)["argument"] == "argument 0, byte 0"
    assert "a free block" in found.words(stale)
    assert any("not read" in reason for reason in found.absent["empty_graph"])


def test_the_command_prints_kinds_with_nodes_and_advice(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, str(file))
    assert "warning: Addresses of freed memory" in out
    assert "node 1 of stale: " in out
    assert "[certain]" in out
    assert "Keep a reference" in out
    assert "not looked for: " in out
    assert "node 1 of stale" not in run(capsys, str(file), "--graph", "healthy")
    assert "Nothing was found in graph healthy." in run(capsys, str(file), "--graph", "healthy")


def test_the_document_has_every_finding_with_exact_values(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(run(capsys, str(file), "--json"))
    assert document["graphs"] == 3
    by_name = {item["analysis"]: item for item in document["findings"]}
    stale = by_name["stale_pointers"]
    assert (stale["graph"], stale["node"], stale["severity"]) == ("stale", "1", "warning")
    assert stale["says"]["block size"] == 512
    assert by_name["empty_graph"]["says"].startswith("The graph is empty")
    assert "\n" not in document["kinds"][0]["title"]
