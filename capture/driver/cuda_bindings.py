"""The real driver, reached through cuda-bindings: the only module that imports it.

cuda-bindings finds and loads the driver library and looks up its functions
(``cuGetProcAddress``, a public call that both 12.x and 13.x have in one form); the functions are
then called as they are in C, see :mod:`capture.driver.entry_points` for why. Tried with
cuda-bindings 13.3.1; with 12.9 only the look-up was read.
"""

from __future__ import annotations

from typing import Any

from ..errors import DriverError, MissingDependencyError, NoGpuError, NotSupportedError
from .edges import EdgeCalls
from .entry_points import BASE_VERSION, NOT_SUPPORTED, EntryPoints
from .graph_calls import GraphCalls
from .kernels import KernelCalls
from .launch_attributes import AttributeCalls
from .node_calls import NodeCalls
from .replay_calls import ReplayCalls

NO_DEVICE = 100
_NO_LIBRARY = "no CUDA driver is installed here: recording needs an NVIDIA GPU with its driver"
_NO_DEVICE = "the CUDA driver has no device: check nvidia-smi and CUDA_VISIBLE_DEVICES"


class CudaDriver(KernelCalls, AttributeCalls, NodeCalls, EdgeCalls, GraphCalls, ReplayCalls):
    """The CUDA driver of this process; see :class:`~capture.driver.replay_protocol.ReplayDriver`.

    Raises
    ------
    MissingDependencyError
        cuda-bindings is not installed.
    NoGpuError
        There is no driver, or it has no device.
    NotSupportedError
        The driver is older than CUDA 12.3.
    """

    def __init__(self) -> None:
        bindings = _bindings()
        _call(bindings, "cuInit", 0)

        def find(name: str, version: int) -> int:
            try:
                return int(_call(bindings, "cuGetProcAddress", name.encode(), version, 0)[0] or 0)
            except NoGpuError:
                raise
            except DriverError:
                return 0

        self.entry = EntryPoints(find)
        version = self.version()
        if version < BASE_VERSION:
            raise NotSupportedError(
                "cuDriverGetVersion",
                NOT_SUPPORTED,
                "CUDA_ERROR_NOT_SUPPORTED",
                f"this driver is for CUDA {version // 1000}.{version % 1000 // 10}, "
                f"and 12.3 or newer is needed",
            )


def _bindings() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise MissingDependencyError(
            f"cuda-bindings cannot be imported ({error}), and reading graphs needs it: "
            f"pip install cuda-bindings"
        ) from error
    return driver


def _call(bindings: Any, name: str, *arguments: Any) -> tuple[Any, ...]:
    """Call a function of the bindings and map every way it can fail to our errors."""
    try:
        code, *values = getattr(bindings, name)(*arguments)
    except RuntimeError as error:
        text = str(error)
        # 13.x: DynamicLibNotFoundError; 12.x: "Failed to dlopen libcuda.so.1".
        if type(error).__name__ == "DynamicLibNotFoundError" or "dlopen" in text:
            raise NoGpuError(name, NO_DEVICE, type(error).__name__, _NO_LIBRARY) from error
        if "not found" in text:
            raise NotSupportedError(
                name, NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "this driver does not have it"
            ) from error
        raise
    number = int(code)
    if number == NO_DEVICE:
        raise NoGpuError(name, number, "CUDA_ERROR_NO_DEVICE", _NO_DEVICE)
    if number:
        raise DriverError(name, number, str(getattr(code, "name", number)))
    return tuple(values)
