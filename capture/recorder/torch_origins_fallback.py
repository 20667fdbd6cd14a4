"""The kernel that every operator of a watched thread goes through, on its way to the device."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import get_ident
from time import perf_counter_ns as clock
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..driver.protocol import Driver
from ..driver.records import NOT_CAPTURING, Tip
from ..failures.error_codes import UNSUPPORTED
from .left_out import other_device
from .origins.log import Launch
from .origins.watched import Slot, Thread, Watched
from .torch_origins_reading import hide_from_compiler

if TYPE_CHECKING:
    from .torch_origins import Watcher

KEY = "Fake"
"""A dispatch key for out-of-core fake tensors, which no part of torch 2.6 to 2.13 registers."""
SAMPLE = 16
"""One operator of so many is timed, to tell what recording costs."""
NUMBERS = (int, float, bool, complex)


class PythonObserver:
    """Operators seen by a kernel in Python, which works with every torch and needs no compiler.

    Parameters
    ----------
    watcher : Watcher
    """

    name = "python"
    how = "operators: a dispatch key below autograd, seen in Python"
    cost_how = f"one operator in {SAMPLE} was timed; what torch takes to call Python is not in it"

    def __init__(self, watcher: Watcher) -> None:
        from torch import library

        self._watcher = watcher
        # Kept: what a library registered goes when it does.
        self._make: Any = library.Library
        self._libraries: dict[str, Any] = {}
        self._kernel = make_kernel(watcher)
        hide_from_compiler(self._kernel, watcher.rows.operator, watcher.rows.launch)

    def register(self, slots: list[tuple[str, str, Slot]]) -> None:
        """Register the kernel for operators."""
        for space, rest, slot in slots:
            kernel = partial(self._kernel, slot)
            # Without a kernel an operator is not seen, and works all the same.
            with suppress(RuntimeError, ValueError):
                if space not in self._libraries:
                    self._libraries[space] = self._make(space, "IMPL")
                self._libraries[space].m.impl(rest, KEY, kernel, True)

    def close(self) -> None:
        """Take the kernels back."""
        for made in self._libraries.values():
            made._destroy()
        self._libraries.clear()

    def begin(self, watched: Watched, driver: Driver) -> None:
        """Note the operators of a capture: the kernel looks for itself which are open."""

    def resume(self, watched: Watched) -> None:
        """Go on with a capture."""

    def end(self, watched: Watched) -> None:
        """Cease to note a capture's operators; rows are where they belong already."""

    def abandon(self) -> None:
        """Take over in a forked child, before captures are ended."""

    def length(self, watched: Watched) -> int:
        """Return how much was written, as :attr:`Row.opened` counts."""
        return len(watched.log.flat)

    def seen(self, watched: Watched) -> int:
        """Return how many operators were seen so far."""
        return watched.seen

    def launched(
        self,
        watched: Watched,
        launch: Launch,
        before: Tip,
        now: Tip,
        stream: int,
        opened: int,
        frame: FrameType | None,
    ) -> None:
        """Write the row of a launch outside of operators."""
        thread = self._watcher.thread(watched)
        self._watcher.rows.launch(watched, thread, launch, before, now, stream, opened, frame)


def make_kernel(watcher: Watcher) -> Callable[..., Any]:
    """Return the kernel, which takes an operator's slot before its arguments.

    It runs for every operator of a capture, a few of them for each node: what it looks up is
    bound here, and it is one function. It calls the operator with what it was given and hands on
    its result or its exception; what fails in its own work becomes the capture's `problem`.
    """
    core = watcher.torch._C
    after = core._dispatch_keyset_full_after(watcher.key)
    above = core._dispatch_keyset_full() - after
    exclude, transforms = core._ExcludeDispatchKeyGuard, core._functorch.maybe_current_level
    current_stream, next_number = watcher.current_stream, watcher.rows.next_number
    key, switch, known = watcher.key, watcher.switch, watcher.open
    find, opened, rows = watcher.watched, watcher.thread, watcher.rows
    several, describe = watcher.several, watcher.describe

    def elsewhere(watched: Watched, operator: Any, args: Any, kwargs: Any, frame: Any) -> None:
        device = other_device([*args, *kwargs.values()], core._cuda_getDevice())
        if device >= 0:
            watcher.elsewhere(watched, operator, device, frame)

    def observe(slot: Slot, keys: Any, *args: Any, **kwargs: Any) -> Any:
        watched: Watched | None = None
        # What the operator itself calls is part of it.
        switch(key, False)
        try:
            about = slot.about or describe(slot)
            operator, launches = about.operator, about.launches
            if known:
                try:
                    stream = current_stream()
                    watched = watcher.single or find(stream)
                    if watched is not None:
                        started = 0
                        watched.seen += 1
                        if not watched.seen % SAMPLE:
                            started = clock()
                        ident = get_ident()
                        thread = watched.threads.get(ident) or opened(watched)
                        tip = thread.tips.get(stream) or thread.tip(stream)
                        before: Tip = tip() if launches else 0
                        begun = len(watched.log.flat)
                        watched.latest = about.name, stream, ident
                        if started:
                            started = clock() - started
                except Exception as error:
                    if watched is not None:
                        watched.failed(error)
                        watched = None
            for position in about.numbers:
                if position < len(args) and type(args[position]) in NUMBERS:
                    # Only a call from the top takes a number for a tensor.
                    if transforms() is None:
                        result = operator(*args, **kwargs)
                    else:
                        with exclude(above):
                            result = operator(*args, **kwargs)
                    break
            else:
                result = operator._handle.redispatch_boxed(keys & after, *args, **kwargs)
            if watched is not None:
                try:
                    ended = clock() if started else 0
                    now = tip() if launches else before
                    number = next_number()
                    if now == NOT_CAPTURING and before == now:
                        frame = sys._getframe(0).f_back
                        watched.omitted.note(operator, args, kwargs, stream, frame)
                    elif now != before or number != thread.number:
                        if several and now == before:
                            elsewhere(watched, operator, args, kwargs, sys._getframe(0).f_back)
                        rows.operator(
                            watched, thread, about, args, kwargs, before, now, stream, number,
                            begun, sys._getframe(0).f_back,
                        )  # fmt: skip
                    elif several and launches:
                        elsewhere(watched, operator, args, kwargs, sys._getframe(0).f_back)
                    if about.label:
                        labelled(thread, about.label, args)
                    if started:
                        watched.sampled += 1
                        watched.sampled_ns += clock() - ended + started
                except Exception as error:
                    watched.failed(error)
            return result
        except BaseException as problem:
            if watched is not None:
                try:
                    refused = getattr(problem, "error_code", None) == UNSUPPORTED
                    if refused and before == NOT_CAPTURING and not watched.outside:
                        watched.outside = about.name
                    rows.raised(watched, about.name, tip(), stream, sys._getframe(0).f_back)
                except Exception as error:
                    watched.failed(error)
            raise
        finally:
            # Off for good once nothing is captured any more: a guard of the script's may have put
            # the key back that was on when it was entered.
            if known:
                switch(key, True)

    return observe


def labelled(thread: Thread, label: int, args: tuple[Any, ...]) -> None:
    """Follow ``record_function``, which torch enters and leaves through operators."""
    if label == 1:
        thread.labels.append(str(args[0]) if args else "")
    elif thread.labels:
        thread.labels.pop()
