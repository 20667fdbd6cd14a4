"""The tracer of replays, on a CUPTI and on events that stand in for real ones."""

from __future__ import annotations

import ctypes
import importlib
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from capture.model import Graph, Topology
from capture.recorder import launch_stacks, torch_cupti, torch_trace, trace_budget
from capture.recorder.cupti_library import _CALLBACK, Cupti, CuptiError
from capture.recorder.cupti_records import (
    CONCURRENT_KERNEL,
    MEMCPY,
    Other,
    Record,
    RecordReader,
)
from capture.recorder.timeline import TIMINGS, ExecutableState
from capture.recorder.torch_trace import ReplayTracer
from capture.recorder.trace_budget import DEFAULT_REPLAYS, traced_replays
from capture.recorder.trace_plan import Plan


class FakeCupti:
    """Writes a record for each node that runs while it is enabled."""

    made: FakeCupti
    silent = False
    refuses = ""

    def __init__(self) -> None:
        FakeCupti.made = self
        self.calls: list[str] = []
        self.enabled = False
        self.waiting = 0
        self.dropped = 0
        self.written: list[Record] = []
        self.beside: list[Other] = []
        self.watching = False
        self.watching_all = False
        self.launches = 0

    def subscribe(
        self, on_clone: Callable[[int, int], None], on_launch: Callable[[int], None]
    ) -> None:
        self.calls.append("subscribe")
        self.on_clone = on_clone
        self.on_launch = on_launch

    def register(self, on_full: Callable[[], None]) -> None:
        if self.refuses:
            raise CuptiError("cuptiActivityRegisterCallbacks", 1, self.refuses)
        self.on_full = on_full

    def unsubscribe(self) -> None:
        self.calls.append("unsubscribe")

    def node_id(self, node: int) -> int:
        return node

    def enable(self) -> None:
        self.calls.append("enable")
        self.enabled = True

    def disable(self) -> None:
        self.calls.append("disable")
        self.enabled = False

    def flush(self) -> None:
        self.calls.append("flush")

    def take_interrupt(self) -> BaseException | None:
        return None

    def records(self) -> list[Record]:
        found, self.written = self.written, []
        return found

    def watch_launches(self, wanted: bool) -> None:
        if self.silent:
            raise CuptiError("cuptiEnableCallback", 1, "CUPTI_ERROR_INVALID_PARAMETER")
        self.watching = wanted

    def watch_calls(self, wanted: bool) -> None:
        self.watch_launches(wanted)
        self.watching_all = wanted

    def others(self) -> list[Other]:
        found, self.beside = self.beside, []
        return found

    def work(
        self, offset_ns: int, took_ns: int = 3, stream: int = 7, correlation: int = 90_000
    ) -> None:
        """Copy something, `offset_ns` after the start of the last replay."""
        if self.watching_all:
            self.on_launch(correlation)
        if self.enabled:
            start = self.launches * 1000 + offset_ns
            self.beside.append(Other(MEMCPY, start, start + took_ns, stream, correlation, 1))

    def run(self, nodes: range) -> None:
        self.launches += 1
        if self.enabled:
            for place, node in enumerate(nodes):
                start = self.launches * 1000 + place * 10
                self.written.append(
                    Record(CONCURRENT_KERNEL, start, start + 5, 7, self.launches, node)
                )


class FakeEvent:
    waits = 0

    def record(self) -> None:
        pass

    def synchronize(self) -> None:
        FakeEvent.waits += 1

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: FakeEvent) -> float:
        return 0.001


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReplayTracer]:
    monkeypatch.setattr(torch_cupti, "Cupti", FakeCupti)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(ReplayTracer, "_events", staticmethod(lambda: (FakeEvent(), FakeEvent())))
    monkeypatch.setattr(FakeEvent, "waits", 0)
    made = ReplayTracer(4, lambda: False, nullcontext)
    yield made
    made.release("the test ended")


def executable(tracer: ReplayTracer, number: int, size: int = 2) -> Any:
    """Instantiate a synthetic chain; return a function that replays it."""
    graph = Graph(
        topology=Topology(
            types=["kernel"] * size, source=list(range(size - 1)), target=list(range(1, size))
        ),
        payloads=[object()] * size,
    )
    first = number * 1000 + 1
    nodes = range(first, first + size)
    state = ExecutableState(number, 1)
    tracer.prepare()
    tracer.expect()
    for node in nodes:
        FakeCupti.made.on_clone(node + 500, node)
    tracer.instantiated(state, graph, [("", [node + 500 for node in nodes])])
    tracer.forget()

    def replay() -> None:
        state.replays += 1
        if state.plan is None:
            tracer.rest()
            FakeCupti.made.run(nodes)
        else:
            tracer.replay(state, lambda: FakeCupti.made.run(nodes))

    replay.state = state  # type: ignore[attr-defined]
    return replay


