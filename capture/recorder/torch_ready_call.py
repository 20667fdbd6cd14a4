"""One operator of a dry run with its arguments: where it runs, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

KEEP_ON_GPU = (
    "keep the value on the GPU (`torch.where`, a tensor as an argument), or read it after a replay"
)
READ = frozenset(
    (
        "equal",
        "nonzero",
        "masked_select",
        "_unique2",
        "unique_dim",
        "unique_consecutive",
        "repeat_interleave",
        "bincount",
        "index",
    )
)
"""Operators whose result torch works out where all values are known."""
WAITS = "it waits until the GPU is done, and in a capture nothing runs"


class Call:
    """One operator with its arguments.

    Attributes
    ----------
    name : str
        Such as ``"aten.nonzero"``.
    run : callable
        Runs it, or the same with other arguments, on fake tensors.
    outermost : bool
        False for operators that torch calls to work out another's result.
    """

    def __init__(
        self,
        mode: Any,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        run: Callable[..., Any],
        outermost: bool,
    ) -> None:
        self.mode = mode
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.run = run
        self.outermost = outermost

    @property
    def name(self) -> str:
        """Name without its overload."""
        name: str = self.func._schema.name
        return name.replace("::", ".")

    def tensors(self) -> Iterator[torch.Tensor]:
        """Yield the tensors among the arguments."""
        for value in (*self.args, *self.kwargs.values()):
            if isinstance(value, torch.Tensor):
                yield value
            elif isinstance(value, (list, tuple)):
                yield from (item for item in value if isinstance(item, torch.Tensor))

    @property
    def on_gpu(self) -> bool:
        """Whether it makes work on the GPU."""
        device = self.kwargs.get("device")
        if device is not None and torch.device(device).type != "cpu":
            return True
        return any(is_gpu(tensor) for tensor in self.tensors())

    @property
    def is_known(self) -> bool:
        """Whether it works on real tensors, whose values are known, and stays on the host."""
        device = self.kwargs.get("device")
        if device is not None and torch.device(device).type != "cpu":
            return False
        known = [getattr(tensor, "_cglens_known", False) for tensor in self.tensors()]
        return bool(known) and all(known)

    @property
    def is_constant(self) -> bool:
        """Whether it reads values that are known, on the host, and writes none."""
        if self.func.name().removeprefix("aten::").partition(".")[0] not in READ:
            return False
        tensors = list(self.tensors())
        lists = [value for value in self.args if isinstance(value, (list, tuple))]
        if any(value is None for items in lists for value in items):
            return False
        return bool(tensors) and all(getattr(it, "constant", None) is not None for it in tensors)

    def generators(self) -> Iterator[torch.Generator]:
        """Yield the random generators among the arguments."""
        for value in (*self.args, *self.kwargs.values()):
            if isinstance(value, torch.Generator):
                yield value

    def devices(self) -> Iterator[int]:
        """Yield the numbers of the GPUs on which its tensors are."""
        for tensor in self.tensors():
            if isinstance(tensor, FakeTensor) and is_gpu(tensor):
                yield tensor.fake_device.index or 0

    def report(self, kind: str, why: str, instead: str, guessed: bool = False) -> None:
        """Note that this call breaks a capture."""
        if not self.outermost:
            return
        node = torch._C._current_autograd_node()
        self.mode.log.found(
            kind,
            self.mode.function_name(self.name),
            why,
            instead,
            operator=self.name,
            backward=node.name() if node is not None else "",
            guessed=guessed,
        )

    def follow_pinned(self, result: Any) -> None:
        """Mark views of pinned memory as pinned."""
        if not isinstance(result, FakeTensor) or is_gpu(result):
            return
        if self.kwargs.get("pin_memory"):
            set_pinned(result)
            return
        for tensor in self.tensors():
            if is_pinned(tensor) and _same_storage(tensor, result):
                set_pinned(result)


def is_gpu(tensor: Any) -> bool:
    """Say whether a tensor stands for one on a GPU."""
    if isinstance(tensor, FakeTensor):
        return tensor.fake_device.type not in ("cpu", "meta")
    return isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda"


def is_pinned(tensor: Any) -> bool:
    """Say whether a tensor on the host is in pinned memory."""
    return getattr(tensor, "_cglens_pinned", False) is True


def set_pinned(tensor: torch.Tensor) -> None:
    """Mark a tensor as pinned."""
    tensor._cglens_pinned = True  # type: ignore[attr-defined]


def set_known(result: Any) -> Any:
    """Mark a real tensor as one whose values count."""
    if isinstance(result, torch.Tensor):
        result._cglens_known = True  # type: ignore[attr-defined]
    elif isinstance(result, (list, tuple)):
        for value in result:
            set_known(value)
    return result


def _same_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    try:
        same: bool = one.untyped_storage()._cdata == other.untyped_storage()._cdata
        return same
    except (RuntimeError, NotImplementedError):
        return False
