"""Calls of operators, from what was kept of their arguments."""

from __future__ import annotations

from typing import Any

from ...origins import Operator, TensorLike

MAX_TEXT = 80


def operator_of(operator: Any, arguments: tuple[Any, Any]) -> Operator:
    """Describe a call of an operator from what was kept of its arguments."""
    positional, named = arguments
    schema = getattr(operator, "_schema", None)
    names = [argument.name for argument in getattr(schema, "arguments", ())]
    inputs: list[TensorLike] = []
    scalars: list[str] = []
    items = [(names[at] if at < len(names) else str(at), x) for at, x in enumerate(positional)]
    for name, value in [*items, *named]:
        if isinstance(value, tuple) and len(value) == 3:
            if value[0] == "tensors":
                scalars.append(f"{name}: {value[1]} tensors")
                inputs.extend(map(tensor_of, value[2]))
            else:
                inputs.append(tensor_of(value))
        elif value[1] is not None:
            text = value[1] if isinstance(value[1], str) else repr(value[1])
            scalars.append(f"{name}={text}"[:MAX_TEXT])
    return Operator(str(operator), tuple(inputs), tuple(scalars))


def tensor_of(value: Any) -> TensorLike:
    """Describe a tensor from (dtype, shape, stride)."""
    if len(value) != 3:  # a hole in a list of tensors
        return TensorLike("", ())
    dtype, shape, stride = value
    return TensorLike(
        str(dtype).removeprefix("torch."), tuple(map(int, shape)), tuple(map(int, stride))
    )
