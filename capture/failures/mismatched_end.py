"""A capture whose begin and end do not fit each other."""

from __future__ import annotations

from .base import NO, STREAM_API, FailureKind, Match, certain, likely
from .error_codes import UNMATCHED, WRONG_THREAD
from .facts import Facts

POOL = ("use_count", "pool", "mempool")


def matches(facts: Facts) -> Match:
    """Look for torch's and CUDA's words about the end."""
    if facts.code in (UNMATCHED, WRONG_THREAD) or "same stream it began" in facts.message:
        return certain(facts.first.line)
    if facts.stage == "begin" and any(word in facts.message for word in POOL):
        return likely(f"torch says about the pool: {facts.first.line}")
    return NO


KIND = FailureKind(
    name="mismatched_end",
    title="Begin and end do not match",
    meaning=(
        "A capture has to end on the stream it began on and, unless its mode is `relaxed`, in the "
        "same thread; a pool has to be that of a graph that is alive, or a fresh handle."
    ),
    advice=(
        "Use `with torch.cuda.graph(graph):`, which begins and ends on one stream.",
        "With `capture_begin()` and `capture_end()`, keep both inside one "
        "`with torch.cuda.stream(stream):` of one thread.",
        "Take pools from `torch.cuda.graph_pool_handle()` or from `graph.pool()` of a graph that "
        "still exists.",
    ),
    documentation=STREAM_API,
    matches=matches,
)
