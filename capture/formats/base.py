"""What a file format is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..model import Recording

HEAD_BYTES = 64 * 1024
"""How much of a file's beginning `sniff` is given."""


@dataclass(frozen=True)
class Format:
    """One entry of the file-format extension point.

    Attributes
    ----------
    name : str
        What ``--format`` takes.
    extensions : tuple of str
        With the dot, lower case; the first one is used for new files.
    description : str
        One sentence for ``--help`` and the documentation.
    sniff : callable
        ``sniff(head, path)`` returns how sure it is, 0 (no) to 100 (certain), that a file that
        begins with the bytes `head` (at most `HEAD_BYTES`) is of this format.
    read : callable or None
        ``read(path)`` returns the recording; raises nothing but
        :class:`~capture.errors.FormatError` for whatever bytes are in the file.
    write : callable or None
        ``write(recording, stream, keys)`` writes the graphs of `keys`, in that order, to a binary
        stream that may not be seekable. Opening, replacing and cleaning up are not its task.
    many : bool
        Whether one file holds many graphs; if not, a graph must be chosen when there are several.
    """

    name: str
    extensions: tuple[str, ...]
    description: str
    sniff: Callable[[bytes, Path], int]
    read: Callable[[Path], Recording] | None = None
    write: Callable[[Recording, BinaryIO, Sequence[str]], None] | None = None
    many: bool = True
