"""What one process observes of its CUDA graphs, whoever tells it, and where that is written."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns as clock
from typing import Any

from ..driver.protocol import Driver
from ..extract import Extraction, extract
from ..model import Evidence, EvidenceKind, Failure, Graph, GraphInfo, Place
from ..nodes import node_types
from .open_capture import OpenCapture
from .places import place_key
from .sink import Sink
from .timeline import (
    FLUSH_EVERY_NS,
    MAX_REPLAY_EVENTS,
    RUNS_PER_RECORD,
    ExecutableState,
    Run,
)

INVALIDATED = 2
"""``CU_STREAM_CAPTURE_STATUS_INVALIDATED``: no handle is given out, the old one is readable."""
MAX_WARNINGS = 100
"""Warnings per process; a hook that fails would otherwise fill the journal."""


class Tracked:
    """What is known about one graph object of the framework while it lives."""

    __slots__ = ("capture", "executable", "instantiations", "key", "reference", "serial")

    def __init__(self, key: int, reference: weakref.ref[Any]) -> None:
        self.key = key
        self.reference = reference
        self.capture: OpenCapture | None = None
        self.serial = 0
        self.executable: ExecutableState | None = None
        self.instantiations = 0


class Session:
    """The recorder of one process.

    Hooks report to it; it reads graphs through the driver and hands records to its sinks. All
    state is behind one lock, except the current run of replays.

    Parameters
    ----------
    open_driver : callable
        Returns the driver; called when the first capture begins.
    describe : callable, optional
        ``describe(driver)`` returns (versions, gpus, warnings) of this process.
    """

    def __init__(
        self,
        open_driver: Callable[[], Driver],
        describe: Callable[[Driver], tuple[dict[str, str], list[Any], list[str]]] | None = None,
    ) -> None:
        self.sinks: list[Sink] = []
        self.run = Run()
        self.counted: dict[int, ExecutableState] = {}
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
        self._runs: list[tuple[int, int, int, int, int, str]] = []
        self._warnings = 0
        self._costs = {"start_ns": 0, "begin_ns": 0, "read_ns": 0, "write_ns": 0}

    # Life -----------------------------------------------------------------------------------

    def add(self, sink: Sink) -> None:
        """Start writing to a sink."""
        with self._lock:
            if not self.roots:
                self.roots = _roots()
            sink.open()
            self.sinks.append(sink)

    def remove(self, sink: Sink) -> None:
        """Finish a sink: everything that happened is in its journal after this."""
        with self._lock:
            if sink not in self.sinks:
                return
            self._flush()
            for tracked in list(self._tracked.values()):
                if tracked.executable is not None:
                    self._end_executable(tracked.executable, "alive at exit", [sink])
            if sink.foreign_replays:
                sink.warning(
                    f"{sink.foreign_replays} replays were of graphs captured before the "
                    f"recording began; they are not in it"
                )
            sink.close(clock(), self.costs())
            self.sinks.remove(sink)

    def finish(self) -> None:
        """Close every open capture and every sink, at the end of the process."""
        with self._lock:
            for tracked in list(self._tracked.values()):
                if tracked.capture is not None:
                    self._abandon(tracked, "the process ended")
            for sink in list(self.sinks):
                self.remove(sink)

    def forked(self) -> None:
        """Become the recorder of a forked child: nothing of the parent's is ours."""
        self._lock = threading.RLock()
        self._tracked.clear()
        self.counted.clear()
        self._runs.clear()
        self._latest.clear()
        self._gone.clear()
        self.run.finish()
        self._ordinals.clear()
        self._replay_events = self._warnings = self._serial = 0
        self.captured_count = self.failed_count = 0
        self._costs = dict.fromkeys(self._costs, 0)
        for sink in self.sinks:
            sink.restart()

    @property
    def active(self) -> bool:
        """Whether anything is written anywhere."""
        return bool(self.sinks)

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

    # Captures -------------------------------------------------------------------------------

    def began(self, graph: object, capture: OpenCapture) -> None:
        """Take note of a capture that has begun on a graph object."""
        with self._lock:
            self._drain()
            tracked = self._track(graph)
            if tracked.capture is not None:
                self._abandon(tracked, "another capture began on the same graph object")
            ours = getattr(self.ours, "spot", None)
            if ours is not None:
                capture.spot, capture.how = ours, "captured"
            spot = capture.spot
            key = place_key(spot.place, self.roots)
            capture.ordinal = self._ordinals.get(key, 0)
            self._ordinals[key] = capture.ordinal + 1
            capture.key = f"{key}#{capture.ordinal}"
            if spot.label:
                capture.key += f"+{spot.label.replace(', ', '+')}"
            tracked.capture = capture
            self._latest[capture.stream_handle] = capture
            self._costs["begin_ns"] += clock() - capture.begin_ns

    def reading(self, graph: object) -> OpenCapture | None:
        """Read a capture that is about to end; return it."""
        tracked = self._tracked.get(id(graph))
        capture = tracked.capture if tracked is not None else None
        if capture is not None:
            with self._lock:
                self._read(capture)
        return capture

    def _read(self, capture: OpenCapture) -> None:
        start = clock()
        capture.end_ns = start
        capture.extraction = None
        try:
            if not capture.handle:
                raise ValueError(capture.no_handle or "the capture gave no graph handle")
            capture.extraction = extract(self.driver(), capture.handle, name=capture.name)
        except Exception as error:
            capture.unread = f"{type(error).__name__}: {error}"
        capture.read_ns = clock() - start
        self._costs["read_ns"] += capture.read_ns

    def captured(
        self, graph: object, capture: OpenCapture, end_ns: int, instantiated: bool
    ) -> None:
        """Write a capture that ended well.

        Parameters
        ----------
        end_ns : int
            When the framework's end of the capture returned.
        instantiated : bool
            Whether that call instantiated the graph too.
        """
        with self._lock:
            tracked = self._track(graph)
            tracked.capture = None
            self.captured_count += 1
            info = self._info(capture)
            if capture.cause is not None:
                name, message, place = capture.cause
                at = f" at {place.file}:{place.line}" if place else ""
                info.warnings.append(
                    f"{name}{at} left the capture before its end ({message}); torch ended it "
                    f"without an error, so this graph holds what was captured until then"
                )
            unread = capture.extraction is None
            if unread:
                info.failure = Failure(
                    error="NotRead",
                    message=f"the capture ended well, but could not be read: {capture.unread}",
                    nodes_read=False,
                    reason=capture.unread,
                )
            self._serial += 1
            tracked.serial = self._serial
            tracked.instantiations = 0
            tracked.executable = None
            self._write_graph(info, capture, failed=unread)
            start = capture.begin_ns
            self._event("capture", tracked.serial, start, capture.end_ns - start, capture.thread)
            if instantiated:
                ended = capture.end_ns + capture.read_ns
                self._instantiated(
                    tracked,
                    ended,
                    end_ns - ended,
                    "measured around capture_end, which ends the capture and instantiates",
                )
            self._flush_if_due()

    def failed(self, capture: OpenCapture, error: str, message: str, place: Place | None) -> None:
        """Write a capture that did not become a graph."""
        with self._lock:
            info = self._info(capture)
            info.failure = Failure(
                error=error,
                message=message,
                place=place,
                nodes_read=capture.extraction is not None,
                reason="" if capture.extraction is not None else capture.unread,
            )
            self._serial += 1
            self.failed_count += 1
            self._write_graph(info, capture, failed=True)
            self._event(
                "capture_failed",
                self._serial,
                capture.begin_ns,
                max(0, capture.end_ns - capture.begin_ns),
                capture.thread,
                error,
            )

    def close_failed(self, graph: object) -> None:
        """Forget the open capture of a graph object."""
        tracked = self._tracked.get(id(graph))
        if tracked is not None:
            tracked.capture = None

    def still_capturing(self, capture: OpenCapture) -> bool:
        """Say whether a capture is going on, so that its end may be tried again."""
        try:
            info = self.driver().capture_info(capture.stream_handle)
        except Exception:
            return False
        return bool(info.status == 1 and info.graph == capture.handle)

    def _readable(self, capture: OpenCapture) -> bool:
        """Say whether the handle from the begin is still good: nobody has ended the capture."""
        if self.still_capturing(capture):
            return True
        if not capture.handle or self._latest.get(capture.stream_handle) is not capture:
            return False
        try:
            return self.driver().capture_info(capture.stream_handle).status == INVALIDATED
        except Exception:
            return False

    def handle(self, info: GraphInfo, extraction: Extraction) -> None:
        """Write a graph that was handed over as a handle."""
        with self._lock:
            self.captured_count += 1
            self._serial += 1
            self._describe_machine()
            for sink in self.sinks:
                sink.graph(self._serial, info, extraction.graph, failed=False)

    def note(self, graph: object, name: str, value: Any) -> None:
        """Add something to what is known about the graph of a graph object."""
        with self._lock:
            tracked = self._tracked.get(id(graph))
            if tracked is not None and tracked.serial:
                for sink in self.sinks:
                    sink.write("note", tracked.serial, name=name, value=value)

    def _abandon(self, tracked: Tracked, why: str) -> None:
        capture, tracked.capture = tracked.capture, None
        if capture is None:
            return
        if self._readable(capture):
            self._read(capture)
        else:
            capture.unread = "the capture was over before its nodes could be read"
            capture.end_ns = clock()
        self.failed(capture, "CaptureNotEnded", f"{why} before capture_end was called", None)

    def _info(self, capture: OpenCapture) -> GraphInfo:
        info = capture.info()
        extraction = capture.extraction
        if extraction is not None:
            info.warnings.extend(extraction.warnings)
            info.evidence.update(extraction.evidence)
        elif capture.unread:
            info.warnings.append(f"its nodes could not be read: {capture.unread}")
        info.evidence[EvidenceKind.CAPTURE.value] = Evidence(
            present=True, how="methods of torch.cuda.CUDAGraph, observed"
        )
        return info

    def _write_graph(self, info: GraphInfo, capture: OpenCapture, failed: bool = False) -> None:
        start = clock()
        self._describe_machine()
        if self._latest.get(capture.stream_handle) is capture:
            del self._latest[capture.stream_handle]
        graph: Graph | None = None
        if capture.extraction is not None:
            graph = capture.extraction.graph
            capture.extraction = None
        for sink in self.sinks:
            sink.graph(self._serial, info, graph, failed)
        self._costs["write_ns"] += clock() - start

    def _describe_machine(self) -> None:
        if self._machine is None:
            try:
                driver = self.driver()
                self._machine = self._describe(driver) if self._describe else ({}, [], [])
            except Exception as error:
                self._machine = ({}, [], [f"this machine could not be described: {error}"])
        for sink in self.sinks:
            sink.machine(*self._machine)

    # Executables ----------------------------------------------------------------------------

    def instantiated(self, graph: object, start_ns: int, duration_ns: int, note: str) -> None:
        """Take note of an instantiate."""
        with self._lock:
            tracked = self._tracked.get(id(graph))
            if tracked is not None and tracked.serial:
                self._instantiated(tracked, start_ns, duration_ns, note)

    def _instantiated(
        self, tracked: Tracked, start_ns: int | None, duration_ns: int | None, note: str
    ) -> None:
        self._end_run()
        if tracked.executable is not None:
            self._end_executable(tracked.executable, "reset", self.sinks)
        tracked.instantiations += 1
        state = tracked.executable = ExecutableState(tracked.serial, tracked.instantiations)
        self.counted[tracked.key] = state
        for sink in self.sinks:
            sink.write(
                "executable",
                tracked.serial,
                number=tracked.instantiations,
                at_ns=start_ns,
                duration_ns=duration_ns,
                note=note,
            )
        if start_ns is not None:
            self._event(
                "instantiate",
                tracked.serial,
                start_ns,
                duration_ns or 0,
                number=tracked.instantiations,
            )

    def replayed(self, graph: object, start_ns: int) -> None:
        """Count a replay that is not the current run's; the hook counts the others."""
        with self._lock:
            self._drain()
            self._end_run()
            tracked = self._tracked.get(id(graph))
            if tracked is None:
                tracked = self._track(graph)
            if tracked.executable is None:
                if tracked.serial:
                    # torch instantiates a kept graph in C++ when it is replayed the first time.
                    self._instantiated(tracked, None, None, "instantiated by the first replay")
                else:
                    tracked.executable = self.counted[id(graph)] = ExecutableState(0, 0)
            assert tracked.executable is not None
            self.run.begin(tracked.executable, start_ns)
            self._flush_if_due()

    def flush_quietly(self) -> None:
        """Bring replay counts to the journal; never raises."""
        try:
            with self._lock:
                self._flush()
        except Exception as error:
            self.complain("replay", error)

    def resetting(self, graph: object) -> None:
        """Take note that a graph object is about to be emptied."""
        with self._lock:
            tracked = self._tracked.get(id(graph))
            if tracked is not None and tracked.capture is not None:
                self._abandon(tracked, "the graph was reset")

    def was_reset(self, graph: object, at_ns: int) -> None:
        """Take note that a graph object was emptied."""
        with self._lock:
            tracked = self._tracked.get(id(graph))
            if tracked is not None:
                self._ended(tracked, "reset", at_ns)

    def _ended(self, tracked: Tracked, how: str, at_ns: int) -> None:
        self._end_run()
        if tracked.executable is not None:
            self._end_executable(tracked.executable, how, self.sinks, at_ns)
            if self.counted.get(tracked.key) is tracked.executable:
                del self.counted[tracked.key]
        if tracked.serial:
            kind = "reset" if how == "reset" else "destroy"
            self._event(kind, tracked.serial, at_ns, number=tracked.instantiations)
        tracked.executable = None
        tracked.serial = 0

    def _end_executable(
        self, state: ExecutableState, how: str, sinks: list[Sink], at_ns: int | None = None
    ) -> None:
        for sink in sinks:
            sink.write(
                "executable_end",
                state.serial,
                number=state.number,
                replays=state.replays,
                ended=how,
                at_ns=at_ns,
            )

    def _end_run(self) -> None:
        finished = self.run.finish()
        if finished is None:
            return
        state, count, start_ns, end_ns, thread = finished
        if not state.serial:
            for sink in self.sinks:
                sink.foreign_replays += count
            return
        for sink in self.sinks:
            if state.serial not in sink.serials:
                sink.foreign_replays += count
        self._replay_events += 1
        if self._replay_events <= MAX_REPLAY_EVENTS:
            row = (state.serial, state.number, start_ns, end_ns - start_ns, count, thread)
            self._runs.append(row)
            if len(self._runs) >= RUNS_PER_RECORD:
                self._write_runs()
        elif self._replay_events == MAX_REPLAY_EVENTS + 1:
            for sink in self.sinks:
                sink.warning(
                    f"more than {MAX_REPLAY_EVENTS} runs of replays: later ones are counted, "
                    f"not on the timeline"
                )

    def _flush_if_due(self) -> None:
        if clock() >= self.run.flush_ns:
            self._flush()

    def _write_runs(self) -> None:
        rows, self._runs = self._runs, []
        for sink in self.sinks:
            sink.runs(rows)

    def _flush(self) -> None:
        self._drain()
        self._end_run()
        self._write_runs()
        for tracked in list(self._tracked.values()):
            state = tracked.executable
            if state is not None and state.serial and state.replays != state.written:
                state.written = state.replays
                for sink in self.sinks:
                    sink.write("replays", state.serial, number=state.number, replays=state.replays)
        self.run.flush_ns = clock() + FLUSH_EVERY_NS

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

    # Objects --------------------------------------------------------------------------------

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

    def _drain(self) -> None:
        while self._gone:
            tracked, at_ns = self._gone.popleft()
            self._ended(tracked, "destroyed", at_ns)


def _roots() -> list[str]:
    """Return the folders that keys are relative to: the working folder, then import paths."""
    import sys

    try:
        here = [os.getcwd()]
    except OSError:
        here = []
    others = [path for path in sys.path if os.path.isabs(path) and not path.endswith(".zip")]
    return here + sorted(others, key=len, reverse=True)
