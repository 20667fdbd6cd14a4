"""The packed recording: whole, lazy, deterministic, and forward compatible."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import capture.formats as formats
from capture.errors import FormatError, LookupFailed
from capture.model import Event, Executable, Failure, Graph, GraphInfo, Metadata, Recording
from tests.helpers.recordings import assert_equal, chain, recording_of, recordings


def rewrite(path: Path, changes: dict[str, Any], drop: tuple[str, ...] = ()) -> None:
    """Replace, add and drop members of a zip; changes are bytes, or documents."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name not in drop}
    for name, value in changes.items():
        members[name] = value if isinstance(value, bytes) else json.dumps(value).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def manifest_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        document: dict[str, Any] = json.loads(archive.read("recording.json"))
    return document


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "two.cgl"
    recording = recording_of(chain(3), chain(5))
    recording.executables.append(Executable(id="e0", graph="synthetic-1", replays=7))
    recording.timeline.append(Event(kind="replay", start_ns=5, graph="synthetic-1"))
    formats.write(recording, path)
    return path


@given(recordings())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_recording_survives(tmp_path: Path, recording: Recording) -> None:
    path = tmp_path / "any.cgl"
    formats.write(recording, path, force=True)
    again = formats.read(path)
    assert_equal(recording, again)
    other = tmp_path / "other.cgl"
    formats.write(again, other, force=True)
    assert other.read_bytes() == path.read_bytes()


def test_what_a_later_version_adds_survives(packed: Path, tmp_path: Path) -> None:
    manifest = manifest_of(packed)
    manifest["weather"] = {"rain": True}
    manifest["metadata"]["mood"] = "good"
    manifest["graphs"][0]["taste"] = [1, 2]
    rewrite(packed, {"recording.json": manifest, "evidence/smell.bin": b"\0\1roses"})
    recording = formats.read(packed)
    assert recording.info("synthetic-0").extra == {"taste": [1, 2]}
    again = tmp_path / "again.cgl"
    formats.write(recording, again)
    assert manifest_of(again)["weather"] == {"rain": True}
    assert manifest_of(again)["metadata"]["mood"] == "good"
    assert manifest_of(again)["graphs"][0]["taste"] == [1, 2]
    with zipfile.ZipFile(again) as archive:
        assert archive.read("evidence/smell.bin") == b"\0\1roses"


def test_a_graph_opens_although_another_is_damaged(packed: Path) -> None:
    rewrite(packed, {"graphs/0.json": b"{"})
    recording = formats.read(packed)
    assert len(recording.graph("synthetic-1")) == 5
    with pytest.raises(FormatError, match=r"graphs/0\.json is not valid JSON"):
        recording.graph("synthetic-0")


def test_nothing_is_read_before_it_is_looked_at(packed: Path) -> None:
    rewrite(packed, {"kernels.json": b"?", "timeline.json": b"?", "graphs/0.json": b"?"})
    recording = formats.read(packed)
    assert recording.info("synthetic-1").node_count == 5
    with pytest.raises(FormatError, match=r"timeline\.json"):
        _ = recording.timeline


def test_graphs_of_one_topology_share_it(tmp_path: Path) -> None:
    path = tmp_path / "same.cgl"
    formats.write(recording_of(chain(4), chain(4)), path)
    recording = formats.read(path)
    first, second = recording.graph("synthetic-0"), recording.graph("synthetic-1")
    assert first.topology is second.topology
    assert first.payloads[0].kernel is second.payloads[0].kernel


def test_one_graph_takes_what_belongs_to_it(packed: Path, tmp_path: Path) -> None:
    recording = formats.read(packed)
    one = tmp_path / "one.cgl"
    formats.write(recording, one, graph="synthetic-0")
    again = formats.read(one)
    assert list(again.graphs) == ["synthetic-0"]
    assert again.executables == []
    assert again.timeline == []
    with pytest.raises(LookupFailed, match="synthetic-0"):
        formats.write(recording, tmp_path / "none.cgl", graph="nope")
    assert not (tmp_path / "none.cgl").exists()


def test_writing_lets_go_of_graphs_that_were_not_in_use(packed: Path, tmp_path: Path) -> None:
    recording = formats.read(packed)
    kept = recording.graph("synthetic-0")
    formats.write(recording, tmp_path / "copy.cgl")
    assert recording.graph("synthetic-0") is kept
    assert "synthetic-1" not in recording._graphs


def test_a_failed_capture_without_nodes_is_kept(tmp_path: Path) -> None:
    info = GraphInfo(
        key="failed",
        name="failed",
        failure=Failure(error="RuntimeError", message="no", nodes_read=False, reason="ended"),
    )
    path = tmp_path / "failed.cgl"
    formats.write(Recording(Metadata(), [], [info]), path)
    again = formats.read(path)
    assert again.failed == {"failed": info}
    with pytest.raises(FormatError, match="not read"):
        again.graph("failed")


def test_a_file_that_was_replaced_meanwhile_is_noticed(packed: Path) -> None:
    recording = formats.read(packed)
    formats.write(recording_of(chain(1)), packed, force=True)
    with pytest.raises(FormatError, match="changed since it was opened"):
        recording.graph("synthetic-1")
    packed.unlink()
    with pytest.raises(LookupFailed, match="moved or deleted"):
        recording.graph("synthetic-1")


def test_text_that_is_not_unicode_is_written_with_escapes(tmp_path: Path) -> None:
    recording = recording_of(chain(1))
    recording.metadata.command = ["python", "caf\udce9.py"]
    path = tmp_path / "bytes.cgl"
    formats.write(recording, path)
    assert formats.read(path).metadata.command == ["python", "caf\\udce9.py"]


def test_a_cycle_loads(tmp_path: Path) -> None:
    graph = chain(3)
    graph.topology.source.append(2)
    graph.topology.target.append(0)
    path = tmp_path / "cycle.cgl"
    recording = recording_of(graph)
    formats.write(recording, path)
    again = formats.read(path)
    assert again.graph("synthetic-0") == graph
    info = again.info("synthetic-0")
    assert info.width is None
    assert info.depth is None
    assert any("cycle" in warning for warning in info.warnings)


def test_a_megabyte_name_survives(tmp_path: Path) -> None:
    name = "_Z" + "n" * (1 << 20)
    path = tmp_path / "long.cgl"
    formats.write(recording_of(chain(2, name)), path)
    graph: Graph = formats.read(path).graph("synthetic-0")
    assert graph.payloads[0].kernel.name == name


def test_reading_loads_nothing_heavy(packed: Path) -> None:
    program = (
        "import sys, capture.formats as f\n"
        f"f.read({str(packed)!r}).info('synthetic-0')\n"
        "heavy = {'numpy', 'networkx', 'dash', 'rich', 'multiprocessing', 'torch', 'subprocess'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done
