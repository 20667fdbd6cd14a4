"""What is found in a recording, for its page: faults by kind, and analyses of the whole."""

from __future__ import annotations

from dash import dcc, html
from dash.development.base_component import Component

from capture.analysis import Scope, analyses

from .. import format as text
from .. import result_text
from ..context import Context
from ..findings import Kind
from .prose import prose

PATIENCE_S = 0.5
"""How long the page of a recording waits for what a search finds; the page of findings has it."""


def faults(context: Context) -> list[Component]:
    """Return a section with the kinds of findings, each a link; none where nothing is found.

    Empty as well where the search is long and nobody has asked for it yet.
    """
    found = context.store.known_findings(context.state.recording, PATIENCE_S)
    if found is None or not found.kinds:
        return []
    count = text.count_text(sum(kind.count for kind in found.kinds.values()))
    items = [_kind(context, kind) for kind in found.ranked()]
    heading = html.H2(["Findings", html.Span(count, className="count")])
    return [html.Section([heading, html.Ul(items)], className="beside faults")]


def _kind(context: Context, kind: Kind) -> Component:
    state = context.state.but(page="findings", graph="", view="", search=kind.title)
    link = dcc.Link(
        [
            html.Span(
                f"{result_text.SHAPES[kind.severity]} ", className=f"severity-{kind.severity}"
            ),
            kind.title,
        ],
        href=context.url(state),
        title="Where, why, and what to do",
    )
    graphs = f" in {text.counted(len(kind.graphs), 'graph')}" if kind.graphs else ""
    sure = f", {text.count_text(kind.certain)} certain" if kind.certain else ""
    words = f"{kind.severity}: {text.counted(kind.count, 'finding')}{graphs}{sure}"
    return html.Li([link, html.Span(words)])


def findings(context: Context) -> list[Component]:
    """Return a section with what is found; none where nothing is."""
    opened = context.store.get(context.state.recording)
    recording = opened.recording
    first = next(iter(recording.graphs), "")
    items = []
    for name, entry in analyses().items():
        if entry.scope is not Scope.RECORDING or not entry.overview:
            continue
        result = context.store.recording_result(opened.id, name)
        if not result.present:
            continue
        summary = html.Span(prose(result_text.summary(result)))
        state = context.state.but(page="analyses", graph=first, view=name)
        title = (
            dcc.Link(entry.title, href=context.url(state), title=entry.description)
            if first
            else html.Span(entry.title, title=entry.description)
        )
        items.append(html.Li([title, summary], className=str(result.severity)))
    if not items:
        return []
    return [html.Section([html.H2("Beside the graphs"), html.Ul(items)], className="beside")]
