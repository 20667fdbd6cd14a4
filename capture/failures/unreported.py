"""A call that CUDA refused, and whose error nobody raised in Python."""

from __future__ import annotations

from .base import CAPTURE_FAILURES, NO, FailureKind, Match, likely, possible
from .error_codes import INVALIDATED
from .facts import Facts


def matches(facts: Facts) -> Match:
    """Look whether CUDA only speaks of an error before, while Python's errors were listened to."""
    if facts.code != INVALIDATED or facts.stage == "begin":
        return NO
    after = f" after {facts.after}, which made the last node," if facts.after else ""
    until = "the end of the capture" if facts.stage == "end" else "this line"
    if facts.watched:
        return likely(
            f"a call was refused{after} and before {until}, and nothing was raised in Python"
        )
    return possible("errors that are swallowed are heard of with Python 3.12 and newer only")


KIND = FailureKind(
    name="unreported",
    title="Refused call that nobody reported",
    meaning=(
        "CUDA refused a call and gave the capture up. Whoever called did not look at the answer, "
        "or is a thread of C++ alone, so the next call is the first to hear of it."
    ),
    advice=(
        "Look at what runs between the last captured node and this line: extensions and calls of "
        "CUDA's own API whose error codes are not checked (allocations, synchronisation, copies).",
        "Capture once with `capture_error_mode='thread_local'`: if it succeeds, another thread "
        "was it, such as NCCL's watchdog.",
        "`compute-sanitizer --report-api-errors all` prints every call that CUDA refuses.",
    ),
    documentation=CAPTURE_FAILURES,
    matches=matches,
)
