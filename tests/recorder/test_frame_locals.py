"""Variables of other frames are read without a trace of it."""

from __future__ import annotations

import gc
import sys
import weakref
from types import FrameType

from capture.recorder.frame_locals import variable

batch_size = 3


class Held:
    """Something whose life can be watched."""


def caller() -> FrameType:
    return sys._getframe(1)


def test_reads_a_variable() -> None:
    batch_size = 8
    assert variable(caller(), "batch_size") == batch_size
    assert variable(caller(), "missing") is None


def test_reads_variables_of_closures() -> None:
    batch = 5
    seen = []

    def inner() -> int:
        seen.append(variable(caller(), "batch"))
        return batch

    assert inner() == 5
    assert variable(caller(), "batch") == 5
    assert seen == [5]


def test_an_unbound_variable_is_none() -> None:
    assert variable(caller(), "later") is None
    later = 1
    assert variable(caller(), "later") == later
    del later
    assert variable(caller(), "later") is None


def test_reads_a_module_s_variable() -> None:
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back  # type: ignore[assignment]
    assert frame is None or variable(frame, "__name__") is not None


def test_keeps_nothing_alive() -> None:
    held = Held()
    watched = weakref.ref(held)
    batch = 1
    variable(caller(), "batch")
    held = None  # type: ignore[assignment]
    gc.collect()
    assert watched() is None
    assert batch == 1


def test_leaves_the_user_s_own_snapshot_alone() -> None:
    before = locals()
    batch = 2
    variable(caller(), "batch")
    assert "batch" not in before
    assert batch == 2
