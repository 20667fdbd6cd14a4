"""Evidence beside graphs: stored by kind, loaded when asked for, checked when read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capture.formats as formats
from capture.codec import decode_evidence, encode_evidence
from capture.errors import FormatError, InvalidGraphError, LookupFailed
from capture.evidence import STORED
from capture.model import EvidenceKind, Failure, GraphInfo, Metadata, Recording
from capture.model.recording import MOST_KEPT
from capture.origins import NODE_COLUMNS, Origins
from tests.formats.test_cgl import manifest_of, rewrite
from tests.helpers.recordings import assert_equal, chain, recording_of
from tests.helpers.stored_evidence import synthetic_benchmark, synthetic_origins, with_evidence

EXTENSIONS = ("cgl", "json")


def test_kinds_are_kinds_of_evidence() -> None:
    of_graphs = {kind.name for kind in STORED.values() if kind.owner != "process"}
    assert of_graphs <= {kind.value for kind in EvidenceKind}
    for kind in STORED.values():
        owner = {kind.owner} if kind.owner == "process" else {"graph", kind.owner}
        assert owner <= set(kind.struct.__struct_fields__)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_all_of_it_survives(extension: str, tmp_path: Path) -> None:
    recording = with_evidence(recording_of(chain(3), chain(5)))
    path = tmp_path / f"a.{extension}"
    formats.write(recording, path)
    assert_equal(recording, formats.read(path))
    again = formats.read(path)
    assert again.benchmarked == again.with_origins == list(again.graphs)
    assert again.benchmark("synthetic-1") == synthetic_benchmark("synthetic-1", 5)
    assert again.origins("synthetic-1") == synthetic_origins("synthetic-1", 5)
    assert again.benchmark("nothing") is None
    assert again.origins("nothing") is None


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_one_graph_takes_its_own(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"one.{extension}"
    recording = with_evidence(recording_of(chain(3), chain(5)))
    formats.write(recording, path, graph="synthetic-0")
    again = formats.read(path)
    assert again.benchmarked == again.with_origins == ["synthetic-0"]
    assert again.timed == ["synthetic-0/exec1"]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_failed_capture_has_origins(extension: str, tmp_path: Path) -> None:
    failed = GraphInfo(key="f", name="f", failure=Failure(error="E", message="", nodes_read=False))
    recording = Recording(Metadata(), [], [failed], origins={"f": synthetic_origins("f", 4)})
    path = tmp_path / f"failed.{extension}"
    formats.write(recording, path)
    assert formats.read(path).origins("f") == synthetic_origins("f", 4)


def test_nothing_is_loaded_before_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.cgl"
    formats.write(with_evidence(recording_of(chain(3), chain(5))), path)
    rewrite(path, {"benchmarks/0.json": b"{", "origins/0.json": b"?"})
    recording = formats.read(path)
    assert recording.benchmark("synthetic-1")
    assert recording.origins("synthetic-1")
    with pytest.raises(FormatError, match=r"benchmarks/0\.json is not valid JSON"):
        recording.benchmark("synthetic-0")
    with pytest.raises(FormatError, match=r"origins/0\.json is not valid JSON"):
        recording.origins("synthetic-0")


def test_writing_lets_go_of_what_nobody_looked_at(tmp_path: Path) -> None:
    loaded: list[str] = []

    def load() -> Origins:
        loaded.append("o")
        return synthetic_origins("synthetic-0")

    plain = recording_of(chain(3))
    recording = Recording(
        plain.metadata,
        list(plain.graphs.values()),
        loaded={"synthetic-0": chain(3)},
        origins={"synthetic-0": load},
    )
    formats.write(recording, tmp_path / "a.cgl")
    assert recording.origins("synthetic-0") is recording.origins("synthetic-0")
    assert loaded == ["o", "o"]


def test_only_the_last_items_stay_in_memory() -> None:
    loaded: list[str] = []

    def loader(key: str) -> Callable[[], Origins]:
        def load() -> Origins:
            loaded.append(key)
            return synthetic_origins(key)

        return load

    keys = [f"k{number}" for number in range(MOST_KEPT + 1)]
    infos = [GraphInfo(key=key, name=key) for key in keys]
    recording = Recording(Metadata(), infos, origins={key: loader(key) for key in keys})
    for key in keys:
        assert recording.origins(key) == synthetic_origins(key)
    assert recording.origins(keys[-1]) is recording.origins(keys[-1])
    assert loaded == keys
    assert recording.origins(keys[0]) == synthetic_origins(keys[0])
    assert loaded == [*keys, keys[0]]


def test_columns_of_equal_values_are_stored_once() -> None:
    document = encode_evidence(STORED["origins"], synthetic_origins("k", 1000))
    assert document["rows"] == 1000
    assert document["columns"]["stream"] == {"same": 1, "count": 1000}
    assert not set(NODE_COLUMNS) & set(document)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_sources_that_graphs_share_are_stored_once(extension: str, tmp_path: Path) -> None:
    recording = with_evidence(recording_of(chain(3), chain(5)))
    text = "x = 1\n" * 500 + "# \udcff"
    for key in recording.graphs:
        origins = recording.origins(key)
        assert origins is not None
        origins.sources = {"a.py": text, f"{key}.py": key}
    path = tmp_path / f"a.{extension}"
    formats.write(recording, path)
    again = formats.read(path)
    found = again.origins("synthetic-1")
    assert found is not None
    # What UTF-8 cannot hold is written with escapes.
    assert found.sources == {
        "a.py": text.replace("\udcff", "\\udcff"),
        "synthetic-1.py": "synthetic-1",
    }
    if extension == "cgl":
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.startswith("texts/")]
        assert len(members) == 3
        assert again.members == {}  # type: ignore[attr-defined]
        rewrite(path, {members[0]: b"3"}, drop=(members[1],))
        damaged = formats.read(path)
        for key in damaged.graphs:
            with pytest.raises(FormatError, match=r"sources|no member"):
                damaged.origins(key)


def test_evidence_stored_for_another_graph(tmp_path: Path) -> None:
    path = tmp_path / "a.cgl"
    formats.write(with_evidence(recording_of(chain(3), chain(5))), path)
    manifest = manifest_of(path)
    places = manifest["origins"]
    places["synthetic-0"], places["synthetic-1"] = places["synthetic-1"], places["synthetic-0"]
    rewrite(path, {"recording.json": manifest})
    with pytest.raises(InvalidGraphError, match="stored for graph 'synthetic-0' and says"):
        formats.read(path).origins("synthetic-0")


def test_two_for_one_graph(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    formats.write(with_evidence(recording_of(chain(3))), path)
    document = json.loads(path.read_text())
    document["benchmarks"] *= 2
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="came before"):
        formats.read(path)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_what_a_later_version_adds_survives(extension: str, tmp_path: Path) -> None:
    recording = with_evidence(recording_of(chain(3)))
    benchmark, origins = recording.benchmark("synthetic-0"), recording.origins("synthetic-0")
    assert benchmark is not None
    assert origins is not None
    assert benchmark.eager is not None
    assert benchmark.nodes is not None
    origins.extra["x_new"] = [1, {"a": None}]
    benchmark.extra["x_new"] = 1
    benchmark.eager.extra["x_new"] = 2
    benchmark.nodes.extra["x_new"] = 3
    benchmark.removals[0].extra["x_new"] = 4
    recording.info("synthetic-0").evidence["origins"].extra["x_new"] = 5
    path, again = tmp_path / f"a.{extension}", tmp_path / f"b.{extension}"
    formats.write(recording, path)
    formats.write(formats.read(path), again)
    assert_equal(recording, formats.read(again))
    if extension == "cgl":
        with zipfile.ZipFile(again) as archive:
            document = json.loads(archive.read("benchmarks/0.json"))
        # In place, so that the version that knows the field finds it.
        assert document["eager"]["x_new"] == 2
        assert document["removals"][0]["x_new"] == 4


def _cut(document: dict[str, Any], name: str) -> None:
    document["columns"][name] = [0]


WRONG: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("origins", lambda d: _cut(d, "operator"), r"operator has 1 rows, expected 3"),
    ("origins", lambda d: d["columns"].update(operator=[0, 1, 9]), "has 9 in row 2.*2 operators"),
    ("origins", lambda d: d["columns"].update(stack=[0, -2, 0]), "has -2 in row 1"),
    ("origins", lambda d: d["columns"].update(phase=[0, 4, 0]), "has 4 in row 1.*4 phases"),
    ("origins", lambda d: d["columns"].update(label=[0, 0, 3]), "has 3 in row 2.*3 names"),
    ("origins", lambda d: d["columns"].update(compiled=[1, 0, 0]), "1 compiled_kernels"),
    ("origins", lambda d: d["columns"].update(module=["a", 0, 0]), "Expected `int`"),
    ("origins", lambda d: d["stacks"].append([40]), r"stacks\[2\] names a frame.*40 frames"),
    ("origins", lambda d: d["stacks"].append([-1]), r"stacks\[2\] names a frame"),
    ("origins", lambda d: d["modules"][0].update(parent=0), r"modules\[0\] has parent 0"),
    ("origins", lambda d: d["modules"][1].update(parent=2), r"modules\[1\] has parent 2"),
    ("origins", lambda d: d["modules"][1].update(parent=-2), "expected one before it"),
    ("origins", lambda d: d["compiled_kernels"][0].update(stacks=[2]), "names a stack"),
    ("origins", lambda d: d.update(rows=-1), "no number of rows"),
    ("origins", lambda d: d.pop("rows"), "no number of rows"),
    ("origins", lambda d: d.update(columns=[]), "columns is a list"),
    ("origins", lambda d: d.update(rows=10**9), "claims 1000000000 rows"),
    ("origins", lambda d: d.update(frames=[["f.py", "x", "g"]]), "Expected `int`"),
    ("benchmarks", lambda d: d["nodes"]["columns"].pop("node"), "isolated_ns has 3 values"),
    ("benchmarks", lambda d: d["nodes"].pop("columns"), ""),
    ("benchmarks", lambda d: d["conditions"].update(rows=7), "expected 7"),
    ("benchmarks", lambda d: d["eager"].update(calls={"f": [1]}), "1 figures for 'f'"),
    ("benchmarks", lambda d: d.update(replay_ns=[1, None]), "Expected `int`"),
    ("benchmarks", lambda d: d.update(nodes=3), "nodes"),
    ("benchmarks", lambda d: d.update(removals=[3]), "removals"),
]


@pytest.mark.parametrize(("name", "spoil", "words"), WRONG)
def test_what_contradicts_itself_is_refused(
    name: str, spoil: Callable[[dict[str, Any]], object], words: str
) -> None:
    kind = STORED[name]
    made = synthetic_origins("k", 3) if name == "origins" else synthetic_benchmark("k", 3)
    document = json.loads(json.dumps(encode_evidence(kind, made)))
    assert decode_evidence(kind, document, "here") == made
    spoil(document)
    if not words:
        assert decode_evidence(kind, document, "here").nodes.node == []
        return
    with pytest.raises(FormatError, match=words) as caught:
        decode_evidence(kind, document, "here")
    assert str(caught.value).startswith("here")


def test_a_column_shorter_than_the_others_is_refused_unpacked_too(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    formats.write(with_evidence(recording_of(chain(3))), path)
    document = json.loads(path.read_text())
    document["origins"][0]["stream"] = [0]
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"stream has 1 values, expected 3"):
        formats.read(path)


def test_an_unknown_graph_has_no_evidence_to_ask_for() -> None:
    recording = with_evidence(recording_of(chain(3)))
    with pytest.raises(LookupFailed):
        recording.graph("nope")
    assert recording.evidence("benchmarks", "nope") is None
