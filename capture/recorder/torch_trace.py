"""The first replays of each executable, traced with CUPTI: which node ran when.

Each executable is traced for a number of its own replays, in turns with as many that are timed
without tracing, so that the cost of looking can be said of few replays as well; after that nothing
of ours runs around its replays. Nothing is replayed that the script does not replay itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter_ns as clock
from typing import Any

from ..errors import GraphLensError
from ..model import Graph
from ..timings import Timings
from .cupti_library import MULTIPLE_SUBSCRIBERS, Cupti, CuptiError, Record
from .node_times import split_replays, timings
from .timeline import TIMINGS, ExecutableState

DEFAULT_REPLAYS = 20
RECORDS_PER_PLAN = 200_000
"""Larger graphs are traced for fewer replays, at least 3."""
MAX_RECORDS = 3_000_000
"""Records of one process; past it no further executable is traced."""
FEWEST_REPLAYS = 3
WAITING_BUFFERS = 16
"""Full buffers (4 MiB each) after which records are read while the script runs."""

_PROFILER_STARTS = ("_prepare_profiler", "_enable_profiler")

_TURNS = (3, 8)
"""Replays traced after which as many untraced ones follow; stopping waits for the GPU each time."""

Level = tuple[str, list[int]]
"""Path of a graph's level and the handles of its nodes, in order."""


def traced_replays() -> int:
    """Return how many replays of each executable the environment asks to trace."""
    text = os.environ.get(TIMINGS, "")
    return int(text) if text.isdigit() else DEFAULT_REPLAYS


