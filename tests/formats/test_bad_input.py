"""Files that are not what they should be: each gets its own sentence, at once."""

from __future__ import annotations

import struct
import time
import zipfile
from pathlib import Path

import pytest

import capture.formats as formats
from capture.errors import (
    FormatError,
    InvalidGraphError,
    NewerVersionError,
    TooLargeError,
    TruncatedError,
    UnknownFormatError,
)
from capture.formats import archive
from tests.formats.test_cgl import manifest_of, rewrite
from tests.helpers.recordings import chain, recording_of


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "ok.cgl"
    formats.write(recording_of(chain(3)), path)
    return path


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        formats.read(tmp_path / "nowhere.cgl")


def test_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.cgl"
    path.touch()
    with pytest.raises(FormatError, match="is empty"):
        formats.read(path)


@pytest.mark.parametrize("content", [b"%PDF-1.7", b"\x89PNG\r\n", b"hello\n" * 100, b"\0" * 4096])
def test_something_else(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "thing.bin"
    path.write_bytes(content)
    with pytest.raises(UnknownFormatError, match="none of the formats"):
        formats.read(path)
    named = tmp_path / "thing.cgl"
    named.write_bytes(content)
    with pytest.raises(FormatError, match="does not begin as a zip file"):
        formats.read(named)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated(packed: Path, share: float) -> None:
    content = packed.read_bytes()
    packed.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(TruncatedError, match="ends too early"):
        formats.read(packed)


def test_a_zip_without_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(FormatError, match=r"without recording\.json"):
        formats.read(path)


def test_newer(packed: Path) -> None:
    manifest = manifest_of(packed) | {"version": 7, "written_by": "4.2"}
    rewrite(packed, {"recording.json": manifest})
    with pytest.raises(NewerVersionError, match=r"version 7, by cudagraph-lens 4\.2.*version 1"):
        formats.read(packed)


@pytest.mark.parametrize("version", [None, "0", -1, True, 1.5])
def test_no_version(packed: Path, version: object) -> None:
    rewrite(packed, {"recording.json": manifest_of(packed) | {"version": version}})
    with pytest.raises(FormatError, match="version"):
        formats.read(packed)


def test_another_marker(packed: Path) -> None:
    rewrite(packed, {"recording.json": {"format": "something"}})
    with pytest.raises(FormatError, match="does not say"):
        formats.read(packed)


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("big.cgl", b"PK\x03\x04"), ("big.dot", b"digraph dot {\n"), ("big.bin", b"")],
)
def test_two_gigabytes_are_refused_without_reading_them(
    tmp_path: Path, name: str, beginning: bytes
) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(beginning)
        file.truncate(2 << 30)
    started = time.monotonic()
    with pytest.raises((TooLargeError, UnknownFormatError)):
        formats.read(path)
    assert time.monotonic() - started < 5