def test_an_executable_is_traced_and_timed(tracer: ReplayTracer) -> None:
    replay = executable(tracer, 1)
    for _ in range(20):
        replay()
    ((state, found, why),) = tracer.results()
    assert (state.plan, why) == (None, "")
    assert found is not None
    assert found.extra == {}
    assert (found.node, found.count) == (["0", "1"], [4, 4])
    assert (found.median_ns, found.gap_ns) == ([5, 5], [0, 5])
    assert found.traced_replay_ns == found.untraced_replay_ns == [1000] * 4
    assert FakeCupti.made.calls[-1] == "unsubscribe"


def test_work_between_traced_replays_is_summed_up(tracer: ReplayTracer) -> None:
    replay = executable(tracer, 1)
    FakeCupti.made.work(500)  # before the first replay: not seen
    for _ in range(20):
        replay()
        FakeCupti.made.work(500, took_ns=30)
        FakeCupti.made.work(600, took_ns=3, stream=9)
        FakeCupti.made.work(2, took_ns=6)  # while the replay runs
    tracer.results()
    outside = tracer.outside()
    assert outside is not None
    # Windows of three traced replays and of one: nothing after a window's last node counts.
    assert (outside.windows, outside.replays) == (2, 4)
    assert outside.window_ns == 2015 + 15
    assert outside.graphs_ns == 4 * 10
    assert outside.name == ["host to device", "host to device"]
    assert (outside.stream, outside.count, outside.total_ns) == ([7, 9], [6, 2], [84, 6])
    assert outside.longest_ns == [30, 3]
    assert outside.outside_ns == 2 * 33 + 4 * 6
    assert outside.busy_ns == 2 * 33 + 4 * 13
    assert outside.place == ["between", "between"]
    assert outside.place_known
    assert tracer.outside() is None


def test_calls_are_heard_while_a_window_is_open_and_have_their_lines(
    tracer: ReplayTracer,
) -> None:
    replay = executable(tracer, 1)
    heard = [FakeCupti.made.watching]
    for number in range(20):
        replay()
        heard.append(FakeCupti.made.watching)
        FakeCupti.made.work(500, correlation=80_000 + 2 * number)
        FakeCupti.made.work(600, correlation=80_001 + 2 * number)
    # Windows of three traced replays and of one; a window closes before the replay after it.
    assert heard == [False, *[True] * 3, *[False] * 3, True, *[False] * 13]
    tracer.results()
    outside = tracer.outside()
    assert outside is not None
    assert outside.count == [2, 2]
    stacks = [outside.stacks[at] for at in outside.stack]
    first, second = (outside.frames[stack[0]] for stack in stacks)
    assert first.function == "FakeCupti.work"
    callers = [outside.frames[stack[1]] for stack in stacks]
    own = "test_calls_are_heard_while_a_window_is_open_and_have_their_lines"
    assert {frame.function for frame in callers} == {own}
    assert abs(callers[0].line - callers[1].line) == 1
    assert second.file == __file__
    assert tracer.cost_ns > tracer._launches.stacks.cost_ns > 0


def test_past_the_limit_of_stacks_only_replays_are_listened_to(
    tracer: ReplayTracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_stacks, "MOST_CALLS", 2)
    replay = executable(tracer, 1)
    heard = []
    for number in range(4):
        replay()
        heard.append((FakeCupti.made.watching, FakeCupti.made.watching_all))
        for place in range(3):
            FakeCupti.made.work(500 + 10 * place, correlation=80_000 + 3 * number + place)
    assert heard == [(True, True), (False, False), (False, False), (False, False)]
    tracer.results()
    outside = tracer.outside()
    assert outside is not None
    assert outside.stacks_end == 1
    known = zip(outside.count, outside.stack, strict=True)
    assert sum(count for count, stack in known if stack >= 0) == 2
    assert outside.place_known


