"""Stand-ins for ``torch.backends``: libraries of CUDA that a dry run never calls.

Where torch is built with CUDA, its C++ code asks cuDNN and the driver for facts even where tensors
are fake, and fails without a GPU; where it is not, it says that the library is missing. So the
libraries are switched off below Python, and above they answer as on a machine that has them.
"""

from __future__ import annotations

from typing import Any

import torch

from .torch_ready_call import Call

CUDNN_VERSION = 91900
CUDA_VERSION = "13.0"


def install() -> None:
    """Put the stand-ins in, for the rest of this process."""
    _cudnn()
    _cuda()
    _one_gpu()
    version: Any = torch.version
    version.cuda = version.cuda or CUDA_VERSION


def _cudnn() -> None:
    core: Any = torch._C
    switch_off = core._set_cudnn_enabled
    enabled = _remember("_get_cudnn_enabled", "_set_cudnn_enabled", core._get_cudnn_enabled())
    limit = _remember("_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit", 10)
    switch_off(False)
    cudnn: Any = torch.backends.cudnn
    kind: Any = type(cudnn)
    kind.enabled = torch.backends.ContextProp(*enabled)  # type: ignore[no-untyped-call]
    kind.benchmark_limit = torch.backends.ContextProp(*limit)  # type: ignore[no-untyped-call]
    # An object stands for the module; functions of the module look names up in the module itself.
    cudnn.m.version = lambda: CUDNN_VERSION
    cudnn.m.is_available = lambda: True
    cudnn.m._init = lambda: True


def _remember(getter: str, setter: str, value: Any) -> tuple[Any, Any]:
    """Keep a setting of a library here instead of there."""
    held = [value]

    def get() -> Any:
        return held[0]

    def put(new: Any) -> None:
        held[0] = new

    core: Any = torch._C
    setattr(core, getter, get)
    setattr(core, setter, put)
    return get, put


def flattened(call: Call) -> Any:
    """Put a recurrent network's weights into one buffer, without asking cuDNN how."""
    weights = call.args[0]
    return weights[0].new_empty((sum(weight.numel() for weight in weights),))


class _PlanCache:
    """Stand-in for the plans of cuFFT on one GPU, and for those of all."""

    size = 0
    max_size = 4096

    def clear(self) -> None:
        """Forget no plan."""

    def __getitem__(self, device: Any) -> _PlanCache:
        return self


def _cuda() -> None:
    backend: Any = torch.backends.cuda
    backend.is_built = lambda: True
    backend.cufft_plan_cache = _PlanCache()
    tunable: Any = torch.cuda.tunable
    for name in tunable.__all__:
        setattr(tunable, name, lambda *args, **kwargs: None)
    for library in ("linalg", "blas"):
        names = f"_get_{library}_preferred_backend", f"_set_{library}_preferred_backend"
        if hasattr(torch._C, names[0]):
            _remember(*names, getattr(torch._C, names[0])())


def _one_gpu() -> None:
    """Let ``DataParallel`` and its like spread over the one GPU that there is."""
    from torch.nn.parallel import comm

    def scatter(
        tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, *args: Any
    ) -> tuple[Any, ...]:
        return (tensor.to("cuda"),)

    functions: Any = comm
    functions.scatter = scatter
    functions.gather = lambda tensors, dim=0, destination=None: torch.cat(tuple(tensors), dim)
    functions.broadcast_coalesced = lambda tensors, devices, buffer_size=0: [list(tensors)]
    functions.reduce_add_coalesced = lambda inputs, destination=None, buffer_size=0: list(inputs[0])
