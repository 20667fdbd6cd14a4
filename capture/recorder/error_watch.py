"""Errors of CUDA that Python raises while a capture goes on, in any thread, swallowed or not.

CUDA says only at the end of a capture that something went wrong before, and the error that says
what is often swallowed, or raised in another thread. Python 3.12 tells of every exception that is
raised, at no cost where none is; older Pythons do not, and what is known is less there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from inspect import isfunction
from types import CodeType
from typing import Any

from ..failures import error_codes, facts
from ..failures.facts import Raised
from . import causes
from .causes import is_ours, raised_at, says_cuda

MOST = 16
"""Errors that are kept of one capture; the first ones matter."""
_TOOLS = (4, 3)
"""Ids of ``sys.monitoring`` that no kind of tool has reserved."""
_NAME = "cglens"


class ErrorWatch:
    """Listens while at least one capture is open.

    Attributes
    ----------
    on : bool
        Whether it listens.
    works : bool
        Whether it could listen when it was last asked to.
    hidden : bool
        Whether torch's compiler was told to leave :func:`listening` alone.
    """

    def __init__(self) -> None:
        self.on = False
        self.works = False
        self.hidden = False
        self._lock = threading.Lock()
        self._listeners: dict[int, list[Raised]] = {}
        self._tool = 0
        self._seen: dict[int, Raised] = {}

    def begin(self, key: int) -> None:
        """Start to keep errors for a capture."""
        with self._lock:
            self._listeners[key] = []
            if not self.on:
                self._start()

    def end(self, key: int) -> list[Raised]:
        """Return the errors since the begin of a capture, in order, and stop if it is the last."""
        with self._lock:
            found = self._listeners.pop(key, [])
            if not self._listeners and self.on:
                self._stop()
            return found

    def so_far(self, key: int) -> list[Raised]:
        """Return the errors since the begin of a capture, in order."""
        return list(self._listeners.get(key, ()))

    def abandon(self) -> None:
        """Stop at once: in a forked child, or when nobody records any more."""
        self._lock = threading.Lock()
        self._listeners.clear()
        if self.on:
            self._stop()

    def _start(self) -> None:
        monitoring: Any = getattr(sys, "monitoring", None)
        self.works = False
        if monitoring is None:
            return
        for tool in _TOOLS:
            try:
                monitoring.use_tool_id(tool, _NAME)
            except ValueError:
                continue  # somebody has it
            self._tool = tool
            self._seen.clear()
            monitoring.register_callback(tool, monitoring.events.RAISE, self._raised)
            monitoring.set_events(tool, monitoring.events.RAISE)
            self.on = self.works = True
            return

    def _stop(self) -> None:
        self.on = False
        monitoring: Any = getattr(sys, "monitoring", None)
        with suppress(Exception):
            monitoring.set_events(self._tool, 0)
            monitoring.register_callback(self._tool, monitoring.events.RAISE, None)
            monitoring.free_tool_id(self._tool)

    def _raised(self, code: CodeType, offset: int, error: BaseException) -> None:
        """Keep an exception; it is reported again in each frame that it passes."""
        if not isinstance(error, Exception) or is_ours(code.co_filename):
            return  # what passes through us is reported again in the frame that called
        with suppress(Exception):
            argument = error.args[0] if error.args else ""
            message = argument if type(argument) is str else ""
            if not says_cuda(error, message):
                return
            before = self._seen.get(id(error))
            if before is not None and _passes(before, message, code):
                return
            found = raised_at(error, sys._getframe(1), threading.current_thread().name)
            self._seen[id(error)] = found
            for kept in self._listeners.values():
                if len(kept) < MOST:
                    kept.append(found)


def listening() -> list[Callable[..., Any]]:
    """Return the functions that may run when an exception is raised in a script's frame.

    torch's compiler, while it runs the script's functions, would compile them too.
    """
    places = (causes, error_codes, facts, sys.modules[__name__], ErrorWatch)
    return [item for place in places for item in vars(place).values() if isfunction(item)]


def _passes(before: Raised, message: str, code: CodeType) -> bool:
    """Say whether this is the exception that is known, on its way: ids are used again."""
    return before.message == message[: len(before.message)] and any(
        frame.file == code.co_filename and frame.function == code.co_name for frame in before.frames
    )
