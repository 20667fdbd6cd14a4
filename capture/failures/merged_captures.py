"""Two captures that would become one."""

from __future__ import annotations

from .base import CAPTURE_FAILURES, NO, FailureKind, Match, certain
from .error_codes import MERGE
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for CUDA's own error for it."""
    if facts.code == MERGE:
        return certain(f"CUDA says so: {facts.first.line}")
    return NO


KIND = FailureKind(
    name="merged_captures",
    title="Wait between two captures",
    meaning=(
        "A stream of one capture was to wait for a stream of another. Each capture becomes a "
        "graph of its own, and graphs cannot depend on each other."
    ),
    advice=(
        "End one capture before its results are used in the other.",
        "To have both in one graph, begin one capture only and fork the second stream from it.",
    ),
    documentation=CAPTURE_FAILURES,
    matches=matches,
)
