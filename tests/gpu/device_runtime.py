"""Kernels that call the device runtime: they launch kernels or graphs, or change nodes."""

from __future__ import annotations

import sysconfig
from glob import glob
from typing import Any

from tests.workloads.chains import CudaError, checked

SOURCES = {
    "launches_kernel": b"""
__global__ void inner() {}
extern "C" __global__ void launches_kernel() { inner<<<1, 1>>>(); }
""",
    "launches_graph": b"""
extern "C" __global__ void launches_graph() {
    cudaGraphLaunch((cudaGraphExec_t)0, cudaStreamGraphFireAndForget);
}
""",
    "updates_node": b"""
extern "C" __global__ void updates_node() {
    cudaGraphKernelNodeSetEnabled((cudaGraphDeviceNode_t)0, false);
}
""",
}


def linked_module(name: str, architecture: str) -> Any:
    """Compile a kernel of :data:`SOURCES`, link it with the device runtime, and load it.

    Raises
    ------
    CudaError
        There is no device runtime here, or the compiler or linker refuses.
    """
    from cuda.bindings import driver, nvrtc

    library = _found("lib/libcudadevrt.a")
    if library is None:
        raise CudaError("libcudadevrt.a is not installed")
    program = checked(nvrtc.nvrtcCreateProgram(SOURCES[name], b"device.cu", 0, [], []))
    options = [f"--gpu-architecture={architecture}".encode(), b"--relocatable-device-code=true"]
    include = _found("include/cuda_device_runtime_api.h")
    if include is not None:
        options.append(f"--include-path={include.rpartition('/')[0]}".encode())
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) != 0:
        log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        raise CudaError(log.rstrip(b"\0 ").decode())
    cubin = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, cubin))
    kinds = driver.CUjitInputType
    state = checked(driver.cuLinkCreate(0, [], []))
    cubin_kind, library_kind = kinds.CU_JIT_INPUT_CUBIN, kinds.CU_JIT_INPUT_LIBRARY
    checked(driver.cuLinkAddData(state, cubin_kind, cubin, len(cubin), b"device", 0, [], []))
    checked(driver.cuLinkAddFile(state, library_kind, library.encode(), 0, [], []))
    image, _ = checked(driver.cuLinkComplete(state))
    return checked(driver.cuModuleLoadData(image))


def _found(name: str) -> str | None:
    packages = sysconfig.get_paths()["purelib"]
    for pattern in (f"{packages}/nvidia/*/{name}", f"/usr/local/cuda*/{name}"):
        for path in sorted(glob(pattern)):
            return path
    for path in glob(f"/usr/local/cuda*/targets/*/{name}"):
        return path
    return None
