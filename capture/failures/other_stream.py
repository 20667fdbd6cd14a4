"""The capture depends on work that is not captured."""

from __future__ import annotations

from .base import CAPTURE_FAILURES, NO, FailureKind, Match, certain, likely
from .error_codes import ISOLATION, UNSUPPORTED
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for CUDA's own error for it."""
    if facts.code == ISOLATION:
        return certain(f"CUDA says so: {facts.first.line}")
    if facts.code == UNSUPPORTED and facts.outside and not facts.elsewhere:
        return likely(
            f"{facts.outside} was called on a stream that is not part of the capture, where it "
            f"needed memory, or waited, and CUDA refused that"
        )
    return NO


KIND = FailureKind(
    name="other_stream",
    title="Operation on another, non-capturing stream",
    meaning=(
        "A captured operation was to wait for work that is outside the capture. A graph cannot "
        "hold such a dependency, because at its replay that work is long over, or comes again. "
        "What is launched on such a stream inside the capture runs at once, and may not allocate "
        "or wait."
    ),
    advice=(
        "Wait for the other stream before the capture begins "
        "(`torch.cuda.synchronize()`, or `stream.wait_stream(other)`), not inside.",
        "To take the other stream's work into the graph, fork it inside: "
        "`side.wait_stream(torch.cuda.current_stream())` first, then launch on `side`, then "
        "`torch.cuda.current_stream().wait_stream(side)`.",
        "Record events that are waited for inside the capture, inside the capture as well.",
    ),
    documentation=CAPTURE_FAILURES,
    matches=matches,
)
