"""A capture that was begun and never ended."""

from __future__ import annotations

from .base import NO, FailureKind, Match, certain, possible
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look whether the end was ever called, and whether an exception is the reason."""
    if facts.stage != "never ended":
        return NO
    if facts.first.error in ("", "CaptureNotEnded"):
        return certain(facts.first.line or "capture_end was not called")
    return possible("capture_end was not called")


KIND = FailureKind(
    name="not_ended",
    title="Capture not ended",
    meaning="`capture_begin` was called, and `capture_end` was not, so there is no graph.",
    advice=(
        "Use `with torch.cuda.graph(graph):`, which ends the capture whatever happens inside.",
        "With `capture_begin()`, call `capture_end()` in a `finally`.",
    ),
    documentation="https://docs.pytorch.org/docs/stable/generated/torch.cuda.graph.html",
    matches=matches,
)
