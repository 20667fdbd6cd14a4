"""Tensors over memory at an address, and questions about their values, in memory of our own."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .torch_op_log import CUDA, TensorAt

TOLERANCES = {
    "torch.float16": (1e-3, 1e-5),
    "torch.bfloat16": (1.6e-2, 1e-5),
    "torch.float32": (1.3e-6, 1e-5),
    "torch.float64": (1e-7, 1e-7),
    "torch.complex64": (1.3e-6, 1e-5),
    "torch.complex128": (1e-7, 1e-7),
}
"""Relative and absolute, as ``torch.testing.assert_close`` has them."""


class _Memory:
    """Bytes at an address, as torch takes them from other libraries."""

    def __init__(self, address: int, size_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class Values:
    """Looks at values on the device.

    What it allocates comes from a pool of its own, so that no block is taken that the script has
    freed and a graph may still point into.

    Parameters
    ----------
    device : str
        Type of the device.
    """

    def __init__(self, device: str = CUDA) -> None:
        import torch

        self._torch: Any = torch
        self.device = device
        pools = device == CUDA
        # torch refuses to begin with a pool twice: what is asked while somebody else's work
        # allocates from the one takes the other.
        self._pool: Any = torch.cuda.MemPool() if pools else None
        self._theirs: Any = torch.cuda.MemPool() if pools else None

    def pool_only(self) -> AbstractContextManager[None]:
        """Let other work on this thread allocate apart from what the script does."""
        return self._allocating_from(self._theirs)

    @contextmanager
    def _allocating_from(self, pool: Any) -> Iterator[None]:
        if pool is None:
            yield
            return
        with self._torch.cuda.use_mem_pool(pool):
            yield

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Allocate from the pool of our own meanwhile."""
        with self._allocating_from(self._pool), self._torch.no_grad():
            yield

    def at(self, place: TensorAt) -> Any:
        """Return a tensor over memory that somebody else owns."""
        address, size = place.address, place.span_bytes
        if self.device == CUDA:
            whole = self._torch.as_tensor(_Memory(address, size), device=CUDA)
        else:
            buffer = (ctypes.c_ubyte * size).from_address(address)
            whole = self._torch.frombuffer(buffer, dtype=self._torch.uint8)
        return whole.view(place.dtype).as_strided(place.size, place.stride)

    def wrong(self, tensor: Any) -> tuple[int, int]:
        """Return how many elements are NaN, and how many Inf; 0 for numbers that have none."""
        if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex) or not tensor.numel():
            return 0, 0
        with self.apart():
            if tensor.element_size() == 1:
                tensor = tensor.float()  # 8-bit floats have next to no operators
            nan = int(self._torch.isnan(tensor).sum().item())
            infinite = int(self._torch.isinf(tensor).sum().item())
        return nan, infinite

    def difference(self, one: Any, other: Any) -> str:
        """Say how two tensors of one shape and type differ; empty when they are close."""
        if not one.numel():
            return ""
        with self.apart():
            if self._torch.equal(one, other):
                return ""
            tolerance = TOLERANCES.get(str(one.dtype))
            if tolerance is None:
                wrong = int((one != other).sum().item())
                return f"{wrong:,} of {one.numel():,} elements differ" if wrong else ""
            close = self._torch.isclose(one, other, *tolerance, equal_nan=True)
            wrong = int((~close).sum().item())
            if not wrong:
                return ""
            largest = float((one - other).abs().nan_to_num(float("inf")).max().item())
            return (
                f"{wrong:,} of {one.numel():,} elements differ by more than torch.testing allows, "
                f"the largest difference is {largest:g}"
            )

    def copy_of(self, tensor: Any) -> Any:
        """Return a copy in memory of our own."""
        with self.apart():
            return tensor.detach().clone()
