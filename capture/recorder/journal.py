"""A process's own journal: one JSON document per line, appended and never changed."""

from __future__ import annotations

import os
import time
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ..formats.documents import encode

PREFIX = "journal-"
SUFFIX = ".jsonl"


class Journal(Protocol):
    """Where records go."""

    broken: str
    """Why nothing is written any more; empty while all is well."""

    def write(self, kind: str, **fields: Any) -> None:
        """Append one record; never raises."""
        ...

    def reopen(self) -> None:
        """Start a journal of its own for a forked child."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class FileJournal:
    """A journal in a folder, made when the first record is written.

    A record is one line, written by as few ``write`` calls as the system needs. When one fails,
    the line is taken back and the journal stays as it was: the workload goes on unrecorded.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broken = ""
        self._descriptor = -1

    def write(self, kind: str, **fields: Any) -> None:
        """Append one record; never raises."""
        if self.broken:
            return
        try:
            self._append(encode({"kind": kind, **fields}) + b"\n")
        except OSError as error:
            self.broken = error.strerror or str(error)
        except (TypeError, ValueError, RecursionError) as error:
            # A value that JSON has not: the rest of the journal is still worth having.
            self._append_safely(kind, f"a record was left out: {error}")

    def _append_safely(self, kind: str, text: str) -> None:
        try:
            self._append(encode({"kind": "warning", "text": f"{kind}: {text}"}) + b"\n")
        except OSError as error:
            self.broken = error.strerror or str(error)

    def _append(self, line: bytes) -> None:
        if self._descriptor < 0:
            path = self.folder / f"{PREFIX}{os.getpid()}-{time.time_ns()}{SUFFIX}"
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o666)
        start = os.fstat(self._descriptor).st_size
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            os.ftruncate(self._descriptor, start)
            raise

    def reopen(self) -> None:
        """Start a journal of its own for a forked child."""
        self.close()
        self.broken = ""

    def close(self) -> None:
        """Release the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class MemoryJournal:
    """A journal in memory, for recordings that never leave the process."""

    def __init__(self) -> None:
        self.broken = ""
        self._stream = BytesIO()

    def write(self, kind: str, **fields: Any) -> None:
        """Append one record."""
        self._stream.write(encode({"kind": kind, **fields}) + b"\n")

    def open(self) -> BinaryIO:
        """Return a stream over what was written."""
        return BytesIO(self._stream.getbuffer())

    def reopen(self) -> None:
        """Forget: a forked child's records cannot come back to its parent."""
        self._stream = BytesIO()

    def close(self) -> None:
        """Keep everything; memory needs no closing."""
