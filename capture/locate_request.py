"""What a child of `cglens locate` is asked to do at a replay, and the lines in which it answers.

The parent puts a request into the environment of each child; without it replays are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from .errors import WorkloadError

ENVIRONMENT = "CGLENS_LOCATE"
"""Environment variable that holds the request, as JSON."""

SYMPTOMS = ("fault", "hang", "nan", "inf", "eager")
"""A replay breaks the device; does not end; leaves NaN; leaves Inf; leaves other than eager."""
OF_VALUES = ("nan", "inf")
STEPS = ("observe", "walk", "prefix", "values", "eager")


class LocateRequest(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One child's task.

    Attributes
    ----------
    step : str
        ``"observe"``: wait after every replay and say how it ended. All others take the place of
        one replay and end the process after it. ``"walk"``: run the nodes one by one;
        ``"prefix"``: run the first nodes at once; ``"values"``: walk and look for NaN;
        ``"eager"``: walk and compare with operators that were run without a graph.
    answers : str
        File that lines are appended to.
    graph : str
        Key; for ``"observe"`` empty for every graph.
    replay : int
        Which replay of that graph is meant; 0 for the first. ``"eager"`` compares every one.
    prefix : int
        How many nodes run, in topological order.
    symptom : str
        One of :data:`SYMPTOMS`; for ``"observe"`` empty for a fault or a hang.
    timeout_s : float
        After which work is taken to hang.
    function : str
        Of ``__main__``, without arguments: does without a graph what the graph does.
    """

    step: str
    answers: str
    graph: str = ""
    replay: int = 0
    prefix: int = 0
    symptom: str = ""
    timeout_s: float = 20.0
    function: str = ""

    def to_json(self) -> str:
        """Return the text for the environment."""
        return msgspec.json.encode(self).decode()


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of a child.

    Attributes
    ----------
    event : str
        ``"captured"``, ``"replaying"``, ``"replayed"``, ``"start"``, ``"node"`` (about to run),
        ``"note"``, or ``"outcome"``, the last one.
    pid : int
    graph : str
        Key.
    replay : int
    node : int
        Position; -1 for none.
    path : str
        Of a node inside that one, a child graph.
    count : int
        Nodes of the graph that was captured.
    order : str
        Digest of the graph and of the order in which its nodes run.
    what : str
        Of an outcome: ``"clean"``, one of :data:`SYMPTOMS`, ``"refused"`` or ``"outside"``.
    detail : str
    found : dict
        What else was seen, as plain data.
    """

    event: str
    pid: int = 0
    graph: str = ""
    replay: int = 0
    node: int = -1
    path: str = ""
    count: int = 0
    order: str = ""
    what: str = ""
    detail: str = ""
    found: dict[str, object] = msgspec.field(default_factory=dict)


def from_json(text: str) -> LocateRequest:
    """Read a request.

    Raises
    ------
    WorkloadError
        It is none.
    """
    try:
        request = msgspec.json.decode(text, type=LocateRequest)
    except msgspec.DecodeError as error:
        raise WorkloadError(
            f"{ENVIRONMENT} holds no request to locate: {error}; it is set by cglens locate, and "
            f"is best left unset otherwise"
        ) from error
    if request.step not in STEPS:
        raise WorkloadError(
            f"{ENVIRONMENT} asks for step {request.step!r}; expected one of {', '.join(STEPS)}"
        )
    return request


def requested() -> LocateRequest | None:
    """Return what the environment asks for, ``None`` when nothing is.

    Raises
    ------
    WorkloadError
        What is there is no request.
    """
    text = os.environ.get(ENVIRONMENT, "")
    return from_json(text) if text.strip() else None


def write(path: str, answer: Answer) -> None:
    """Append a line, which is in the file when this returns."""
    line = msgspec.json.encode(answer) + b"\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def read(path: Path, offset: int = 0) -> tuple[list[Answer], int]:
    """Return the whole lines from an offset on, and where they end; none when there is no file."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            data = stream.read()
    except FileNotFoundError:
        return [], offset
    whole = data.rfind(b"\n") + 1
    return list(_decoded(data[:whole])), offset + whole


def _decoded(data: bytes) -> Iterator[Answer]:
    decoder = msgspec.json.Decoder(Answer)
    for line in data.splitlines():
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError:
            continue  # a child that was killed in the middle of a line
