"""Operators that a dry run cannot let pass: they wait for the GPU, or their result is data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)

from .torch_ready_call import Call, is_gpu, is_pinned, set_pinned
from .torch_ready_guess import guess

KEEP_ON_GPU = (
    "keep the value on the GPU (`torch.where`, a tensor as an argument), or read it after a replay"
)
FIXED_SHAPE = (
    "use a form with a fixed shape: `torch.where` with three arguments, a multiplication with the "
    "mask, `torch.nonzero_static`"
)
STATIC_INPUT = "make it before the capture, and refresh it between replays with `static.copy_(new)`"
PINNED = "copy from or to pinned memory (`pin_memory=True`) with `non_blocking=True`"
STATUS = "it reads the solver's status on the host"
UNCHECKED = (
    "use the `_ex` form (`torch.linalg.inv_ex`, `cholesky_ex`, `solve_ex`) without "
    "`check_errors`, or leave it out of the graph"
)
WAITS = "it waits until the GPU is done, and in a capture nothing runs"
SHAPE = "the shape of its result depends on the data, so it waits for the GPU"


def item(call: Call) -> Any:
    """Answer ``.item()``: the value of a constant, else a guess."""
    tensor = call.args[0]
    try:
        value, known = call.run(*call.args, **call.kwargs), True
    except DataDependentOutputException:
        value, known = guess(call, tensor.dtype), False
    if is_gpu(tensor):
        call.report("host_sync", WAITS, KEEP_ON_GPU, guessed=not known)
    return value


def equal(call: Call) -> bool:
    """Answer ``torch.equal`` and its like with yes."""
    if call.on_gpu:
        call.report("host_sync", WAITS, KEEP_ON_GPU, guessed=True)
    call.mode.log.guessed()
    return True


def _reported_shape(call: Call) -> None:
    if call.on_gpu:
        call.report("host_sync", SHAPE, FIXED_SHAPE, guessed=True)
    call.mode.log.guessed()


def nonzero(call: Call) -> Any:
    """Take every element for different from zero."""
    tensor = call.args[0]
    _reported_shape(call)
    return tensor.new_empty((tensor.numel(), tensor.dim()), dtype=torch.int64)


def masked_select(call: Call) -> Any:
    """Take every element for selected."""
    tensor, mask = call.args[:2]
    _reported_shape(call)
    shape = torch.broadcast_shapes(tensor.shape, mask.shape)  # type: ignore[no-untyped-call]
    return tensor.new_empty((shape.numel(),))


def unique(call: Call) -> tuple[torch.Tensor, ...]:
    """Take every element for different."""
    tensor = call.args[0]
    _reported_shape(call)
    inverse = tensor.new_empty(tensor.shape, dtype=torch.int64)
    counts = tensor.new_empty((tensor.numel(),), dtype=torch.int64)
    return tensor.new_empty((tensor.numel(),)), inverse, counts


def unique_dim(call: Call) -> tuple[torch.Tensor, ...]:
    """Take every slice for different."""
    tensor, dim = call.args[:2]
    _reported_shape(call)
    positions = tensor.new_empty((tensor.shape[dim],), dtype=torch.int64)
    return tensor.new_empty(tensor.shape), positions, positions.clone()


def unique_consecutive(call: Call) -> tuple[torch.Tensor, ...]:
    """Take every element, or slice, for different from the one before."""
    tensor = call.args[0]
    dim = call.args[3] if len(call.args) > 3 else call.kwargs.get("dim")
    _reported_shape(call)
    count = tensor.numel() if dim is None else tensor.shape[dim]
    shape = (count,) if dim is None else tensor.shape
    inverse = tensor.new_empty(tensor.shape if dim is None else (count,), dtype=torch.int64)
    return tensor.new_empty(shape), inverse, tensor.new_empty((count,), dtype=torch.int64)


def repeat_interleave(call: Call) -> Any:
    """Take every count for 1 where the sum is not given."""
    if call.kwargs.get("output_size") is not None:
        return call.run(*call.args, **call.kwargs)
    repeats = call.args[0]
    if call.on_gpu:
        call.report("host_sync", SHAPE, "pass `output_size=`", guessed=True)
    call.mode.log.guessed()
    return repeats.new_empty((repeats.shape[0],), dtype=torch.int64)


def bincount(call: Call) -> Any:
    """Take the largest value for the smallest that there can be."""
    tensor = call.args[0]
    minimum = call.kwargs.get("minlength", call.args[2] if len(call.args) > 2 else 0)
    weights = call.kwargs.get("weights", call.args[1] if len(call.args) > 1 else None)
    if call.on_gpu:
        call.report(
            "host_sync",
            SHAPE,
            "count with `torch.zeros(n).index_add_` or `scatter_add_`",
            guessed=True,
        )
    call.mode.log.guessed()
    dtype = torch.int64 if weights is None else torch.float64
    return tensor.new_empty((max(minimum, 1),), dtype=dtype)


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def _without_masks(call: Call, indices: Any) -> list[Any]:
    plain: list[Any] = []
    for index in indices:
        if _is_mask(index):
            call.mode.log.guessed()
            numbers = index.new_empty((index.numel(),), dtype=torch.int64)
            plain += [numbers] * index.dim()
        else:
            plain.append(index)
    return plain


def index(call: Call) -> Any:
    """Index: masks select everything."""
    tensor, indices, *rest = call.args
    masks = [index for index in indices if _is_mask(index)]
    if any(map(is_gpu, masks)):
        call.report("host_sync", SHAPE, FIXED_SHAPE, guessed=True)
    elif is_gpu(tensor) and not masks:
        _host_indices(call, indices)
    return call.run(tensor, _without_masks(call, indices), *rest, **call.kwargs)


def index_put(call: Call) -> Any:
    """Write by index; one value under masks alone needs no shape."""
    tensor, indices, values, *rest = call.args
    masks = [index for index in indices if _is_mask(index)]
    others = [index for index in indices if index is not None and not _is_mask(index)]
    if any(map(is_gpu, masks)) and (others or values.numel() != 1):
        call.report("host_sync", SHAPE, FIXED_SHAPE, guessed=True)
    elif is_gpu(tensor) and not masks:
        _host_indices(call, others)
    if masks:
        # The number of selected elements is data: only the result's own shape is sure.
        return tensor if call.name.endswith("_") else tensor.clone()
    return call.run(tensor, indices, values, *rest, **call.kwargs)


def _host_indices(call: Call, indices: Any) -> None:
    if any(isinstance(index, torch.Tensor) and not is_gpu(index) for index in indices):
        call.report(
            "pageable_copy",
            "the index is on the host, and is copied to the GPU at each use",
            "make the index a tensor on the GPU before the capture",
        )


def move(call: Call) -> Any:
    """Copy to another device, or another type."""
    source = call.args[0]
    device = call.kwargs.get("device")
    to_gpu = is_gpu(source) if device is None else torch.device(device).type != "cpu"
    waits = not call.kwargs.get("non_blocking")
    result = call.run(*call.args, **call.kwargs)
    if to_gpu and not is_gpu(source):
        _to_gpu(call, source, waits)
    elif is_gpu(source) and not to_gpu:
        # torch makes the result of a copy that does not wait pinned by itself.
        if not waits:
            set_pinned(result)
        else:
            call.report("host_sync", WAITS, KEEP_ON_GPU)
    return result


def copy(call: Call) -> Any:
    """Copy into a tensor."""
    target, source = call.args[:2]
    waits = not (call.args[2] if len(call.args) > 2 else call.kwargs.get("non_blocking"))
    if is_gpu(target) and not is_gpu(source):
        _to_gpu(call, source, waits)
    elif is_gpu(source) and not is_gpu(target):
        if not is_pinned(target):
            call.report("pageable_copy", "the memory on the host is not pinned", PINNED)
        elif waits:
            call.report("host_sync", WAITS, PINNED)
    return call.run(*call.args, **call.kwargs)


def _to_gpu(call: Call, source: torch.Tensor, waits: bool) -> None:
    if not is_pinned(source):
        call.report(
            "pageable_copy",
            "its values come from memory on the host that is not pinned",
            STATIC_INPUT,
        )
    elif waits:
        call.report("host_sync", WAITS, PINNED)


def pin(call: Call) -> Any:
    """Make pinned memory."""
    result = call.args[0].clone()
    set_pinned(result)
    return result


def pinned(call: Call) -> bool:
    """Say whether a tensor is pinned."""
    return is_pinned(call.args[0])


def solver(call: Call) -> Any:
    """Run a factorisation that looks at its status on the host."""
    if call.on_gpu:
        call.report("host_sync", STATUS, UNCHECKED)
    return call.run(*call.args, **call.kwargs)


def check_errors(call: Call) -> None:
    """Pass over the check of a solver's status."""
    if call.on_gpu:
        call.report("host_sync", STATUS, UNCHECKED)


