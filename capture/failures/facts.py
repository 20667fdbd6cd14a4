"""What is known when a capture has failed: what the kinds of failure are told apart by."""

from __future__ import annotations

import re

import msgspec

from .error_codes import is_cuda


class Frame(msgspec.Struct, frozen=True):
    """One line of Python that was running."""

    file: str
    line: int
    function: str = ""
    user: bool = True
    """False for torch, Triton, Python itself and ourselves."""
    call: str = ""
    """Source text of the expression that was being evaluated."""
    instruction: str = ""
    """Name of the bytecode instruction, such as ``"CALL"``."""


class Raised(msgspec.Struct, frozen=True):
    """One exception: what it said, and where.

    Attributes
    ----------
    error : str
        Class, with its module unless that is ``builtins``.
    message : str
    code : int or None
        CUDA's number, where the exception or its text has it.
    thread : str
        Name of the thread.
    frames : tuple of Frame
        Innermost first.
    """

    error: str
    message: str
    code: int | None = None
    thread: str = ""
    frames: tuple[Frame, ...] = ()

    @property
    def line(self) -> str:
        """The first line of the message: torch appends advice of its own."""
        return self.message.strip().partition("\n")[0]

    @property
    def place(self) -> Frame | None:
        """The innermost frame of the user's code, else the innermost of all."""
        for frame in self.frames:
            if frame.user:
                return frame
        return self.frames[0] if self.frames else None


NOTHING = Raised("", "")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that kinds may look at.

    Attributes
    ----------
    first : Raised
        The error to explain: the first one where others followed from it.
    surfaced : Raised
        The error that reached the script.
    stage : str
        ``"begin"``, ``"inside"``, ``"end"``, or ``"never ended"``.
    status : str
        Of the capture just before its end: ``"active"``, ``"invalidated"``, or empty.
    mode : str
        ``"global"``, ``"thread_local"`` or ``"relaxed"``.
    thread : str
        Name of the thread that captured.
    node_count : int or None
        Nodes that were captured until then.
    operator : str
        The last operator that was called, such as ``"aten._local_scalar_dense.default"``.
    broke_in : str
        The operator in which the capture became invalid, where operators were seen.
    outside : str
        The operator that CUDA refused on a stream which is not part of the capture.
    after : str
        The line that made the last node, such as ``"train.py:12"``, where origins were noted.
    unjoined : tuple of int
        Positions of nodes that end a branch which the capturing stream does not wait for.
    others : tuple of (str, tuple of Frame)
        Other threads that were alive, with what they were doing.
    watched : bool
        Whether errors were watched from the begin: if so, `first` is the first one that Python saw.
    """

    first: Raised = NOTHING
    surfaced: Raised = NOTHING
    stage: str = "inside"
    status: str = ""
    mode: str = ""
    thread: str = ""
    node_count: int | None = None
    operator: str = ""
    broke_in: str = ""
    outside: str = ""
    after: str = ""
    unjoined: tuple[int, ...] = ()
    others: tuple[tuple[str, tuple[Frame, ...]], ...] = ()
    watched: bool = False

    @property
    def code(self) -> int | None:
        """CUDA's number of the first error."""
        return self.first.code

    @property
    def message(self) -> str:
        """Message of the first error, in lower case."""
        return self.first.message.lower()

    @property
    def call(self) -> str:
        """Source text of what failed in the user's line."""
        place = self.first.place
        return place.call if place is not None else ""

    @property
    def instruction(self) -> str:
        """Bytecode instruction that failed in the user's line."""
        place = self.first.place
        return place.instruction if place is not None else ""

    @property
    def method(self) -> str:
        """Name of what was called in the user's line, such as ``"item"``.

        Examples
        --------
        >>> frame = Frame("train.py", 3, call="loss.mean().item()", instruction="CALL")
        >>> Facts(first=Raised("RuntimeError", "", frames=(frame,))).method
        'item'
        """
        return called(self.call)

    def inside(self, *parts: str) -> Frame | None:
        """Return the innermost frame that the user's line called and that is one of `parts`.

        Parameters
        ----------
        *parts : str
            ``"folder/file.py:function"``, ``"folder/file.py:"`` or ``"folder/"``, where the folder
            may be anywhere in the path.
        """
        for frame in self.first.frames:
            if frame.user:
                return None
            path = f"/{frame.file.replace(chr(92), '/')}:{frame.function}"
            if any(f"/{part}" in path and _ends(path, part) for part in parts):
                return frame
        return None

    @property
    def is_cuda(self) -> bool:
        """Whether the first error is CUDA's or one of its libraries', or torch's about them."""
        return is_cuda(self.first.error, self.first.message, self.code)

    @property
    def elsewhere(self) -> bool:
        """Whether the first error was raised in another thread than the one that captured."""
        thread = self.first.thread
        # Python calls threads that it did not start so: autograd's, which run hooks of the capture.
        return bool(thread and self.thread) and thread != self.thread and "Dummy-" not in thread


def _ends(path: str, part: str) -> bool:
    return part.endswith(("/", ":")) or path.endswith(f"/{part}")


def called(expression: str) -> str:
    """Return the name that an expression calls, empty where it is no call.

    Examples
    --------
    >>> called("y.square().mean().item()"), called("torch.cuda.synchronize()"), called("a > b")
    ('item', 'synchronize', '')
    """
    text = expression.strip()
    if not text.endswith(")"):
        return ""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth == 0:
            found = re.search(r"([A-Za-z_][A-Za-z_0-9]*)\s*$", text[:place])
            return found.group(1) if found else ""
    return ""
