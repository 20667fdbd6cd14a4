"""Where the recorder gets its driver from: the one place to put another."""

from __future__ import annotations

from ..driver.protocol import Driver


def open_driver() -> Driver:
    """Return the CUDA driver of this process.

    Raises
    ------
    MissingDependencyError
        ``cuda-bindings`` is not installed in this interpreter's environment.
    NoGpuError
        There is no driver, or no device.
    """
    from ..driver.cuda_bindings import CudaDriver

    return CudaDriver()
