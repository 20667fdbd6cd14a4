"""Output files: whole or not there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from capture.errors import OutputError
from capture.files import atomic_write, check_output


def _write(path: Path, content: bytes = b"new", force: bool = False) -> None:
    with atomic_write(path, force) as stream:
        stream.write(content)


def test_a_file_appears_with_ordinary_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    _write(path)
    assert path.read_bytes() == b"new"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    assert os.listdir(tmp_path) == ["out"]


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match="exists; pass --force"):
        _write(path)
    assert path.read_bytes() == b"old"
    _write(path, force=True)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def race() -> None:
        with atomic_write(path) as stream:
            stream.write(b"ours")
            path.write_bytes(b"theirs")

    with pytest.raises(OutputError, match="exists"):
        race()
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with atomic_write(tmp_path / "out") as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="disk is full"):
        _write(path, force=True)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_device_that_is_full() -> None:
    with pytest.raises(OutputError, match="no regular file"):
        check_output("/dev/full", force=True)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("", "is a folder"),
        ("missing/out", "folder does not exist"),
        ("file/out", "part of the path is a file"),
        ("n" * 300, "name is too long"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, place: str, words: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=words):
        _write(tmp_path / place)


def test_a_folder_that_takes_no_files() -> None:
    # Even root cannot make a file there.
    with pytest.raises(OutputError, match="cannot write /proc/out"):
        _write(Path("/proc/out"))


def test_a_link_is_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"old")
    (tmp_path / "link").symlink_to(target)
    _write(tmp_path / "link", force=True)
    assert (tmp_path / "link").is_symlink()
    assert target.read_bytes() == b"new"
