"""Whose kernels nodes launch, by their names."""

from __future__ import annotations

from capture.names import demangle
from tests.benchmarks.tensor_log import Call

WITH_WORKSPACES = frozenset(("cuBLASLt", "cuDNN"))
_CUDNN = ("cudnn", "fprop", "dgrad", "wgrad", "implicit_convolve", "nchwtonhwc", "nhwctonchw")
_CUBLAS = ("nvjet", "cublas", "gemm", "gemv", "splitk", "cutlass")


def library_of(kernel: str, type_: str, call: Call) -> str:
    """Return whose kernel a node is: aten, cuBLASLt, cuDNN, Triton, or none (copies)."""
    if call.is_launch:
        return "Triton"
    if type_ != "kernel":
        return "copies"
    name = demangle(kernel)
    if any(part in name for part in ("at::", "at_cuda", "pytorch_flash", "PyTorchMemEffAttention")):
        return "aten"
    low = kernel.lower()
    if any(part in low for part in _CUDNN):
        return "cuDNN"
    if any(part in low for part in _CUBLAS):
        return "cuBLASLt"
    return "cuDNN" if "convolution" in call.name or "cudnn" in call.name else "aten"