def histogram(call: Call) -> Any:
    """Count into bins; without a range it looks for it on the host."""
    low = call.args[2] if len(call.args) > 2 else call.kwargs.get("min", 0)
    high = call.args[3] if len(call.args) > 3 else call.kwargs.get("max", 0)
    if call.on_gpu and low == high:
        call.report("host_sync", WAITS, "pass `min=` and `max=`")
    return call.run(*call.args, **call.kwargs)


def rare(call: Call) -> Any:
    """Mark results that are rarely true in a script that works."""
    result = call.run(*call.args, **call.kwargs)
    if isinstance(result, torch.Tensor):
        result._cglens_rare = True  # type: ignore[attr-defined]
    return result


def dynamic(call: Call) -> Any:
    """Report what torch itself says to depend on data, where no guess is made."""
    try:
        return call.run(*call.args, **call.kwargs)
    except (DynamicOutputShapeException, DataDependentOutputException):
        if call.on_gpu:
            call.report("host_sync", SHAPE, FIXED_SHAPE)
        raise


HANDLERS: dict[str, Callable[[Call], Any]] = {
    "_local_scalar_dense": item,
    "item": item,
    "equal": equal,
    "nonzero": nonzero,
    "masked_select": masked_select,
    "_unique2": unique,
    "unique_dim": unique_dim,
    "unique_consecutive": unique_consecutive,
    "repeat_interleave": repeat_interleave,
    "bincount": bincount,
    "index": index,
    "_unsafe_index": index,
    "index_put": index_put,
    "index_put_": index_put,
    "_unsafe_index_put": index_put,
    "_index_put_impl_": index_put,
    "_to_copy": move,
    "copy_": copy,
    "_pin_memory": pin,
    "is_pinned": pinned,
    "_linalg_check_errors": check_errors,
    "histc": histogram,
    "any": rare,
    "isnan": rare,
    "isinf": rare,
}
HANDLERS |= dict.fromkeys(("to_sparse", "_coalesce", "_to_sparse", "_to_sparse_csr"), dynamic)
HANDLERS |= dict.fromkeys(
    (
        "linalg_eig",
        "linalg_eigvals",
        "_linalg_eigvals",
        "_linalg_eigh",
        "_linalg_svd",
        "linalg_lstsq",
    ),
    solver,
)
