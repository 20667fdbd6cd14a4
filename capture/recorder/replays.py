"""Executables of one process: instantiate, replay, reset, destroy."""

from __future__ import annotations

from time import perf_counter_ns as clock

from ..codec import dump
from ..timings import Timings
from . import memory_watch
from .observer import Observer, Tracked
from .ports import Tracer
from .sink import Sink
from .timeline import FLUSH_EVERY_NS, MAX_REPLAY_EVENTS, RUNS_PER_RECORD, ExecutableState


class ReplayObserver(Observer):
    """Counts replays and notes what becomes of each executable."""

    _heard_ns = 0

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
        heard_ns = self._plan(tracked, state)
        if heard_ns and duration_ns is not None:
            duration_ns = max(0, duration_ns - heard_ns)
            note += "; the time in which we heard of each node is left out"
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

    def expect_clones(self) -> None:
        """Listen to the instantiate that follows on this thread."""
        if self.tracer is not None:
            self._heard_ns = self.tracer.callback_ns
            self.tracer.expect()

    def forget_clones(self) -> None:
        """Stop listening; raise what interrupted a callback, such as Ctrl-C."""
        interrupt = self.tracer.forget() if self.tracer is not None else None
        if interrupt is not None:
            raise interrupt

    def _plan(self, tracked: Tracked, state: ExecutableState) -> int:
        """Plan the tracing of an executable; return what listening to its making took."""
        tracer = self.tracer
        if tracer is None or tracked.source is None:
            return 0
        try:
            tracer.instantiated(state, *tracked.source)
        except Exception as error:
            self.complain("planning node timings", error)
        return tracer.callback_ns - self._heard_ns

    def _finish_tracing(self) -> dict[int, Timings]:
        """Write what was traced, and start anew; return it by the serial of its graph."""
        found: dict[int, Timings] = {}
        tracer = self.tracer
        if tracer is None:
            return found
        reason = tracer.reason
        try:
            results = tracer.results()
        except Exception as error:
            self.complain("node timings", error)
            results = []
        self._costs["trace_ns"] += tracer.cost_ns + tracer.callback_ns
        for state, timings, why in results:
            if timings is not None:
                found[state.serial] = timings
            for sink in self.sinks:
                if timings is not None:
                    document = dump(timings)
                    sink.write("timings", state.serial, number=state.number, document=document)
                else:
                    sink.write("timings_absent", state.serial, number=state.number, text=why)
        self._write_outside(tracer)
        for sink in self.sinks:
            sink.tracing(reason)
        self._new_tracer()
        return found

    def _write_outside(self, tracer: Tracer) -> None:
        try:
            outside = tracer.outside()
        except Exception as error:
            self.complain("work outside graphs", error)
            return
        if outside is not None:
            for sink in self.sinks:
                sink.write_process("outside", document=dump(outside))

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
            self._flush_if_due()
            self.run.begin(tracked.executable, start_ns)

    def flush_quietly(self) -> None:
        """Bring replay counts to the journal; never raises."""
        try:
            with self._lock:
                self._flush()
        except Exception as error:
            self.complain("replay", error)

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
        serial, count = finished[0], finished[4]
        for sink in self.sinks:
            if serial not in sink.serials:
                sink.foreign_replays += count
        if not serial:
            return
        self._replay_events += 1
        if self._replay_events <= MAX_REPLAY_EVENTS:
            self._runs.append(finished)
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
        unfinished = self.run.row()
        if unfinished is not None and self._replay_events < MAX_REPLAY_EVENTS:
            rows.append(unfinished)  # written again when it has ended, which then counts
        for sink in self.sinks:
            sink.runs(rows)

    def _flush(self) -> None:
        self._drain()
        self._write_runs()
        for tracked in list(self._tracked.values()):
            state = tracked.executable
            if state is not None and state.serial and state.replays != state.written:
                state.written = state.replays
                for sink in self.sinks:
                    sink.write("replays", state.serial, number=state.number, replays=state.replays)
        memory_watch.look_between(self)
        self.run.flush_ns = clock() + FLUSH_EVERY_NS

    def _drain(self) -> None:
        while self._gone:
            tracked, at_ns = self._gone.popleft()
            self._ended(tracked, "destroyed", at_ns)
