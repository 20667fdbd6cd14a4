"""Formats are found, not listed: one file more is one format more, everywhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import capture.formats as formats
from capture.errors import ExtensionError, LookupFailed
from capture.formats import Format
from graphviz_app import cli
from tests.helpers.recordings import chain, recording_of

DROPPED_IN = '''
"""A format that only counts."""
from capture.formats import Format
from capture.model import Metadata, Recording


def write(recording, stream, keys):
    stream.write(b"COUNT %d" % sum(len(recording.graph(key)) for key in keys))


def read(path):
    return Recording(Metadata(title=path.read_text()), [])


FORMAT = Format(
    name="count",
    extensions=(".count",),
    description="counts nodes",
    sniff=lambda head, path: 100 if head.startswith(b"COUNT") else 0,
    read=read,
    write=write,
)
'''


@pytest.fixture
def fresh() -> Iterator[None]:
    """Look for formats anew, before and after."""
    for cache in (formats.formats, formats._own_formats):
        cache.cache_clear()
    yield
    for cache in (formats.formats, formats._own_formats):
        cache.cache_clear()


@pytest.fixture
def dropped_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> Iterator[None]:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "count.py").write_text(DROPPED_IN)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    yield
    sys.modules.pop("capture.formats.count", None)


def test_a_dropped_in_format_reads_writes_and_is_offered(
    dropped_in: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "a.cgl", tmp_path / "out"
    formats.write(recording_of(chain(3), chain(4)), source)
    assert cli.main(["export", str(source), "--format", "count", "-o", str(out)]) == 0
    assert out.read_bytes() == b"COUNT 7"
    assert formats.read(out).metadata.title == "COUNT 7"
    by_extension = tmp_path / "x.count"
    formats.write(recording_of(chain(3)), by_extension)
    assert by_extension.read_bytes() == b"COUNT 3"
    capsys.readouterr()
    cli.main(["export", "--help"])
    assert "count" in capsys.readouterr().out
    assert cli.main(["info", str(out)]) == 0


def _point(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = metadata.EntryPoint(name="x", value=value, group=formats.ENTRY_POINTS)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])


FOREIGN = Format(
    name="foreign",
    extensions=(".foreign",),
    description="of another distribution",
    sniff=lambda head, path: 100 if head == b"foreign" else 0,
    read=lambda path: recording_of(chain(2)),
)


def test_another_distribution_adds_a_format(
    fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _point(monkeypatch, f"{__name__}:FOREIGN")
    path = tmp_path / "thing"
    path.write_bytes(b"foreign")
    assert formats.read(path).graphs["synthetic-0"].node_count == 2
    with pytest.raises(LookupFailed, match="can only be read"):
        formats.write(recording_of(chain(1)), tmp_path / "out", "foreign")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", [f"{__name__}:DROPPED_IN", "no_such_module:x"])
def test_a_broken_entry_says_whose_it_is(
    value: str, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _point(monkeypatch, value)
    with pytest.raises(ExtensionError, match=value.split(":")[0]):
        formats.formats()


def test_every_format_says_what_it_is() -> None:
    for name, entry in formats.formats().items():
        assert entry.name == name
        assert entry.description
        assert entry.extensions
        assert all(extension.startswith(".") for extension in entry.extensions)
        assert entry.read is not None or entry.write is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.cgl", "cgl"),
        ("a.json", "json"),
        ("a.NODELINK.JSON", "node-link"),
        ("a.gv", "dot"),
        ("a.dot", "dot"),
        ("a", "cgl"),
        ("a.txt", "cgl"),
    ],
)
def test_the_longest_extension_decides(name: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / name
    formats.write(recording_of(chain(2)), path)
    with path.open("rb") as stream:
        head = stream.read()
    sure = {entry.sniff(head, path): entry.name for entry in formats.formats().values()}
    assert sure[max(sure)] == expected


def test_a_folder_is_assembled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = recording_of(chain(1))
    asked = []

    def assemble(folder: Path) -> object:
        asked.append(folder)
        return expected

    monkeypatch.setattr("capture.recorder.assemble.assemble", assemble)
    assert formats.read(str(tmp_path)) is expected
    assert asked == [tmp_path]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(LookupFailed, match=", ".join(formats.formats())):
        formats.format_named("nope")
