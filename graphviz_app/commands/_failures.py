"""What `cglens info` prints of captures that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._console import clean, facts

if TYPE_CHECKING:
    from rich.console import Console

    from capture.model import Failure, GraphInfo, Place, Recording

FIRST_FAILURES = 5
MOST_CALLERS = 8


def failure_lines(entry: GraphInfo) -> list[tuple[str, str]]:
    """Return what is known of a failed capture, as names and texts; empty for one that did not."""
    from graphviz_app import failure_facts as texts
    from graphviz_app.format import counted

    failure = entry.failure
    if failure is None:
        return []
    at = place_text(texts.where(failure, entry))
    place = f"{at}: {texts.cut(failure.call)}" if failure.call else at
    error = [
        ("error", texts.error_text(failure)),
        ("first error", texts.cut(failure.first_error)),
        ("reached", texts.reached(failure, entry, counted(entry.node_count, "node"))),
    ]
    if not texts.judged(failure):
        return [*error[:1], ("at", place), *error[1:]]
    kind = texts.kind(failure)
    return [
        ("kind", texts.title(failure)),
        ("at", place),
        ("because", texts.cut(failure.because)),
        ("could also be", ", ".join(texts.alternatives(failure))),
        *error,
        ("last operator", texts.cut(failure.operator)),
        ("thread", texts.cut(failure.thread)),
        ("stream", failure.stream),
        *(("called by", place_text(place)) for place in _callers(failure)),
        *(("what to do", advice) for advice in kind.advice),
        ("more", kind.documentation),
    ]


def _callers(failure: Failure) -> list[Place]:
    """Return the user's lines in the stack of the first error, innermost first, but the blamed."""
    from graphviz_app.failure_facts import stack

    blamed = failure.place.line if failure.place is not None else 0
    own = [place for place, library in stack(failure) if not library]
    return own[1 if own and own[0].line == blamed else 0 :][:MOST_CALLERS]


def show_failures(console: Console, recording: Recording) -> None:
    """Print the first failed captures of a recording."""
    from graphviz_app.failure_facts import failures_of

    found = failures_of(recording)
    for entry in found[:FIRST_FAILURES]:
        console.print()
        console.print(f"Failed capture {clean(entry.name or entry.key)}", style="bold")
        facts(console, failure_lines(entry))
    if len(found) > FIRST_FAILURES:
        left = len(found) - FIRST_FAILURES
        console.print(f"and {left} more failed captures: --json has them, --graph KEY one in full")


def place_text(place: Any) -> str:
    """Return a line and its function; empty for none."""
    if place is None:
        return ""
    return f"{place.file}:{place.line}" + (f" in {place.function}" if place.function else "")
