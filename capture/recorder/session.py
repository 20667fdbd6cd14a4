"""What one process observes of its CUDA graphs, whoever tells it, and where that is written."""

from __future__ import annotations

import threading
from time import perf_counter_ns as clock

from ..codec import dump
from ..noticed import LATER
from ..timings import Timings
from . import memory_watch
from .captures import CaptureObserver
from .observer import working_roots
from .sink import Sink


class Session(CaptureObserver):
    """The recorder of one process.

    Hooks report to it; it reads graphs through the driver and hands records to its sinks.

    Parameters
    ----------
    open_driver : callable
        Returns the driver; called before the first capture begins.
    describe : callable, optional
        ``describe(driver)`` returns (versions, gpus, warnings) of this process.
    make_tracer : callable, optional
        Returns what traces replays; without it none is traced.
    """

    def add(self, sink: Sink) -> None:
        """Start writing to a sink."""
        with self._lock:
            if not self.roots:
                self.roots = working_roots()
            sink.open()
            self.sinks.append(sink)

    def stop_tracing(self) -> dict[int, Timings]:
        """Write node timings and let go of CUPTI; return them by the serial of their graph."""
        with self._lock:
            self._end_run()
            return self._finish_tracing()

    def remove(self, sink: Sink) -> None:
        """Finish a sink: everything that happened is in its journal after this."""
        with self._lock:
            if sink not in self.sinks:
                return
            self._end_run()
            self._finish_tracing()
            self._flush()
            self._write_compilation(sink)
            self._write_later(sink)
            for tracked in list(self._tracked.values()):
                if tracked.executable is not None:
                    self._end_executable(tracked.executable, "alive at exit", [sink])
            memory_watch.write_end(self, sink)
            if sink.foreign_replays:
                sink.warning(
                    f"{sink.foreign_replays} replays were of graphs captured before the "
                    f"recording began; they are not in it"
                )
            sink.close(clock(), self.costs())
            self.sinks.remove(sink)
            if not self.sinks:
                self.errors.abandon()

    def _write_later(self, sink: Sink) -> None:
        """Write what became of graphs after their capture; never raises."""
        if self.notices is None:
            return
        try:
            for serial, document in self.notices.later(sink.serials).items():
                sink.write("note", serial, name=LATER, value=document)
        except Exception as error:
            self.complain("owners on the host", error)

    def _write_compilation(self, sink: Sink) -> None:
        if self.compiler is None:
            return
        try:
            compilation = self.compiler.collect()
        except Exception as error:
            self.complain("the compiler's counters", error)
            return
        if compilation is not None:
            sink.write_process("compilation", document=dump(compilation))

    def finish(self) -> None:
        """Close every open capture and every sink, at the end of the process."""
        with self._lock:
            self.finishing = True
            for tracked in list(self._tracked.values()):
                if tracked.capture is not None:
                    self._abandon(tracked, "the process ended")
            for sink in list(self.sinks):
                self.remove(sink)

    def forked(self) -> None:
        """Become the recorder of a forked child: nothing of the parent's is ours."""
        self._lock = threading.RLock()
        self.errors.abandon()
        self.keeper = self.locator = None
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
        if self.tracer is not None:
            self.tracer.abandon()
        if self.origin_source is not None:
            self.origin_source.abandon()
        if self.notices is not None:
            self.notices.abandon()
        self._new_tracer()
        for sink in self.sinks:
            sink.restart()
