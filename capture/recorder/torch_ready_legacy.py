"""Stand-ins for ``torch.cuda.FloatTensor`` and its like: types that name a type and the GPU."""

from __future__ import annotations

from typing import Any

import torch

TYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
}


class GpuType(type):
    """The class of these types."""

    dtype: torch.dtype

    def __call__(cls, *args: Any) -> Any:
        """Make a tensor of a shape, or of data."""
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            return torch.as_tensor(args[0], dtype=cls.dtype, device="cuda")
        return torch.empty(*args, dtype=cls.dtype, device="cuda")

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == cls.dtype


def names() -> dict[str, Any]:
    """Return the stand-ins by their names in ``torch.cuda``."""
    return {
        f"{name}Tensor": GpuType(f"{name}Tensor", (), {"dtype": dtype, "__module__": "torch.cuda"})
        for name, dtype in TYPES.items()
    }


def type_of(tensor: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """Do what ``Tensor.type`` does: name a tensor's type, or convert to another."""
    if dtype is None:
        (name,) = [name for name, known in TYPES.items() if known == tensor.dtype] or ["Float"]
        return f"torch.cuda.{name}Tensor" if tensor.is_cuda else f"torch.{name}Tensor"
    if isinstance(dtype, torch.dtype):
        return tensor.to(dtype, non_blocking=non_blocking)
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    kind = TYPES[name.rpartition(".")[2].removesuffix("Tensor")]
    device = "cuda" if ".cuda." in name else "cpu"
    return tensor.to(device, kind, non_blocking=non_blocking)
