from __future__ import annotations

import pytest

from capture.benchmarks import SPLIT
from capture.recorder.own.eager_split import ProfiledEvent, split


def test_each_part_excludes_the_next() -> None:
    events = [
        ProfiledEvent("aten::linear", 10, 50),
        ProfiledEvent("aten::addmm", 15, 45),
        ProfiledEvent("cudaLaunchKernel", 20, 30),
        ProfiledEvent("cuLaunchKernelEx", 22, 28),
        ProfiledEvent("aten::relu", 60, 70),
        ProfiledEvent("gemm", 25, 65, device=True),
        ProfiledEvent("relu", 60, 80, device=True),
    ]
    found = split(events, 0, 100)
    assert found.share == {"python": 0.5, "dispatch": 0.4, "runtime": 0.04, "driver": 0.06}
    assert tuple(found.share) == SPLIT
    assert sum(found.share.values()) == pytest.approx(1)
    assert found.wall_ns == 100
    assert found.busy_ns == 55
    assert found.launches == 2
    assert found.calls == {"cudaLaunchKernel": [1, 10], "cuLaunchKernelEx": [1, 6]}


def test_operators_of_another_thread_are_not_python() -> None:
    """While backward() runs operators on its own thread, the calling one waits for them."""
    events = [ProfiledEvent("autograd::engine::evaluate_function", 20, 80)]
    assert split(events, 0, 100).share["python"] == 0.4


def test_ranges_that_somebody_marked_are_no_work() -> None:
    events = [
        ProfiledEvent("my range", 0, 100, annotation=True),
        ProfiledEvent("my range", 0, 100, device=True, annotation=True),
    ]
    found = split(events, 0, 100)
    assert found.share["python"] == 1
    assert found.launches == found.busy_ns == 0


def test_what_lies_outside_the_call_is_cut_off() -> None:
    events = [
        ProfiledEvent("cudaDeviceSynchronize", 90, 500),
        ProfiledEvent("cudaStreamSynchronize", 200, 500),
        ProfiledEvent("kernel", 95, 300, device=True),
    ]
    found = split(events, 0, 100)
    assert found.share["runtime"] == pytest.approx(0.1)
    assert found.calls == {"cudaDeviceSynchronize": [1, 10]}
    assert found.busy_ns == 205


def test_a_call_that_took_no_time() -> None:
    with pytest.raises(ValueError, match="no time"):
        split([], 5, 5)