@pytest.mark.parametrize("silent", [False, True])
def test_what_torch_launches_inside_a_replay_is_told_apart(
    tracer: ReplayTracer, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    monkeypatch.setattr(FakeCupti, "silent", silent)
    replay = executable(tracer, 1)
    plain = FakeCupti.made.run

    def with_random_numbers(nodes: range) -> None:
        number = 70_000 + FakeCupti.made.launches
        if FakeCupti.made.watching:
            FakeCupti.made.on_launch(number)
        if FakeCupti.made.enabled:
            start = FakeCupti.made.launches * 1000 + 900
            FakeCupti.made.beside.append(Other(CONCURRENT_KERNEL, start, start + 4, 7, number, 0))
        plain(nodes)

    monkeypatch.setattr(FakeCupti.made, "run", with_random_numbers)
    for _ in range(20):
        replay()
    tracer.results()
    outside = tracer.outside()
    assert outside is not None
    # The first of each window ran before its first node.
    assert (outside.count, outside.place) == ([2], ["between" if silent else "replay"])
    assert outside.place_known is not silent
    assert not FakeCupti.made.watching


def test_without_traced_replays_nothing_is_said_of_other_work(tracer: ReplayTracer) -> None:
    executable(tracer, 1)
    tracer.results()
    assert tracer.outside() is None


def test_a_replay_that_is_not_traced_finds_tracing_off(tracer: ReplayTracer) -> None:
    steady = executable(tracer, 1)
    for _ in range(8):
        steady()
    once = executable(tracer, 2)
    once()
    assert FakeCupti.made.enabled
    for _ in range(50):
        steady()
    assert not FakeCupti.made.enabled
    results = {state.serial: found for state, found, _ in tracer.results()}
    assert results[1] is not None
    assert results[1].count == [4, 4]


def test_stopping_waits_only_for_what_was_traced_since(tracer: ReplayTracer) -> None:
    replays = [executable(tracer, number) for number in range(1, 101)]
    for replay in replays:
        for _ in range(8):
            replay()
    # Twice each: after the turn of 3, and after the fourth.
    assert FakeEvent.waits == 200
    assert len(tracer._pending) <= 1
    assert all(found is not None for _, found, _ in tracer.results())


def test_work_outside_graphs_ends_tracing(tracer: ReplayTracer) -> None:
    replay = executable(tracer, 1)
    replay()
    cupti = FakeCupti.made
    cupti.waiting = torch_trace.IDLE_BUFFERS
    cupti.on_full()  # holds the replay's records
    assert cupti.enabled
    cupti.on_full()
    for thread in threading.enumerate():
        if thread.name == "cglens":
            thread.join(10)
    assert not cupti.enabled
    replay()
    assert cupti.enabled


def test_what_was_half_taken_is_let_go(
    tracer: ReplayTracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiler: Any = importlib.import_module("torch.autograd.profiler")

    before = profiler._prepare_profiler
    monkeypatch.setattr(FakeCupti, "refuses", "CUPTI_ERROR_INVALID_PARAMETER")
    tracer.prepare()
    assert not tracer.open
    assert "CUPTI_ERROR_INVALID_PARAMETER" in tracer.reason
    assert FakeCupti.made.calls == ["subscribe", "unsubscribe"]
    assert profiler._prepare_profiler is before


def test_a_profiler_of_the_script_gets_cupti(tracer: ReplayTracer) -> None:
    profiler: Any = importlib.import_module("torch.autograd.profiler")

    replay = executable(tracer, 1)
    replay()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        assert FakeCupti.made.calls[-1] == "unsubscribe"
        replay()
    assert not hasattr(profiler._prepare_profiler, "__wrapped__")
    ((_, found, _),) = tracer.results()
    assert found is not None
    assert found.count == [1, 1]
    assert "torch.profiler" in found.extra["ended_early"]


def test_a_forked_child_leaves_cupti_alone(tracer: ReplayTracer) -> None:
    profiler: Any = importlib.import_module("torch.autograd.profiler")

    replay = executable(tracer, 1)
    replay()
    calls = list(FakeCupti.made.calls)
    held = threading.Event()
    done = threading.Event()

    def hold() -> None:  # as another thread of the parent does at the moment of the fork
        with tracer._lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        tracer.abandon()
        assert not hasattr(profiler._prepare_profiler, "__wrapped__")
        replay()
        assert FakeCupti.made.calls == calls
        assert tracer in torch_trace._PARENTS
    finally:
        torch_trace._PARENTS.remove(tracer)
        done.set()
        thread.join()


def test_threads_that_replay_at_once_do_not_wait_for_each_other(tracer: ReplayTracer) -> None:
    one, other = executable(tracer, 1), executable(tracer, 2)
    inside = threading.Event()

    def launch() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        inside.set()

    tracer.replay(one.state, launch)
    assert inside.is_set()
    assert other.state.replays == 1


def test_a_process_without_replays_does_not_open_the_driver() -> None:
    asked: list[int] = []

    def relaxed() -> Any:
        asked.append(1)
        return nullcontext()

    assert ReplayTracer(4, lambda: False, relaxed).results() == []
    assert asked == []


def test_past_the_limit_nothing_is_held(
    tracer: ReplayTracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_budget, "MAX_RECORDS", 10)
    executable(tracer, 1)
    replay = executable(tracer, 2, size=30)
    replay()
    assert len(tracer._owner) == 2
    plan = tracer._plans[1]
    assert (plan.paths, len(plan.graph), replay.state.plan) == ({}, 0, None)
    (_, _, first), (_, _, second) = tracer.results()
    assert first == "it was never replayed"
    assert "planned for graphs before" in second


def test_plans_hold_no_payloads(tracer: ReplayTracer) -> None:
    executable(tracer, 1)
    assert tracer._plans[0].graph.payloads == []


def test_what_a_later_instantiate_clones_is_not_listened_to(tracer: ReplayTracer) -> None:
    executable(tracer, 1)
    FakeCupti.made.on_clone(1, 2)
    assert tracer._local.clones is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("", DEFAULT_REPLAYS), ("off", DEFAULT_REPLAYS), ("-1", DEFAULT_REPLAYS)),
        *(("²", DEFAULT_REPLAYS), ("0", 0), (" 7 ", 7), ("9" * 5000, 1000)),
    ],
)
def test_the_environment_may_hold_anything(
    text: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TIMINGS, text)
    assert traced_replays() == expected


