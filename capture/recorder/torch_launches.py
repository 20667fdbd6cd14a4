"""Work that a script launches itself while replays are traced: its launches and how long it ran.

Callbacks of CUPTI are on for calls that launch from the first traced replay until tracing pauses,
and at no other time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from ..outside import Outside
from .cupti_library import Cupti, CuptiError
from .launch_stacks import LaunchStacks
from .outside_work import OutsideWork


class EagerLaunches:
    """What one tracer learns of work outside graphs.

    Parameters
    ----------
    capturing : callable
        Says whether any capture is going on, in any thread.
    """

    def __init__(self, capturing: Callable[[], bool]) -> None:
        self.work = OutsideWork()
        self.stacks = LaunchStacks(capturing)
        self._tells = True
        """Whether this CUPTI calls back for launches."""
        self._hears_all = self._hears_replay = False
        self._summed_ns = 0
        self._finished = False

    def open(self, cupti: Cupti | None) -> None:
        """Hear of every call that launches; a window of traced replays opens."""
        if cupti is None or not self._tells or self.stacks.full:
            return
        if self.stacks.autograd is None:
            self.stacks.autograd = _autograd()
        try:
            cupti.watch_calls(True)
        except CuptiError:
            self._tells = False
        self._hears_all = self._tells

    def enter(self, cupti: Cupti | None) -> None:
        """Tell what this thread launches from now on as launched inside ``replay()``."""
        if cupti is None or not self._tells:
            return
        if self.stacks.full:
            self.shut(cupti)
        if not self._hears_all:
            try:
                cupti.watch_launches(True)
            except CuptiError:
                self._tells = False
                return
            self._hears_replay = True
        self.stacks.replaying = threading.get_ident()
        self.work.result.place_known = True

    def leave(self, cupti: Cupti | None) -> None:
        """End what `enter` began; never raises."""
        self.stacks.replaying = 0
        if self._hears_replay and cupti is not None:
            self._hears_replay = False
            with suppress(Exception):
                cupti.watch_launches(False)

    def shut(self, cupti: Cupti | None) -> None:
        """Stop hearing of calls; never raises."""
        if self._hears_all and cupti is not None:
            self._hears_all = False
            with suppress(Exception):
                cupti.watch_calls(False)

    def sum_up(self) -> int:
        """End the window; return what its callbacks took, in nanoseconds."""
        self.work.close(self.stacks.take(), self.stacks.full)
        took_ns = self.stacks.cost_ns - self._summed_ns
        self._summed_ns += took_ns
        return took_ns

    def finish(self) -> Outside | None:
        """Return, once, what ran beside the graphs; ``None`` where nothing was traced."""
        if self._finished or not self.work.result.windows:
            return None
        self._finished = True
        return self.work.finish(self.stacks.stacks)


def _autograd() -> Callable[[], tuple[str, int]]:
    """Return what tells the autograd node of a thread, and the number of its backward."""
    import torch

    node = getattr(torch._C, "_current_autograd_node", None)
    task = getattr(torch._C, "_current_graph_task_id", None)
    if node is None or task is None:
        return lambda: ("", -1)

    def running() -> tuple[str, int]:
        found = node()
        return ("", -1) if found is None else (found.name(), task())

    return running
