"""The page of a comparison: two graphs node by node, or two recordings graph by graph."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from capture.errors import GraphLensError

from ..comparing.compared import Pair, compared
from ..comparing.data import merged_body
from ..comparing.pairs import counterpart, pairs_of
from ..components import details
from ..components.compare_choice import chooser, head, pairs_table
from ..components.compare_panel import pair_panel, recordings_panel
from ..components.compare_search import find
from ..components.compare_view import pair_view
from ..components.facts import Children
from ..components.pair_rows import pair_row, pair_rows, progress_text
from ..components.prose import sentence
from ..context import first_graph
from ..format import counted
from ..ids import ComparePage, Shell
from ..state import ViewState, from_url, stored
from ..store import Store
from . import Context, Page

TICK_MS = 700
AT_ONCE_NODES = 3_000
"""Comparisons of at most this many nodes are made with the page, in a fraction of a second."""
LARGE_NODES = 20_000
NO_COUNTERPART = "No graph of the recording after is paired with this one. Choose one above."


def complete(state: ViewState, store: Store) -> ViewState:
    """Fill in the other recording where several are open, and the graph's counterpart there."""
    opened = list(store.opened)
    after = state.after
    if not after and state.graph_after:
        after = state.recording
    if not after and len(opened) > 1 and state.recording in store.opened:
        at = opened.index(state.recording)
        after = opened[(at + 1) % len(opened)]
    state = state.but(after=after)
    if after not in store.opened or after == state.recording:
        if not state.graph and state.recording in store.opened:
            return state.but(graph=first_graph(store.get(state.recording).recording))
        return state
    if state.graph and not state.graph_after:
        found = counterpart(store, state.recording, after, state.graph)
        return state.but(graph_after=found.key if found is not None else "")
    return state


def pair_of(state: ViewState) -> Pair | None:
    """Return the two graphs that a completed view names; ``None`` while one is to be chosen."""
    if not (state.graph and state.after and state.graph_after):
        return None
    return Pair(state.recording, state.graph, state.after, state.graph_after)


def layout(context: Context) -> Component:
    """Return the page of the comparison that a view names.

    Raises
    ------
    LookupFailed
        There is no such recording, graph or body.
    """
    state, store = context.state, context.store
    pair = pair_of(state)
    if pair is None:
        for recording, key in ((state.recording, state.graph), (state.after, state.graph_after)):
            if key:
                store.info(recording, key)
        if state.after and state.after != state.recording:
            store.get(state.after)
            if not state.graph and not state.graph_after:
                return of_recordings(context)
            return view([head(context), chooser(context, NO_COUNTERPART)])
        return view([head(context), chooser(context)])
    infos = store.info(pair.recording, pair.graph), store.info(pair.after, pair.graph_after)
    nodes = sum(info.node_count or 0 for info in infos)
    if nodes <= AT_ONCE_NODES or store.remembers(("compared", pair)):
        return view([head(context)], None, filled(context, pair))
    sizes = [counted(info.node_count or 0, "node") for info in infos]
    said = f"Comparing {sizes[0]} with {sizes[1]}"
    more = ", which takes a few seconds…" if nodes > LARGE_NODES else "…"
    waiting = html.P(f"{said}{more}", className="absent compare-waiting", role="status")
    return view([head(context)], asdict(state), [waiting])


def filled(context: Context, pair: Pair) -> list[Component]:
    """Return what a comparison shows; it is made when it is not there yet."""
    found = compared(context.store, pair)
    if context.state.body:
        merged_body(found, context.state.body)
    return pair_view(context, found)


