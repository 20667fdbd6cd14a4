"""Another thread used CUDA while this one captured."""

from __future__ import annotations

from .base import NO, STREAM_API, FailureKind, Match, certain, likely, possible
from .error_codes import INVALIDATED
from .facts import Facts, Frame


def matches(facts: Facts) -> Match:
    """Look at who raised the first error, then at who else was alive."""
    if facts.stage == "end" and facts.first == facts.surfaced and facts.code != INVALIDATED:
        return NO  # it is the end itself that was called in another thread
    if facts.elsewhere and facts.is_cuda and facts.code != INVALIDATED:
        what = f"`{facts.call}`" if facts.call else "a call"
        return certain(
            f"{what} in thread {facts.first.thread!r} was refused first, and that invalidated "
            f"the capture of thread {facts.thread!r}"
        )
    if facts.mode != "global" or facts.code != INVALIDATED or not facts.others:
        return NO
    names = ", ".join(repr(name) for name, _ in facts.others[:3])
    busy = next((name for name, frames in facts.others if _uses_cuda(frames)), "")
    if busy and facts.watched:
        return likely(
            f"the capture was invalidated without an error in Python, while thread {busy!r} was "
            f"in a call of torch's or CUDA's"
        )
    return possible(f"other threads were alive: {names}")


def _uses_cuda(frames: tuple[Frame, ...]) -> bool:
    """Say whether a thread is right now in a call of a library that uses CUDA."""
    first = frames[0] if frames else None
    return first is not None and any(
        f"/{name}/" in first.file.replace("\\", "/") for name in ("torch", "cuda", "cupy")
    )


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
