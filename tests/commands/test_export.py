"""``cglens export``: every format, and nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import capture.formats as formats
from capture.model import Executable, Recording
from capture.timings import NODE_COLUMNS, Timings
from graphviz_app import cli
from tests.formats.test_driver_dot import DATA
from tests.helpers.recordings import assert_equal, chain, recording_of

WRITABLE = [name for name, entry in formats.formats().items() if entry.write is not None]


def export(*args: object) -> int:
    return cli.main(["export", *map(str, args)])


def timed(recording: Recording) -> Recording:
    """Return the recording with synthetic timings of every node."""
    executables = [Executable(id=f"{key}/exec1", graph=key) for key in recording.graphs]
    timings = {}
    for item in executables:
        count = len(recording.graph(item.graph))
        column = [10] * count
        timings[item.id] = Timings(
            executable=item.id,
            graph=item.graph,
            node=[str(position) for position in range(count)],
            **{name: list(column) for name in NODE_COLUMNS if name != "node"},
            makespan_ns=[20],
            busy_ns=[10],
        )
    return Recording(
        recording.metadata,
        list(recording.graphs.values()),
        executables=executables,
        loaded={key: recording.graph(key) for key in recording.graphs},
        timings=timings,
    )


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.cgl"
    formats.write(timed(recording_of(chain(2), chain(3))), path)
    return path


def source(name: str, folder: Path) -> list[object]:
    """Return what is exported in a format: the driver's DOT, or where that lacks timings, ours."""
    if name != "perfetto":
        return [DATA / "alltypes_all.dot"]
    path = folder.parent / f"{folder.name}-timed.cgl"
    formats.write(timed(recording_of(chain(3))), path, force=True)
    return [path]


@pytest.mark.parametrize("name", WRITABLE)
def test_every_format_of_the_registry(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert export(*source(name, tmp_path), "--format", name, "-o", out) == 0
    captured = capsys.readouterr()
    assert captured.err == f"cglens: wrote {out}\n"
    assert captured.out == ""
    assert os.listdir(tmp_path) == ["out"]
    if formats.format_named(name).read is not None:
        again, original = formats.read(out), formats.read(DATA / "alltypes_all.dot")
        again.metadata = original.metadata
        assert_equal(again, original)


@pytest.mark.parametrize("name", WRITABLE)
def test_standard_output(name: str, two: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "graphviz_app", "export", str(two)),
            *("--format", name, "-o", "-", "--graph", "synthetic-1"),
        ],
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    out = two.with_name("piped")
    out.write_bytes(done.stdout)
    if formats.format_named(name).read is not None:
        assert formats.read(out).graphs["synthetic-1"].node_count == 3
    elif name == "dot":
        assert done.stdout.count(b"fillcolor=") == 3
    else:
        assert done.stdout


def test_standard_output_that_is_full(two: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "graphviz_app", "export", str(two), "--format", "json", "-o-"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "cglens: cannot write: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_name_it_goes_beside_the_file(two: Path) -> None:
    assert export(two, "--format", "json") == 0
    assert json.loads(two.with_name("two.json").read_text())["graphs"]


def test_help_lists_the_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("--help") == 0
    shown = capsys.readouterr().out
    for name in WRITABLE:
        assert name in shown


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--format", "dot"], 1, "choose one with --graph KEY (synthetic-0, synthetic-1)"),
        (["--format", "node-link"], 1, "--graph KEY"),
        (["--format", "json", "--graph", "nope"], 1, "no graph 'nope'"),
        (["--format", "driver-dot"], 2, "is none of cgl, dot"),
        (["--format", "nope"], 2, "is none of cgl, dot"),
        ([], 2, "--format"),
    ],
)
def test_refusals_leave_nothing(
    two: Path, args: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(two, *args) == code
    assert words in capsys.readouterr().err
    assert os.listdir(two.parent) == ["two.cgl"]


@pytest.mark.parametrize("name", WRITABLE)
def test_an_existing_file_needs_force(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_text("precious")
    files = source(name, tmp_path)
    assert export(*files, "--format", name, "-o", out) == 1
    assert capsys.readouterr().err == (
        f"cglens: {out} exists; pass --force to replace it, or another name\n"
    )
    assert out.read_text() == "precious"
    assert export(*files, "--format", name, "-o", out, "--force") == 0
    assert out.read_bytes() != b"precious"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("place", ["", "missing/out", "file/out"])
def test_places_that_cannot_be_written(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert export(DATA / "alltypes_all.dot", "--format", "cgl", "-o", tmp_path / place) == 1
    error = capsys.readouterr().err
    assert error.startswith("cglens: cannot write ")
    assert error.count("\n") == 1
    assert os.listdir(tmp_path) == ["file"]


def test_a_recording_may_be_replaced_by_itself(two: Path) -> None:
    before = two.read_bytes()
    assert export(two, "--format", "cgl", "-o", two, "--force") == 0
    assert two.read_bytes() == before


def test_a_damaged_graph_leaves_nothing(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.formats.test_cgl import rewrite

    rewrite(two, {"graphs/1.json": b"{"})
    assert export(two, "--format", "json") == 1
    assert "graphs/1.json is not valid JSON" in capsys.readouterr().err
    assert os.listdir(two.parent) == ["two.cgl"]
