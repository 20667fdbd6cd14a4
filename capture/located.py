"""What `cglens locate` came to, as it is printed and kept with the graph."""

from __future__ import annotations

from typing import Any

import msgspec

from .errors import FormatError

NOTE = "located"
"""Name under which it is kept in a graph's ``extra``."""


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a part of the graph, in a child of its own."""

    part: str
    """Such as ``"node by node"`` or ``"the first 12 of 40 nodes at once"``."""
    what: str
    """How it ended: ``"clean"``, a symptom, ``"died"``, ``"refused"``, ``"outside"``, or ``"lost"``
    where nothing can be said.
    """
    detail: str = ""
    wall_ms: int = 0


class Located(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The first node with which a replay goes wrong.

    Attributes
    ----------
    symptom : str
        One of :data:`capture.locate_request.SYMPTOMS`.
    graph : str
        Key; empty where no replay went wrong.
    replay : int
        Which replay of that graph, 0 for the first.
    detail : str
        What was seen of it.
    node : str
        Path of the first guilty node; empty where none was found.
    decided : bool
        Whether it is sure: see `notes` for what is not.
    reason : str
        Why no node was found.
    order : list of int
        Positions in the order in which nodes ran.
    runs : list of Run
    notes : list of str
    found : dict
        Of values: where they are, and what they were.
    """

    symptom: str
    graph: str = ""
    replay: int = 0
    detail: str = ""
    node: str = ""
    decided: bool = False
    reason: str = ""
    order: list[int] = []
    runs: list[Run] = []
    notes: list[str] = []
    found: dict[str, Any] = msgspec.field(default_factory=dict)


def stored(extra: dict[str, Any]) -> Located | None:
    """Return what is kept with a graph, ``None`` when nothing is.

    Raises
    ------
    FormatError
        It is damaged.
    """
    if NOTE not in extra:
        return None
    try:
        return msgspec.convert(extra[NOTE], Located)
    except msgspec.ValidationError as error:
        raise FormatError(f"what was located of this graph cannot be read: {error}") from error
