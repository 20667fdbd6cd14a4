"""The first replays of each executable, traced with CUPTI: which node ran when.

Each executable is traced for a number of its own replays, in turns with as many that are timed
without tracing, so that the cost of looking can be said of few replays as well; after that nothing
of ours runs around its replays. Nothing is replayed that the script does not replay itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter_ns as clock
from typing import Any

from ..errors import GraphLensError
from ..model import Graph, Topology
from ..outside import Outside
from ..timings import Timings
from .clone_map import Level, joined
from .cupti_library import Cupti
from .timeline import ExecutableState
from .torch_cupti import ProfilerWatch, take
from .torch_launches import EagerLaunches
from .trace_budget import MAX_RECORDS, TraceBudget
from .trace_plan import Plan, outline

WAITING_BUFFERS = 16
"""Full buffers (4 MiB each) after which records are read while the script runs."""

IDLE_BUFFERS = 2
"""Full buffers without a replay of ours between them, after which tracing stops."""

EMPTY = Graph(topology=Topology(types=[]), payloads=[])
"""Stands for the graph of an executable that is not traced."""

_PARENTS: list[ReplayTracer] = []
"""Tracers of the processes that this one was forked from: freeing their events would call CUDA."""


class ReplayTracer:
    """Traces replays of one process.

    Parameters
    ----------
    replays : int
        Replays of each executable that are traced.
    capturing : callable
        Says whether any capture is going on, in any thread.
    relaxed : callable
        Returns a context in which the thread's driver calls cannot invalidate a capture.
    """

    def __init__(
        self, replays: int, capturing: Callable[[], bool], relaxed: Callable[[], Any]
    ) -> None:
        self.replays = replays
        self.reason = ""
        """Why no (further) replay is traced."""
        self.cost_ns = 0
        self.callback_ns = 0
        """Spent in callbacks during instantiates, until now."""
        self._capturing = capturing
        self._relaxed = relaxed
        self._cupti: Cupti | None = None
        self._local = threading.local()
        self._lock = threading.RLock()
        """Held over a planned replay, so that no other thread switches tracing meanwhile."""
        self._plans: list[Plan] = []
        self._owner: dict[int, Plan] = {}
        self._pending: dict[int, Plan] = {}
        """Plans with events that were not read yet."""
        self._enabled = False
        self._used = False
        """Whether a traced replay was launched since the last full buffer."""
        self._budget = TraceBudget(replays)
        self._profilers = ProfilerWatch(
            lambda: self.release("torch.profiler was started, which needs CUPTI")
        )
        self._launches = EagerLaunches(capturing)

    @property
    def open(self) -> bool:
        """Whether CUPTI is ours."""
        return self._cupti is not None and not self.reason

    def prepare(self) -> None:
        """Take CUPTI, once; called before a capture begins, never inside one."""
        if self._cupti is not None or self.reason or self._capturing():
            return
        with self._lock:
            if self._cupti is not None or self.reason:
                return
            if not self.replays:
                self.reason = "tracing was switched off with --timings 0"
                return
            start = clock()
            self._cupti, self.reason = take(
                self._cloned, self._launches.stacks.note, self._buffer_full, self._profilers
            )
            self.cost_ns += clock() - start

    def _cloned(self, original: int, clone: int) -> None:
        clones = getattr(self._local, "clones", None)
        if clones is None or self._cupti is None:
            return
        start = clock()
        clones.append((original, self._cupti.node_id(clone), clone))
        self.callback_ns += clock() - start

    def expect(self) -> None:
        """Listen to what the instantiate that follows on this thread clones."""
        if self.open:
            self._local.clones = []

    def forget(self) -> BaseException | None:
        """Stop listening on this thread; return what interrupted a callback, such as Ctrl-C."""
        self._local.clones = None
        return None if self._cupti is None else self._cupti.take_interrupt()

    def instantiated(self, state: ExecutableState, graph: Graph, levels: Sequence[Level]) -> None:
        """Plan the tracing of an executable that has just been made on this thread."""
        clones, self._local.clones = getattr(self._local, "clones", None), None
        if not clones or not self.open:
            return
        start = clock()
        assert self._cupti is not None
        paths = joined(graph, levels, clones, self._cupti.node_id)
        with self._lock:
            limit = self._budget.plan(len(paths))
            if not limit:
                paths = {}
            plan = Plan(state, outline(graph) if limit else EMPTY, paths, limit)
            self._plans.append(plan)
            for node_id in paths:
                self._owner[node_id] = plan
        if limit:
            state.plan = plan
        self.cost_ns += clock() - start

    def replay(self, state: ExecutableState, launch: Callable[[], Any]) -> Any:
        """Run a replay with tracing, or timed without, as the plan says."""
        if not self.open:
            state.plan = None
            return launch()
        # While another thread is at it, this replay simply runs: it may have to, for both to end.
        if self._capturing() or not self._lock.acquire(blocking=False):
            return launch()
        try:
            return self._replay(state, launch)
        finally:
            self._lock.release()

    def _replay(self, state: ExecutableState, launch: Callable[[], Any]) -> Any:
        plan: Plan | None = state.plan
        if plan is None:
            return launch()
        start = clock()
        try:
            trace = plan.trace_next
            self._switch(trace)
            before, after = self._events()
            before.record()
        except Exception as error:
            self.release(f"tracing failed: {type(error).__name__}: {error}")
            return launch()
        self._used = self._used or trace
        if trace:
            self._launches.enter(self._cupti)
        self.cost_ns += clock() - start
        try:
            result = launch()
        finally:
            start = clock()
            if trace:
                self._launches.leave(self._cupti)
        try:
            after.record()
            plan.count(trace, (before, after))
            self._pending[id(plan)] = plan
            if plan.done:
                state.plan = None
        except Exception as error:
            self.release(f"tracing failed: {type(error).__name__}: {error}")
        self.cost_ns += clock() - start
        interrupt = self._cupti.take_interrupt() if self._cupti is not None else None
        if interrupt is not None:
            raise interrupt
        return result

    @staticmethod
    def _events() -> tuple[Any, Any]:
        import torch

        event: Callable[..., Any] = torch.cuda.Event
        return event(enable_timing=True), event(enable_timing=True)

    def rest(self) -> None:
        """Stop tracing, before a replay that is not to be traced; never raises."""
        if not self._enabled or self._capturing() or not self._lock.acquire(blocking=False):
            return
        start = clock()
        try:
            self._switch(False)
        except Exception as error:
            self.release(f"tracing failed: {type(error).__name__}: {error}")
        finally:
            self.cost_ns += clock() - start
            self._lock.release()

    def _buffer_full(self) -> None:
        """Notice records of work that is not ours to trace; runs on CUPTI's thread."""
        used, self._used = self._used, False
        if used or not self._enabled or self._cupti is None:
            return
        if self._cupti.waiting >= IDLE_BUFFERS:
            # CUPTI is not to be called from here.
            threading.Thread(target=self.rest, name="cglens", daemon=True).start()

    def _switch(self, wanted: bool) -> None:
        if self._cupti is None:
            return
        if self._budget.exceeded:
            raise GraphLensError(f"more than {MAX_RECORDS:,} records came, as loops leave them")
        if wanted == self._enabled:
            if wanted and self._cupti.waiting >= WAITING_BUFFERS:
                self._sort()
            return
        if wanted:
            self._launches.open(self._cupti)
            self._cupti.enable()
        else:
            self._stop()
        self._enabled = wanted

    def _stop(self) -> None:
        """Wait for traced replays, stop tracing and take the records out of CUPTI's buffers."""
        assert self._cupti is not None
        with self._relaxed():
            for key, plan in list(self._pending.items()):
                if plan.traced_events:
                    plan.traced_events[-1][1].synchronize()
                if plan.read_events():
                    del self._pending[key]
            self._cupti.flush()
            self._cupti.disable()
            # Other threads may have launched meanwhile; no buffer stays with CUPTI.
            self._cupti.flush()
        self._launches.shut(self._cupti)
        self._sort()
        self.cost_ns += self._launches.sum_up()

    def _sort(self) -> None:
        if self._cupti is None:
            return
        owner = self._owner.get
        records = self._cupti.records()
        others = self._cupti.others()
        self._launches.work.add(records, others)
        for record in records:
            plan = owner(record.node_id)
            if plan is not None and self._budget.take():
                plan.add(record)

    def release(self, reason: str) -> None:
        """Let go of CUPTI; what was traced until now is kept."""
        with self._lock:
            if self._cupti is None or self.reason:
                return
            self.reason = reason
            start = clock()
            try:
                if self._enabled:
                    self._enabled = False
                    self._stop()
            except Exception as error:
                self.reason += f"; the last records could not be read: {error}"
                with suppress(Exception):
                    self._cupti.disable()
            with suppress(Exception):
                self._cupti.unsubscribe()
            self._profilers.stop()
            self.cost_ns += clock() - start

    def outside(self) -> Outside | None:
        """Return, once, what ran beside the graphs; ``None`` where nothing was traced."""
        return self._launches.finish()

    def abandon(self) -> None:
        """Leave everything alone in a forked child: CUPTI, events and locks are the parent's."""
        self.reason = "the process was forked"
        self._enabled = False
        self._profilers.stop()
        _PARENTS.append(self)

    def results(self) -> list[tuple[ExecutableState, Timings | None, str]]:
        """Return timings, or why there are none, of every executable; call at the end."""
        reason = self.reason
        self.release("the recording ended")
        start = clock()
        found: list[tuple[ExecutableState, Timings | None, str]] = []
        with self._lock:
            if self._pending:  # a process without any never touched the driver, and must not now
                with suppress(Exception), self._relaxed():
                    for plan in self._pending.values():
                        plan.read_events(wait=True)
            dropped = self._cupti.dropped if self._cupti is not None else 0
            for plan in self._plans:
                plan.state.plan = None
                if plan.limit:
                    found.append((plan.state, *plan.result(reason, dropped)))
                else:
                    why = f"{MAX_RECORDS:,} records had been planned for graphs before it"
                    found.append((plan.state, None, why))
            self._plans.clear()
            self._owner.clear()
            self._pending.clear()
        self.cost_ns += clock() - start
        return found
