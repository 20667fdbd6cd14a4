"""Captures of one process: begun, read just before their end, ended or failed."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns as clock
from types import FrameType
from typing import Any

from ..extract import Extraction, extract
from ..failures import Raised
from ..model import Failure, GraphInfo
from ..noticed import SEEDS
from . import memory_watch
from .capture_writing import CaptureWriter
from .failing import STATUS, failure_of, last_error, omissions
from .observer import Tracked
from .open_capture import OpenCapture
from .trace_plan import outline

INVALIDATED = 2
"""``CU_STREAM_CAPTURE_STATUS_INVALIDATED``: no handle is given out, the old one is readable."""


class CaptureObserver(CaptureWriter):
    """Follows captures from their begin to their end, and reads them through the driver."""

    def began(self, graph: object, capture: OpenCapture) -> None:
        """Take note of a capture that has begun on a graph object."""
        with self._lock:
            self._drain()
            tracked = self._track(graph)
            if tracked.capture is not None:
                self._abandon(tracked, "another capture began on the same graph object")
            self._name(capture)
            tracked.capture = capture
            self._latest[capture.stream_handle] = capture
            self.errors.begin(id(capture))
            capture.begin_cost_ns = clock() - capture.begin_ns
            self._costs["begin_ns"] += capture.begin_cost_ns

    def watch(self, capture: OpenCapture, frame: FrameType | None) -> None:
        """Note where the nodes of a capture come from, from now on.

        Parameters
        ----------
        frame : frame or None
            That began the capture.
        """
        if self.notices is not None:
            capture.noticing = self.notices.begin()
        if self.origin_source is not None and capture.handle:
            capture.origins = self.origin_source.begin(self.driver(), capture.stream_handle, frame)
            if capture.origins is not None and capture.noticing is not None:
                capture.noticing.found.watched.append(SEEDS)
        if self.locator is not None and capture.handle:
            self.locator.begun(self.driver(), capture)

    def not_begun(self, capture: OpenCapture, error: Raised) -> None:
        """Write a capture whose begin was refused."""
        with self._lock:
            self._name(capture)
            capture.unread = "the capture never began"
            self.failed(capture, error, "begin")

    def reading(self, graph: object) -> OpenCapture | None:
        """Read a capture that is about to end; return it."""
        tracked = self._tracked.get(id(graph))
        capture = tracked.capture if tracked is not None else None
        if capture is not None:
            # Without the lock: other threads go on replaying while we read.
            self._read(capture)
        return capture

    def _read(self, capture: OpenCapture) -> None:
        capture.stop_origins()
        start = clock()
        capture.end_ns = start
        capture.extraction = None
        try:
            if not capture.handle:
                raise ValueError(capture.no_handle or "the capture gave no graph handle")
            driver = self.driver()
            info = driver.capture_info(capture.stream_handle)
            capture.status, capture.last_nodes = STATUS.get(info.status, ""), info.last_nodes
            capture.extraction = extract(driver, capture.handle, name=capture.name)
            if self.keeper is not None:
                self.keeper.clone(driver, capture)
            if self.locator is not None:
                self.locator.read(driver, capture)
        except Exception as error:
            capture.unread = f"{type(error).__name__}: {error}"
        capture.read_ns = clock() - start
        with self._lock:
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
            errors = self.errors.end(id(capture))
            tracked = self._track(graph)
            tracked.capture = None
            self.captured_count += 1
            self._find_owners(graph, tracked, capture)
            info = self._info(capture)
            if capture.cause is not None:
                cause = capture.cause
                where = cause.place
                at = f" at {where.file}:{where.line}" if where else ""
                info.failure = failure_of(capture, cause, "inside", errors, self.errors.works)
                info.warnings.append(
                    f"{cause.error}{at} left the capture before its end ({cause.message}); torch "
                    f"ended it without an error, so this graph holds what was captured until then"
                )
            memory = memory_watch.look_after(self, info, capture)
            info.left_out = capture.left_out
            info.warnings.extend(omissions(capture))
            unread = capture.extraction is None
            if capture.extraction is not None and self.tracer is not None and self.tracer.open:
                tracked.source = outline(capture.extraction.graph), capture.extraction.handles
            else:
                tracked.source = None
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
            if self.keeper is not None:
                self.keeper.keep(self.driver(), graph, capture, self._serial)
            if self.locator is not None:
                self.locator.captured(self.driver(), graph, capture)
            self._write_graph(info, capture, failed=unread)
            if memory is not None:
                memory_watch.write(self, self._serial, memory)
            start = capture.begin_ns
            self._event("capture", tracked.serial, start, capture.duration_ns, capture.thread)
            if instantiated:
                ended = capture.end_ns + capture.read_ns
                self._instantiated(
                    tracked,
                    ended,
                    end_ns - ended,
                    "measured around capture_end, which ends the capture and instantiates",
                )
                tracked.source = None  # its graph is gone, and cannot be instantiated again
            self._flush_if_due()

    def failed(self, capture: OpenCapture, error: Raised, stage: str) -> None:
        """Write a capture that did not become a graph.

        Parameters
        ----------
        error : Raised
            What reached the script.
        stage : str
            ``"begin"``, ``"inside"``, ``"end"`` or ``"never ended"``.
        """
        with self._lock:
            errors = self.errors.end(id(capture))
            info = self._info(capture)
            memory_watch.note_failed(self, info)
            self._origins_of(info, capture)  # the line to blame may be that of a node
            info.failure = failure_of(capture, error, stage, errors, self.errors.works)
            self._serial += 1
            self.failed_count += 1
            if self.keeper is not None:
                self.keeper.failed(self._driver, capture)
            if self.locator is not None:
                self.locator.failed(capture)
            self._write_graph(info, capture, failed=True)
            self._event(
                "capture_failed",
                self._serial,
                capture.begin_ns,
                capture.duration_ns,
                capture.thread,
                error.error,
            )

    def close_failed(self, graph: object) -> None:
        """Forget the open capture of a graph object."""
        tracked = self._tracked.get(id(graph))
        if tracked is not None:
            tracked.capture = None

    def resetting(self, graph: object) -> None:
        """Take note that a graph object is about to be emptied."""
        with self._lock:
            tracked = self._tracked.get(id(graph))
            if tracked is not None and tracked.capture is not None:
                self._abandon(tracked, "the graph was reset")

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
                sink.write(
                    "timings_absent",
                    self._serial,
                    text="it was read from a handle, and what launches it was not seen",
                )

    def called(self, graph: object, call: Callable[[], Any]) -> None:
        """Take note of the function that a graph object was captured from by us."""
        with self._lock:
            tracked = self._tracked.get(id(graph))
            if tracked is not None and tracked.serial and self.keeper is not None:
                self.keeper.function(tracked.serial, call)
            if self.locator is not None:
                self.locator.called(graph, call)

    def executable_taken(self, graph: object, frame: FrameType | None) -> None:
        """Take note that the script asked for the handle of a graph object's executable."""
        with self._lock:
            tracked = self._tracked.get(id(graph))
            if tracked is not None and tracked.serial and self.notices is not None:
                self.notices.taken(tracked.serial, frame)

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
        capture.stop_origins()
        if self._readable(capture):
            self._read(capture)
        else:
            capture.unread = "the capture was over before its nodes could be read"
            capture.end_ns = clock()
        if capture.refused_end is not None:
            self.failed(capture, capture.refused_end, "end")
            return
        error = next(iter(self.errors.so_far(id(capture))), None)
        if error is None and self.finishing:
            error = last_error()
        if error is None:
            error = Raised("CaptureNotEnded", f"{why} before capture_end was called")
        self.failed(capture, error, "never ended")
