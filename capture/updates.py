"""What the driver said of updates between graphs of one process: evidence beside a graph.

An executable of our own, made of a clone of the graph, was asked to take another graph's clone.
Nothing was launched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

ANSWER_COLUMNS = (
    "after",
    "predicted",
    "result",
    "node",
    "from_node",
    "instantiate_ns",
    "update_ns",
)


class Answer(NamedTuple):
    """One row of :class:`Updates`."""

    after: str
    predicted: str
    result: str
    node: str
    from_node: str
    instantiate_ns: int
    update_ns: int


class Updates(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the driver answered when an executable of a graph was asked to take others.

    Attributes
    ----------
    graph : str
        Key of the graph that the executables were made of, one for each question.
    refused : str
        Why the driver was not asked.
    notes : list of str
    flags : int
        With which the executables were made.
    after : list of str
        Key of the graph that each was to be updated to; columns below are parallel.
    predicted : list of str
        What was predicted when the driver was asked, a ``CUgraphExecUpdateResult`` without its
        prefix.
    result : list of str
        What the driver answered.
    node, from_node : list of str
        Path of the node that the driver named, in the graph of `after`, and of the node that the
        dependency comes from; empty where it named none.
    instantiate_ns, update_ns : list of int
        CPU time of both calls.
    reasons : dict of str to str
        Why other graphs were not asked about, by key.
    serials : list of int
        Of the graphs in `after`, while the process is recorded.
    """

    graph: str = ""
    refused: str = ""
    notes: list[str] = []
    flags: int = 0
    after: list[str] = []
    predicted: list[str] = []
    result: list[str] = []
    node: list[str] = []
    from_node: list[str] = []
    instantiate_ns: list[int] = []
    update_ns: list[int] = []
    reasons: dict[str, str] = {}
    serials: list[int] = []
    extra: dict[str, Any] = {}

    def rows(self) -> list[Answer]:
        """Return the answers one by one."""
        columns = (getattr(self, name) for name in ANSWER_COLUMNS)
        return [Answer(*row) for row in zip(*columns, strict=True)]

    def answer(self, after: str) -> Answer | None:
        """Return the answer about a graph, ``None`` when the driver was not asked of it."""
        return next((row for row in self.rows() if row.after == after), None)

    def put(self, answer: Answer, serial: int) -> None:
        """Add a row."""
        for name, value in zip(ANSWER_COLUMNS, answer, strict=True):
            getattr(self, name).append(value)
        self.serials.append(serial)


def updates_told(updates: Updates) -> tuple[str, str]:
    """Return how the answers were got, and why there is none."""
    if updates.refused or not updates.result:
        notes = "; ".join(updates.notes)
        return "", updates.refused or notes or "there was no other graph to ask about"
    count = len(updates.result)
    return f"cuGraphExecUpdate on {count} executables made of a clone of the graph", ""


def name_graphs(updates: Updates, keys: dict[int, str]) -> None:
    """Put the keys of a recording in place of those that the process knew."""
    if len(updates.serials) == len(updates.after):
        updates.after = [
            keys.get(serial, key)
            for serial, key in zip(updates.serials, updates.after, strict=True)
        ]
    updates.serials = []
