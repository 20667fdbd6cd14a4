"""The folder that a running recording grows in: its manifest and its journals."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import FormatError, OutputError
from ..files import check_output
from ..formats.documents import VERSION, check_marker, decode, encode
from .journal import PREFIX, SUFFIX

MARKER = "cudagraph-lens recording folder"
MANIFEST = "manifest.json"
EXIT = "exit.json"
ENVIRONMENT = "CGLENS_RECORD"
"""Environment variable that switches the recorder on; its value is the folder."""


def folder_for(output: Path) -> Path:
    """Return the folder in which the recording for `output` grows."""
    return output.with_name(output.name + ".recording")


def make(output: Path, command: Sequence[str], force: bool = False) -> Path:
    """Check that `output` can be written and make the folder beside it.

    Raises
    ------
    OutputError
        The output or an unfinished recording is there, or the folder cannot be made.
    """
    from .. import __version__

    target = check_output(output, force)
    folder = folder_for(target)
    try:
        folder.mkdir()
    except FileExistsError:
        if not force:
            raise OutputError(
                f"{folder} exists: an earlier recording was not finished; get it back with "
                f"`cglens recover {folder}`, or pass --force to throw it away"
            ) from None
        read_manifest(folder)  # never remove a folder that is not ours
        shutil.rmtree(folder)
        folder.mkdir()
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror or error}") from error
    manifest = {
        "format": MARKER,
        "version": VERSION,
        "written_by": __version__,
        "command": list(command),
        "started_unix_ns": time.time_ns(),
        "recorder": process_identity(os.getpid()),
    }
    try:
        _store(folder / MANIFEST, manifest)
    except OutputError:
        remove(folder)
        raise
    return folder


def process_identity(pid: int) -> str:
    """Return a name of a living process that no later one has: its id and when it started."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else f"{pid}:{fields[19]}"


def still_recording(folder: Path) -> int | None:
    """Return a process that is still recording into a folder, if it lives on this machine."""
    identities = [str(read_manifest(folder).get("recorder", ""))]
    for path in journals(folder):
        with suppress(OSError, FormatError), path.open("rb") as stream:
            first = decode(stream.readline(), str(path))
            if isinstance(first, dict):
                identities.append(str(first.get("identity", "")))
    for identity in identities:
        pid = identity.partition(":")[0]
        if pid.isdigit() and int(pid) != os.getpid() and process_identity(int(pid)) == identity:
            return int(pid)
    return None


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a recording folder's manifest.

    Raises
    ------
    FormatError
        The folder is none of ours, or its manifest is damaged or newer.
    """
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        what = "has no manifest.json" if folder.is_dir() else "is not there"
        raise FormatError(
            f"{folder} {what}: expected the folder of a recording, such as run.cgl.recording"
        ) from None
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from error
    document = decode(data, str(path))
    check_marker(document, str(path), MARKER)
    return dict(document)


def write_exit(folder: Path, exit_code: int | None) -> None:
    """Note how the workload ended; a folder without this was interrupted."""
    _store(folder / EXIT, {"exit_code": exit_code, "ended_unix_ns": time.time_ns()})


def read_exit(folder: Path) -> dict[str, Any]:
    """Return how the workload ended, an empty map when nobody was there to see."""
    try:
        document = decode((folder / EXIT).read_bytes(), str(folder / EXIT))
    except (OSError, FormatError):
        return {}
    return dict(document) if isinstance(document, dict) else {}


def journals(folder: Path) -> list[Path]:
    """Return the journals of a folder, oldest first."""
    found = folder.glob(f"{PREFIX}*{SUFFIX}")
    return sorted(found, key=lambda path: (path.stem.rpartition("-")[2].zfill(24), path.name))


def remove(folder: Path) -> None:
    """Remove a recording folder whose content is in its file."""
    shutil.rmtree(folder, ignore_errors=True)


def _store(path: Path, document: dict[str, Any]) -> None:
    try:
        path.write_bytes(encode(document))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
