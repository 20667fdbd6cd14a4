"""The readable document: described by its schema, and without loss."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

import capture.formats as formats
from capture.errors import FormatError, InvalidGraphError, NewerVersionError
from capture.formats import schema
from capture.model import Recording
from tests.formats.test_driver_dot import DATA
from tests.helpers.recordings import assert_equal, chain, recording_of, recordings

SCHEMA_FILE = Path(schema.__file__).with_name("recording.schema.json")


@lru_cache(maxsize=1)
def validator() -> Any:
    document = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def test_the_published_schema_is_the_one_of_the_model() -> None:
    again = "python -m capture.formats.schema > capture/formats/recording.schema.json"
    assert json.loads(SCHEMA_FILE.read_text()) == schema.schema(), again


@given(recordings())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_recording_survives(tmp_path: Path, recording: Recording) -> None:
    path = tmp_path / "any.json"
    formats.write(recording, path, force=True)
    assert_equal(recording, formats.read(path))
    validator().validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", [path.stem for path in sorted(DATA.glob("*.dot"))])
def test_real_graphs_survive_and_fit_the_schema(name: str, tmp_path: Path) -> None:
    recording = formats.read(DATA / f"{name}.dot")
    path = tmp_path / "real.json"
    formats.write(recording, path)
    assert_equal(recording, formats.read(path))
    validator().validate(json.loads(path.read_text()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.pop("graphs"),
        lambda document: document["graphs"][0]["levels"][0]["nodes"][0].pop("type"),
        lambda document: document["graphs"][0]["levels"][0]["nodes"][0]["fields"].update(grid=3),
        lambda document: document["graphs"][0]["levels"][0]["edges"][0].update(source=-1),
        lambda document: document.update(version=2),
    ],
)
def test_the_schema_refuses_what_is_wrong(spoil: Any, tmp_path: Path) -> None:
    path = tmp_path / "chain.json"
    formats.write(recording_of(chain(2)), path)
    document = json.loads(path.read_text())
    spoil(document)
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(document)


def test_parameters_are_cut_out_of_the_argument_buffer(tmp_path: Path) -> None:
    path = tmp_path / "chain.json"
    formats.write(recording_of(chain(1)), path)
    (node,) = json.loads(path.read_text())["graphs"][0]["levels"][0]["nodes"]
    fields = node["fields"]
    assert fields["kernel"]["name"] == "_Z5scalePfi"
    assert fields["kernel"]["readable_name"] == "scale(float*, int)"
    assert fields["arguments_hex"] == "00000000007f000001000000"
    assert fields["parameters"] == [
        {"offset_bytes": 0, "size_bytes": 8, "hex": "00000000007f0000"},
        {"offset_bytes": 8, "size_bytes": 4, "hex": "01000000"},
    ]


def test_a_node_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "chain.json"
    formats.write(recording_of(chain(2500)), path)
    lines = path.read_text().splitlines()
    assert sum(line.startswith('{"position":') for line in lines) == 2500
    assert len(formats.read(path).graph("synthetic-0")) == 2500


def test_big_graphs_are_written_in_pieces() -> None:
    class Stream:
        largest = 0

        def write(self, data: bytes) -> int:
            self.largest = max(self.largest, len(data))
            return len(data)

        def flush(self) -> None:
            pass

    stream = Stream()
    formats.write_stream(recording_of(chain(20_000)), stream, "json")  # type: ignore[arg-type]
    assert 0 < stream.largest < 1 << 20


def _document(tmp_path: Path, change: Any) -> Path:
    path = tmp_path / "chain.json"
    formats.write(recording_of(chain(2)), path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def _level(document: Any) -> Any:
    return document["graphs"][0]["levels"][0]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda d: d.update(version=3), NewerVersionError, "version 3"),
        (lambda d: _level(d)["edges"][0].update(target=9), InvalidGraphError, "from 0 to 9"),
        (lambda d: _level(d)["edges"][0].update(target="x"), FormatError, "edges"),
        (lambda d: _level(d)["nodes"][0].update(position=1), InvalidGraphError, "position"),
        (lambda d: _level(d)["nodes"].insert(0, 7), FormatError, "no type"),
        (lambda d: _level(d).update(path="0/0"), InvalidGraphError, "not there"),
        (lambda d: _level(d).update(path="x"), InvalidGraphError, "not there"),
        (lambda d: _level(d).update(nodes={}), FormatError, "expected list"),
        (lambda d: d["graphs"].append(d["graphs"][0]), InvalidGraphError, "two graphs"),
        (lambda d: d["graphs"][0].update(info=3), FormatError, "info"),
        (lambda d: d["graphs"][0].update(levels=[]), FormatError, "outermost"),
        (lambda d: d["graphs"][0]["levels"].append(_level(d)), InvalidGraphError, "twice"),
        (lambda d: d.update(timeline=[{}]), FormatError, "timeline"),
        (
            lambda d: _level(d)["nodes"][0]["fields"].update(arguments_hex="xyz"),
            FormatError,
            "hexadecimal",
        ),
        (lambda d: _level(d)["nodes"][0]["fields"].update(kernel=1), FormatError, "map"),
        (lambda d: _level(d)["nodes"][0]["fields"].update(grid="a"), FormatError, "grid"),
    ],
)
def test_documents_that_are_wrong(
    tmp_path: Path, change: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        formats.read(_document(tmp_path, change))


def test_unknown_fields_survive(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        document["weather"] = "rain"
        _level(document)["nodes"][1]["fields"]["a_later_field"] = [1]
        _level(document)["nodes"][1]["mood"] = "good"

    recording = formats.read(_document(tmp_path, change))
    assert recording.extra == {"weather": "rain"}
    graph = recording.graph("synthetic-0")
    assert graph.node_extra == {1: {"a_later_field": [1], "mood": "good"}}
    packed = tmp_path / "again.cgl"
    formats.write(recording, packed)
    assert formats.read(packed).graph("synthetic-0") == graph


def test_timings_of_unequal_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "timed.json"
    formats.write(recording_of(chain(2)), path)
    document = json.loads(path.read_text())
    document["timings"] = [{"executable": "e", "graph": "g", "node": ["0", "1"], "count": [3]}]
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"count has 1 values, expected 2"):
        formats.read(path)
