"""Operators of one run, with the tensors that they took and gave, and the nodes they made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

CUDA = "cuda"


class TensorAt(NamedTuple):
    """Where a tensor is in device memory, and how it is to be read.

    Attributes
    ----------
    address : int
        Of its first element.
    dtype : torch.dtype
    size, stride : tuple of int
        In elements.
    span_bytes : int
        From the first byte to the end of the last element.
    """

    address: int
    dtype: Any
    size: tuple[int, ...]
    stride: tuple[int, ...]
    span_bytes: int

    @property
    def text(self) -> str:
        """Type and shape, such as ``"float16[4, 128]"``."""
        shape = ", ".join(map(str, self.size))
        return f"{str(self.dtype).removeprefix('torch.')}[{shape}]"


class Row(NamedTuple):
    """A call of an operator.

    Attributes
    ----------
    name : str
        Such as ``"aten.add.Tensor"``.
    first, end : int
        Positions of the nodes that it made; equal when it made none, or none were counted.
    inputs, outputs : list of TensorAt
        On a CUDA device.
    random : bool
        Whether it draws random numbers.
    """

    name: str
    first: int
    end: int
    inputs: list[TensorAt]
    outputs: list[TensorAt]
    random: bool


class OperatorLog(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operator until it is stopped.

    Parameters
    ----------
    count : callable, optional
        Returns how many nodes there are.
    called : callable, optional
        ``called(number, results)`` is told of the results of each call, by its number.
    device : str
        Type of the devices whose tensors are noted.
    """

    open: ClassVar[list[OperatorLog]] = []
    """Logs that note what is called."""

    def __init__(
        self,
        count: Callable[[], int] = lambda: 0,
        called: Callable[[int, list[Any]], None] | None = None,
        device: str = CUDA,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.rows: list[Row] = []
        self._count = count
        self._called = called
        self._device = device
        self._entered = False

    @classmethod
    def watch_compiled(cls) -> None:
        """Hear of tensors that compiled code allocates, which it does without an operator.

        To be called before any is compiled: it looks the function up once.
        """
        guards: Any = torch._C._dynamo.guards
        original = guards._empty_strided_cuda

        @functools.wraps(original)
        def allocate(*args: Any) -> Any:
            tensor = original(*args)
            for log in list(cls.open):
                log.allocated(tensor)
            return tensor

        guards._empty_strided_cuda = allocate

    def allocated(self, tensor: Any) -> None:
        """Note a tensor that no operator made."""
        count = self._count()
        self.rows.append(Row("empty_strided_cuda", count, count, [], [place(tensor)], False))

    def start(self) -> None:
        """Begin."""
        self.open.append(self)
        self.__enter__()  # type: ignore[no-untyped-call]
        self._entered = True

    def stop(self) -> None:
        """End; may be called again."""
        if self._entered:
            self._entered = False
            self.open.remove(self)
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operator and note it."""
        kwargs = kwargs or {}
        first = self._count()
        result = func(*args, **kwargs)
        results = list(tensors((result,), self._device))
        row = Row(
            str(func),
            first,
            self._count(),
            [place(item) for item in tensors((args, kwargs), self._device)],
            [place(item) for item in results],
            _is_random(func),
        )
        self.rows.append(row)
        if self._called is not None:
            self._called(len(self.rows) - 1, results)
        return result


def _is_random(func: Any) -> bool:
    tag = getattr(torch.Tag, "nondeterministic_seeded", None)
    return tag is not None and tag in getattr(func, "tags", ())


PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Types of tensors that have memory of their own."""


def tensors(value: Any, device: str = CUDA) -> Iterator[Any]:
    """Yield the tensors with memory on a type of device in nested containers."""
    if isinstance(value, torch.Tensor):
        if type(value) in PLAIN and value.device.type == device and value.layout is torch.strided:
            yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors(part, device)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part, device)


def place(tensor: Any) -> TensorAt:
    """Return where a tensor is."""
    size, stride = tuple(tensor.shape), tuple(tensor.stride())
    span = 0
    if tensor.numel():
        last = sum((count - 1) * step for count, step in zip(size, stride, strict=True))
        span = (last + 1) * tensor.element_size()
    return TensorAt(tensor.data_ptr(), tensor.dtype, size, stride, span)