def of_recordings(context: Context) -> Component:
    """Return the table of the pairs of two recordings; it fills while they are compared."""
    state, store = context.state, context.store
    pairs = pairs_of(store, state.recording, state.after)
    pairs.start()
    rows = pair_rows(context, pairs)
    if not rows:
        return view([head(context), html.P("Neither recording has a graph.", className="sentence")])
    table = html.Section(
        [
            html.Div(
                [html.H2("Pairs of graphs"),
                 html.Span(progress_text(pairs), id=ComparePage.PROGRESS, className="absent")],
                className="changes-head",
            ),
            pairs_table(rows),
            dcc.Interval(id=ComparePage.TICK, interval=TICK_MS, disabled=pairs.finished),
            dcc.Store(id=ComparePage.SHOWN, data=len(pairs.done())),
        ],
        className="pairs",
    )  # fmt: skip
    return view([head(context), table])


def view(
    parts: list[Any], asked: dict[str, Any] | None = None, body: list[Component] | None = None
) -> Component:
    """Return the page around its parts."""
    return html.Div(
        [
            *parts,
            html.Div(body, id=ComparePage.BODY, className="compare-body"),
            dcc.Store(id=ComparePage.ASKED, data=asked),
        ],
        className="compare-page",
    )


def skeleton() -> Component:
    """Return the page with every id and no data."""
    return view(
        [
            pairs_table([]),
            html.Span("", id=ComparePage.PROGRESS),
            dcc.Interval(id=ComparePage.TICK, disabled=True),
            dcc.Store(id=ComparePage.SHOWN),
        ]
    )


def panel(context: Context) -> Children:
    """Return the details of the comparison; of one graph or the recording while it is chosen."""
    state = context.state
    pair = pair_of(state)
    if pair is None and state.after in context.store.opened and not state.graph:
        return recordings_panel(context)
    if pair is None:
        return details.panel(context)
    return pair_panel(context, compared(context.store, pair))


def matches(context: Context, text: str) -> list[int]:
    """Return the nodes of the comparison that a search finds."""
    pair = pair_of(context.state)
    if pair is None:
        return []
    return find(context, compared(context.store, pair), text)


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""

    @app.callback(
        Output(ComparePage.BODY, "children"),
        Input(ComparePage.ASKED, "data"),
    )
    def fill(asked: dict[str, Any] | None) -> Any:
        if not asked:
            return no_update
        state = stored(asked)
        pair = pair_of(state)
        if pair is None:
            return no_update
        try:
            return filled(Context(store, state, prefix), pair)
        except GraphLensError as error:
            said = f"{str(error)[:1].upper()}{str(error)[1:].rstrip('.')}."
            return sentence(said)

    @app.callback(
        Output(ComparePage.PAIRS, "rowTransaction"),
        Output(ComparePage.PROGRESS, "children"),
        Output(ComparePage.TICK, "disabled"),
        Output(ComparePage.SHOWN, "data"),
        Input(ComparePage.TICK, "n_intervals"),
        State(ComparePage.SHOWN, "data"),
        State(Shell.URL, "pathname"),
        State(Shell.URL, "search"),
        prevent_initial_call=True,
    )
    def compare_on(_: int, shown: int | None, pathname: str, search: str) -> tuple[Any, ...]:
        state = from_url(pathname, search, prefix)
        state = complete(state.but(recording=store.get(state.recording).id), store)
        if state.page != PAGE.name or not state.after or state.after == state.recording:
            return no_update, no_update, True, no_update
        pairs = pairs_of(store, state.recording, state.after)
        pairs.start()
        done = pairs.done()
        context = Context(store, state, prefix)
        fresh = [pair_row(context, pairs, at, done[at]) for at in range(shown or 0, len(done))]
        update = {"update": fresh} if fresh else no_update
        return update, progress_text(pairs), pairs.finished, len(done)


PAGE = Page(
    name="compare",
    title="Compare",
    order=15,
    description="Two graphs node by node, or two recordings graph by graph",
    search_hint="Search both graphs  /",
    takes_graph=True,
    place=("page", "recording", "graph", "body", "view", "after", "graph_after"),
    layout=layout,
    skeleton=skeleton,
    register=register,
    complete=complete,
    details=panel,
    find=matches,
)
