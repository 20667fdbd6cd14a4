"""Evidence of a whole recording, item by item: one that is damaged does not hide the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import FormatError
from ..model import Recording

OF_GRAPH, OF_PROCESS = "The memory of {owner}", "The memory of process {owner}"
"""What stored memory is called where it is damaged."""


def readable(
    recording: Recording,
    kind: str,
    damaged: list[str],
    words: str,
    owners: Iterable[str] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield every item of a kind that can be read, with what it belongs to.

    Items are not kept in memory.

    Parameters
    ----------
    recording : Recording
    kind : str
        A stored kind of evidence; see :data:`capture.evidence.STORED`.
    damaged : list of str
        Told, in a sentence each, of items that cannot be read.
    words : str
        What such an item is called there; ``{owner}`` stands for what it belongs to.
    owners : iterable of str, optional
        What to look at, instead of all that have such an item.
    """
    for owner in recording.stored(kind) if owners is None else owners:
        try:
            item = recording.evidence(kind, owner, keep=False)
        except FormatError as error:
            damaged.append(f"{words.format(owner=owner)} cannot be read: {error}.")
            continue
        if item is not None:
            yield owner, item
