"""A side stream that the capturing stream never waits for."""

from __future__ import annotations

from .base import CAPTURE_FAILURES, NO, FailureKind, Match, certain
from .error_codes import UNJOINED
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look for CUDA's own error for it."""
    if facts.code != UNJOINED:
        return NO
    if facts.unjoined:
        some = ", ".join(map(str, facts.unjoined[:5]))
        more = "" if len(facts.unjoined) <= 5 else f" and {len(facts.unjoined) - 5} more"
        return certain(
            f"nothing waits for node {some}{more}, and the capturing stream did not join "
            f"the stream of it"
        )
    return certain(f"CUDA says so: {facts.first.line}")


KIND = FailureKind(
    name="unjoined_stream",
    title="Stream not joined",
    meaning=(
        "A stream that took part in the capture has work for which the capturing stream does not "
        "wait. A graph has to end where it began."
    ),
    advice=(
        "Before the capture ends, let the capturing stream wait for each stream that it forked: "
        "`torch.cuda.current_stream().wait_stream(side)`, or an event recorded on `side` last.",
    ),
    documentation=CAPTURE_FAILURES,
    matches=matches,
)
