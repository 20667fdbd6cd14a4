"""Operators whose results' shapes depend on the lengths of sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from .ready_log import Log
from .torch_ready_call import WAITS, Call, is_gpu, set_known

OUTSIDE = "leave the loss out of the graph: compute it of what a replay leaves"


def install(log: Log) -> None:
    """Check the loss of sequences before its arguments are converted, in this process."""
    functions: Any = torch
    plain = functions.ctc_loss

    def loss(scores: Any, targets: Any, inputs: Any, lengths: Any, *rest: Any, **named: Any) -> Any:
        # cuDNN's form as well: with int32 on the GPU the capture failed on an H200 (torch 2.11).
        if is_gpu(scores):
            if is_gpu(inputs) or is_gpu(lengths):
                kind, why = "host_sync", f"the lengths are read on the host: {WAITS}"
            else:
                kind, why = "pageable_copy", "the lengths are copied from pageable memory"
            log.found(kind, "torch.nn.functional.ctc_loss", why, OUTSIDE)
        # For subclasses of tensors torch divides by the lengths wherever they are.
        with log.quiet():
            moved = [_moved(value, scores) for value in (inputs, lengths)]
        return plain(scores, targets, *moved, *rest, **named)

    functions.ctc_loss = loss


def _moved(lengths: Any, scores: Any) -> Any:
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.tensor(lengths)
    return lengths.to(scores.device)


def pack(call: Call) -> Any:
    """Pack sequences; lengths that are not known are taken for the longest there can be."""
    padded, lengths = call.args[:2]
    batch_first = call.args[2] if len(call.args) > 2 else call.kwargs.get("batch_first", False)
    batch, steps = padded.shape[:2] if batch_first else (padded.shape[1], padded.shape[0])
    with _disable_current_modes():
        numbers = _numbers(lengths)
        if numbers is None:
            call.mode.log.guessed()
            numbers = [steps] * batch
        # A real tensor: torch's C++ reads its values to unpack.
        sizes = torch.tensor([sum(size > step for size in numbers) for step in range(max(numbers))])
    return padded.new_empty((sum(numbers), *padded.shape[2:])), set_known(sizes)


def _numbers(lengths: torch.Tensor) -> list[int] | None:
    known = lengths.constant if isinstance(lengths, FakeTensor) else lengths
    return None if known is None else [int(number) for number in known.tolist()]


def ctc_loss(call: Call) -> Any:
    """Return the shapes of the loss and of what its backward needs."""
    scores, targets = call.args[:2]
    longest = targets.shape[1] if targets.dim() == 2 else targets.numel()
    batch = (scores.shape[1],) if scores.dim() == 3 else ()
    return scores.new_empty(batch), scores.new_empty((*batch, scores.shape[0], 2 * longest + 1))


def ctc_loss_backward(call: Call) -> Any:
    """Return the gradient's shape, wherever the lengths are."""
    return torch.empty_like(call.args[1])
