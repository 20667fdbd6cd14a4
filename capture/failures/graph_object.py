"""A graph object that is in use already."""

from __future__ import annotations

from .base import NO, FailureKind, Match, certain
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for torch's words."""
    if "already owns a captured graph" in facts.message:
        return certain(f"torch says: {facts.first.line}")
    return NO


KIND = FailureKind(
    name="graph_object",
    title="Graph object in use",
    meaning="A `torch.cuda.CUDAGraph` holds one graph, and does not throw it away by itself.",
    advice=(
        "Make a new `torch.cuda.CUDAGraph()` for each capture; they can share memory with "
        "`pool=first.pool()`.",
        "Or call `graph.reset()` first, if the old graph is not needed any more.",
    ),
    documentation="https://docs.pytorch.org/docs/stable/generated/torch.cuda.CUDAGraph.html",
    matches=matches,
)
