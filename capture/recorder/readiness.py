"""What a dry run on fake tensors found: the document that the child writes and the parent shows."""

from __future__ import annotations

from pathlib import Path

import msgspec

DONE = "done"
FAILED = "failed"
STOPPED = "stopped"
LOST = "lost"

FOUND_NOTHING, FOUND_SOMETHING, COULD_NOT_TELL = range(3)


class Spot(msgspec.Struct, frozen=True):
    """A line of Python."""

    file: str
    line: int
    function: str = ""


class Region(msgspec.Struct, kw_only=True):
    """Code that is, or would be, captured.

    Attributes
    ----------
    name : str
        Such as ``"torch.cuda.graph"`` or the function's name.
    spot : Spot or None
        Where it begins.
    times : int
        How often it ran.
    operators : int
        Operators on the GPU that ran in it, in all.
    compiled : bool
        The compiler makes the graphs: what cannot be captured is left out instead of failing.
    """

    name: str
    spot: Spot | None = None
    times: int = 0
    operators: int = 0
    compiled: bool = False


class Trouble(msgspec.Struct, kw_only=True):
    """One thing that would break a capture.

    Attributes
    ----------
    kind : str
        Name of a kind in :mod:`capture.failures`.
    call : str
        What the script called, such as ``"Tensor.item"``.
    operator : str
        The operator that it became, such as ``"aten._local_scalar_dense"``; may be empty.
    why, instead : str
        Why it breaks a capture, and what to do.
    stack : list of Spot
        User frames, innermost first; empty when no user code was on the stack.
    region : int
        Position in :attr:`Readiness.regions`.
    times : int
        How often it happened at this place.
    backward : str
        The autograd node that was running, if any.
    guessed : bool
        Whether the run went on with a made-up value or shape.
    """

    kind: str
    call: str
    operator: str = ""
    why: str = ""
    instead: str = ""
    stack: list[Spot] = msgspec.field(default_factory=list)
    region: int = 0
    times: int = 1
    backward: str = ""
    guessed: bool = False


class Failure(msgspec.Struct, kw_only=True):
    """Why the workload did not get to its end on fake tensors."""

    error: str
    message: str
    stack: list[Spot] = msgspec.field(default_factory=list)


class Readiness(msgspec.Struct, kw_only=True):
    """Result of one dry run.

    Attributes
    ----------
    target : str
    regions : list of Region
        What was checked.
    found : list of Trouble
        In the order in which they happened.
    limits : list of str
        What this run could not know, each a sentence.
    guesses : int
        Values and shapes that were made up because the data is not there.
    ended : str
        ``"done"``, ``"failed"``, ``"stopped"`` (by a limit or the user) or ``"lost"``.
    failure : Failure or None
    versions : dict
    """

    target: str
    regions: list[Region] = msgspec.field(default_factory=list)
    found: list[Trouble] = msgspec.field(default_factory=list)
    limits: list[str] = msgspec.field(default_factory=list)
    guesses: int = 0
    ended: str = LOST
    failure: Failure | None = None
    versions: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0: nothing found, 1: something found, 2: could not tell."""
        if self.found:
            return FOUND_SOMETHING
        if self.ended != DONE or not self.regions:
            return COULD_NOT_TELL
        return FOUND_NOTHING


def write(readiness: Readiness, path: Path) -> None:
    """Write the document."""
    path.write_bytes(msgspec.json.encode(readiness))


def read(path: Path) -> Readiness | None:
    """Return what a child wrote; ``None`` where it wrote nothing whole."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Readiness)
    except (OSError, msgspec.DecodeError):
        return None
