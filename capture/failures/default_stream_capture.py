"""A capture on the legacy default stream."""

from __future__ import annotations

from .base import NO, FailureKind, Match, certain
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for torch's words."""
    if facts.stage == "begin" and "non-default stream" in facts.message:
        return certain(f"torch says: {facts.first.line}")
    return NO


KIND = FailureKind(
    name="default_stream_capture",
    title="Capture on the default stream",
    meaning="The legacy default stream synchronises with other streams by itself, so CUDA does not "
    "capture it.",
    advice=(
        "Use `with torch.cuda.graph(graph):`, which captures on a side stream, or make one: "
        "`with torch.cuda.stream(torch.cuda.Stream()): graph.capture_begin()`.",
        "A graph may be replayed on the default stream all the same.",
    ),
    documentation="https://docs.pytorch.org/docs/stable/generated/torch.cuda.CUDAGraph.html",
    matches=matches,
)
