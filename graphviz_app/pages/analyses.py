"""The page of analyses: what each one finds in the graph, and the one that is chosen in full."""

from __future__ import annotations

import json
import math
import time
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from capture.analysis import Analysis, Result, Scope, Severity, analyses
from capture.analysis.outside_graphs import ANALYSIS as OUTSIDE_GRAPHS

from .. import format as text
from .. import result_text
from ..components import result_view
from ..components.attributes import attributes
from ..components.links import go_link
from ..components.outside_stacks import outside_stacks
from ..components.plots import STILL_PLOT_CONFIG
from ..components.prose import prose
from ..figures.series import series_figure
from ..ids import AnalysesPage, Shell
from ..state import stored
from ..store import Store
from . import Context, Page

PATIENCE_S = 1.5
"""How long a page waits for analyses of a large graph; the rest follow while it is read."""
TICK_MS = 1000
SEVERITIES = {Severity.NOTICE: "could gain", Severity.WARNING: "warning"}


def results(
    context: Context, patience_s: float = math.inf
) -> tuple[dict[str, tuple[Analysis, Result]], int]:
    """Return every analysis of a graph or recording with what it finds, and how many are left.

    Analyses of a pair are left out: they need a second graph.

    Parameters
    ----------
    context : Context
    patience_s : float
        After that no further analysis is begun; what was computed is kept for the next call. The
        one that the view names comes first.
    """
    state, store = context.state, context.store
    place = (state.recording, state.graph, state.body)
    until = time.monotonic() + patience_s
    known = {
        name: entry
        for name, entry in analyses().items()
        if entry.scope in (Scope.GRAPH, Scope.RECORDING)
    }
    found: dict[str, tuple[Analysis, Result]] = {}
    for name in sorted(known, key=lambda name: name != state.view):
        if found and time.monotonic() > until:
            break
        entry = known[name]
        if entry.scope is Scope.GRAPH:
            found[name] = (entry, store.result(*place, name, state.executable))
        else:
            found[name] = (entry, store.recording_result(state.recording, name))
    return {name: found[name] for name in known if name in found}, len(known) - len(found)


def layout(context: Context) -> Component:
    """Return the page of what analyses find in the graph or body that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    return view(*_parts(context))


def _parts(context: Context) -> tuple[list[Any], list[Any], bool]:
    """Return the list, the result that is shown, and whether all analyses were run."""
    found, left = results(context, PATIENCE_S)
    chosen = context.state.view
    names = ranked(found)
    if chosen not in found:
        chosen = names[0] if names else ""
    items: list[Any] = [item(name, *found[name], here=name == chosen) for name in names]
    if left:
        items.append(
            html.P(f"{text.counted(left, 'analysis', 'analyses')} to come …", role="status")
        )
    return items, detail(context, *found[chosen]) if chosen else [], not left


def ranked(found: dict[str, tuple[Analysis, Result]]) -> list[str]:
    """Return names: what asks for attention first, what is absent last, else as registered."""
    order = [Severity.WARNING, Severity.NOTICE, Severity.INFO]

    def rank(name: str) -> int:
        result = found[name][1]
        return order.index(result.severity) if result.present else len(order)

    return sorted(found, key=rank)


def view(items: list[Any], shown: list[Any], done: bool) -> Component:
    """Return the page around its list and the result that is shown."""
    return html.Div(
        className="analyses-page",
        children=[
            html.Nav(items, id=AnalysesPage.LIST, className="analyses-list"),
            html.Article(shown, id=AnalysesPage.SHOWN, className="analysis"),
            dcc.Interval(id=AnalysesPage.TICK, interval=TICK_MS, disabled=done),
        ],
    )


def item(name: str, entry: Analysis, result: Result, here: bool) -> Component:
    """Return one entry of the list: title and summary, or that it is absent."""
    names = ["analysis-item", *(["here"] if here else []), *([] if result.present else ["none"])]
    title: list[Any] = [
        html.Span(
            result_text.SHAPES[result.severity] if result.present else "\N{EN DASH}",
            className=f"shape {result.severity}" if result.present else "shape",
        ),
        html.Span(result.title or entry.title, className="analysis-title"),
    ]
    word = SEVERITIES.get(result.severity) if result.present else "absent"
    if word:
        title.append(html.Span(word, className=f"word {result.severity}"))
    return html.A(
        [html.Div(title, className="analysis-head"), html.P(prose(result_text.summary(result)))],
        href="#",
        title=entry.description,
        className=" ".join(names),
        **attributes(data_go=json.dumps({"view": name})),
    )


def detail(context: Context, entry: Analysis, result: Result) -> list[Any]:
    """Return one result in full: summary, figures, plots, table, caveats."""
    parts: list[Any] = [
        html.H2(result.title or entry.title),
        html.P(entry.description, className="question"),
        html.P(prose(result_text.summary(result)), className="summary"),
    ]
    for number, series in enumerate(result.series):
        figure = series_figure(series)
        parts.append(
            dcc.Graph(
                id=f"{AnalysesPage.SERIES}-{number}",
                figure=figure,
                config=STILL_PLOT_CONFIG,
                style={"height": figure["layout"]["height"]},
            )
        )
    if result.rows:
        parts.append(result_view.table(context, AnalysesPage.TABLE, result))
    if result.rows and entry is OUTSIDE_GRAPHS:
        parts += outside_stacks(context)
    if result.node_marks:
        count = text.counted(len(result.node_marks), "node")
        shown = {"page": "graph", "view": "", "node": None, "search": f"marks:{entry.name}"}
        link = go_link(context, f"{count} {result.mark_name}".strip(), shown)
        parts.append(html.P([link, ", marked in the graph"]))
    if entry.finding and result.present and result.severity is not Severity.INFO:
        shown = {"page": "findings", "view": "", "search": entry.title, "graph": "", "node": None}
        parts.append(html.P([go_link(context, "Each as a finding", shown), ", with its stacks"]))
    if result.notes:
        parts += [html.H3("To be read with"), result_view.notes_of(result)]
    return parts


def skeleton() -> Component:
    """Return the page with every id that is always there."""
    return view([], [], done=True)


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callback that goes on with the analyses of a large graph."""

    @app.callback(
        Output(AnalysesPage.LIST, "children"),
        Output(AnalysesPage.SHOWN, "children"),
        Output(AnalysesPage.TICK, "disabled"),
        Input(AnalysesPage.TICK, "n_intervals"),
        State(Shell.PLACE, "data"),
        State(Shell.CONTEXT, "data"),
        prevent_initial_call=True,
    )
    def go_on(ticks: int | None, place: Any, filled: Any) -> Any:
        context = Context(store, stored(place, filled), prefix)
        items, shown, done = _parts(context)
        # Who reads a result that the address names is not disturbed.
        return items, no_update if context.state.view else shown, done


PAGE = Page(
    name="analyses",
    title="Analyses",
    order=50,
    description="What the analyses find in one graph",
    search_hint="Search nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "body", "view", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
