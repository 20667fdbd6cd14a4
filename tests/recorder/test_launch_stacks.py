"""Stacks of work outside graphs: which call launched it, on records that nobody measured."""

from __future__ import annotations

import ctypes
import inspect
import struct
import threading
import time
from typing import Any

import pytest
import torch

from capture.outside import Outside
from capture.recorder import launch_stacks
from capture.recorder.cupti_calls import DRIVER_DOMAIN, LAUNCHING, RUNTIME_DOMAIN, LaunchingCalls
from capture.recorder.cupti_library import Cupti
from capture.recorder.cupti_records import CONCURRENT_KERNEL, MEMCPY, Other, Record
from capture.recorder.late_interrupt import raise_later
from capture.recorder.launch_stacks import LaunchStacks
from capture.recorder.outside_work import OutsideWork
from capture.recorder.torch_launches import _autograd


@pytest.fixture
def noted() -> LaunchStacks:
    return LaunchStacks(lambda: False)


def summed(noted: LaunchStacks, correlations: list[int]) -> Outside:
    """Return what a window says in which a piece of work ran for each correlation."""
    work = OutsideWork()
    others = [
        Other(MEMCPY, 10 + place, 15 + place, 7, correlation, 1)
        for place, correlation in enumerate(correlations)
    ]
    ends = [Record(CONCURRENT_KERNEL, start, start + 1, 7, 1, 5) for start in (0, 1_000)]
    work.add(ends, others)
    work.close(noted.take(), noted.full)
    return work.finish(noted.stacks)


def lines(outside: Outside, row: int) -> list[tuple[str, int, str]]:
    """Return the frames of a row's stack that are in this file."""
    stack = outside.stacks[outside.stack[row]]
    frames = [outside.frames[at] for at in stack]
    return [(one.kind, one.line, one.function) for one in frames if one.file == __file__]


