"""Raw CUDA graphs of any size for benchmarks, built node by node through the driver API.

No capture and no torch: a chain of 100,000 nodes is built in well under two seconds, so a
benchmark spends its time on what it measures.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

BUFFER_FLOATS = 1024
SOURCE = b"""
extern "C" __global__ void tiny(float *out, int index, float value) {
    out[index % 1024] += value;
}
"""


class CudaError(RuntimeError):
    """A CUDA or NVRTC call answered something else than success."""


def checked(answer: tuple[Any, ...]) -> Any:
    """Return the value of a bindings call, or its values as a tuple.

    Raises
    ------
    CudaError
        If the call failed.
    """
    status, *values = answer
    if int(status) != 0:
        raise CudaError(f"CUDA call answered {status!r}, expected success")
    return values[0] if len(values) == 1 else tuple(values)


def compile_cubin(source: bytes, architecture: str) -> bytes:
    """Compile CUDA C++ `source` for `architecture` (``sm_90``) with NVRTC; needs no GPU.

    Raises
    ------
    CudaError
        If the source does not compile; the message is the compiler's log.
    """
    from cuda.bindings import nvrtc

    program = checked(nvrtc.nvrtcCreateProgram(source, b"source.cu", 0, [], []))
    options = [f"--gpu-architecture={architecture}".encode()]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) != 0:
        log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        raise CudaError(log.rstrip(b"\0 ").decode())
    cubin = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, cubin))
    checked(nvrtc.nvrtcDestroyProgram(program))
    return cubin


def architecture_of_current_device() -> str:
    """Return the current device's architecture as NVRTC names it, such as ``sm_90``."""
    from cuda.bindings import driver

    device = checked(driver.cuCtxGetDevice())
    names = driver.CUdevice_attribute
    major, minor = (
        checked(driver.cuDeviceGetAttribute(name, device))
        for name in (
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return f"sm_{major}{minor}"


def ensure_context() -> int:
    """Return the current context's handle, making device 0's primary one current if none is."""
    from cuda.bindings import driver

    checked(driver.cuInit(0))
    if not int(checked(driver.cuCtxGetCurrent())):
        device = checked(driver.cuDeviceGet(0))
        checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(device))))
    return int(checked(driver.cuCtxGetCurrent()))


@cache
def tiny_kernel(context: int) -> tuple[Any, int]:
    """Return the one-thread kernel and the address of its buffer, loaded once per context.

    The cache keeps module and buffer alive for as long as the process: graphs refer to both.
    """
    from cuda.bindings import driver

    del context  # It only separates the cached values.
    cubin = compile_cubin(SOURCE, architecture_of_current_device())
    module = checked(driver.cuModuleLoadData(cubin))
    buffer = int(checked(driver.cuMemAlloc(4 * BUFFER_FLOATS)))
    checked(driver.cuMemsetD32(driver.CUdeviceptr(buffer), 0, BUFFER_FLOATS))
    return checked(driver.cuModuleGetFunction(module, b"tiny")), buffer


class _TinyNodes:
    """Adds nodes of the tiny kernel to one graph, reusing one parameter block for all."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        function, buffer = tiny_kernel(ensure_context())
        self.graph = checked(driver.cuGraphCreate(0))
        self._add_node = driver.cuGraphAddKernelNode
        # The driver copies the values when a node is added, so only the index changes between.
        self._out, self._index = ctypes.c_uint64(buffer), ctypes.c_int(0)
        self._value = ctypes.c_float(1.0)
        arguments = (self._out, self._index, self._value)
        self._pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(a) for a in arguments))
        self._params = params = driver.CUDA_KERNEL_NODE_PARAMS()
        params.func = function
        params.gridDimX = params.gridDimY = params.gridDimZ = 1
        params.blockDimX = params.blockDimY = params.blockDimZ = 1
        params.kernelParams = ctypes.addressof(self._pointers)

    def add(self, dependencies: list[Any]) -> Any:
        status, node = self._add_node(self.graph, dependencies, len(dependencies), self._params)
        if int(status) != 0:
            raise CudaError(f"cuGraphAddKernelNode answered {status!r} at {self._index.value}")
        self._index.value += 1
        return node


def chain(n: int) -> int:
    """Build a graph of `n` tiny kernels in a line.

    Returns
    -------
    int
        The raw ``CUgraph`` handle; the caller destroys it with ``cuGraphDestroy``.

    Raises
    ------
    ValueError
        If `n` is negative.
    CudaError
        If a driver call fails.
    """
    if n < 0:
        raise ValueError(f"a chain of {n} nodes was asked for; expected 0 or more")
    nodes = _TinyNodes()
    previous: list[Any] = []
    for _ in range(n):
        previous = [nodes.add(previous)]
    return int(nodes.graph)


def fork_join(n: int, width: int = 64) -> int:
    """Build a graph of exactly `n` tiny kernels that forks `width` wide and joins, repeatedly.

    One kernel, then `width` that depend on it, then one that depends on all of those, and so on;
    the last stage is as wide as `n` allows. Edges: about twice the nodes.

    Returns
    -------
    int
        The raw ``CUgraph`` handle; the caller destroys it with ``cuGraphDestroy``.

    Raises
    ------
    ValueError
        If `n` is negative or `width` is less than 1.
    CudaError
        If a driver call fails.
    """
    if n < 0 or width < 1:
        raise ValueError(f"n={n}, width={width}; expected n of 0 or more and width of 1 or more")
    nodes = _TinyNodes()
    stage: list[Any] = []
    added = 0
    while added < n:
        joint = [nodes.add(stage)]
        added += 1
        branches = min(width, n - added)
        stage = [nodes.add(joint) for _ in range(branches)]
        added += branches
    return int(nodes.graph)
