"""What analyses find of a whole recording, one line each, for its page."""

from __future__ import annotations

from dash import dcc, html
from dash.development.base_component import Component

from capture.analysis import Result, Scope, analyses, run_analysis

from .. import result_text
from ..context import Context
from .prose import prose


def findings(context: Context) -> list[Component]:
    """Return a section with what is found; none where nothing is."""
    opened = context.store.get(context.state.recording)
    recording = opened.recording
    first = next(iter(recording.graphs), "")
    items = []
    for name, entry in analyses().items():
        if entry.scope is not Scope.RECORDING or not entry.overview:
            continue
        result = _found(context, name)
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


def _found(context: Context, name: str) -> Result:
    store = context.store
    opened = store.get(context.state.recording)

    def run() -> Result:
        with store.reading:
            return run_analysis(name, opened.recording)

    key = ("recording result", opened.id, name)
    return store.remember(key, run, lambda result: 1_000 + 800 * len(result.rows))
