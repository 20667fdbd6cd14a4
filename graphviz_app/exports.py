"""Downloads: recordings and graphs through the formats of :mod:`capture.formats`."""

from __future__ import annotations

import io
import re

from capture.formats import Format, format_named, formats, write_stream

from .store import Store


def writable(*, one_graph: bool) -> list[Format]:
    """Return the formats that can write one graph, or a whole recording."""
    return [entry for entry in formats().values() if entry.write and (one_graph or entry.many)]


def file_name(recording: str, graph: str, entry: Format) -> str:
    """Return a name for a download that is safe on every system.

    Parameters
    ----------
    recording : str
        Id of the recording.
    graph : str
        Key or name of the graph; ``""`` for the whole recording.
    entry : Format
    """
    stem = re.sub(r"[^A-Za-z0-9.=-]+", "-", f"{recording}-{graph}" if graph else recording)
    return f"{stem.strip('-.')[:80]}{entry.extensions[0]}"


def export(store: Store, recording: str, graph: str, name: str) -> tuple[bytes, str]:
    """Return a file's content and its name.

    Raises
    ------
    LookupFailed
        There is no such recording, graph or format.
    """
    opened = store.get(recording)
    entry = format_named(name)
    stream = io.BytesIO()
    with store.reading:
        write_stream(opened.recording, stream, name, graph or None)
    return stream.getvalue(), file_name(opened.id, graph, entry)
