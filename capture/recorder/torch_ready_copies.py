"""Copies between host and GPU in a dry run, and what memory of the host is pinned."""

from __future__ import annotations

from typing import Any

import torch

from .torch_ready_call import KEEP_ON_GPU, WAITS, Call, is_gpu, is_pinned, set_pinned

STATIC_INPUT = "make it before the capture, and refresh it between replays with `static.copy_(new)`"
PINNED = "copy from or to pinned memory (`pin_memory=True`) with `non_blocking=True`"
NUMBER = "torch copies this one value from memory on the host that is not pinned"
FILL = "write it with `fill_` or `index_fill_`, or keep the value in a tensor on the GPU"


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
    if is_gpu(target) and target.dim() == 0 and call.mode.writes_number():
        call.report("pageable_copy", NUMBER, FILL)
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


def where(call: Call) -> Any:
    """Choose between two tensors; one on the host is copied."""
    if call.on_gpu and not all(map(is_gpu, call.tensors())):
        call.report(
            "pageable_copy", NUMBER, "write a plain number instead: `torch.where(m, x, 0.0)`"
        )
    return call.run(*call.args, **call.kwargs)


def pin(call: Call) -> Any:
    """Make pinned memory."""
    result = call.args[0].clone()
    set_pinned(result)
    return result


def pinned(call: Call) -> bool:
    """Say whether a tensor is pinned."""
    return is_pinned(call.args[0])
