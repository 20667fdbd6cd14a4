"""Work on the legacy default stream while another stream captures."""

from __future__ import annotations

from .base import CAPTURE_FAILURES, NO, FailureKind, Match, certain, likely
from .error_codes import IMPLICIT, UNSUPPORTED
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for CUDA's own error for it."""
    if facts.code == IMPLICIT:
        return certain(f"CUDA names the default stream: {facts.first.line}")
    if facts.code == UNSUPPORTED and "default_stream" in facts.call:
        return likely(f"`{facts.call}` uses the default stream")
    return NO


KIND = FailureKind(
    name="legacy_stream",
    title="Operation on the legacy default stream",
    meaning=(
        "The legacy default stream waits for every other blocking stream, the capturing one "
        "included. During a capture there is nothing that it could wait for."
    ),
    advice=(
        "Launch on the capturing stream, or on streams of your own that wait for it "
        "(`side.wait_stream(torch.cuda.current_stream())`).",
        "Look for libraries and extensions that launch on stream 0: they have to be given "
        "`torch.cuda.current_stream().cuda_stream`.",
    ),
    documentation=CAPTURE_FAILURES,
    matches=matches,
)
