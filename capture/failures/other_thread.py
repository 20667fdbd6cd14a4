"""Another thread used CUDA while this one captured."""

from __future__ import annotations

from .base import NO, STREAM_API, FailureKind, Match, certain, likely, possible
from .facts import INVALIDATED, Facts


def matches(facts: Facts) -> Match:
    """Look at who raised the first error, then at who else was alive."""
    if facts.elsewhere and facts.is_cuda and facts.code != INVALIDATED:
        what = f"`{facts.call}`" if facts.call else "a call"
        return certain(
            f"{what} in thread {facts.first.thread!r} was refused first, and that invalidated "
            f"the capture of thread {facts.thread!r}"
        )
    if facts.mode != "global" or facts.code != INVALIDATED or not facts.others:
        return NO
    names = ", ".join(repr(name) for name, _ in facts.others[:3])
    if facts.watched:
        return likely(
            f"the capture was invalidated without an error in Python, while other threads were "
            f"alive ({names})"
        )
    return possible(f"other threads were alive: {names}")


KIND = FailureKind(
    name="other_thread",
    title="Unsafe call in another thread",
    meaning=(
        "In the mode `global`, which is torch's default, calls of any thread that may wait for "
        "the device (synchronise, query an event, allocate, free) are refused while a capture "
        "goes on, and invalidate it."
    ),
    advice=(
        "Capture with `capture_error_mode='thread_local'`: then calls of other threads pass.",
        "Or stop such threads during the capture: watchdogs of NCCL, loaders that pin memory, "
        "threads that log or evaluate.",
    ),
    documentation=STREAM_API,
    matches=matches,
)
