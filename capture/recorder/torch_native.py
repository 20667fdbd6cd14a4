"""The observer of operators in C++: as the one in Python, but no operator passes through Python.

Rows are kept in C++ and handed over when the capture is no longer watched. What happens rarely is
asked of the methods below: a thread or a module that is new, a backward that begins, an operator on
a stream that is not captured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import CodeType
from typing import TYPE_CHECKING, Any

from ..driver.protocol import Driver
from ..driver.records import Tip
from ..failures.error_codes import UNSUPPORTED
from . import torch_native_build as building
from .left_out import launches
from .origins.log import FIRST_LAUNCH, Launch
from .origins.watched import Forward, Operator, Slot, Watched
from .torch_native_build import Unavailable
from .torch_native_functions import as_capture_info, as_stream_function, stream_functions
from .torch_origins_fallback import KEY
from .torch_origins_reading import hide_from_compiler
from .torch_origins_rows import TRAILING

if TYPE_CHECKING:
    from .torch_origins import Watcher


class NativeObserver:
    """Operators seen by a kernel in C++.

    Parameters
    ----------
    watcher : Watcher
    current_stream : callable, optional
        In place of torch's own.

    Raises
    ------
    Unavailable
        It cannot be compiled, loaded or used here.
    """

    name = "native"
    how = "operators: a dispatch key below autograd, seen in C++"
    cost_how = "one operator in 16 was timed; what torch takes to pass it on is not in it"

    def __init__(self, watcher: Watcher, current_stream: Callable[[], int] | None = None) -> None:
        torch = watcher.torch
        build = building.plan(torch)
        building.start(build)
        building.finish(build)
        self._watcher = watcher
        self._native = building.load(build)
        self._slots: dict[int, Slot] = {}
        self._drivers: dict[int, int] = {}
        current, handle, other = 0, 0, 0
        if current_stream is None:
            current, handle = stream_functions(torch)
        else:
            other = as_stream_function(current_stream)
        call = torch.nn.Module._call_impl.__code__
        if call.co_varnames[:1] != ("self",):
            raise Unavailable("nn.Module is called in a way that is not known")
        try:
            self._native.setup(
                self,
                torch._C._current_autograd_node,
                call,
                KEY,
                current,
                handle,
                other,
                watcher.several,
                UNSUPPORTED,
            )
            if current and self._native.stream() != watcher.current_stream():
                raise Unavailable("the current stream of this torch is not read rightly")
        except RuntimeError as error:
            raise Unavailable(str(error).partition("\n")[0]) from error
        hide_from_compiler(
            *(self.opened, self.called_backward, self.module, self.omitted, self.elsewhere)
        )

    def register(self, slots: list[tuple[str, str, Slot]]) -> None:
        """Register the kernel for operators."""
        for space, rest, slot in slots:
            name, _, overload = rest.partition(".")
            # Without a kernel an operator is not seen, and works all the same.
            with suppress(RuntimeError):
                index = self._native.register(
                    f"{space}::{name}", overload, slot.launches, slot.label
                )
                self._slots[index] = slot

    def close(self) -> None:
        """Take the kernels back."""
        self._native.unregister()

    def begin(self, watched: Watched, driver: Driver) -> None:
        """Note the operators of a capture."""
        base = watched.base
        watched.held = self._native.begin(
            watched.capture_id,
            watched.thread,
            watched.threads[watched.thread].labels,
            watched.threads[watched.thread].number,
            base.code,
            base.frame,
            base.outer,
            base.module,
            self._capture_info(driver),
        )

    def resume(self, watched: Watched) -> None:
        """Go on with a capture."""
        self._native.open(watched.held)

    def end(self, watched: Watched) -> None:
        """Cease to note a capture's operators, and write down what was noted."""
        self._native.close(watched.held)
        try:
            self._write(watched, self._native.take(watched.held))
        except Exception as error:
            watched.failed(error)

    def abandon(self) -> None:
        """Take over in a forked child, before captures are ended."""
        self._native.abandon()

    def length(self, watched: Watched) -> int:
        """Return how many rows were written."""
        found: int = self._native.length(watched.held)
        return found

    def seen(self, watched: Watched) -> int:
        """Return how many operators were seen so far."""
        found: int = self._native.seen(watched.held)
        return found

    def launched(
        self,
        watched: Watched,
        launch: Launch,
        before: Tip,
        now: Tip,
        stream: int,
        opened: int,
        frame: Any,
    ) -> None:
        """Write the row of a launch outside of operators."""
        what = FIRST_LAUNCH - watched.log.launch(launch)
        self._native.write(watched.held, what, before, now, stream, opened)

    def _write(self, watched: Watched, taken: tuple[Any, ...]) -> None:
        rows, times, calls, made, broke, outside, latest, timed, problem = taken
        log = watched.log
        log.extend(rows)
        if log.at_us is not None:
            log.at_us += times
        log.calls += ((self._about(slot).operator, arguments) for slot, arguments in calls)
        for first, end, what, stack, module in made:
            name = TRAILING
            if what >= 0:
                name = self._about(what).name
            elif what <= FIRST_LAUNCH:
                name = log.launches[FIRST_LAUNCH - what].name
            forward = Forward(name, stack, module)
            self._watcher.rows.forwards.remember(first, end, forward)
        slot, stack, thread, stream = broke
        if slot >= 0 and watched.broke is None:
            watched.broke = self._about(slot).name, stack, thread, stream
        if outside >= 0 and not watched.outside:
            watched.outside = self._about(outside).name
        slot, stream, thread, order = latest
        if slot >= 0 and order > watched.latest_order:
            watched.latest = self._about(slot).name, stream, thread
        watched.seen = self.seen(watched)
        watched.sampled, watched.sampled_ns = timed
        watched.problem = watched.problem or problem

    def _about(self, index: int) -> Operator:
        return self._watcher.describe(self._slots[index])

    def _capture_info(self, driver: Driver) -> int:
        address = driver.capture_info_address()
        if address:
            return address
        found = self._drivers.get(id(driver))
        if found is None:
            found = self._drivers[id(driver)] = as_capture_info(driver)
        return found

    # Called from C++.

    def opened(self, capture_id: int) -> list[str]:
        """Return the labels of a thread that begins to work for a capture."""
        return self._watcher.thread(self._watcher.open[capture_id]).labels

    def called_backward(self, capture_id: int) -> int:
        """Return the stack of the thread that waits for autograd."""
        watched = self._watcher.open[capture_id]
        frame = sys._current_frames().get(watched.thread)
        return self._watcher.rows.stacks.walk(frame, watched.base)[0]

    def module(self) -> tuple[int, Any]:
        """Return index of and weak reference to the innermost module that is called."""
        rows = self._watcher.rows
        called = rows.stacks.walk(sys._getframe(0), mark=rows.call)[1]
        if called is None:
            return -1, None
        found = rows.modules.of(called)
        return found, rows.modules.reference(rows.variable(called, "self"))

    def adopt(self, key: tuple[int, ...], codes: tuple[CodeType, ...]) -> int:
        """Return the index of a stack."""
        return self._watcher.rows.stacks.adopt(key, codes)

    def omitted(self, capture_id: int, slot: int, stream: int, device: int) -> None:
        """Note an operator that was called on a stream which is not captured."""
        watched, about = self._watcher.open[capture_id], self._about(slot)
        if launches(about.operator):
            watched.omitted.add(about.name, stream, sys._getframe(0).f_back, device)

    def elsewhere(self, capture_id: int, slot: int, stream: int, device: int) -> None:
        """Note an operator that may have worked on another GPU."""
        watched = self._watcher.open[capture_id]
        operator = self._about(slot).operator
        self._watcher.elsewhere(watched, operator, device, sys._getframe(0).f_back)


def compile_ahead(torch: Any) -> None:
    """Have the observer compiled while the script goes on, where graphs can be captured."""
    if getattr(getattr(torch, "version", None), "cuda", None):
        with suppress(Exception):  # said when it is asked for
            building.start(building.plan(torch))
