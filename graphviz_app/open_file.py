"""Files that the browser hands over: read from a folder of this process, and opened."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from flask import Flask, Response, jsonify, request

from capture.errors import GraphLensError, TooLargeError

from .format import bytes_text
from .store import Store

MOST_BYTES = 1024**3
BLOCK_BYTES = 1024**2
CLOSED = (
    "This dashboard can be reached from other machines, so it takes no files: start "
    "`cglens compare BEFORE AFTER` with both."
)


def register(server: Flask, store: Store, prefix: str) -> None:
    """Add the route that takes a file as the body of a request."""

    @server.post(f"{prefix}open-file")
    def open_file() -> tuple[Response, int]:
        if not store.takes_files:
            return Response(f"{CLOSED}\n", mimetype="text/plain"), 403
        try:
            id_ = receive(store, request.args.get("name", ""), request.stream)
        except GraphLensError as error:
            return Response(f"{error}\n", mimetype="text/plain"), 422
        return jsonify({"recording": id_}), 200


def receive(store: Store, name: str, stream: IO[bytes]) -> str:
    """Keep the bytes of a file while this process runs, open it, and return its id.

    Raises
    ------
    FormatError
        It is no recording, or too large.
    """
    from capture import read

    folder = Path(tempfile.mkdtemp(prefix="cglens-opened-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / _safe(name)
    try:
        with path.open("wb") as file:
            for block in _blocks(stream, name):
                file.write(block)
        return store.add(path.name, read(path), path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _safe(name: str) -> str:
    """Return the last part of a file's name, whatever system it came from."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return last.lstrip(".")[-200:] or "recording"


def _blocks(stream: IO[bytes], name: str) -> Iterator[bytes]:
    total = 0
    while block := stream.read(BLOCK_BYTES):
        total += len(block)
        if total > MOST_BYTES:
            raise TooLargeError(
                f"{name} is larger than {bytes_text(MOST_BYTES)}: start `cglens compare` with it"
            )
        yield block
