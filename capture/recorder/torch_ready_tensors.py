"""What a fake tensor has to answer so that a script takes it for a real one."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from .ready_log import Log
from .torch_ready_call import KEEP_ON_GPU, WAITS, is_gpu
from .torch_ready_legacy import type_of
from .torch_ready_mode import above, depth, in_function

MOST_KNOWN = 256
"""Elements of the largest tensor on the host whose values are kept while they are known."""


def install(log: Log) -> None:
    """Give fake tensors and modules their stand-ins, for the rest of this process."""
    # Lengths, sizes and thresholds that a script writes down stay known; torch keeps single ones.
    fake_tensor.CONSTANT_NUMEL_LIMIT = MOST_KNOWN
    fake: Any = FakeTensor
    fake.device = property(_device, fake.device.fset)
    fake.is_cuda = property(lambda tensor: tensor.device.type == "cuda")
    fake.is_cpu = property(lambda tensor: tensor.device.type == "cpu")
    fake.get_device = lambda tensor: tensor.device.index if tensor.is_cuda else -1
    fake.data_ptr = lambda tensor: id(tensor)
    fake.record_stream = lambda tensor, stream: None
    fake.type = type_of
    fake.is_shared = lambda tensor: False
    fake.share_memory_ = lambda tensor: tensor
    fake.__deepcopy__ = _deepcopy
    fake.tolist = _tolist
    fake.numpy = _numpy
    fake.__array__ = lambda tensor, dtype=None, copy=None: _array(tensor, dtype)
    fake.__format__ = _format
    fake.__repr__ = _printing(log, fake.__repr__)
    fake.__str__ = fake.__repr__
    module: Any = torch.nn.Module
    module._apply = _apply


def _device(tensor: Any) -> torch.device:
    if tensor.fake_mode.in_kernel_invocation:
        return torch.device("meta")
    device: torch.device = tensor.fake_device
    return device if depth() else above(device)


def _deepcopy(tensor: Any, memo: dict[int, Any]) -> Any:
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    with torch.no_grad():
        new = tensor.clone()
    if isinstance(tensor, torch.nn.Parameter):
        new = torch.nn.Parameter(new, tensor.requires_grad)
    else:
        new.requires_grad_(tensor.requires_grad)
    if tensor.grad is not None:
        new.grad = _deepcopy(tensor.grad, memo)
    memo[id(tensor)] = new
    return new


def _tolist(tensor: Any) -> Any:
    constant = tensor.constant
    if constant is not None and not is_gpu(tensor):
        with _disable_current_modes():
            return constant.tolist()
    with in_function("Tensor.tolist"):
        host = tensor.cpu() if is_gpu(tensor) else tensor
        return _nested(host.new_empty(()).item(), list(tensor.shape))


def _nested(value: Any, shape: list[int]) -> Any:
    if not shape:
        return value
    return [_nested(value, shape[1:]) for _ in range(shape[0])]


def _numpy(tensor: Any, *, force: bool = False) -> Any:
    if is_gpu(tensor):
        if not force:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        tensor = tensor.cpu()
    return _array(tensor, None)


def _array(tensor: Any, dtype: Any) -> Any:
    import numpy

    name = str(tensor.dtype).removeprefix("torch.")
    array = numpy.ones(tuple(tensor.shape), dtype=name if hasattr(numpy, name) else "float32")
    tensor.fake_mode.log.guessed()
    return array if dtype is None else array.astype(dtype)


def _format(tensor: Any, spec: str) -> str:
    if tensor.dim() == 0:
        return format(tensor.item(), spec)
    return object.__format__(tensor, spec)


def _printing(log: Log, plain: Any) -> Any:
    def represent(tensor: Any, *args: Any, **kwargs: Any) -> str:
        if depth() == 0 and is_gpu(tensor):
            log.found(
                "host_sync",
                "print of a tensor",
                f"to show its values, {WAITS}",
                KEEP_ON_GPU,
            )
        text: str = plain(tensor, *args, **kwargs)
        return text

    return represent


def _apply(module: Any, function: Any, recurse: bool = True) -> Any:
    """Convert a module's tensors in place, as ``Module._apply`` does with real ones.

    torch swaps fake parameters for new ones, which fails as soon as anything refers to them.
    """
    if recurse:
        for child in module.children():
            child._apply(function)
    for parameter in module._parameters.values():
        if parameter is None:
            continue
        with torch.no_grad():
            _become(parameter, function(parameter))
            if parameter.grad is not None:
                gradient = parameter.grad
                _become(gradient, function(gradient))
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = function(buffer)
    return module


def _become(tensor: Any, other: Any) -> None:
    """Give a tensor another's type and device, as setting ``data`` does with real ones."""
    if other is tensor:
        return
    if not isinstance(tensor, FakeTensor):
        tensor.data = other
        return
    # Setting `data` refuses a tensor with another device's dispatch keys, and a fake tensor that
    # was moved keeps those it was born with; what counts here is the fake device.
    for device in ("cpu", "cuda"):
        data = other.new_empty(other.shape, device=device)
        if torch._has_compatible_shallow_copy_type(tensor, data):
            break
    tensor.data = data
    tensor.fake_device = other.fake_device
    tensor.constant = None
