"""Work that is called inside a capture and is not part of it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from capture.recorder.failing import omissions
from capture.recorder.left_out import MOST, Omissions, launches, other_device, uses_gpu
from capture.recorder.open_capture import OpenCapture
from capture.recorder.places import Spot

CUDA = SimpleNamespace(is_cuda=True)
add = torch.ops.aten.add.Tensor


def note(omitted: Omissions, operator: Any = add, *args: Any, stream: int = 7) -> int:
    omitted.note(operator, args, {}, stream, sys._getframe(0))
    return sys._getframe(0).f_lineno - 1


@pytest.mark.parametrize("name", ["add.Tensor", "mm", "mul_.Tensor", "_foreach_add_.List", "copy_"])
def test_operators_that_launch(name: str) -> None:
    packet, _, overload = name.partition(".")
    assert launches(getattr(getattr(torch.ops.aten, packet), overload or "default"))


@pytest.mark.parametrize(
    "name", ["view", "t", "empty.memory_format", "detach", "slice.Tensor", "empty_like", "expand"]
)
def test_operators_that_launch_nothing(name: str) -> None:
    packet, _, overload = name.partition(".")
    assert not launches(getattr(getattr(torch.ops.aten, packet), overload or "default"))


def test_tensors_of_another_gpu_are_told_from_those_of_this_one() -> None:
    first, second = (SimpleNamespace(is_cuda=True, get_device=lambda at=at: at) for at in (0, 1))
    on_host = SimpleNamespace(is_cuda=False)
    assert other_device([on_host, 2.0, second], 0) == 1
    assert other_device([[on_host, first], second], 0) == -1
    assert other_device([on_host, 3], 0) == -1


def test_what_another_gpu_did_names_it() -> None:
    omitted = Omissions()
    omitted.note(add, [CUDA], {}, 0, sys._getframe(0), 1)
    assert [row.stream for row in omitted.rows()] == ["0 (the default stream) of cuda:1"]


def test_work_of_the_host_is_not_left_out() -> None:
    assert not uses_gpu([torch.zeros(2), 3, "cuda"])
    assert uses_gpu([[torch.zeros(2), CUDA]])
    assert uses_gpu([torch.device("cuda")])
    omitted = Omissions()
    note(omitted, add, torch.zeros(2), torch.zeros(2))
    assert len(omitted) == 0


def test_lines_are_counted() -> None:
    omitted = Omissions()
    for _ in range(3):
        line = note(omitted, add, CUDA)
    note(omitted, torch.ops.aten.mul.Tensor, CUDA, stream=0)
    first, second = omitted.rows()
    assert (first.operator, first.times, first.stream) == ("aten.add.Tensor", 3, "0x7")
    assert first.place is not None
    assert (first.place.file, first.place.line) == (__file__, line)
    assert second.stream == "0 (the default stream)"


def test_there_is_a_bound() -> None:
    omitted = Omissions()
    for stream in range(1, 100):
        note(omitted, add, CUDA, stream=stream)
    assert len(omitted) == MOST


def test_warnings_name_operator_line_and_stream() -> None:
    capture = OpenCapture(
        handle=1,
        stream_handle=5,
        device=0,
        mode="global",
        pool=None,
        begin_ns=0,
        spot=Spot(None, [], "", False, False),
        thread="MainThread",
    )
    omitted = Omissions()
    line = note(omitted, add, CUDA)
    capture.left_out = omitted.rows()
    (text,) = omissions(capture)
    assert text.startswith(f"aten.add.Tensor at {__file__}:{line} is not in the graph")
    assert "0x7" in text
