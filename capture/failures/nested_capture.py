"""A capture or replay inside a capture."""

from __future__ import annotations

from .base import NO, TORCH_NOTES, FailureKind, Match, certain, likely
from .error_codes import ILLEGAL_STATE, INVALIDATED, UNSUPPORTED
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for torch's graph class among the frames of the error."""
    if facts.elsewhere or facts.stage == "end":
        return NO
    if facts.stage != "begin":
        entered = facts.inside(
            "torch/cuda/graphs.py:__enter__", "torch/cuda/graphs.py:capture_begin"
        )
        if entered and facts.code != INVALIDATED:
            return certain("a capture was begun inside this one")
        if facts.inside("torch/cuda/graphs.py:replay") or facts.method == "replay":
            return certain("a graph was replayed inside this capture")
        if facts.inside("torch/_inductor/cudagraph_trees.py:"):
            return likely("torch.compile's own graphs were used inside this capture")
        return NO
    capturing = "capturestatus" in facts.message and "active" in facts.message
    if capturing or facts.code in (ILLEGAL_STATE, UNSUPPORTED):
        return certain(f"the stream was capturing already: {facts.first.line}")
    return NO


KIND = FailureKind(
    name="nested_capture",
    title="Capture or replay inside a capture",
    meaning="A stream can be captured into one graph at a time, and torch synchronises before each "
    "capture begins.",
    advice=(
        "Capture the inner part first and on its own, or let it run plainly inside the outer "
        "capture: then its kernels become part of that graph.",
        "Functions compiled with `mode='reduce-overhead'` make graphs of their own: compile "
        "without it (`triton.cudagraphs=False`) what you capture yourself.",
    ),
    documentation=TORCH_NOTES,
    matches=matches,
)
