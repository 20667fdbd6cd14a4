"""Quick ways to read what runs: arguments of operators, variables of frames, the current stream."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .frame_locals import variable

LIST_TENSORS = 4
"""Tensors that are described of a list of them."""
LIST_VALUES = 32


def argument_reader(torch: Any) -> Callable[..., tuple[Any, Any]]:
    """Return what reads (positional, named) arguments: nothing of it holds a tensor.

    Tensors become (dtype, shape, stride), lists of them the first few after their count, all else
    a pair of type and value or text.
    """
    tensor, parameter = torch.Tensor, torch.nn.Parameter
    plain = frozenset((int, float, bool, str, complex, type(None)))
    printed = (torch.dtype, torch.device, torch.memory_format, torch.layout)
    overridden, without = torch._C._len_torch_function_stack, torch._C.DisableTorchFunction
    without_subclass = torch._C.DisableTorchFunctionSubclass

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        if overridden():
            # Attributes of tensors go through the script's modes otherwise.
            with without():
                return plainly(args, kwargs)
        return plainly(args, kwargs)

    def plainly(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        found: list[Any] = []
        for value in args:
            kind = type(value)
            if kind is tensor or kind is parameter:
                try:
                    found.append((value.dtype, value.shape, value.stride()))
                except RuntimeError:  # nested and sparse ones have no strides
                    found.append((value.dtype, (), ()))
            elif kind in plain:
                found.append((kind, value))
            else:
                found.append(other(value))
        if not kwargs:
            return tuple(found), ()
        named: list[Any] = []
        for name, value in kwargs.items():
            kind = type(value)
            if kind in plain:
                named.append((name, (kind, value)))
            else:
                named.append((name, plainly((value,), {})[0][0]))
        return tuple(found), tuple(named)

    def other(value: Any) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            # There may be holes before the first; a tensor must not be printed, which reads it.
            if any(isinstance(item, tensor) for item in value):
                return "tensors", len(value), plainly(tuple(value[:LIST_TENSORS]), {})[0]
            return tuple, str(value) if len(value) < LIST_VALUES else f"{len(value)} values"
        if isinstance(value, tensor):
            with without_subclass():
                return value.dtype, tuple(value.shape), ()
        return kind, str(value) if kind in printed else f"<{kind.__name__}>"

    return read


def stream_reader(torch: Any) -> Callable[[], int]:
    """Return what tells the handle of this thread's current stream."""
    stream, device = torch._C._cuda_getCurrentRawStream, torch._C._cuda_getDevice
    return lambda: int(stream(device()))


def variable_reader() -> Callable[[FrameType, str], Any]:
    """Return :func:`variable`, or the quick form of it where Python has one."""
    if sys.version_info < (3, 12):
        return variable
    # A prototype of our own: others may set the types of the one that ctypes shares.
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object)
    get = prototype(("PyFrame_GetVar", ctypes.pythonapi))

    def read(frame: FrameType, name: str) -> Any:
        try:
            return get(frame, name)
        except NameError:
            return None

    return read


def hide_from_compiler(*functions: Callable[..., Any]) -> None:
    """Keep torch's compiler from compiling our functions when it meets their frames."""
    try:
        from torch._C._dynamo import eval_frame
    except ImportError:
        return
    skip: Any = getattr(eval_frame, "skip_code", None)
    if skip is None:
        action = getattr(eval_frame, "_FrameAction", None)
        strategy = getattr(eval_frame, "_FrameExecStrategy", None)
        choose = getattr(eval_frame, "set_code_exec_strategy", None)
        if action is None or strategy is None or choose is None:
            return

        # What torch's own skip_code does since it is written in Python.
        def skip(code: CodeType) -> None:
            choose(code, strategy(action.SKIP, action.DEFAULT))

    for function in functions:
        code = getattr(function, "__code__", None)
        if code is not None:
            skip(code)
