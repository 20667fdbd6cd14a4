"""The device's state while it is measured, from NVML: the only importer of ``pynvml``."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter_ns as clock
from typing import Any

from ...benchmarks import Conditions

MISSING = (
    "nvidia-ml-py is not installed, and clocks, power and other processes are read with it: "
    "pip install nvidia-ml-py"
)
_IDLE = 0x1
THROTTLE = {
    0x2: "application clocks setting",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake slowdown",
    0x100: "display clocks setting",
}
"""NVML's bits of ``nvmlClocksEventReasons``."""
_SM_CLOCK, _MEMORY_CLOCK, _GPU_TEMPERATURE = 1, 2, 0


class Watcher:
    """Samples NVML between measurements.

    Parameters
    ----------
    uuid : str
        Of the device, such as ``"GPU-1234"``: NVML's numbers ignore ``CUDA_VISIBLE_DEVICES``.
    load : callable
        Returns NVML's bindings.
    """

    def __init__(self, uuid: str, load: Callable[[], Any] | None = None) -> None:
        self.conditions = Conditions()
        self._start_ns = clock()
        self._nvml: Any = None
        self._device: Any = None
        self.cost_ns = 0
        try:
            nvml = (load or _load)()
            nvml.nvmlInit()
            self._device = _handle(nvml, uuid)
            self._nvml = nvml
        except ImportError:
            self.conditions.reason = MISSING
        except Exception as error:  # NVML's errors have a base class of their own
            self.conditions.reason = f"NVML does not answer: {error}"
        else:
            self.conditions.max_sm_clock_mhz = self._ask("nvmlDeviceGetMaxClockInfo", _SM_CLOCK)
        self.cost_ns += clock() - self._start_ns

    def _ask(self, name: str, *arguments: int) -> int | None:
        try:
            return int(getattr(self._nvml, name)(self._device, *arguments))
        except Exception:
            return None

    def sample(self) -> None:
        """Take note of the device's state; never raises."""
        if self._nvml is None:
            return
        start = clock()
        found = self.conditions

        def put(column: list[int], value: int | None) -> None:
            column.append(-1 if value is None else value)

        found.at_ns.append(start - self._start_ns)
        put(found.sm_clock_mhz, self._ask("nvmlDeviceGetClockInfo", _SM_CLOCK))
        put(found.memory_clock_mhz, self._ask("nvmlDeviceGetClockInfo", _MEMORY_CLOCK))
        put(found.power_mw, self._ask("nvmlDeviceGetPowerUsage"))
        put(found.temperature_c, self._ask("nvmlDeviceGetTemperature", _GPU_TEMPERATURE))
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:  # its name before NVML 12.2
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        for reason in reasons(bits or 0):
            if reason not in found.throttle_reasons:
                found.throttle_reasons.append(reason)
        self.cost_ns += clock() - start

    def close(self) -> Conditions:
        """Look for other processes and return everything."""
        if self._nvml is not None:
            self.sample()
            self.conditions.processes = self._others()
            try:
                self._nvml.nvmlShutdown()
            except Exception as error:
                self.conditions.reason = f"NVML does not answer: {error}"
            self._nvml = None
        return self.conditions

    def _others(self) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for call in (
            "nvmlDeviceGetComputeRunningProcesses",
            "nvmlDeviceGetGraphicsRunningProcesses",
        ):
            try:
                processes = getattr(self._nvml, call)(self._device)
            except Exception:  # noqa: S112 - one of the two may not be supported
                continue
            for process in processes:
                if process.pid != os.getpid():
                    used = process.usedGpuMemory
                    found[process.pid] = {
                        "pid": int(process.pid),
                        "name": self._name(process.pid),
                        "memory_bytes": int(used) if used is not None else None,
                    }
        return list(found.values())

    def _name(self, pid: int) -> str:
        try:
            name = self._nvml.nvmlSystemGetProcessName(pid)
        except Exception:
            return ""
        return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def reasons(bits: int) -> list[str]:
    """Return why clocks were held down; being idle is no reason.

    Examples
    --------
    >>> reasons(0x5)
    ['software power cap']
    """
    found = [text for bit, text in THROTTLE.items() if bits & bit]
    unknown = bits & ~sum(THROTTLE) & ~_IDLE
    return [*found, f"{unknown:#x}"] if unknown else found


def _load() -> Any:
    import pynvml

    return pynvml


def _handle(nvml: Any, uuid: str) -> Any:
    text = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    try:
        return nvml.nvmlDeviceGetHandleByUUID(text)
    except TypeError:  # bindings before 11.5 take bytes
        return nvml.nvmlDeviceGetHandleByUUID(text.encode())