def test_records_are_kept_as_they_came() -> None:
    plan = Plan(ExecutableState(1, 1), Graph(topology=Topology(types=[]), payloads=[]), {}, 1)
    records = [Record(10, 2**63, 2**63 + 5, 7, 1, 2**40 + 3), Record(1, 1, 2, 3, 4, 5)]
    for record in records:
        plan.add(record)
    assert list(plan.records()) == records


def bare_cupti() -> Cupti:
    """Return a Cupti without a library."""
    made = Cupti.__new__(Cupti)
    made.problem = ""
    made._caught = threading.local()
    return made


def test_no_exception_leaves_a_callback_and_ctrl_c_is_not_lost() -> None:
    cupti = bare_cupti()
    errors: list[BaseException] = [ValueError("first"), OSError("second"), KeyboardInterrupt()]

    def fail(*_: Any) -> None:
        raise errors.pop(0)

    function = cupti._callback(_CALLBACK, fail)
    function(None, 0, 0, None)
    function(None, 0, 0, None)
    assert cupti.problem == "ValueError: first"
    assert cupti.take_interrupt() is None
    function(None, 0, 0, None)
    assert isinstance(cupti.take_interrupt(), KeyboardInterrupt)
    assert cupti.take_interrupt() is None


def test_records_that_had_not_finished_are_left_out() -> None:
    reader = RecordReader(lambda base, valid, offset: offset + 208)

    def kernel(start: int, end: int, node: int) -> bytes:
        made = bytearray(208)
        struct.pack_into("<I", made, 0, CONCURRENT_KERNEL)
        struct.pack_into("<QQ", made, 16, start, end)
        struct.pack_into("<I", made, 48, 7)
        struct.pack_into("<I", made, 92, 3)
        struct.pack_into("<Q", made, 104, 0x5000)
        struct.pack_into("<Q", made, 144, node)
        return bytes(made)

    content = kernel(5, 9, 1) + kernel(5, 0, 2) + kernel(0, 0, 3) + kernel(6, 8, 0)
    memory = ctypes.create_string_buffer(content, len(content))
    found = reader.read(ctypes.addressof(memory), len(content))
    assert found == [Record(CONCURRENT_KERNEL, 5, 9, 7, 3, 1)]
    assert reader.others() == [Other(CONCURRENT_KERNEL, 6, 8, 7, 3, 0x5000)]
    assert reader.others() == []


def test_a_user_without_permission_hears_what_to_ask_for() -> None:
    error = CuptiError("cuptiActivityEnable", 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
    assert "ERR_NVGPUCTRPERM" in str(error)
    assert "(35)" in str(error)
