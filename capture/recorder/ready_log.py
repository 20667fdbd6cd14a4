"""Collects what a dry run finds while it is inside a capture."""

from __future__ import annotations

import re
import sys
import threading
from traceback import walk_tb
from types import TracebackType

from .places import is_user, locate
from .readiness import Failure, Readiness, Region, Spot, Trouble

MAX_FOUND = 1000
"""Different findings that are kept; a script with more has one in a loop over its source."""


class Log:
    """What was found so far, and whether a capture is under way.

    Attributes
    ----------
    readiness : Readiness
        What will be written.
    """

    def __init__(self, readiness: Readiness) -> None:
        self.readiness = readiness
        self._open: list[int] = []
        self._threads: list[tuple[int, str]] = []
        self._found: dict[tuple[object, ...], Trouble] = {}
        self._local = threading.local()
        self._lock = threading.RLock()

    @property
    def checking(self) -> bool:
        """Whether code runs that is, or would be, captured."""
        return bool(self._open) and not getattr(self._local, "quiet", 0)

    def begin(
        self, name: str, spot: Spot | None = None, compiled: bool = False, mode: str = "global"
    ) -> None:
        """Enter a region; its place is the user's line that is running, unless given."""
        with self._lock:
            if spot is None:
                stack = user_stack()
                spot = stack[0] if stack else None
            regions = self.readiness.regions
            keys = [(region.name, region.spot, region.compiled) for region in regions]
            key = (name, spot, compiled)
            number = keys.index(key) if key in keys else len(regions)
            if number == len(regions):
                regions.append(Region(name=name, spot=spot, compiled=compiled))
            regions[number].times += 1
            self._open.append(number)
            self._threads.append((threading.get_ident(), mode))

    def end(self) -> None:
        """Leave the innermost region."""
        with self._lock:
            if self._open:
                self._open.pop()
                self._threads.pop()

    def work(self) -> None:
        """Count an operator of the region that is open."""
        if self._open:
            self.readiness.regions[self._open[-1]].operators += 1

    def quiet(self) -> Quiet:
        """Return a context in which nothing is found: what torch does by itself at a capture."""
        return Quiet(self._local)

    def found(
        self,
        kind: str,
        call: str,
        why: str,
        instead: str,
        operator: str = "",
        backward: str = "",
        guessed: bool = False,
        stack: list[Spot] | None = None,
    ) -> None:
        """Note one thing that breaks a capture, if one is under way."""
        if not self.checking:
            return
        thread, mode = self._threads[-1]
        if thread != threading.get_ident():
            if mode != "global":
                return
            kind = kind if kind == "mismatched_end" else "other_thread"
        stack = user_stack() if stack is None else stack
        region = self._open[-1]
        key = (kind, call, operator, stack[0] if stack else None, region, backward)
        with self._lock:
            known = self._found.get(key)
            if known is not None:
                known.times += 1
            elif len(self._found) < MAX_FOUND:
                self._found[key] = trouble = Trouble(
                    kind=kind,
                    call=call,
                    operator=operator,
                    why=why,
                    instead=instead,
                    stack=stack,
                    region=region,
                    backward=backward,
                    guessed=guessed,
                )
                self.readiness.found.append(trouble)

    def limit(self, sentence: str) -> None:
        """Note something that the run cannot know, once."""
        if sentence not in self.readiness.limits:
            self.readiness.limits.append(sentence)

    def guessed(self) -> None:
        """Count a value or shape that was made up."""
        self.readiness.guesses += 1

    def failed(self, error: BaseException) -> None:
        """Note the exception that ended the workload."""
        self.readiness.failure = failure_of(error)


class Quiet:
    """While it is entered, this thread finds nothing."""

    def __init__(self, local: threading.local) -> None:
        self._local = local

    def __enter__(self) -> None:
        self._local.quiet = getattr(self._local, "quiet", 0) + 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._local.quiet -= 1


def user_stack() -> list[Spot]:
    """Return the user's frames that are running, innermost first."""
    return [Spot(*frame) for frame in locate(sys._getframe(1)).stack]


NO_FORM = re.compile(
    r"Could not run '(?P<missing>[^']+)' with arguments from the 'Lazy' backend|"
    r"^(?P<meta>\S+): attempted to run this operator with Meta tensors"
)
"""What torch says of an operator that it cannot run without data."""


def _message(error: BaseException) -> str:
    text = str(error).strip()
    missing = NO_FORM.search(text) if isinstance(error, NotImplementedError) else None
    if missing is None:
        return text
    return (
        f"torch has no form of {missing['missing'] or missing['meta']} for tensors without data "
        f"(sparse tensors on a GPU have none at all), so the dry run ends here; "
        f"`cglens record` on a GPU goes on"
    )


def failure_of(error: BaseException) -> Failure:
    """Return an exception with the user's frames of its traceback, innermost first."""
    name = type(error).__qualname__
    module = type(error).__module__
    stack = [
        Spot(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in walk_tb(error.__traceback__)
        if is_user(frame.f_code.co_filename)
    ]
    return Failure(
        error=name if module == "builtins" else f"{module}.{name}",
        message=_message(error),
        stack=stack[::-1],
    )
