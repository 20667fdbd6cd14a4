"""The peer of the benchmark of pointers hears of every operator, on a CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

from capture.recorder import torch_origins, torch_origins_capture, torch_origins_fallback
from capture.recorder.origins.settings import OBSERVER
from tests.benchmarks.tensor_log import TensorLog

STREAM = 7


class Info(NamedTuple):
    id: int = 1
    status: int = 1


class CountingDriver:
    """Every operator makes one node: the driver is asked before and after each."""

    asked = 0

    def capture_info(self, stream: int) -> Info:
        return Info()

    def capture_info_address(self) -> int:
        return 0

    def capture_tip(self, stream: int) -> Callable[[], int]:
        def tip() -> int:
            self.asked += 1
            return self.asked // 2

        return tip


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> TensorLog:
    # What the log replaces for good is put back here.
    monkeypatch.setenv(OBSERVER, "native")
    monkeypatch.setattr(torch_origins_fallback, "make_kernel", torch_origins_fallback.make_kernel)
    monkeypatch.setattr(torch_origins.Watcher, "note_launch", torch_origins.Watcher.note_launch)
    build = torch_origins_capture.CaptureOrigins.build
    monkeypatch.setattr(torch_origins_capture.CaptureOrigins, "build", build)
    found = TensorLog()
    found.install()
    return found


def test_inputs_and_outputs_of_each_operator_are_noted(log: TensorLog) -> None:
    source = torch_origins_capture.OriginSource()
    source.reason = ""
    watcher = source._watcher = torch_origins.Watcher(lambda: STREAM)
    try:
        driver: Any = CountingDriver()
        noted = source.begin(driver, STREAM, sys._getframe(0))
        assert noted is not None
        try:
            left, right = torch.ones(4), torch.ones(4)
            result = left + right
        finally:
            noted.stop()
        noted.build("key", list(range(1, driver.asked // 2 + 1)))
    finally:
        watcher.close()
    captured = log.graphs["key"]
    calls = [captured.calls[row] for row in captured.owners]
    (added,) = [call for call in calls if call.name == "aten::add"]
    starts = {item.what: item.start for item in added.ranges}
    assert starts == {
        "input 0": left.data_ptr(),
        "input 1": right.data_ptr(),
        "output": result.data_ptr(),
    }
    assert all(item.end - item.start == 16 and not item.on_device for item in added.ranges)
