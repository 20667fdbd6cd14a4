"""A copy between the GPU and host memory that is not pinned."""

from __future__ import annotations

from .base import CONSTRAINTS, NO, FailureKind, Match, certain, likely
from .error_codes import UNSUPPORTED
from .facts import Facts

CALLS = ("to", "cuda", "copy_", "tensor", "as_tensor", "asarray", "from_numpy", "scatter", "full")


def matches(facts: Facts) -> Match:
    """Look for torch's own words, or a copy from the host that CUDA refused."""
    if facts.elsewhere or facts.inside("torch/_inductor/", "torch/_dynamo/", "triton/"):
        return NO
    if "cpu tensor is pinned" in facts.message or "pin_memory" in facts.message:
        if facts.method in ("cpu", "numpy", "tolist", "item"):
            return NO
        return certain(f"torch says: {facts.first.line}")
    if facts.code == UNSUPPORTED and facts.method in CALLS:
        return likely(f"`{facts.call}` copies from host memory, and CUDA refused it")
    if facts.code == UNSUPPORTED and "aten._to_copy" in facts.broke_in:
        return likely(f"{facts.broke_in} copied between host and GPU")
    return NO


KIND = FailureKind(
    name="pageable_copy",
    title="Copy of pageable host memory",
    meaning=(
        "A copy from or to host memory that is not pinned is staged by the driver and waits for "
        "it; a graph could not repeat that, and would read the host memory of the capture again."
    ),
    advice=(
        "Make the tensor on the GPU before the capture, and copy new values into it before each "
        "replay: `static_input.copy_(batch)`.",
        "Make constants with `torch.full`, `torch.zeros` or `torch.arange(..., device='cuda')`: "
        "these launch kernels and copy nothing.",
        "Where the copy belongs in the graph, take pinned memory that stays alive "
        "(`pin_memory()`) with `non_blocking=True`.",
    ),
    documentation=CONSTRAINTS,
    matches=matches,
)
