"""Operators that a dry run cannot let pass: they wait for the GPU, or their result is data."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)

from .torch_ready_call import KEEP_ON_GPU, WAITS, Call, is_gpu
from .torch_ready_copies import FILL, NUMBER
from .torch_ready_guess import guess

OUTSIDE = "leave it out of the graph: do it before the capture or between replays"
FIXED_SHAPE = (
    "use a form with a fixed shape: `torch.where` with three arguments, a multiplication with the "
    "mask, `torch.nonzero_static`"
)
STATUS = "it reads the solver's status on the host"
UNCHECKED = (
    "use the `_ex` form (`torch.linalg.inv_ex`, `cholesky_ex`, `solve_ex`) without "
    "`check_errors`, or leave it out of the graph"
)
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
    """Write by index. One value from the host under masks alone becomes a fill."""
    tensor, indices, values, *rest = call.args
    masks = [index for index in indices if _is_mask(index)]
    others = [index for index in indices if index is not None and not _is_mask(index)]
    from_host = call.mode.writes_number() or not is_gpu(values)
    if any(map(is_gpu, masks)):
        if others or not from_host or values.numel() != 1:
            call.report("host_sync", SHAPE, FIXED_SHAPE, guessed=True)
    elif is_gpu(tensor):
        if from_host:
            call.report("pageable_copy", NUMBER, FILL)
        _host_indices(call, others)
    if masks:
        # The number of selected elements is data: only the result's own shape is sure.
        if not call.name.endswith("_"):
            return tensor.clone()
        if getattr(tensor, "constant", None) is not None:
            call.mode.fake_tensor_converter.invalidate_constant_aliases(tensor.constant)
        return tensor
    return call.run(tensor, indices, values, *rest, **call.kwargs)


def _host_indices(call: Call, indices: Any) -> None:
    if any(isinstance(index, torch.Tensor) and not is_gpu(index) for index in indices):
        call.report(
            "pageable_copy",
            "the index is on the host, and is copied to the GPU at each use",
            "make the index a tensor on the GPU before the capture",
        )


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
    return _marked(call.run(*call.args, **call.kwargs))


def either(call: Call) -> Any:
    """Mark a combination of such results as well."""
    result = call.run(*call.args, **call.kwargs)
    marks = [getattr(tensor, "_cglens_rare", False) for tensor in call.tensors()]
    return _marked(result) if marks and all(marks) else result


def _marked(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        result._cglens_rare = True  # type: ignore[attr-defined]
    return result


def normal(call: Call) -> Any:
    """Draw from a normal distribution; a tensor of deviations is checked on the host."""
    if call.on_gpu and "_Tensor" in call.func._overloadname:
        call.report(
            "host_sync",
            "it checks on the host that no deviation is negative",
            "scale standard numbers: `mean + std * torch.randn_like(std)`",
        )
    return call.run(*call.args, **call.kwargs)


def matrix_exponential(call: Call) -> Any:
    """Raise e to a matrix; torch decides by the matrix's norm on the host."""
    if call.on_gpu:
        call.report("host_sync", "it chooses its method by the norm, on the host", OUTSIDE)
    return call.run(*call.args, **call.kwargs)


def dynamic(call: Call) -> Any:
    """Report what torch itself says to depend on data, where no guess is made."""
    try:
        return call.run(*call.args, **call.kwargs)
    except (DynamicOutputShapeException, DataDependentOutputException):
        if call.on_gpu:
            call.report("host_sync", SHAPE, FIXED_SHAPE)
        raise
