from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from capture.recorder.own.conditions import Watcher, reasons


class Nvml:
    """Answers as nvidia-ml-py does."""

    def __init__(self, **missing: bool) -> None:
        self.missing = missing
        self.open = 0
        self.asked_uuid = ""

    def nvmlInit(self) -> None:  # noqa: N802
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        self.asked_uuid = uuid
        return "handle"

    def nvmlDeviceGetMaxClockInfo(self, handle: str, kind: int) -> int:  # noqa: N802
        return 1980

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:  # noqa: N802
        return {1: 1200, 2: 3201}[kind]

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:  # noqa: N802
        if self.missing.get("power"):
            raise RuntimeError("Not Supported")
        return 120_000

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:  # noqa: N802
        return 40

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:  # noqa: N802
        return 0x4 | 0x1

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[Any]:  # noqa: N802
        return [
            SimpleNamespace(pid=os.getpid(), usedGpuMemory=5),
            SimpleNamespace(pid=7, usedGpuMemory=1 << 20),
            SimpleNamespace(pid=8, usedGpuMemory=None),
        ]

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> list[Any]:  # noqa: N802
        raise RuntimeError("Not Supported")

    def nvmlSystemGetProcessName(self, pid: int) -> str:  # noqa: N802
        if pid == 8:
            raise RuntimeError("gone")
        return "other"


def test_samples_and_other_processes() -> None:
    nvml = Nvml()
    watcher = Watcher("1234", lambda: nvml)
    watcher.sample()
    found = watcher.close()
    assert nvml.asked_uuid == "GPU-1234"
    assert nvml.open == 0
    assert found.reason == ""
    assert len(found.at_ns) == 2
    assert found.sm_clock_mhz == [1200] * 2
    assert found.memory_clock_mhz == [3201] * 2
    assert found.power_mw == [120_000] * 2
    assert found.temperature_c == [40] * 2
    assert found.max_sm_clock_mhz == 1980
    assert found.throttle_reasons == ["software power cap"]
    assert found.processes == [
        {"pid": 7, "name": "other", "memory_bytes": 1 << 20},
        {"pid": 8, "name": "", "memory_bytes": None},
    ]


def test_what_nvml_does_not_answer_is_minus_one() -> None:
    watcher = Watcher("GPU-1", lambda: Nvml(power=True))
    watcher.sample()
    assert watcher.close().power_mw == [-1, -1]


def test_without_the_package_there_is_a_reason() -> None:
    def load() -> Any:
        raise ImportError("no module named pynvml")

    watcher = Watcher("1", load)
    watcher.sample()
    found = watcher.close()
    assert "pip install nvidia-ml-py" in found.reason
    assert found.at_ns == []


def test_without_a_driver_there_is_a_reason() -> None:
    class Broken(Nvml):
        def nvmlInit(self) -> None:  # noqa: N802
            raise RuntimeError("NVML Shared Library Not Found")

    found = Watcher("1", Broken).close()
    assert "Not Found" in found.reason


def test_reasons_for_lower_clocks() -> None:
    assert reasons(0) == reasons(0x1) == []
    assert reasons(0x40 | 0x8) == ["hardware slowdown", "hardware thermal slowdown"]
    assert reasons(0x1000) == ["0x1000"]
