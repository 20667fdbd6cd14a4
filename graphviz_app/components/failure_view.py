"""One failed capture in full: what happened, the line, the stack, what to do."""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from capture.errors import GraphLensError
from capture.model import Failure, GraphInfo, Place
from capture.origins import Frame, Origins

from .. import failure_facts as texts
from .. import format as text
from ..context import Context
from ..facts import place_text
from ..failure_facts import stack
from .links import editor_link
from .prose import prose

AROUND = 5
"""Lines of source that are shown on either side of the guilty one."""
NEVER_JUDGED = (
    "This recording was made by a version that did not judge failures. Record again to learn why."
)


def failure_view(context: Context, info: GraphInfo) -> list[Any]:
    """Return the parts of a failed capture, the answer first."""
    failure = info.failure
    if failure is None:
        return []
    kind = texts.kind(failure)
    parts: list[Any] = [html.H2(texts.title(failure))]
    if texts.judged(failure):
        parts.append(html.P(prose(kind.meaning), className="question"))
    else:
        parts.append(html.P(NEVER_JUDGED, className="question"))
    parts += source(context, info, failure)
    if texts.judged(failure):
        parts += [
            html.H3("What to do"),
            html.Ul([html.Li(prose(advice)) for advice in kind.advice], className="advice"),
            html.P(
                html.A(
                    "Documentation",
                    href=kind.documentation,
                    target="_blank",
                    rel="noopener noreferrer",
                    title=kind.documentation,
                )
            ),
        ]
    parts += [html.H3("What is known"), facts(context, info, failure)]
    frames = stack(failure)
    if frames:
        parts += [html.H3("Stack of the first error"), stack_list(frames)]
    return parts


def facts(context: Context, info: GraphInfo, failure: Failure) -> Component:
    """Return what is known as names and texts; what is not known is left out."""
    nodes = text.counted(info.node_count, "node")
    reached: Any = texts.reached(failure, info, nodes)
    if failure.nodes_read and info.node_count:
        target = context.state.at_graph(info.key)
        reached = [dcc.Link(nodes, href=context.url(target)), " captured until then"]
    unjoined: list[Any] = []
    for position in failure.unjoined[:10]:
        target = context.state.at_graph(info.key).but(node=position)
        unjoined += [", " if unjoined else "", dcc.Link(str(position), href=context.url(target))]
    rows: list[tuple[str, Any]] = [
        ("capture", info.name or info.key),
        ("error", texts.error_text(failure)),
        ("first error", texts.cut(failure.first_error)),
        ("CUDA's name", texts.code(failure)),
        ("judged by", prose(texts.cut(failure.because)) if failure.because else ""),
        ("could also be", ", ".join(texts.alternatives(failure))),
        ("line found by", texts.cut(failure.found_by)),
        ("last operator", texts.cut(failure.operator)),
        ("thread", texts.cut(failure.thread)),
        ("captured in thread", info.thread if info.thread != failure.thread else ""),
        ("stream", failure.stream),
        ("mode", info.capture_mode),
        ("reached", reached),
        ("not joined", unjoined),
    ]
    return html.Dl(
        [
            html.Div([html.Dt(name), html.Dd(value)])
            for name, value in rows
            if value not in ("", [], None)
        ],
        className="failure-facts",
    )


def source(context: Context, info: GraphInfo, failure: Failure) -> list[Any]:
    """Return the guilty line, among its neighbours where the file can be read."""
    place = texts.where(failure, info)
    if place is None:
        return [html.P("No line of Python is known for it.", className="absent")]
    found = context.store.sources.read(place.file, _origins(context, info, failure, place))
    editor = editor_link(context, place.file, place.line, found.path)
    head = html.P(
        [html.Span(place_text(place), className="mono place"), *([editor] if editor else [])],
        className="at",
    )
    if not found.lines or not 0 < place.line <= len(found.lines):
        shown: list[Any] = [head]
        if failure.call:
            shown.append(
                html.Pre([_line(place.line, texts.cut(failure.call), True)], className="source")
            )
        reason = found.reason or f"the file has {len(found.lines)} lines now"
        shown.append(html.P(prose(f"Its neighbours are not shown: {reason}."), className="absent"))
        return shown
    first = max(1, place.line - AROUND)
    last = min(len(found.lines), place.line + AROUND)
    rows = [
        _line(number, texts.cut(found.lines[number - 1]), number == place.line)
        for number in range(first, last + 1)
    ]
    return [head, html.Pre(rows, className="source", title=found.how)]


def _origins(context: Context, info: GraphInfo, failure: Failure, place: Place) -> Origins:
    """Return what says which files belong to the failure, and holds those that were stored."""
    stored: dict[str, str] = {}
    try:
        found = context.store.get(context.state.recording).recording.origins(info.key)
        stored = found.sources if found is not None else {}
    except GraphLensError:
        pass
    frames = [Frame(item.file, item.line, item.function) for item in [place, *failure.stack]]
    return Origins(graph=info.key, frames=frames, sources=stored)


def _line(number: int, content: str, guilty: bool) -> Component:
    return html.Div(
        [html.Span(str(number), className="number"), html.Span(content or " ")],
        className="line guilty" if guilty else "line",
    )


def stack_list(frames: list[tuple[Place, bool]]) -> Component:
    """Return frames, innermost first; runs of frames of libraries are folded."""
    items: list[Any] = []
    run: list[Place] = []

    def fold() -> None:
        if run:
            name = f"{text.counted(len(run), 'frame')} of libraries"
            lines = [html.Div(place_text(place), className="mono") for place in run]
            items.append(html.Li(html.Details([html.Summary(name), *lines])))
            run.clear()

    for place, library in frames:
        if library:
            run.append(place)
        else:
            fold()
            items.append(html.Li(place_text(place), className="mono"))
    fold()
    return html.Ol(items, className="failure-stack")
