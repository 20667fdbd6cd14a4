"""An exception of the script that has nothing to do with CUDA."""

from __future__ import annotations

from .base import NO, TORCH_NOTES, FailureKind, Match, certain, likely
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look whether anything of the error is about CUDA, and whether the capture was intact."""
    error = facts.first.error
    if not error or error in ("CaptureNotEnded", "NotRead") or facts.is_cuda:
        return NO
    if error.endswith("OutOfMemoryError") or "captur" in facts.message:
        return NO
    if facts.status == "active":
        return certain(f"{error} left the capture, which CUDA had not refused anything in")
    return likely(f"{error} says nothing about CUDA")


KIND = FailureKind(
    name="own_error",
    title="Exception of the script itself",
    meaning="An exception left the capture before its end. It is not CUDA's, and would come "
    "without a capture as well.",
    advice=(
        "Run the captured function once without a capture and repair what it says.",
        "torch may end such a capture without an error: the graph then holds only what was "
        "captured until the exception, so do not replay it.",
    ),
    documentation=TORCH_NOTES,
    matches=matches,
)
