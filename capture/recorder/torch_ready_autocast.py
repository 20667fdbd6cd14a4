"""Autocast for ``cuda`` in a dry run.

Tensors that stand for those on a GPU have another device's dispatch keys, and torch's own kernels
for autocast cast only what C++ sees on ``cuda``. So in the thread of the script the key is added to
every call, which counts only where autocast is on, and the kernels behind it are replaced by ones
that see them.

The types follow torch's lists, ``aten/src/ATen/autocast_mode.h``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree

from .torch_ready_call import is_gpu

KEY = "AutocastCUDA"
LOWER = frozenset(
    [
        "_convolution",
        "_convolution.deprecated",
        "_scaled_dot_product_flash_attention",
        "_thnn_fused_gru_cell",
        "_thnn_fused_lstm_cell",
        "addbmm",
        "addmm",
        "addmv",
        "addr",
        "baddbmm",
        "bmm",
        "chain_matmul",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d.input",
        "conv_transpose3d.input",
        "convolution",
        "cudnn_convolution",
        "cudnn_convolution_transpose",
        "einsum",
        "gru_cell",
        "linalg_multi_dot",
        "linalg_vecdot",
        "linear",
        "lstm_cell",
        "matmul",
        "mm",
        "mv",
        "prelu",
        "rnn_relu_cell",
        "rnn_tanh_cell",
        "scaled_dot_product_attention",
    ]
)
"""Operators that run in the type that autocast was given."""
RECURRENT = frozenset(
    f"{name}.{form}"
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    for form in ("input", "data")
)
"""The same for whole networks, for which torch has a kernel of autocast in cuDNN's form alone."""
PROMOTED = frozenset(
    [
        "addcdiv",
        "addcmul",
        "atan2",
        "bilinear",
        "cross",
        "dot",
        "grid_sampler",
        "index_put",
        "scatter_add",
        "tensordot",
        "vdot",
    ]
)
"""Operators that run in the widest type of what they are given."""
SUMMED = frozenset(
    [
        "cumprod",
        "cumsum",
        "linalg_matrix_norm",
        "linalg_matrix_norm.str_ord",
        "linalg_vector_norm",
        "log_softmax.int",
        "prod",
        "prod.dim_int",
        "softmax.int",
        "sum",
        "sum.dim_IntList",
    ]
)
"""Operators that take what they are given and return float32, unless another type is asked for."""
REFUSED = frozenset({"binary_cross_entropy"})
"""torch's own kernel says why. All other operators run in float32."""

_library: Any = None


def install() -> None:
    """Take the place of torch's kernels for autocast, for the rest of this process."""
    global _library
    core: Any = torch._C
    _library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    known = core._dispatch_get_registrations_for_dispatch_key(KEY)
    names = {name.removeprefix("aten::") for name in known if name.startswith("aten::")}
    for name in (names | RECURRENT) - REFUSED:
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        if operator is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that a kernel is replaced
                _library.impl(name, _kernel(operator, name), KEY)
    core._dispatch_tls_set_dispatch_key_included(KEY, True)


def _kernel(operator: Any, name: str) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, KEY))

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(keys):
            if name in SUMMED:
                args, kwargs = _summed(operator, args, kwargs)
            else:
                dtype = _type(name, args, kwargs)

                def cast(value: Any) -> Any:
                    return value.to(dtype) if _casts(value) else value

                args, kwargs = _pytree.tree_map(cast, (args, kwargs))
            return operator(*args, **kwargs)

    return run


def _casts(value: Any) -> bool:
    return (
        isinstance(value, FakeTensor)
        and is_gpu(value)
        and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _type(name: str, args: Any, kwargs: Any) -> torch.dtype:
    lower: torch.dtype = torch.get_autocast_dtype("cuda")
    if name in LOWER or name in RECURRENT:
        return lower
    if name in PROMOTED:
        given = [value.dtype for value in _pytree.tree_leaves((args, kwargs)) if _casts(value)]
        return torch.float32 if torch.float32 in given else lower
    return torch.float32


def _summed(operator: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    if not args or not _casts(args[0]):
        return args, kwargs
    places = [argument.name for argument in operator._schema.arguments]
    at = places.index("dtype") if "dtype" in places else len(places)
    if at < len(args):
        if args[at] is None:
            args = (*args[:at], torch.float32, *args[at + 1 :])
    elif at < len(places) and kwargs.get("dtype") is None:
        kwargs = {**kwargs, "dtype": torch.float32}
    return args, kwargs
