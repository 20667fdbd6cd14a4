"""Failed captures as text: what happened, where, how sure that is, what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable

from capture.failures import UNKNOWN, FailureKind, code_name, kind_of
from capture.model import Failure, GraphInfo, LeftOut, Place, Recording

MOST_FRAMES = 200
MOST_CHARACTERS = 500
FIRST_LINES = 3
"""Failed captures that the closing lines of `cglens record` speak of."""


def failures_of(recording: Recording) -> list[GraphInfo]:
    """Return captures that failed, and graphs whose capture was left by an exception."""
    left = [info for info in recording.graphs.values() if info.failure is not None]
    return [*recording.failed.values(), *left]


def judged(failure: Failure) -> bool:
    """Say whether a failure was ever judged: older recordings were not."""
    return bool(failure.kind)


def kind(failure: Failure) -> FailureKind:
    """Return the kind of a failure; unknown where it was never judged."""
    return kind_of(failure.kind) if failure.kind else UNKNOWN


def title(failure: Failure) -> str:
    """Return the kind's title, with a word where it is not certain.

    Examples
    --------
    >>> title(Failure(error="", message="", kind="host_sync", confidence="likely"))
    'Host synchronisation (likely)'
    """
    found = kind(failure).title
    return f"{found} ({failure.confidence})" if failure.confidence not in ("", "certain") else found


def alternatives(failure: Failure) -> list[str]:
    """Return the titles of other kinds that fit the evidence."""
    return [kind_of(name).title for name in failure.alternatives[:10] if name != failure.kind]


def first_line(message: str) -> str:
    """Return the first line of a message: torch appends advice of its own."""
    return cut(message.strip().partition("\n")[0])


def cut(text: str) -> str:
    """Return a text that is not too long to be shown: files come from anywhere.

    Examples
    --------
    >>> len(cut("x" * 10_000_000))
    503
    """
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def error_text(failure: Failure) -> str:
    """Return class and message of what reached the script, on one line."""
    message = first_line(failure.message)
    return f"{cut(failure.error)}: {message}" if message else cut(failure.error)


def where(failure: Failure, info: GraphInfo) -> Place | None:
    """Return the line to blame, else where the capture began."""
    return failure.place or info.place


def short_place(place: Place | None) -> str:
    """Return ``file:line`` with the file's name alone."""
    if place is None:
        return ""
    return f"{os.path.basename(place.file.replace(chr(92), '/'))}:{place.line}"


def reached(failure: Failure, info: GraphInfo, nodes: str) -> str:
    """Return how far a capture got; `nodes` is its number of nodes as text."""
    if not failure.nodes_read:
        return f"nodes not read: {failure.reason or 'no reason given'}"
    return f"{nodes} captured until then"


def code(failure: Failure) -> str:
    """Return CUDA's name and number of the first error; empty without one."""
    return f"{code_name(failure.code)} ({failure.code})" if failure.code is not None else ""


def stack(failure: Failure) -> list[tuple[Place, bool]]:
    """Return the frames of the first error, innermost first, each with whether it is a library's.

    Frames of libraries that nothing of the user's was called from come last in a traceback, and
    tell what the failing line did.
    """
    facts = failure.facts.get("first")
    frames = facts.get("frames") if isinstance(facts, dict) else None
    library = {
        (frame.get("file"), frame.get("line"))
        for frame in (frames if isinstance(frames, list) else [])
        if isinstance(frame, dict) and not frame.get("user", True)
    }
    return [(place, (place.file, place.line) in library) for place in failure.stack[:MOST_FRAMES]]


def closing_lines(recording: Recording) -> list[str]:
    """Return what `cglens record` says of failed captures: kind, line, what to do.

    Captures that failed in one way at one line are said once.
    """
    groups: dict[tuple[str, str, int], list[GraphInfo]] = {}
    for info in failures_of(recording):
        failure = info.failure
        if failure is None or not judged(failure):
            continue
        place = where(failure, info)
        at = (place.file, place.line) if place else ("", 0)
        groups.setdefault((failure.kind, *at), []).append(info)
    lines: list[str] = []
    for infos in list(groups.values())[:FIRST_LINES]:
        lines += _lines(infos)
    lost = [left for info in recording.graphs.values() for left in info.left_out]
    if lost:
        lines.append(_omitted(lost))
    if len(groups) > FIRST_LINES:
        lines.append(
            f"and {len(groups) - FIRST_LINES} other reasons for failed captures: cglens info"
        )
    return lines


def left_out_text(left: LeftOut) -> str:
    """Return one operator that is not in a graph: what, where, on which stream, how often."""
    place = f" at {left.place.file}:{left.place.line}" if left.place else ""
    times = f", {left.times} times" if left.times > 1 else ""
    return f"{left.operator}{place} on stream {left.stream}{times}"


def _omitted(lost: list[LeftOut]) -> str:
    others = f" (and {len(lost) - 1} more: cglens info)" if len(lost) > 1 else ""
    return (
        f"not in the graph: {left_out_text(lost[0])}{others}: that stream is not part of the "
        f"capture, so it ran at once and no replay repeats it"
    )


def _lines(infos: list[GraphInfo]) -> Iterable[str]:
    info = infos[0]
    failure = info.failure
    assert failure is not None
    place = where(failure, info)
    at = f" at {place.file}:{place.line}" if place else ""
    times = f" ({len(infos)} captures)" if len(infos) > 1 else ""
    called = f": {cut(failure.call)}" if failure.call else ""
    yield f"capture failed: {title(failure)}{at}{called}{times}"
    yield f"what to do: {kind(failure).advice[0]} See {kind(failure).documentation}"
