"""What every part of a process's recorder stands on: sinks, the driver, events, one lock."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns as clock
from typing import Any

from ..driver.protocol import Driver
from ..driver.records import RELAXED
from ..model import Graph
from ..nodes import node_types
from .compiler_watch import CompilerWatch
from .error_watch import ErrorWatch
from .memory_watch import MemorySource
from .noticing import Notices
from .open_capture import OpenCapture
from .origins.ports import OriginSource
from .ports import Keeper, Locator, Tracer
from .sink import Sink
from .timeline import ExecutableState, Run, RunRow

MAX_WARNINGS = 100
"""Warnings per process; a hook that fails would otherwise fill the journal."""
Describe = Callable[[Driver], tuple[dict[str, str], list[Any], list[str]]]
"""``describe(driver)`` returns (versions, gpus, warnings) of this process."""


class Tracked:
    """What is known about one graph object of the framework while it lives."""

    __slots__ = (
        "capture",
        "executable",
        "instantiations",
        "key",
        "reference",
        "serial",
        "source",
    )

    def __init__(self, key: int, reference: weakref.ref[Any]) -> None:
        self.key = key
        self.reference = reference
        self.capture: OpenCapture | None = None
        self.serial = 0
        self.executable: ExecutableState | None = None
        self.instantiations = 0
        self.source: tuple[Graph, Sequence[tuple[str, list[int]]]] | None = None
        """The graph without payloads, and its node handles, while it may be instantiated."""


class Observer:
    """State that hooks report into and sinks are fed from; all of it behind one lock.

    Only the current run of replays is touched without the lock.
    """

    def __init__(
        self,
        open_driver: Callable[[], Driver],
        describe: Describe | None = None,
        make_tracer: Callable[[Callable[[], bool], Callable[[], Any]], Tracer] | None = None,
    ) -> None:
        self.sinks: list[Sink] = []
        self.run = Run()
        self.errors = ErrorWatch()
        self.finishing = False
        """Whether the process is ending."""
        self.counted: dict[int, ExecutableState] = {}
        self.keeper: Keeper | None = None
        """Keeps graphs for replays of our own, where those were asked for."""
        self.locator: Locator | None = None
        """Runs parts of a graph in place of a replay, where that was asked for."""
        self.origin_source: OriginSource | None = None
        """Notes where nodes come from, unless that is switched off."""
        self.compiler: CompilerWatch | None = None
        """Overhears torch.compile."""
        self.memory_source: MemorySource | None = None
        """Looks at memory around captures, where that was asked for."""
        self.notices: Notices | None = None
        """Notices calls inside captures, and owners on the host."""
        self.muted = False
        """Whether captures and replays are our own, and not to be recorded."""
        self.ours = threading.local()
        """``ours.spot`` is set while we capture a function ourselves: its own place."""
        self.captured_count = 0
        self.failed_count = 0
        self.roots: list[str] = []
        self._open_driver = open_driver
        self._describe = describe
        self._driver: Driver | None = None
        self._no_driver: Exception | None = None
        self._machine: tuple[dict[str, str], list[Any], list[str]] | None = None
        self._latest: dict[int, OpenCapture] = {}
        self._tracked: dict[int, Tracked] = {}
        self._gone: deque[tuple[Tracked, int]] = deque()
        self._lock = threading.RLock()
        self._serial = 0
        self._ordinals: dict[str, int] = {}
        self._replay_events = 0
        self._runs: list[RunRow] = []
        self._warnings = 0
        names = ("start", "begin", "read", "write", "trace", "origins")
        self._costs = {f"{name}_ns": 0 for name in names}
        self._make_tracer = make_tracer
        self.tracer: Tracer | None = None
        self._new_tracer()

    def _new_tracer(self) -> None:
        if self._make_tracer is not None:
            self.tracer = self._make_tracer(lambda: bool(self._latest), self._relaxed)

    @contextmanager
    def _relaxed(self) -> Iterator[None]:
        """Let driver calls of this thread be, whatever is being captured elsewhere."""
        driver = self.driver()
        mode = driver.exchange_capture_mode(RELAXED)
        try:
            yield
        finally:
            driver.exchange_capture_mode(mode)

    @property
    def active(self) -> bool:
        """Whether anything is written anywhere."""
        return bool(self.sinks) and not self.muted

    @property
    def capturing(self) -> bool:
        """Whether a capture is going on."""
        return bool(self._latest)

    def driver(self) -> Driver:
        """Return the driver, opening it the first time."""
        if self._no_driver is not None:
            raise self._no_driver
        driver = self._driver
        if driver is None:
            with self._lock:
                driver = self._start()
        return driver

    def _start(self) -> Driver:
        if self._driver is not None:
            return self._driver
        start = clock()
        try:
            driver = self._open_driver()
        except Exception as error:
            self._no_driver = error
            raise
        node_types()  # finding and importing them takes long for the middle of a capture
        self._costs["start_ns"] = clock() - start
        self._driver = driver
        return driver

    def add_cost(self, name: str, duration_ns: int) -> None:
        """Add to what recording cost this process."""
        key = f"{name}_ns"
        self._costs[key] = self._costs.get(key, 0) + duration_ns

    def costs(self) -> dict[str, int]:
        """Return what recording cost this process until now, in nanoseconds by kind of work."""
        return {name.removesuffix("_ns"): value for name, value in self._costs.items() if value}

    def complain(self, where: str, error: BaseException) -> None:
        """Note that a hook failed; the workload never hears of it."""
        try:
            self._warnings += 1
            if self._warnings <= MAX_WARNINGS:
                text = f"{where}: {type(error).__name__}: {error}"
                for sink in self.sinks:
                    sink.warning(text)
        except Exception:  # noqa: S110 - there is nobody left to tell
            pass

    def _describe_machine(self) -> None:
        if self._machine is None:
            try:
                driver = self.driver()
                self._machine = self._describe(driver) if self._describe else ({}, [], [])
            except Exception as error:
                self._machine = ({}, [], [f"this machine could not be described: {error}"])
        for sink in self.sinks:
            sink.machine(*self._machine)

    def _event(
        self,
        kind: str,
        serial: int,
        start_ns: int,
        duration_ns: int = 0,
        thread: str = "",
        detail: str = "",
        count: int = 1,
        number: int = 0,
    ) -> None:
        fields: dict[str, Any] = {"event": kind, "start_ns": start_ns, "duration_ns": duration_ns}
        if count != 1:
            fields["count"] = count
        if number:
            fields["number"] = number
        if detail:
            fields["detail"] = detail
        fields["thread"] = thread or threading.current_thread().name
        for sink in self.sinks:
            sink.write("event", serial, **fields)

    def _track(self, graph: object) -> Tracked:
        key = id(graph)
        tracked = self._tracked.get(key)
        if tracked is not None and tracked.reference() is graph:
            return tracked
        made: Tracked

        def gone(_: object) -> None:
            self._object_gone(key, made)

        made = Tracked(key, weakref.ref(graph, gone))
        self._tracked[key] = made
        return made

    def _object_gone(self, key: int, tracked: Tracked) -> None:
        """Note a destroyed object; runs inside the garbage collector, anywhere, even in us."""
        if self._tracked.get(key) is tracked:
            del self._tracked[key]
        if self.counted.get(key) is tracked.executable:
            self.counted.pop(key, None)
        if tracked.capture is not None and self._take_lock_if_free():
            # The framework's object is still whole here, and so is the graph under capture.
            try:
                self._abandon(tracked, "the graph object was destroyed")
            except Exception as error:
                self.complain("destroy", error)
            finally:
                self._lock.release()
        if tracked.serial or tracked.executable is not None:
            self._gone.append((tracked, clock()))

    def _take_lock_if_free(self) -> bool:
        """Take the lock unless anybody has it, this thread included."""
        # The question that threading.Condition asks its lock.
        owned: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        return not owned and self._lock.acquire(blocking=False)

    def _abandon(self, tracked: Tracked, why: str) -> None:
        """Close a capture that nobody ended."""
        raise NotImplementedError


def working_roots() -> list[str]:
    """Return the folders that keys are relative to: the working folder, then import paths."""
    try:
        here = [os.getcwd()]
    except OSError:
        here = []
    others = [path for path in sys.path if os.path.isabs(path) and not path.endswith(".zip")]
    return here + sorted(others, key=len, reverse=True)
