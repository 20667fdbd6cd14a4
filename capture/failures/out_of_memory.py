"""There is not enough memory for what the capture needs."""

from __future__ import annotations

from .base import NO, FailureKind, Match, certain
from .error_codes import OUT_OF_MEMORY
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for torch's own class, or CUDA's number."""
    if facts.first.error.endswith("OutOfMemoryError") or facts.code == OUT_OF_MEMORY:
        return certain(facts.first.line)
    return NO


KIND = FailureKind(
    name="out_of_memory",
    title="Out of memory",
    meaning=(
        "A capture allocates from a pool of its own, which does not share free blocks with the "
        "rest of the process, and during a capture torch cannot give cached memory back."
    ),
    advice=(
        "Call `torch.cuda.empty_cache()` before the capture, and drop what the warm-up left.",
        "Let graphs that never run at the same time share a pool: "
        "`torch.cuda.graph(g, pool=first.pool())`; capture the largest one first.",
    ),
    documentation="https://docs.pytorch.org/docs/stable/notes/cuda.html#graph-memory-management",
    matches=matches,
)
