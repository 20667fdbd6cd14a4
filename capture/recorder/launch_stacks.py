"""Python stacks of calls that launch work outside graphs, by CUPTI's correlation of the call."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns as clock
from types import FrameType
from typing import NamedTuple

from .origins.stacks import NO_STACK, Stacks

MOST_STACKS = 2_000
"""Different stacks that are kept of a process."""
MOST_CALLS = 50_000
"""Calls whose stack is walked in a process, some microseconds each."""
_RUNS_BACKWARD = "_engine_run_backward"
"""The function of torch in which a thread waits for autograd's threads."""


class Call(NamedTuple):
    """A call that launched work."""

    stack: int = NO_STACK
    """Of :attr:`LaunchStacks.stacks`."""
    autograd: str = ""
    """Name of the autograd node that was running."""
    inside: bool = False
    """Whether it was made inside a call of ``replay()``."""


class LaunchStacks:
    """Notes calls while a window of traced replays is open.

    Parameters
    ----------
    capturing : callable
        Says whether any capture is going on: calls that are captured leave no record.
    """

    def __init__(self, capturing: Callable[[], bool]) -> None:
        self.stacks = Stacks()
        self.cost_ns = 0
        """Spent in callbacks until now."""
        self.full = False
        """Whether no further stack is noted."""
        self.replaying = 0
        """The thread that is inside a call of ``replay()``, 0 for none."""
        self.autograd: Callable[[], tuple[str, int]] | None = None
        """Returns the name of the autograd node that runs on the calling thread, empty for none,
        and the number of its backward."""
        self._capturing = capturing
        self._calls = 0
        self._noted: dict[int, Call] = {}
        self._outer: dict[int, int] = {}
        # A callback may be interrupted by another on its own thread: a finalizer can launch.
        self._lock = threading.RLock()

    def note(self, correlation: int) -> None:
        """Note the call that begins on this thread; called by CUPTI, through two frames."""
        start = clock()
        if self._capturing():
            return
        with self._lock:
            # The runtime may call the driver under the same correlation: the first is outermost.
            if correlation not in self._noted:
                inside = self.replaying == threading.get_ident()
                if not self.full:
                    self._noted[correlation] = self._call(inside)
                elif inside:
                    self._noted[correlation] = Call(inside=True)
            self.cost_ns += clock() - start

    def _call(self, inside: bool) -> Call:
        self._calls += 1
        name, task = self.autograd() if self.autograd is not None else ("", -1)
        frame = sys._getframe(1)
        outer = NO_STACK
        if name and _running_backward(frame) is None:
            outer = self._called_backward(task)
        stack = self.stacks.walk(frame, outer=outer)[0]
        self.full = self._calls >= MOST_CALLS or len(self.stacks) >= MOST_STACKS
        return Call(stack, name, inside)

    def _called_backward(self, task: int) -> int:
        """Return the stack of the thread that waits for this one, found once per backward."""
        found = self._outer.get(task)
        if found is None:
            waiting = [
                running
                for frame in sys._current_frames().values()
                if (running := _running_backward(frame)) is not None
            ]
            # Of two that wait it is not known which one waits for this thread.
            if len(waiting) != 1:
                return NO_STACK
            found = self._outer[task] = self.stacks.walk(waiting[0])[0]
        return found

    def take(self) -> dict[int, Call]:
        """Return and forget the calls that were noted, by correlation."""
        with self._lock:
            noted, self._noted = self._noted, {}
            self._outer = {}
        return noted


def _running_backward(frame: FrameType | None) -> FrameType | None:
    """Return the frame of a thread's stack that waits for a backward, if one does."""
    while frame is not None and frame.f_code.co_name != _RUNS_BACKWARD:
        frame = frame.f_back
    return frame
