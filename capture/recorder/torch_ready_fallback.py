"""Operators without a fake form: they run on zeros on the host, for their results' shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree
from torch.utils._python_dispatch import _disable_current_modes

from .torch_ready_call import is_gpu

MAX_BYTES = 64 << 20
"""No more memory than this is filled with zeros for one operator."""


def install() -> None:
    """Take the place of torch's own fallback, which runs operators on the tensors' device."""
    module: Any = fake_tensor
    module.run_fallback_kernel = _run


def _run(mode: Any, func: Any, flat: Any, spec: Any, unsupported: BaseException) -> Any:
    fakes = [value for value in flat if isinstance(value, FakeTensor)]
    gpu = next((fake.fake_device for fake in fakes if is_gpu(fake)), None)
    size_bytes = sum(fake.numel() * fake.element_size() for fake in fakes)
    sparse = any(fake.layout is not torch.strided for fake in fakes)
    if torch.Tag.inplace_view in func.tags or size_bytes > MAX_BYTES or sparse:
        raise unsupported
    given: dict[int, Any] = {}
    with _disable_current_modes():
        real = [_zeros(value, given) for value in flat]
        args, kwargs = _pytree.tree_unflatten(real, spec)
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        try:
            made = func(*args, **kwargs)
        except Exception as error:
            raise unsupported from error
        storages = {tensor.untyped_storage()._cdata for tensor in real if _is_real(tensor)}

    def fake(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or id(value) in given:
            return given.get(id(value), value)
        if value.layout is not torch.strided or value.untyped_storage()._cdata in storages:
            raise unsupported
        with _disable_current_modes():
            meta = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="meta"
            )
            return FakeTensor(mode, meta, gpu or value.device)

    return _pytree.tree_map(fake, made)


def _zeros(value: Any, given: dict[int, Any]) -> Any:
    if not isinstance(value, FakeTensor):
        return value
    zeros = torch.zeros_like(torch.empty_strided(value.shape, value.stride(), dtype=value.dtype))
    given[id(zeros)] = value
    return zeros


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
