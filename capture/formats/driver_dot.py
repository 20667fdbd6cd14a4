"""The DOT that the CUDA driver writes (``cuGraphDebugDotPrint``), in all its forms; read only.

Each ``graph_N`` is a cluster of its own beside the others; a node that holds a graph names it in
its label. Numbers of graphs and nodes start anywhere and skip; nodes stand in creation order by
their number. A file that was cut off is read as far as it goes, with a warning.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import FormatError, TooLargeError
from ..model import Recording
from .base import Format

MAX_FILE_BYTES = 1 << 30

_BEGIN = re.compile(
    rb"(?:\s++|//[^\n]*+\n|#[^\n]*+\n|/\*(?:[^*]++|\*(?!/))*+\*/)*+(?:strict\s++)?(?:di)?graph\b",
    re.IGNORECASE,
)


def sniff(head: bytes, path: Path) -> int:
    """Recognise a DOT, and the driver's above others."""
    if _BEGIN.match(head) is None:
        return 0
    return 95 if b"graph_" in head and b"_node_" in head else 60


def read(path: Path) -> Recording:
    """Read the driver's DOT as a recording; what a DOT does not hold is marked absent.

    Raises
    ------
    FormatError
        It is no DOT, or not one that the driver wrote.
    InvalidGraphError
        An edge to a node that is not there, or graphs that hold each other.
    TooLargeError
        More than `MAX_FILE_BYTES`.
    """
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise TooLargeError(f"{path} has {size} bytes; DOT files up to {MAX_FILE_BYTES} are read")
    from ..codec import collection_paused
    from .driver.graphs import read_text

    text = path.read_bytes().decode("utf-8", "replace")
    try:
        with collection_paused():
            return read_text(text, path)
    except FormatError as error:
        raise type(error)(f"{path}: {error}") from error


FORMAT = Format(
    name="driver-dot",
    extensions=(".dot",),
    description="the CUDA driver's own DOT, from cuGraphDebugDotPrint; read only",
    sniff=sniff,
    read=read,
)
