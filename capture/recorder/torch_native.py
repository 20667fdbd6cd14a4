"""The observer of operators in C++: as the one in Python, but no operator passes through Python.

Rows are kept in C++ and handed over when the capture is no longer watched. What happens rarely is
asked of the methods below: a thread or a module that is new, a backward that begins, an operator on
a stream that is not captured.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from types import CodeType
from typing import TYPE_CHECKING, Any

from ..driver.protocol import Driver
from ..driver.records import NOT_CAPTURING, Tip
from ..failures.error_codes import UNSUPPORTED
from . import torch_native_build as building
from .left_out import launches
from .origins.log import FIRST_LAUNCH, Launch
from .origins.watched import Forward, Slot, Watched
from .torch_native_build import Unavailable
from .torch_origins_fallback import KEY
from .torch_origins_reading import hide_from_compiler
from .torch_origins_rows import TRAILING

if TYPE_CHECKING:
    from .torch_origins import Watcher

_CURRENT = "_ZN3c104cuda20getCurrentCUDAStreamEa"
_HANDLE = "_ZNK3c104cuda10CUDAStream6streamEv"
_P = ctypes.c_void_p
_INFO = ctypes.CFUNCTYPE(
    ctypes.c_int, _P, ctypes.POINTER(ctypes.c_int), _P, _P, ctypes.POINTER(_P), _P, _P
)
_STREAM = ctypes.CFUNCTYPE(ctypes.c_uint64)
_kept: list[Any] = []
"""Functions that C++ was given: it may call them as long as the process lives."""


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
            current, handle = _stream_functions(torch)
        else:
            function = _STREAM(current_stream)
            _kept.append(function)
            other = _address(function)
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

    def _about(self, index: int) -> Any:
        return self._watcher.describe(self._slots[index])

    def _capture_info(self, driver: Driver) -> int:
        address = driver.capture_info_address()
        if address:
            return address
        found = self._drivers.get(id(driver))
        if found is None:
            function = _INFO(_asking(driver))
            _kept.append((driver, function))
            found = self._drivers[id(driver)] = _address(function)
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


def _stream_functions(torch: Any) -> tuple[int, int]:
    """Return the addresses of what tells a thread's current stream, and a stream's handle."""
    path = Path(torch.__file__).parent / "lib" / "libc10_cuda.so"
    try:
        # Loaded already: this only looks it up.
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        return _address(library[_CURRENT]), _address(library[_HANDLE])
    except (OSError, AttributeError) as error:
        raise Unavailable(f"torch's current stream cannot be asked for: {error}") from error


def _address(function: Any) -> int:
    return ctypes.cast(function, _P).value or 0


def _asking(driver: Driver) -> Callable[..., int]:
    """Return ``cuStreamGetCaptureInfo``, answered by a driver in Python."""
    tips: dict[tuple[int, int], Callable[[], Tip]] = {}
    answers: dict[int, Any] = {}

    def info(
        stream: int | None, status: Any, id_: int, graph: int, nodes: Any, edges: int, count: int
    ) -> int:
        handle, thread = stream or 0, get_ident()
        if id_:
            about = driver.capture_info(handle)
            status[0] = about.status
            ctypes.c_uint64.from_address(id_).value = about.id
            return 0
        tip = tips.get((thread, handle))
        if tip is None:
            tip = tips[thread, handle] = driver.capture_tip(handle)
        found = tip()
        status[0] = 0 if found == NOT_CAPTURING else 1
        handles = found if isinstance(found, tuple) else (found,) if found else ()
        # The caller reads it before it asks again.
        answer = answers[thread] = (ctypes.c_uint64 * len(handles))(*handles)
        nodes[0] = ctypes.addressof(answer)
        ctypes.c_size_t.from_address(count).value = len(handles)
        return 0

    return info
