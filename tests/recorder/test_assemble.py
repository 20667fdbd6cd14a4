"""Journals of every condition become a recording, or one line that says why not."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from capture.benchmarks import Benchmark, Removal
from capture.codec import dump
from capture.errors import FormatError, NewerVersionError, NothingRecordedError, OutputError
from capture.model import Evidence, EvidenceKind, Failure, GraphInfo
from capture.recorder import folder as folders
from capture.recorder.assemble import assemble
from capture.recorder.journal import FileJournal
from capture.recorder.pack import pack
from capture.recorder.sink import Sink
from capture.timings import Timings
from tests.helpers import synthetic
from tests.helpers.stored_evidence import synthetic_origins


def sink_in(folder: Path) -> Sink:
    sink = Sink(FileJournal(folder))
    sink.open()
    return sink


def add(sink: Sink, serial: int, key: str = "run.py:main#0", size: int = 3) -> None:
    info = GraphInfo(key=key, name=key, how="observed", started_ns=serial, extra={"own": serial})
    sink.graph(serial, info, synthetic.chain(size), failed=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folders.make(tmp_path / "run.cgl", ["run.py", "--fast"])


def only_journal(folder: Path) -> Path:
    (path,) = folders.journals(folder)
    return path


def test_a_whole_journal(folder: Path) -> None:
    sink = sink_in(folder)
    add(sink, 1)
    sink.write("executable", 1, number=1, at_ns=5, duration_ns=7, note="")
    # A run that was written before it ended, then whole; and one of a graph that is not ours.
    sink.runs([(1, 1, 100, 5, 2, "MainThread"), (9, 1, 100, 20, 4, "MainThread")])
    sink.runs([(1, 1, 100, 20, 4, "MainThread")])
    sink.write("executable_end", 1, number=1, replays=4, ended="reset", at_ns=300)
    sink.close(400, {"read": 11})
    folders.write_exit(folder, -11)
    recording = assemble(folder)
    assert recording.metadata.complete
    assert recording.metadata.command == ["run.py", "--fast"]
    assert recording.metadata.exit_code == -11
    (info,) = recording.graphs.values()
    assert (info.node_count, info.edge_count, info.depth, info.width) == (3, 2, 3, 1)
    assert info.extra == {"own": 1}
    assert recording.graph(info.key) == synthetic.chain(3)
    for kind in (EvidenceKind.TIMINGS, EvidenceKind.ORIGINS, EvidenceKind.MEMORY):
        assert info.evidence[kind.value].reason
    (executable,) = recording.executables
    assert (executable.replays, executable.ended) == (4, "reset")
    (event,) = recording.timeline
    assert (event.kind, event.count, event.executable) == ("replay", 4, executable.id)
    assert recording.processes[0].costs_ns == {"read": 11}


def test_equal_topologies_are_shared_in_the_journal_and_counted_alike(folder: Path) -> None:
    sink = sink_in(folder)
    for serial in range(1, 6):
        add(sink, serial, f"run.py:main#{serial}", size=4)
    sink.close(1, {})
    assert only_journal(folder).read_bytes().count(b'"kind":"topology"') == 1
    recording = assemble(folder)
    assert [info.node_count for info in recording.graphs.values()] == [4] * 5
    assert len({info.topology for info in recording.graphs.values()}) == 1


def test_bodies_survive(folder: Path) -> None:
    sink = sink_in(folder)
    graph = synthetic.with_bodies()
    sink.graph(1, GraphInfo(key="k", name="n"), graph, failed=False)
    sink.close(1, {})
    recording = assemble(folder)
    found = recording.graph("k")
    for (path, level), (wanted_path, wanted) in zip(found.walk(), graph.walk(), strict=True):
        assert path == wanted_path
        assert list(level.nodes()) == list(wanted.nodes())
        assert list(level.edges()) == list(wanted.edges())
    assert recording.info("k").body_count == len(list(graph.walk())) - 1


@pytest.mark.parametrize("cut", [1, 40, 3000])
def test_a_crash_in_the_middle_of_a_record_costs_that_record(folder: Path, cut: int) -> None:
    sink = sink_in(folder)
    add(sink, 1, "a", size=3)
    add(sink, 2, "b", size=300)
    path = only_journal(folder)
    path.write_bytes(path.read_bytes()[:-cut])
    recording = assemble(folder)
    assert list(recording.graphs) == ["a"]
    assert recording.graph("a") == synthetic.chain(3)
    assert not recording.metadata.complete
    assert any("middle of a record" in text for text in recording.metadata.warnings)
    assert recording.processes[0].ended == "lost"


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b"[1, 2]\n",
        b"\xff\xfe\n",
        b'{"kind": 3}\n',
        b'{"kind": "graph", "serial": 5, "info": {"key": 7}, "document": null}\n',
        b'{"kind": "graph", "serial": 5, "info": null, "document": null}\n',
        b'{"kind": "graph", "serial": 5, "info": {"key": "x", "name": "x"}, "document": {}}\n',
        b'{"kind": "topology", "digest": "d", "document": {"count": -1}}\n',
        b'{"kind": "kernel", "document": []}\n',
        b'{"kind": "from the future", "serial": 5}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_damaged_record_costs_that_record(folder: Path, line: bytes) -> None:
    sink = sink_in(folder)
    add(sink, 1, "a")
    with only_journal(folder).open("ab") as stream:
        stream.write(line)
    add(sink, 2, "b")
    sink.close(1, {})
    recording = assemble(folder)
    assert [key for key in recording.graphs if key in ("a", "b")] == ["a", "b"]
    assert recording.graph("b") == synthetic.chain(3)
    notes = recording.metadata.warnings + recording.processes[0].warnings
    assert len(notes) == 2  # nobody saw the end; the line
    assert any("left out" in text or "passed over" in text for text in notes)


def test_a_graph_whose_topology_is_lost_is_left_out_with_its_events(folder: Path) -> None:
    sink = sink_in(folder)
    add(sink, 1, "a", size=3)
    add(sink, 2, "b", size=5)
    sink.runs([(1, 1, 0, 1, 1, ""), (2, 1, 0, 1, 1, "")])
    path = only_journal(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"kind":"topology"' in line)
    path.write_bytes(b"".join(lines[:first] + lines[first + 1 :]))
    recording = assemble(folder)
    assert list(recording.graphs) == ["b"]
    assert [event.graph for event in recording.timeline] == ["b"]
    assert any("graph a is damaged" in text for text in recording.metadata.warnings)


def test_processes_share_no_keys_and_no_tables(folder: Path) -> None:
    for _ in range(3):
        sink = sink_in(folder)
        add(sink, 1)
        sink.close(1, {})
    recording = assemble(folder)
    assert sorted(recording.graphs) == ["run.py:main#0", "run.py:main#0@2", "run.py:main#0@3"]
    assert sorted(info.process or 0 for info in recording.graphs.values()) == [0, 1, 2]


def test_a_silent_process_that_vanished_does_not_spoil_the_recording(folder: Path) -> None:
    sink = sink_in(folder)
    add(sink, 1)
    sink.close(1, {})
    sink_in(folder)
    folders.write_exit(folder, 0)
    recording = assemble(folder)
    assert recording.metadata.complete
    assert len(recording.processes) == 1


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FormatError):
            assemble(path)


def test_a_newer_folder(folder: Path) -> None:
    manifest = folder / folders.MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"version":1', b'"version":99'))
    with pytest.raises(NewerVersionError):
        assemble(folder)


def test_packing_removes_the_folder_only_when_the_file_is_there(folder: Path) -> None:
    sink = sink_in(folder)
    add(sink, 1)
    sink.close(1, {})
    folders.write_exit(folder, 0)
    (folder.parent / "taken.cgl").write_text("precious")
    with pytest.raises(OutputError):
        pack(folder, folder.parent / "taken.cgl")
    assert (folder.parent / "taken.cgl").read_text() == "precious"
    assert folder.is_dir()
    recording = pack(folder, folder.parent / "run.cgl")
    assert recording.graph("run.py:main#0") == synthetic.chain(3)
    assert not folder.exists()


def test_an_empty_folder_says_why_and_is_kept_when_asked(folder: Path) -> None:
    sink_in(folder).warning("msgspec is not installed")
    with pytest.raises(NothingRecordedError, match="msgspec is not installed"):
        pack(folder, folder.parent / "run.cgl", keep_empty=True)
    assert folder.is_dir()
    with pytest.raises(NothingRecordedError):
        pack(folder, folder.parent / "run.cgl")
    assert not folder.exists()


def test_timings_belong_to_their_executable_or_are_absent_with_a_reason(folder: Path) -> None:
    sink = sink_in(folder)
    for serial in (1, 2, 3):
        add(sink, serial, key=f"run.py:main#{serial}")
        sink.write("executable", serial, number=1, at_ns=5, duration_ns=2, note="")
    found = Timings(executable="", graph="", node=["0", "1"], makespan_ns=[9, 8, 9])
    found.extra["ended_early"] = "a profiler came"
    sink.write("timings", 1, number=1, document=dump(found))
    sink.write("timings_absent", 2, number=1, text="it was never replayed")
    sink.tracing("a profiler came")
    sink.close(20, {})
    recording = assemble(folder)
    one, two, three = recording.graphs
    assert recording.timed == [f"{one}/exec1"]
    (timed,) = recording.timings_of(one)
    assert (timed.graph, timed.node) == (one, ["0", "1"])
    evidence = [recording.graphs[key].evidence["timings"] for key in (one, two, three)]
    assert [item.present for item in evidence] == [True, False, False]
    assert evidence[0].how == (
        "CUPTI activity records of 3 replays, joined by clone map; later ones were not traced: "
        "a profiler came"
    )
    assert evidence[1].reason == "node timings were not recorded: it was never replayed"
    assert evidence[2].reason == "node timings were not recorded: a profiler came"


def test_benchmarks_and_origins_are_the_last_that_were_written(folder: Path) -> None:
    sink = sink_in(folder)
    for serial in (1, 2, 3, 5, 6):
        add(sink, serial, key=f"run.py:main#{serial}")
    failed = GraphInfo(key="run.py:main#4", name="f", started_ns=4)
    failed.failure = Failure(error="E", message="", nodes_read=False)
    failed.evidence["origins"] = Evidence(present=True, how="noted", cost_ns=55)
    sink.graph(4, failed, None, failed=True)
    document = dump(synthetic_origins("", 3))
    sink.write("origins", 1, document=document, duration_ns=700)
    sink.write("origins", 4, document=document)
    sink.write("origins_absent", 2, text="another dispatch mode was active")
    sink.write("benchmarks", 1, document=dump(Benchmark(graph="", replay_ns=[9])))
    sink.write(
        "benchmarks", 1, document=dump(Benchmark(graph="", replay_ns=[9, 8], launch_cpu_ns=[3]))
    )
    sink.write("benchmarks", 2, document=dump(Benchmark(graph="", refused="it has host nodes")))
    sink.write("benchmarks", 3, document={"graph": "", "replay_ns": "x"})
    only_removals = Benchmark(
        graph="", removals=[Removal(asked="node:1", nodes=["1"], with_ns=[9], without_ns=[8])]
    )
    sink.write("benchmarks", 5, document=dump(only_removals))
    nothing = Benchmark(graph="", removals=[Removal(asked="node:1", reason="it hung")])
    sink.write("benchmarks", 6, document=dump(nothing))
    with only_journal(folder).open("ab") as stream:  # what a crash leaves
        stream.write(b'{"kind": "benchmarks", "serial": 1, "document": {"gra')
    recording = assemble(folder)
    one, two, three, five, six = recording.graphs
    assert recording.with_origins == [one, "run.py:main#4"]
    assert recording.origins(one) == synthetic_origins(one, 3)
    assert recording.origins("run.py:main#4") == synthetic_origins("run.py:main#4", 3)
    assert recording.benchmarked == [one, two, five, six]
    assert recording.benchmark(one) == Benchmark(graph=one, replay_ns=[9, 8], launch_cpu_ns=[3])
    origins = [recording.info(key).evidence["origins"] for key in (one, two, three)]
    assert (origins[0].present, origins[0].how) == (True, "operators: synthetic")
    assert origins[0].cost_ns == 700
    assert origins[1].reason.endswith("not recorded: another dispatch mode was active")
    assert not origins[2].present
    noted = recording.info("run.py:main#4").evidence["origins"]
    assert (noted.present, noted.how, noted.cost_ns) == (True, "operators: synthetic", 55)
    measured = [recording.info(key).evidence["benchmarks"] for key in (one, two, three)]
    assert measured[0].present
    assert "2 replays of our own" in measured[0].how
    assert (measured[1].present, measured[1].reason) == (False, "it has host nodes")
    assert "cglens bench" in measured[2].reason
    assert (
        "replays without nodes for 1 selections" in recording.info(five).evidence["benchmarks"].how
    )
    assert recording.info(six).evidence["benchmarks"].reason == "it hung"
    warnings = " ".join(recording.metadata.warnings)
    assert "benchmarks: Expected `array`" in warnings
    assert "ends in the middle of a record" in warnings
    packed = pack(folder, folder.parent / "packed.cgl")
    assert packed.benchmark(one) == recording.benchmark(one)
    assert packed.origins("run.py:main#4") == recording.origins("run.py:main#4")


def test_a_full_disk_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OutputError, match="No space left"):
        folders.make(tmp_path / "run.cgl", [])
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_recording_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(OutputError, match="cglens recover"):
        folders.make(folder.parent / "run.cgl", [])
    folders.make(folder.parent / "run.cgl", [], force=True)
    stranger = folder.parent / "other.cgl.recording"
    stranger.mkdir()
    with pytest.raises(FormatError):
        folders.make(folder.parent / "other.cgl", [], force=True)
    assert stranger.is_dir()


def test_argv_with_undecodable_bytes(tmp_path: Path) -> None:
    folder = folders.make(tmp_path / "x.cgl", ["caf\udce9.py"])
    assert assemble(folder).metadata.command == ["caf\\udce9.py"]
