"""The page of findings: what is wrong, or may be, in any graph of the recording."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update, set_props
from dash.development.base_component import Component

from ..components import finding_panel
from ..components.findings_table import grid, kinds, rows, said
from ..finding_search import Search
from ..ids import FindingsPage, Shell
from ..state import stored
from ..store import Store
from . import Context, Page

TICK_MS = 1000
PATIENCE_S = 0.5
"""How long a page waits for a search that may be over at once."""
NO_GRAPH = "This recording holds no graph, so there is nothing to look at."


def layout(context: Context) -> Component:
    """Return the page of the findings of a recording; they are looked for meanwhile."""
    recording = context.store.get(context.state.recording).recording
    if not recording.graphs:
        return html.Div(html.P(NO_GRAPH), className="sentence")
    search = context.store.findings(context.state.recording)
    # Where it was not over before, the panel may have been made without what it finds.
    known = search.done.is_set()
    search.done.wait(PATIENCE_S)
    return view(*_shown(context, search), done=known)


def _shown(
    context: Context, search: Search
) -> tuple[list[Any], list[Component], list[dict[str, Any]]]:
    done, found = search.done.is_set(), search.findings
    return said(found, done, search.error), kinds(found), rows(context, found)


def view(
    line: list[Any], filters: list[Component], data: list[dict[str, Any]], done: bool
) -> Component:
    """Return the page around its table."""
    return html.Div(
        className="findings-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Findings"),
                    html.Span(line, id=FindingsPage.LINE, className="toolbar-label", role="status"),
                ],
            ),
            html.Div(filters, id=FindingsPage.KINDS, className="legend findings-kinds"),
            grid(data),
            dcc.Interval(id=FindingsPage.TICK, interval=TICK_MS, disabled=done),
            dcc.Store(id=FindingsPage.SHOWN, data=len(data)),
        ],
    )


def skeleton() -> Component:
    """Return the page with every id and no data."""
    return view([], [], [], done=True)


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""

    @app.callback(
        Output(FindingsPage.LINE, "children"),
        Output(FindingsPage.KINDS, "children"),
        Output(FindingsPage.TABLE, "rowData"),
        Output(FindingsPage.SHOWN, "data"),
        Output(FindingsPage.TICK, "disabled"),
        Input(FindingsPage.TICK, "n_intervals"),
        State(FindingsPage.SHOWN, "data"),
        State(Shell.PLACE, "data"),
        State(Shell.CONTEXT, "data"),
        State(Shell.FOCUS, "data"),
        prevent_initial_call=True,
    )
    def follow(ticks: int | None, shown: int | None, place: Any, filled: Any, focus: Any) -> Any:
        context = Context(store, stored(place, filled), prefix)
        search = store.findings(context.state.recording)
        done = search.done.is_set()
        if not done and len(search.findings.rows) == shown:
            return said(search.findings, done), no_update, no_update, no_update, False
        line, filters, data = _shown(context, search)
        if done:
            # The panel tells of what was not known yet when the page was opened.
            focused = Context(store, stored(focus, filled), prefix)
            set_props(Shell.DETAILS, {"children": finding_panel.panel(focused)})
        return line, filters, data, len(data), done


PAGE = Page(
    name="findings",
    title="Findings",
    order=17,
    description="What is wrong, or may be, in any graph: addresses, memory, numbers, random state",
    search_hint="Filter findings  /",
    place=("page", "recording"),
    layout=layout,
    skeleton=skeleton,
    register=register,
    details=finding_panel.panel,
)
