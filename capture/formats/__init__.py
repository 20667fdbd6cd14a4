"""File formats: one module per format, found by :func:`formats`; reading and writing by path.

To add one, write ``capture/formats/x.py`` with a ``FORMAT`` (see :mod:`capture.formats.base`), or
declare one in another distribution under the entry-point group ``cudagraph_lens.formats``. It then
appears in ``cglens export --format``, in ``cglens view``, ``cglens info`` and in the documentation.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from ..errors import FormatError, LookupFailed, OutputError, UnknownFormatError
from ..files import atomic_write
from ..model import Recording
from ..registry import discover
from .base import HEAD_BYTES, Format

__all__ = ["Format", "format_named", "formats", "read", "recognise", "write", "write_stream"]

ENTRY_POINTS = "cudagraph_lens.formats"


@lru_cache(maxsize=1)
def formats() -> dict[str, Format]:
    """Return every known format by name."""
    return discover(__name__, "FORMAT", Format, ENTRY_POINTS)


@lru_cache(maxsize=1)
def _own_formats() -> dict[str, Format]:
    # Looking for entry points reads the metadata of every installed distribution: only if needed.
    return discover(__name__, "FORMAT", Format)


def format_named(name: str) -> Format:
    """Return the format of a name.

    Raises
    ------
    LookupFailed
        There is none.
    """
    entry = _own_formats().get(name) or formats().get(name)
    if entry is None:
        raise LookupFailed(f"no format {name!r}: there are {', '.join(formats())}")
    return entry


def recognise(path: str | os.PathLike[str]) -> Format:
    """Return the format of a file, by its content and not by its name.

    Raises
    ------
    FormatError
        The file cannot be opened, or is empty.
    UnknownFormatError
        No format recognises it, or only one that cannot read.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except FileNotFoundError:
        raise FormatError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    if not head:
        raise FormatError(f"{path} is empty: expected a recording, but it has 0 bytes")
    best: Format | None = None
    for known in (_own_formats, formats):
        ranked = [(entry.sniff(head, path), entry) for entry in known().values()]
        sure, entry = max(ranked, key=lambda item: item[0])
        if sure > 0:
            best = entry
            break
    if best is None:
        readable = [entry.name for entry in formats().values() if entry.read]
        raise UnknownFormatError(
            f"{path} is none of the formats that can be read: {', '.join(readable)}; "
            f"make a recording with `cglens record`"
        )
    if best.read is None:
        raise UnknownFormatError(
            f"{path} is in the format {best.name!r}, which can only be written; "
            f"open the recording that it was exported from"
        )
    return best


def read(path: str | os.PathLike[str]) -> Recording:
    """Read a recording from a file of any known format, or from a recording folder.

    Parameters
    ----------
    path : path-like
        A file, or the folder that a running or interrupted recording leaves.

    Raises
    ------
    FormatError
        The file is damaged, too large, newer than this version, or of no known format.
    """
    path = Path(path)
    if path.is_dir():
        from ..recorder.assemble import assemble

        return assemble(path)
    reader = recognise(path).read
    assert reader is not None
    try:
        return reader(path)
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error}") from error


def write(
    recording: Recording,
    path: str | os.PathLike[str],
    format: str | None = None,
    force: bool = False,
    graph: str | None = None,
) -> None:
    """Write a recording to a file, whole or not at all.

    Parameters
    ----------
    recording : Recording
    path : path-like
    format : str, optional
        Name of a format; without it the path's extension decides, and ``cgl`` is the default.
    force : bool
        Replace a file that is there.
    graph : str, optional
        Key of the only graph to write; without it, all of them.

    Raises
    ------
    OutputError
        The path exists, is a folder, or cannot be written.
    LookupFailed
        There is no such format or graph, or the format holds one graph and there are several.
    """
    entry = format_named(format) if format else _format_for(Path(path))
    keys = select(recording, entry, graph)
    with atomic_write(path, force) as stream:
        _write(entry, recording, stream, keys)


def write_stream(
    recording: Recording, stream: BinaryIO, format: str, graph: str | None = None
) -> None:
    """Write a recording to an open binary stream; see :func:`write`."""
    entry = format_named(format)
    keys = select(recording, entry, graph)
    try:
        _write(entry, recording, stream, keys)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}") from error


def select(recording: Recording, entry: Format, graph: str | None) -> list[str]:
    """Return the keys to write in a format: all, or the only one that it can hold.

    Raises
    ------
    LookupFailed
        `graph` is unknown, or it is needed and missing.
    """
    if graph is not None:
        recording.info(graph)
        return [graph]
    keys = [*recording.graphs, *recording.failed]
    if not entry.many and recording.graphs:
        keys = list(recording.graphs)
    if not entry.many and len(keys) > 1:
        shown = ", ".join(keys[:3]) + (", …" if len(keys) > 3 else "")
        raise LookupFailed(
            f"the format {entry.name!r} holds one graph and the recording has {len(keys)}: "
            f"choose one with --graph KEY ({shown})"
        )
    if not entry.many and not keys:
        raise LookupFailed("the recording has no graph to write")
    return keys


def _write(entry: Format, recording: Recording, stream: BinaryIO, keys: Sequence[str]) -> None:
    if entry.write is None:
        writable = [item.name for item in formats().values() if item.write]
        raise LookupFailed(
            f"the format {entry.name!r} can only be read: write one of {', '.join(writable)}"
        )
    try:
        entry.write(recording, stream, keys)
    except RecursionError as error:
        raise OutputError(
            f"the recording cannot be written as {entry.name!r}: its fields are nested too deeply"
        ) from error


def _format_for(path: Path) -> Format:
    name = path.name.lower()
    for known in (_own_formats, formats):
        fitting = [
            (len(extension), entry.name)
            for entry in known().values()
            for extension in entry.extensions
            if entry.write and name.endswith(extension)
        ]
        if fitting:
            return known()[max(fitting)[1]]
    return format_named("cgl")