def test_two_gigabytes_of_json(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.write(b'{"format": "cudagraph-lens document"')
        file.truncate(2 << 30)
    with pytest.raises(TooLargeError):
        formats.read(path)


def test_deeply_nested(packed: Path) -> None:
    rewrite(packed, {"recording.json": b"[" * 200_000 + b"]" * 200_000})
    with pytest.raises(TooLargeError, match="nested too deeply"):
        formats.read(packed)


def test_more_values_than_memory_should_hold(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.formats.documents.MAX_VALUES", 1000)
    rewrite(packed, {"graphs/0.json": b"[" + b"[]," * 1000 + b"[]]"})
    with pytest.raises(TooLargeError, match="values"):
        formats.read(packed).graph("synthetic-0")


def test_a_zip_bomb(packed: Path) -> None:
    rewrite(packed, {"graphs/0.json": b" " * (archive.RATIO_FREE_BYTES + 1)})
    with pytest.raises(TooLargeError, match="zip bomb"):
        formats.read(packed).graph("synthetic-0")


def _patch_sizes(path: Path, name: bytes, claimed: int) -> None:
    """Make a zip's table of contents claim another size for a member."""
    content = bytearray(path.read_bytes())
    place = content.rfind(b"PK\x01\x02", 0, content.rfind(name))
    content[place + 24 : place + 28] = struct.pack("<I", claimed)
    path.write_bytes(content)


def test_a_member_that_is_larger_than_it_claims(packed: Path) -> None:
    rewrite(packed, {"graphs/0.json": b" " * (8 << 20)})
    _patch_sizes(packed, b"graphs/0.json", 1000)
    with pytest.raises(TooLargeError, match="unpacks to more than"):
        formats.read(packed).graph("synthetic-0")


def test_a_member_that_is_smaller_than_it_claims(packed: Path) -> None:
    _patch_sizes(packed, b"graphs/0.json", 1 << 20)
    with pytest.raises(TruncatedError):
        formats.read(packed).graph("synthetic-0")


def test_a_member_that_claims_gigabytes(packed: Path) -> None:
    _patch_sizes(packed, b"graphs/0.json", 0xF0000000)
    with pytest.raises(TooLargeError):
        formats.read(packed).graph("synthetic-0")


def test_a_table_of_contents_without_end(packed: Path) -> None:
    content = bytearray(packed.read_bytes())
    place = content.rfind(b"PK\x05\x06")
    content[place + 12 : place + 16] = struct.pack("<I", archive.MAX_DIRECTORY_BYTES + 1)
    packed.write_bytes(content)
    with pytest.raises(TooLargeError, match="table of contents"):
        formats.read(packed)


def test_two_members_of_one_name(packed: Path) -> None:
    with zipfile.ZipFile(packed, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("recording.json", b"{}")
    with pytest.raises(FormatError, match="two members of one name"):
        formats.read(packed)


def test_a_damaged_member(packed: Path) -> None:
    with zipfile.ZipFile(packed) as file:
        member = file.getinfo("graphs/0.json")
    content = bytearray(packed.read_bytes())
    place = member.header_offset + 30 + len(member.filename) + member.compress_size // 2
    content[place] ^= 0xFF
    packed.write_bytes(content)
    with pytest.raises(FormatError, match=r"graphs/0\.json"):
        formats.read(packed).graph("synthetic-0")


def test_a_missing_member(packed: Path) -> None:
    rewrite(packed, {}, drop=("graphs/0.json",))
    recording = formats.read(packed)
    with pytest.raises(FormatError, match=r"no member 'graphs/0\.json'"):
        recording.graph("synthetic-0")


def test_a_missing_topology(packed: Path) -> None:
    with zipfile.ZipFile(packed) as file:
        (name,) = [name for name in file.namelist() if name.startswith("topologies/")]
    rewrite(packed, {}, drop=(name,))
    with pytest.raises(InvalidGraphError, match="topology"):
        formats.read(packed).graph("synthetic-0")


def test_missing_kernels(packed: Path) -> None:
    rewrite(packed, {}, drop=("kernels.json",))
    with pytest.raises(InvalidGraphError, match="kernel 0"):
        formats.read(packed).graph("synthetic-0")


def test_an_edge_to_a_node_that_is_not_there(packed: Path) -> None:
    with zipfile.ZipFile(packed) as file:
        (name,) = [name for name in file.namelist() if name.startswith("topologies/")]
    document = {"count": 3, "types": {"same": "kernel", "count": 3}, "edges": 1}
    rewrite(packed, {name: document | {"source": [0], "target": [99]}})
    with pytest.raises(InvalidGraphError, match="target 99, but its nodes are 0 to 2"):
        formats.read(packed).graph("synthetic-0")


def test_bad_utf8(packed: Path) -> None:
    rewrite(packed, {"recording.json": b'{"format": "\xff\xfe"}'})
    with pytest.raises(FormatError, match=r"not UTF-8|not valid JSON"):
        formats.read(packed)


def test_two_graphs_of_one_key(packed: Path) -> None:
    manifest = manifest_of(packed)
    manifest["graphs"] *= 2
    rewrite(packed, {"recording.json": manifest})
    with pytest.raises(InvalidGraphError, match="two graphs with the key"):
        formats.read(packed)


def test_a_folder_that_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        formats.read(tmp_path)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        formats.read("/dev/null")
