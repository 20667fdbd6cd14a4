"""Traces of one replay: valid trace JSON, one track per stream, an arrow per edge."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import capture.formats as formats
from capture.errors import LookupFailed, OutputError, UnknownFormatError
from capture.model import Body, Graph, Recording, Topology
from capture.timings import Timings
from graphviz_app import cli
from tests.helpers import synthetic

KEY = "train.py:layers#0"


def traced(recording: Recording, key: str | None = KEY) -> dict[str, Any]:
    stream = io.BytesIO()
    formats.write_stream(recording, stream, "perfetto", key)
    return dict(json.loads(stream.getvalue()))


@pytest.fixture
def run() -> Recording:
    return synthetic.recording({"layers": synthetic.layers(3)}, failed=False, timed=["layers"])


def test_every_event_is_one_that_the_trace_format_knows(run: Recording) -> None:
    document = traced(run)
    phases = {"M": [], "X": [], "s": [], "f": []}
    for event in document["traceEvents"]:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        phases[event["ph"]].append(event)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in phases["X"])
    assert all(event["bp"] == "e" for event in phases["f"])
    tracks = [event for event in phases["M"] if event["name"] == "thread_name"]
    assert {event["args"]["name"] for event in tracks} == {"stream 7", "stream 13"}


def test_runs_are_the_sample_replay(run: Recording) -> None:
    timings = run.timings("0")
    assert timings is not None
    runs = [event for event in traced(run)["traceEvents"] if event["ph"] == "X"]
    assert [event["args"]["node"] for event in runs] == timings.node
    assert [event["ts"] * 1000 for event in runs] == pytest.approx(timings.sample_start_ns)
    assert [event["args"]["median_ns"] for event in runs] == timings.median_ns
    kernel = next(event for event in runs if event["cat"] == "kernel")
    assert kernel["args"]["grid"] == [64, 2, 1]
    assert kernel["name"] in kernel["args"]["kernel"]


def test_an_arrow_joins_the_ends_of_each_edge_that_ran(run: Recording) -> None:
    events = traced(run)["traceEvents"]
    topology = run.graph(KEY).topology
    timed = set(run.timings("0").node)  # type: ignore[union-attr]
    wanted = sum(
        str(source) in timed and str(target) in timed
        for source, target in zip(topology.source, topology.target, strict=True)
    )
    arrows = {event["id"]: {} for event in events if event["ph"] == "s"}
    for event in events:
        if event["ph"] in "sf":
            arrows[event["id"]][event["ph"]] = event
    assert len(arrows) == wanted < len(topology.source)
    slices = [event for event in events if event["ph"] == "X"]

    def inside(event: dict[str, Any]) -> bool:
        return any(
            item["tid"] == event["tid"] and item["ts"] <= event["ts"] <= item["ts"] + item["dur"]
            for item in slices
        )

    for ends in arrows.values():
        assert ends["s"]["ts"] < ends["f"]["ts"]
        assert inside(ends["s"])
        assert inside(ends["f"])


def test_nodes_of_bodies_and_of_the_executable_alone_are_there() -> None:
    graph = Graph(
        topology=Topology(types=["kernel", "child_graph"], source=[0], target=[1]),
        payloads=[synthetic.kernel_payload(synthetic.kernels(1)[0]), None],
        bodies=[Body(node=1, index=0, role="child", graph=synthetic.chain(2))],
    )
    run = synthetic.recording({"layers": graph}, failed=False)
    run._evidence["timings"]["0"] = Timings(
        executable="0",
        graph=KEY,
        node=["0", "1/0/0", "1/0/1", ""],
        start_ns=[0, 10, 20, 30],
        median_ns=[5, 5, 5, 5],
        stream=[7, 7, 7, 9],
    )
    events = traced(run)["traceEvents"]
    names = [event["args"]["node"] for event in events if event["ph"] == "X"]
    assert names == ["0", "1/0/0", "1/0/1", ""]
    assert events[-3]["name"] != "dependency"
    assert sum(event["ph"] == "s" for event in events) == 1


def test_without_timings_it_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = synthetic.recording({"layers": synthetic.layers(1)}, failed=False)
    with pytest.raises(OutputError, match=r"has no timings.*not asked for"):
        traced(run)
    file = tmp_path / "run.cgl"
    formats.write(run, file)
    assert cli.main(["export", str(file), "--format", "perfetto"]) == OutputError.exit_code
    assert "has no timings" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]


def test_one_graph_must_be_chosen() -> None:
    graphs = {"layers": synthetic.layers(1), "chain": synthetic.chain(2)}
    run = synthetic.recording(graphs, failed=False, timed=["layers"])
    with pytest.raises(LookupFailed, match="choose one with --graph"):
        traced(run, None)


def test_a_trace_is_recognised_and_not_read(tmp_path: Path, run: Recording) -> None:
    file = tmp_path / "run.trace.json"
    formats.write(run, file)
    with pytest.raises(UnknownFormatError, match="can only be written"):
        formats.read(file)