def here() -> int:
    """Return the line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_work_has_the_line_that_launched_it(noted: LaunchStacks) -> None:
    def step(number: int) -> int:
        noted.note(number)
        return here() - 1

    line = step(1)
    for number in (2, 3):
        caller = here() + 1
        step(number)
    noted.note(4)
    own = here() - 1
    outside = summed(noted, [1, 2, 3, 4, 5])
    found = {lines(outside, row)[0] if at >= 0 else None for row, at in enumerate(outside.stack)}
    inner = test_work_has_the_line_that_launched_it.__name__
    name = f"{inner}.<locals>.step"
    assert found == {("user", line, name), ("user", own, inner), None}
    twice = outside.count.index(2)
    assert lines(outside, twice)[:2] == [("user", line, name), ("user", caller, inner)]
    assert outside.count[outside.stack.index(-1)] == 1  # nobody saw the call of the fifth
    assert all(frame.kind != "ours" for frame in outside.frames)


def test_the_outermost_call_of_a_correlation_counts(noted: LaunchStacks) -> None:
    noted.note(1)
    line = here() - 1
    noted.note(1)  # the driver, called by the runtime
    outside = summed(noted, [1])
    assert lines(outside, 0)[0][1] == line


def test_what_is_captured_is_not_noted() -> None:
    noted = LaunchStacks(lambda: True)
    noted.note(1)
    assert noted.take() == {}
    assert len(noted.stacks) == 0


def test_work_inside_a_replay_is_of_the_thread_that_replays(noted: LaunchStacks) -> None:
    noted.replaying = threading.get_ident()
    noted.note(1)
    other = threading.Thread(target=noted.note, args=(2,))
    other.start()
    other.join()
    noted.replaying = 0
    noted.note(3)
    outside = summed(noted, [1, 2, 3])
    assert sorted(outside.place) == ["between", "between", "replay"]


@pytest.mark.parametrize(("name", "most"), [("MOST_STACKS", 2), ("MOST_CALLS", 3)])
def test_past_the_limit_no_stack_is_noted_and_it_is_said(
    noted: LaunchStacks, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(launch_stacks, name, most)
    noted.note(1)
    noted.note(2)
    for number in range(3, 8):
        noted.note(number)
    assert noted.full
    noted.replaying = threading.get_ident()
    noted.note(9)
    outside = summed(noted, [*range(1, 8), 9])
    assert outside.stacks_end == 1
    assert len(outside.stacks) <= most
    unknown = [at for at, stack in enumerate(outside.stack) if stack < 0]
    assert sum(outside.count[at] for at in unknown) == 8 - most
    # What is inside a replay is still told from the rest.
    assert "replay" in {outside.place[at] for at in unknown}


def test_a_backward_has_its_node_and_the_line_that_called_it(noted: LaunchStacks) -> None:
    noted.autograd = _autograd()

    class Launches(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
            noted.note(1)
            return value * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            noted.note(2)
            return grads[0] * 2

    apply: Any = Launches.apply
    loss = apply(torch.ones(2, requires_grad=True)).sum()
    loss.backward()
    line = here() - 1
    outside = summed(noted, [1, 2])
    row = next(at for at, name in enumerate(outside.autograd) if name)
    assert outside.autograd[row] == "LaunchesBackward"
    own = test_a_backward_has_its_node_and_the_line_that_called_it.__name__
    assert ("user", line, own) in lines(outside, row)
    assert outside.autograd[1 - row] == ""


def test_a_thread_of_autograd_continues_in_the_one_that_waits(noted: LaunchStacks) -> None:
    noted.autograd = lambda: ("MulBackward0", 3)

    def on_its_thread() -> None:
        other = threading.Thread(target=noted.note, args=(1,))
        other.start()
        other.join()

    def _engine_run_backward() -> None:  # the name of torch's function that waits
        on_its_thread()

    _engine_run_backward()
    line = here() - 1
    outside = summed(noted, [1])
    assert (outside.name, outside.autograd) == (["host to device"], ["MulBackward0"])
    own = test_a_thread_of_autograd_continues_in_the_one_that_waits.__name__
    assert ("user", line, own) in lines(outside, 0)


def test_what_an_older_cupti_does_not_know_is_asked_for_once() -> None:
    asked: list[tuple[bool, int, int]] = []

    def enable(wanted: bool, domain: int, number: int) -> None:
        asked.append((wanted, domain, number))
        if number > 500:
            raise ValueError(number)

    calls = LaunchingCalls(enable)
    calls.watch(True, ValueError)
    assert len(asked) == len(LAUNCHING)
    asked.clear()
    calls.watch(False, ValueError)
    assert asked == [(False, *call) for call in LAUNCHING if call[1] <= 500]


def test_no_call_is_named_twice() -> None:
    assert len(set(LAUNCHING)) == len(LAUNCHING)


def test_an_interrupt_in_a_callback_reaches_the_script() -> None:
    def script() -> None:
        raise_later(KeyboardInterrupt("caught where it could not be raised"))
        for _ in range(1_000):
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        script()


class Library:
    """A library that says yes, and calls back when it is asked to."""

    def __init__(self) -> None:
        self.enabled: list[tuple[int, int]] = []

    def cuptiSubscribe(self, subscriber: Any, function: Any, user: Any) -> int:  # noqa: N802
        self.function = function
        return 0

    def cuptiEnableCallback(  # noqa: N802
        self, wanted: ctypes.c_uint32, subscriber: Any, domain: int, number: int
    ) -> int:
        call = (domain, number)
        self.enabled.append(call) if wanted.value else self.enabled.remove(call)
        return 0

    def call(self, domain: int, correlation: int, ends: bool = False) -> None:
        data = bytearray(72)
        struct.pack_into("<I", data, 0, ends)
        struct.pack_into("<I", data, 64, correlation)
        kept = ctypes.create_string_buffer(bytes(data), len(data))
        self.function(None, domain, 211, ctypes.addressof(kept))


def test_cupti_calls_back_once_for_a_call_and_an_interrupt_is_not_lost() -> None:
    cupti = Cupti.__new__(Cupti)
    cupti.problem = ""
    cupti._caught = threading.local()
    cupti._subscriber = ctypes.c_void_p()
    cupti._library = library = Library()  # type: ignore[assignment]
    cupti._calls = LaunchingCalls(cupti._enable_callback)
    heard: list[int] = []

    def on_launch(correlation: int) -> None:
        heard.append(correlation)
        if correlation == 9:
            raise KeyboardInterrupt

    cupti.subscribe(lambda original, clone: None, on_launch)
    cloned = list(library.enabled)
    cupti.watch_calls(True)
    assert set(LAUNCHING) < set(library.enabled)
    cupti.watch_calls(False)
    assert library.enabled == cloned
    for domain, correlation in ((RUNTIME_DOMAIN, 5), (DRIVER_DOMAIN, 6)):
        library.call(domain, correlation)
        library.call(domain, correlation, ends=True)
    assert heard == [5, 6]

    def script() -> None:
        library.call(RUNTIME_DOMAIN, 9)
        for _ in range(1_000):
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        script()
    assert cupti.problem == ""
