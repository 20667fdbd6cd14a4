"""Stands in for a CUDA build of torch, with a fake driver below: for tests without a GPU.

What is real is the shape: ``torch.cuda.graphs.CUDAGraph`` as a Python class over a class that the
hooks do not see, ``torch.cuda.graph`` that calls ``capture_end`` whatever left its block, streams,
``launch()`` in place of an operator. ``NO_GPU=1`` makes ``is_available()`` false.
"""

from __future__ import annotations

from types import SimpleNamespace

__version__ = "0.0.0+stand.in"
version = SimpleNamespace(cuda="13.0")

_pinned: list[tuple[int, int]] = []
_C = SimpleNamespace(
    _cuda_beginAllocateCurrentThreadToPool=lambda device, pool: _pinned.append(pool),
    _cuda_endAllocateToPool=lambda device, pool: None,
    _cuda_isHistoryEnabled=lambda: bool(cuda.memory.history),
    _cuda_memorySnapshot=lambda options: {
        "segments": cuda.memory_snapshot(),
        "device_traces": [list(cuda.memory.events)],
    },
)


class Tensor:
    """A number on a device."""

    is_cuda = False

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self.shape = ()
        self.dtype = "float32"

    def add(self, amount: float) -> Tensor:
        return launch(Tensor(self.value), amount)

    def detach(self) -> Tensor:
        return self

    def clone(self) -> Tensor:
        return Tensor(self.value)

    def double(self) -> Tensor:
        return self

    def __sub__(self, other: Tensor) -> Tensor:
        return Tensor(self.value - other.value)

    def abs(self) -> Tensor:
        return Tensor(abs(self.value))

    def max(self) -> Tensor:
        return self

    def numel(self) -> int:
        return 1

    def is_complex(self) -> bool:
        return False

    def item(self) -> float:
        """Read the value, which no capture survives."""
        cuda.synchronize()
        return self.value


nn = SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))


def zeros(count: int, device: str) -> Tensor:
    return Tensor()


def equal(a: Tensor, b: Tensor) -> bool:
    return a.value == b.value


from . import cuda  # noqa: E402


def launch(
    target: Tensor | None = None,
    amount: float = 1.0,
    kernel: str = "add",
    arguments: bytes = bytes(8),
) -> Tensor:
    """Launch one kernel that adds `amount` to `target`, or capture it."""
    result = target if target is not None else Tensor()

    def work() -> None:
        result.value += amount

    cuda.graphs.submit(kernel, work, arguments)
    return result