class Plan:
    """What is to be traced of one executable, and what has been."""

    __slots__ = (
        "graph",
        "key",
        "limit",
        "paths",
        "records",
        "state",
        "traced",
        "traced_events",
        "untraced",
        "untraced_events",
    )

    def __init__(
        self, state: ExecutableState, graph: Graph, paths: dict[int, str], limit: int
    ) -> None:
        self.state = state
        self.graph = graph
        self.paths = paths
        self.limit = limit
        self.traced = 0
        self.untraced = 0
        self.records: list[Record] = []
        self.traced_events: list[tuple[Any, Any]] = []
        self.untraced_events: list[tuple[Any, Any]] = []

    @property
    def trace_next(self) -> bool:
        """Whether the next replay is to be traced: turns of 3, 3, 5, 5, 12, 12 and so on."""
        if self.traced >= self.limit:
            return False
        if self.untraced >= self.limit:
            return True
        turn = next((end for end in _TURNS if self.traced < end), self.limit)
        before = max((end for end in _TURNS if end < turn and end <= self.traced), default=0)
        return self.untraced >= before

    @property
    def done(self) -> bool:
        """Whether nothing of ours runs around its replays any more."""
        return self.traced >= self.limit and self.untraced >= self.limit


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
        self._plans: dict[int, Plan] = {}
        self._owner: dict[int, Plan] = {}
        self._enabled = False
        self._records = 0
        self._patched: list[tuple[Any, str, Any, Any]] = []

    @property
    def open(self) -> bool:
        """Whether CUPTI is ours."""
        return self._cupti is not None and not self.reason

    def prepare(self) -> None:
        """Take CUPTI, once; called before a capture begins, never inside one."""
        if self._cupti is not None or self.reason:
            return
        if not self.replays:
            self.reason = "tracing was switched off with --timings 0"
            return
        start = clock()
        try:
            import torch
            from torch.autograd import profiler

            if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                return
            if getattr(profiler, "_is_profiler_enabled", False):
                self.reason = (
                    "a profiler of the script held CUPTI when the first graph was captured"
                )
                return
            cupti = Cupti()
            cupti.subscribe(self._cloned)
            cupti.register()
            self._cupti = cupti
            self._watch_profiler(profiler)
        except CuptiError as error:
            held = error.code == MULTIPLE_SUBSCRIBERS
            self.reason = (
                "somebody else holds CUPTI: a profiler such as nsys, ncu or torch.profiler"
                if held
                else f"CUPTI cannot be used: {error}"
            )
        except (GraphLensError, ImportError, OSError, AttributeError) as error:
            self.reason = str(error)
        finally:
            self.cost_ns += clock() - start

    def _watch_profiler(self, profiler: Any) -> None:
        """Let go of CUPTI before torch's profiler takes it."""
        for name in _PROFILER_STARTS:
            original = getattr(profiler, name, None)
            if original is None:
                continue
            hook = self._before(original)
            setattr(profiler, name, hook)
            self._patched.append((profiler, name, hook, original))

    def _before(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start_profiler(*args: Any, **kwargs: Any) -> Any:
            self.release("torch.profiler was started, which needs CUPTI")
            return original(*args, **kwargs)

        return start_profiler

    def _cloned(self, original: int, clone: int) -> None:
        clones = getattr(self._local, "clones", None)
        if clones is None or self._cupti is None:
            return
        start = clock()
        clones.append((original, self._cupti.node_id(clone)))
        self.callback_ns += clock() - start

    def expect(self) -> None:
        """Listen to what the instantiate that follows on this thread clones."""
        if self.open:
            self._local.clones = []

    def instantiated(self, state: ExecutableState, graph: Graph, levels: Sequence[Level]) -> None:
        """Plan the tracing of an executable that has just been made on this thread."""
        clones, self._local.clones = getattr(self._local, "clones", None), None
        if not clones or not self.open:
            return
        start = clock()
        handles = {
            handle: f"{path}/{position}" if path else str(position)
            for path, nodes in levels
            for position, handle in enumerate(nodes)
        }
        # Bodies are cloned with their graph, and the clones' originals are what was read.
        paths = {node_id: handles.get(original, "") for original, node_id in clones}
        limit = max(FEWEST_REPLAYS, min(self.replays, RECORDS_PER_PLAN // max(1, len(paths))))
        with self._lock:
            if self._records + limit * len(paths) > MAX_RECORDS:
                limit = 0
            plan = Plan(state, graph, paths, min(limit, self.replays))
            self._records += plan.limit * len(paths)
            self._plans[id(state)] = plan
            for node_id in paths:
                self._owner[node_id] = plan
        if plan.limit:
            state.plan = plan
        self.cost_ns += clock() - start

    def replay(self, state: ExecutableState, launch: Callable[[], Any]) -> Any:
        """Run a replay with tracing, or timed without, as the plan says."""
        plan: Plan = state.plan
        if not self.open or self._capturing():
            if not self.open:
                state.plan = None
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
        self.cost_ns += clock() - start
        result = launch()
        start = clock()
        try:
            after.record()
            if trace:
                plan.traced += 1
                plan.traced_events.append((before, after))
            else:
                plan.untraced += 1
                plan.untraced_events.append((before, after))
            if plan.done:
                state.plan = None
        except Exception as error:
            self.release(f"tracing failed: {type(error).__name__}: {error}")
        self.cost_ns += clock() - start
        return result

    @staticmethod
    def _events() -> tuple[Any, Any]:
        import torch

        event: Callable[..., Any] = torch.cuda.Event
        return event(enable_timing=True), event(enable_timing=True)

    def _switch(self, wanted: bool) -> None:
        if wanted == self._enabled:
            if wanted and self._cupti is not None and self._cupti.waiting >= WAITING_BUFFERS:
                self._sort()
            return
        with self._lock:
            if self._cupti is None:
                return
            if wanted:
                self._cupti.enable()
            else:
                self._settle()
                self._cupti.disable()
            self._enabled = wanted

    def _settle(self) -> None:
        """Wait for traced replays, and take their records out of CUPTI's buffers."""
        with self._relaxed():
            for plan in self._plans.values():
                if plan.traced_events:
                    plan.traced_events[-1][1].synchronize()
        if self._cupti is not None:
            self._cupti.flush()
            self._sort()

    def _sort(self) -> None:
        if self._cupti is None:
            return
        owner = self._owner.get
        for record in self._cupti.records():
            plan = owner(record.node_id)
            if plan is not None:
                plan.records.append(record)

    def release(self, reason: str) -> None:
        """Let go of CUPTI; what was traced until now is kept."""
        with self._lock:
            if self._cupti is None or self.reason:
                return
            self.reason = reason
            start = clock()
            try:
                if self._enabled:
                    self._settle()
                    self._cupti.disable()
                    self._enabled = False
            except Exception as error:
                self.reason += f"; the last records could not be read: {error}"
            with suppress(Exception):
                self._cupti.unsubscribe()
            self._unwatch()
            self.cost_ns += clock() - start

    def _unwatch(self) -> None:
        for module, name, hook, original in self._patched:
            if getattr(module, name, None) is hook:
                setattr(module, name, original)
        self._patched.clear()

    def results(self) -> list[tuple[ExecutableState, Timings | None, str]]:
        """Return timings, or why there are none, of every executable; call at the end."""
        self.release("the recording ended")
        found: list[tuple[ExecutableState, Timings | None, str]] = []
        with self._lock:
            for plan in self._plans.values():
                found.append((plan.state, *self._result(plan)))
                plan.records = []
            self._plans.clear()
            self._owner.clear()
        return found

    def _result(self, plan: Plan) -> tuple[Timings | None, str]:
        if not plan.limit:
            return None, f"{MAX_RECORDS:,} records had been planned for graphs before it"
        if not plan.traced:
            if plan.state.replays:
                return None, f"none of its replays was traced: {self.reason}"
            return None, "it was never replayed"
        replays = split_replays(plan.records)
        if not replays:
            return None, "CUPTI left no record of its traced replays"
        result = timings("", plan.graph, "", replays, plan.paths)
        result.traced_replay_ns = _elapsed(plan.traced_events)
        result.untraced_replay_ns = _elapsed(plan.untraced_events)
        result.dropped_records = self._cupti.dropped if self._cupti is not None else 0
        seen = set(result.node)
        result.missing = {
            path: _why_missing(plan.graph, path)
            for path in dict.fromkeys(plan.paths.values())
            if path and path not in seen
        }
        return result, ""


def _why_missing(graph: Graph, path: str) -> str:
    level, _, position = path.rpartition("/")
    try:
        type_ = graph.at(level).topology.types[int(position)]
    except (GraphLensError, IndexError, ValueError):
        return "it left no record"
    if type_ in ("kernel", "memcpy", "memset"):
        if level:
            return "its body did not run in the traced replays, or left no record"
        return "CUPTI left no record of it"
    return f"CUPTI records kernels, copies and memsets, and this is a {type_} node"


def _elapsed(pairs: Sequence[tuple[Any, Any]]) -> list[int]:
    """Return GPU time between pairs of events, in nanoseconds; what cannot be read is left out."""
    found: list[int] = []
    for before, after in pairs:
        with suppress(Exception):
            after.synchronize()
            found.append(round(before.elapsed_time(after) * 1e6))
    return found
