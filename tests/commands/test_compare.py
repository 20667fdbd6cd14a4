"""``cglens compare``: every format, two graphs of one file, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dash import Dash

from graphviz_app import cli
from graphviz_app.app import Settings
from graphviz_app.commands.compare import FORMATS

ROOT = Path(__file__).resolve().parent.parent.parent
BATCHES = str(ROOT / "graphviz_app/samples/batch_sizes.cgl")
COMPILED = str(ROOT / "graphviz_app/samples/compiled.cgl")
TWO = [
    BATCHES,
    BATCHES,
    "--graph",
    "examples/batch_sizes.py:main#0+batch=128",
    "--graph-after",
    "examples/batch_sizes.py:main#3+batch=32",
]


def run(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    form = [] if "--format" in args else ["--format", "text"]
    assert cli.main(["compare", *args, *form]) == 0
    return capsys.readouterr().out


def test_text_says_what_changed_and_what_the_driver_would_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = run(capsys, *TWO)
    assert "13 changed" in out
    assert "other kernel of the same kind" in out
    # How wide the first column is depends on what else the recording holds.
    assert "cuGraphExecUpdate the driver would take it" in " ".join(out.split())
    assert "4 nodes would run another kernel" in out
    assert "replay, traced" in out


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_names_the_changed_launch(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, *TWO, "--format", form)
    assert "layer" in out
    assert "grid" in out


def test_json_is_whole_and_plain(capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(run(capsys, *TWO, "--format", "json", "--rows", "1"))
    (graph,) = content["graphs"]
    assert graph["counts"]["changed"] == len(graph["changes"]) == 13
    assert graph["update"]["result"] == "SUCCESS"
    assert graph["changes"][0]["fields"][0]["before"] != graph["changes"][0]["fields"][0]["after"]


def test_a_file_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, BATCHES, BATCHES)
    assert "the same   10 graphs" in out
    assert "Changes" not in out


def test_graphs_of_two_scripts_that_share_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, COMPILED, BATCHES)
    assert "only before" in out


def test_rows_are_cut_and_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert "rows more" in run(capsys, *TWO, "--rows", "1")
    assert "rows more" not in run(capsys, *TWO, "--rows", "0")


def test_html_escapes_what_files_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import capture
    from capture.model import GraphInfo, Metadata, Recording
    from tests.compare.graphs import kernels

    for name, letters in (("one", "abc"), ("two", "abxc")):
        info = GraphInfo(key="k", name="<script>alert(1)</script>", node_count=3)
        recording = Recording(Metadata(), [info], loaded={"k": kernels(letters)})
        capture.write(recording, tmp_path / f"{name}.cgl")
    target = tmp_path / "page.html"
    out = run(
        capsys, str(tmp_path / "one.cgl"), str(tmp_path / "two.cgl"),
        "--format", "html", "-o", str(target),
    )  # fmt: skip
    assert out == ""
    page = target.read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("form", [["--format", "text"], ["--no-browser", "--port", "0"]])
def test_an_unknown_graph_is_one_line(form: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", BATCHES, BATCHES, "--graph", "nope", *form]) == 1
    assert "no graph 'nope'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "recordings", "start"),
    [
        ([COMPILED, BATCHES], 2, "compare?recording=compiled&after=batch-sizes"),
        ([BATCHES, BATCHES], 2, "compare?recording=batch-sizes&after=batch-sizes-2"),
        (
            TWO,
            1,
            "compare?recording=batch-sizes&graph=examples/batch_sizes.py:main%230%2Bbatch%3D128"
            "&after=batch-sizes&graph_after=examples/batch_sizes.py:main%233%2Bbatch%3D32",
        ),
    ],
)
def test_without_a_format_the_dashboard_opens_at_the_comparison(
    args: list[str], recordings: int, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[int, str]] = []

    def serve(app: Dash, settings: Settings) -> None:
        options = app.layout.children[-1].children[0].children[1].data
        served.append((len(options), settings.start))

    monkeypatch.setattr("graphviz_app.server.serve", serve)
    assert cli.main(["compare", *args, "--prefix", "/lens/"]) == 0
    assert served == [(recordings, start)]
