"""Recordings made on an H200: they read, survive, and say what they must."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import capture
from capture.analysis import Subject, analyses, run_analysis
from capture.formats.schema import schema
from capture.model import Recording
from capture.topology import digest, from_networkx, to_networkx, to_networkx_bodies, validate
from graphviz_app import cli

from .workloads import NAMES

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = sorted((ROOT / "graphviz_app" / "samples").glob("*.cgl"))
GOLDEN = sorted((ROOT / "tests" / "data" / "recordings").glob("*.cgl"))
WORKING = {"kernel", "memcpy", "memset"}
FILES = pytest.mark.parametrize("path", SAMPLES + GOLDEN, ids=lambda path: path.stem)


@pytest.fixture
def recording(path: Path) -> Recording:
    return capture.read(path)


def test_every_sample_and_workload_is_there() -> None:
    assert {path.stem for path in SAMPLES} == {
        "all_node_types",
        "batch_sizes",
        "compiled",
        "fork_join",
        "stale_input",
        "train_step",
        "transformer_inference",
    }
    assert {path.stem for path in GOLDEN} == set(NAMES)
    assert sum(path.stat().st_size for path in SAMPLES) < 5_000_000


@FILES
def test_it_is_whole(recording: Recording) -> None:
    assert recording.metadata.complete
    assert recording.metadata.warnings == []
    assert recording.metadata.exit_code == 0
    assert recording.processes[0].gpus[0].name == "NVIDIA H200"
    for key, info in recording.graphs.items():
        graph = recording.graph(key)
        validate(graph)
        levels = dict(graph.walk())
        assert info.node_count == sum(map(len, levels.values()))
        assert info.topology == digest(graph)
        assert info.warnings == []


@FILES
def test_every_kernel_has_a_name_dimensions_and_arguments(recording: Recording) -> None:
    for key in recording.graphs:
        for _, level in recording.graph(key).walk():
            for node in level.nodes():
                if node.type != "kernel":
                    continue
                payload = node.payload
                assert payload.kernel.name
                assert min(*payload.grid, *payload.block) >= 1
                assert payload.kernel.parameters is not None
                size = sum(size for _, size in payload.kernel.parameters)
                assert size == 0 or payload.arguments


@FILES
def test_every_node_that_does_work_is_timed(recording: Recording, path: Path) -> None:
    if path.stem == "all_node_types":
        (info,) = recording.graphs.values()
        assert "read from a handle" in info.evidence["timings"].reason
        return
    replayed = {item.graph for item in recording.executables if item.replays > 3}
    assert replayed
    for key in replayed:
        graph = recording.graph(key)
        (found,) = recording.timings_of(key)
        working = {str(node.position) for node in graph.nodes() if node.type in WORKING}
        assert set(found.node) == working
        assert found.tracing_ratio is not None
        assert found.dropped_records == 0
        assert max(found.sample_start_ns) < max(found.makespan_ns)


@FILES
def test_it_survives_every_form(recording: Recording, tmp_path: Path) -> None:
    import jsonschema

    packed, document = tmp_path / "again.cgl", tmp_path / "again.json"
    capture.write(recording, packed)
    capture.write(recording, document)
    jsonschema.Draft202012Validator(schema()).validate(json.loads(document.read_text()))
    for again in (capture.read(packed), capture.read(document)):
        assert again.graphs == recording.graphs
        assert again.executables == recording.executables
        assert again.timeline == recording.timeline
        for key in recording.graphs:
            assert again.graph(key) == recording.graph(key)
        for name in recording.timed:
            assert again.timings(name) == recording.timings(name)


@FILES
def test_networkx_and_back(recording: Recording) -> None:
    for key in list(recording.graphs)[:3]:
        graph = recording.graph(key)
        assert from_networkx(to_networkx(graph), to_networkx_bodies(graph)) == graph


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_dot_draws_it_without_a_warning(recording: Recording, tmp_path: Path) -> None:
    key = max(recording.graphs, key=lambda name: recording.graphs[name].node_count)
    out = tmp_path / "graph.dot"
    single = Recording(
        recording.metadata, [recording.info(key)], loaded={key: recording.graph(key)}
    )
    capture.write(single, out)
    done = subprocess.run(
        ["dot", "-Tsvg", "-o", str(tmp_path / "graph.svg"), str(out)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""


@FILES
def test_analyses_have_an_answer_or_a_reason(recording: Recording) -> None:
    key = max(recording.graphs, key=lambda name: recording.graphs[name].node_count)
    found = recording.timings_of(key)
    gpu = recording.processes[0].gpus[0]
    subject = Subject(recording.graph(key), recording.info(key), found[0] if found else None, gpu)
    for name, entry in analyses().items():
        if entry.scope != "graph":
            continue
        result = run_analysis(name, subject)
        assert result.present or result.absent_reason, name
        assert "failed" not in result.absent_reason, (name, result.absent_reason)
    path = run_analysis("critical_path", subject)
    assert path.present is bool(found)


@FILES
def test_info_prints_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", str(path)]) == 0
    assert "NVIDIA H200" in capsys.readouterr().out


def test_graphs_of_a_ladder_share_topology_and_differ_in_label() -> None:
    recording = capture.read(ROOT / "tests" / "data" / "recordings" / "batch_ladder.cgl")
    infos = list(recording.graphs.values())
    assert len(infos) == 35
    assert len({info.topology for info in infos}) < len(infos)
    assert {info.label for info in infos} == {
        info.label for info in infos if "batch=" in info.label
    }
    assert len({info.pool for info in infos}) == 1
