"""Watches torch's operators while graphs are captured.

A ``TorchDispatchMode`` would see them too, but it changes what is captured: while one is active
torch takes every tensor for a subclass, and its derivatives use other operators (``scatter`` for
``scatter_``, ``add`` for ``add_``), which become other nodes. So operators are seen from a
dispatch key that torch itself leaves free, below autograd: a kernel is registered there for each
operator, once, and the key is switched on for the capturing thread, which autograd's threads
inherit. The kernel is an observer's: in C++ (:mod:`capture.recorder.torch_native`), or in Python
where that cannot be compiled (:mod:`capture.recorder.torch_origins_fallback`).

torch's compiler guards on the keys of a thread, so the key is off wherever it looks at them, see
:mod:`capture.recorder.torch_origins_patches`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns as clock
from types import FrameType
from typing import Any

from ..driver.protocol import Driver
from ..driver.records import NOT_CAPTURING
from .left_out import launches
from .origins.log import Launch
from .origins.observer import Observer
from .origins.settings import OBSERVER, wants_native
from .origins.watched import Operator, Slot, Thread, Watched
from .torch_native import NativeObserver
from .torch_native_build import Unavailable
from .torch_origins_fallback import KEY, PythonObserver
from .torch_origins_patches import PATCHES
from .torch_origins_reading import hide_from_compiler, stream_reader
from .torch_origins_rows import Rows

RESERVED = frozenset({"prim"})
"""Namespaces that torch lets nobody add to."""
UNSEEN = (
    "_reshape_alias",
    "_unsafe_view",
    "alias",
    "as_strided",
    "detach",
    "detach_alias",
    "empty.memory_format",
    "empty_like",
    "empty_strided",
    "expand",
    "new_empty",
    "new_empty_strided",
    "permute",
    "squeeze",
    "squeeze.dim",
    "t",
    "transpose.int",
    "unsqueeze",
    "view",
)
"""Operators that are passed over: they launch nothing. Nor do derivatives, but for those of
``_reshape_alias``, ``expand`` and ``_unsafe_view``: matrix products call them, and their forward
is found in what was called next to them. torch also makes tensor subclasses of what ``detach`` and
``alias`` return, which must not have been in Python."""


class Watcher:
    """The operators of this process, seen while at least one capture is open.

    Parameters
    ----------
    current_stream : callable, optional
        Returns the handle of the stream that operators of this thread go to.

    Raises
    ------
    AttributeError, RuntimeError
        This torch cannot be watched in this way.
    """

    def __init__(self, current_stream: Callable[[], int] | None = None) -> None:
        import torch as module

        torch: Any = module
        core = torch._C
        self.torch = torch
        self.current_stream = current_stream or stream_reader(torch)
        self.rows = Rows(torch)
        self.open: dict[int, Watched] = {}
        """By number of the capture, as CUDA gives it."""
        self.single: Watched | None = None
        """The one that is open, while it is the only one."""
        self.paused: set[int] = set()
        """Threads in which the key is off for a while."""
        self.nested: dict[int, int] = {}
        """By thread: how many things that have the key off it is inside of."""
        self.several = torch.cuda.is_available() and torch.cuda.device_count() > 1
        self.key = core._parse_dispatch_key(KEY)
        self.switch: Callable[[Any, bool], None] = core._dispatch_tls_set_dispatch_key_included
        self.is_on: Callable[[Any], bool] = core._dispatch_tls_is_dispatch_key_included
        self._lock = threading.Lock()
        self._prepare()
        self.observer, self.not_native = self._choose(current_stream)
        self.register()

    def _prepare(self) -> None:
        """Get ready for :meth:`register`."""
        from torch import library

        # Kept: what a library registered goes when it does.
        make: Any = library.Library
        self._others = make("_", "IMPL")
        self._others.fallback(library.fallthrough_kernel, KEY)
        self._registered: set[str] = set()
        self._looked: tuple[int, ...] = ()
        hide_from_compiler(self.note_launch, self.describe, self.elsewhere)
        # Higher-order operators find their way in Python, by the keys of the thread as well.
        for operator in set(self.torch._ops._higher_order_ops.values()):
            keys = getattr(operator, "non_fallthrough_keys", None)
            if keys is not None:
                operator.non_fallthrough_keys = keys.remove(self.key)

    def _choose(self, current_stream: Callable[[], int] | None) -> tuple[Observer, str]:
        """Return the observer, and why it is not the one in C++."""
        if not wants_native():
            return PythonObserver(self), f"{OBSERVER} says {os.environ.get(OBSERVER)}"
        try:
            return NativeObserver(self, current_stream), ""
        except Unavailable as error:
            return PythonObserver(self), str(error)
        except Exception as error:  # in a torch that is not as expected
            return PythonObserver(self), f"{type(error).__name__}: {error}"

    def register(self) -> None:
        """Register a kernel for each operator that is new, for the rest of the process.

        One fallback for all would be less work, but torch does not find it where a dispatch mode is
        active, or where an argument is a subclass that dispatches.
        """
        # Listing all operators takes 5 ms. New ones come with a definition in Python, a library
        # that is loaded, or a module that loads one.
        library, ops = self.torch.library, self.torch.ops
        known = tuple(
            map(
                len,
                (getattr(library, "_defs", ()), getattr(ops, "loaded_libraries", ()), sys.modules),
            )
        )
        if known == self._looked:
            return
        self._looked = known
        new = set(self.torch._C._dispatch_get_all_op_names()) - self._registered
        self._registered |= new
        slots = []
        for whole in new:
            space, _, rest = whole.partition("::")
            if space in RESERVED or (space == "aten" and rest in UNSEEN):
                continue
            name, _, overload = rest.partition(".")
            slots.append((space, rest, Slot(f"{space}::{name}", overload)))
        self.observer.register(slots)

    def close(self) -> None:
        """Take back what was registered; captures are not watched any more."""
        self.observer.close()
        self._others._destroy()

    def describe(self, slot: Slot) -> Operator:
        """Return what is known of an operator, found out when it is first asked for."""
        found = slot.about
        if found is None:
            operator: Any = self.torch.ops
            for part in (*slot.name.split("::"), slot.overload or "default"):
                operator = getattr(operator, part)
            numbers: tuple[int, ...] = ()
            schema = operator._schema
            if self.torch._C._should_allow_numbers_as_tensors(schema.name.partition("::")[2]):
                numbers = tuple(
                    at for at, item in enumerate(schema.arguments) if str(item.type) == "Tensor"
                )
            found = slot.about = Operator(
                operator, str(operator), numbers, slot.label, slot.launches
            )
        return found

    def watched(self, stream: int) -> Watched | None:
        """Return the capture that a stream belongs to."""
        if self.single is not None:
            return self.single
        found = next(iter(list(self.open.values())), None)
        if found is None:
            return None
        driver = next(iter(list(found.threads.values()))).driver
        return self.open.get(driver.capture_info(stream).id)

    def thread(self, watched: Watched) -> Thread:
        """Return this thread's part of a capture."""
        ident = get_ident()
        found = watched.threads.get(ident)
        if found is None:
            driver = next(iter(list(watched.threads.values()))).driver
            found = watched.threads[ident] = Thread(driver, ident, self.rows.next_number())
        return found

    def elsewhere(
        self, watched: Watched, operator: Any, device: int, frame: FrameType | None
    ) -> None:
        """Note an operator that made no node because it works on another GPU, outside captures."""
        stream = int(self.torch._C._cuda_getCurrentRawStream(device))
        if self.thread(watched).tip(stream)() == NOT_CAPTURING and launches(operator):
            watched.omitted.add(str(operator), stream, frame, device)

    def note_launch(self, launch: Launch, frame: FrameType | None, run: Callable[[], Any]) -> Any:
        """Run what launches a kernel outside of operators, and write its row."""
        watched: Watched | None = None
        try:
            stream = self.current_stream()
            watched = self.watched(stream) if self.open else None
            if watched is not None:
                started = clock()
                thread = self.thread(watched)
                tip = thread.tip(stream)
                before, begun = tip(), self.observer.length(watched)
                watched.latest = launch.name, stream, thread.ident
                watched.latest_order = self.observer.seen(watched)
                watched.fixed_ns += clock() - started
        except Exception as error:
            if watched is not None:
                watched.failed(error)
                watched = None
        result = run()
        if watched is not None:
            try:
                started = clock()
                now = tip()
                if now not in (before, NOT_CAPTURING):
                    self.observer.launched(watched, launch, before, now, stream, begun, frame)
                elif now == NOT_CAPTURING and before == now:
                    watched.omitted.add(launch.name, stream, frame)
                watched.fixed_ns += clock() - started
            except Exception as error:
                watched.failed(error)
        return result

    def start(
        self, driver: Driver, capture_id: int, stream: int, frame: FrameType | None
    ) -> Watched:
        """Watch what this thread does, until :meth:`stop`.

        Parameters
        ----------
        driver : Driver
        capture_id : int
            Number of the capture, as CUDA gives it.
        stream : int
            Handle of the capturing stream.
        frame : frame or None
            That began the capture.
        """
        started = clock()
        here = get_ident()
        watched = Watched(capture_id, self.rows.base(frame), here)
        thread = watched.threads[here] = Thread(driver, here, self.rows.next_number())
        thread.tip(stream)
        self.observer.begin(watched, driver)
        self.resume(watched)
        watched.fixed_ns = clock() - started
        return watched

    def resume(self, watched: Watched) -> None:
        """Watch a capture of this thread's."""
        with self._lock:
            if not self.open:
                PATCHES.install(self)
            self.open[watched.capture_id] = watched
            self._count()
            self.observer.resume(watched)
        self.switch(self.key, True)

    def stop(self, watched: Watched) -> None:
        """Stop watching a capture; may be called again, and from another thread."""
        with self._lock:
            self.observer.end(watched)
            ours = self.open.pop(watched.capture_id, None)
            self._count()
            if not self.open:
                PATCHES.remove()
        here = get_ident()
        self.paused.discard(here)
        self.nested.pop(here, None)
        for thread in watched.threads.values():
            # A range that was entered during the capture and not left again is of no use later.
            del thread.labels[thread.kept_labels :]
        if ours is not None and not any(item.thread == here for item in self.open.values()):
            self.switch(self.key, False)

    def abandon(self) -> None:
        """Watch nothing any more, in a forked child."""
        self._lock = threading.Lock()
        self.observer.abandon()
        for watched in list(self.open.values()):
            self.stop(watched)
        self.switch(self.key, False)

    def _count(self) -> None:
        self.single = next(iter(self.open.values())) if len(self.open) == 1 else None
