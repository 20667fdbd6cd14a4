"""Operators whose results' shapes depend on the lengths of sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from .ready_log import Log
from .torch_ready_call import KEEP_ON_GPU, WAITS, Call, is_gpu, set_known

CUDNN_CTC = (
    "for cuDNN's form, which can be captured, give targets (one row), input lengths and target "
    "lengths as int32 tensors on the GPU, float32 probabilities and blank 0"
)


def install(log: Log) -> None:
    """Let the loss of sequences take lengths from the host, for the rest of this process."""
    functions: Any = torch
    plain = functions.ctc_loss

    def loss(scores: Any, targets: Any, inputs: Any, lengths: Any, *rest: Any, **named: Any) -> Any:
        # For subclasses of tensors torch divides by the lengths wherever they are.
        with log.quiet():
            moved = [_moved(value, scores) for value in (inputs, lengths)]
        return plain(scores, targets, *moved, *rest, **named)

    functions.ctc_loss = loss


def _moved(lengths: Any, scores: Any) -> Any:
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.tensor(lengths)
    if not is_gpu(scores) or is_gpu(lengths):
        return lengths
    moved = lengths.to(scores.device)
    moved._cglens_from_host = True
    return moved


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
    """Work out the loss of sequences; torch's own kernels want the lengths on the host."""
    scores, targets, *lengths = call.args[:4]
    blank = call.args[4] if len(call.args) > 4 else call.kwargs.get("blank", 0)
    if is_gpu(scores) and not _is_cudnn(scores, targets, lengths, blank):
        if not any(getattr(value, "_cglens_from_host", False) for value in lengths):
            call.report("host_sync", f"the lengths are read on the host: {WAITS}", CUDNN_CTC)
        else:
            call.report(
                "pageable_copy",
                "the lengths are copied from memory on the host that is not pinned",
                f"{CUDNN_CTC}; or {KEEP_ON_GPU}",
            )
    longest = targets.shape[1] if targets.dim() == 2 else targets.numel()
    batch = (scores.shape[1],) if scores.dim() == 3 else ()
    steps = (*batch, scores.shape[0], 2 * longest + 1)
    return scores.new_empty(batch), scores.new_empty(steps)


def ctc_loss_backward(call: Call) -> Any:
    """Return the gradient's shape, wherever the lengths are."""
    return torch.empty_like(call.args[1])


def _is_cudnn(scores: Any, targets: Any, lengths: Any, blank: int) -> bool:
    numbers = (targets, *lengths)
    return (
        blank == 0
        and scores.dtype == torch.float32
        and targets.dim() == 1
        and all(isinstance(value, torch.Tensor) for value in numbers)
        and not any(getattr(value, "_cglens_from_host", False) for value in lengths)
        and all(value.dtype == torch.int32 and is_gpu(value) for value in numbers)
    )
