"""From an address to a page: what is built on the server when the place changes."""

from __future__ import annotations

import json
import logging
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from capture.errors import FormatError, GraphLensError

from .components import details, export_menu, shell
from .components.attributes import attributes
from .components.prose import prose, sentence
from .context import first_graph
from .format import count_text
from .ids import Shell
from .pages import Context, Page, pages
from .state import ViewState, from_url, stored, to_url
from .store import Store

LOG = logging.getLogger(__name__)
LABEL_CHARACTERS = 120


def complete(state: ViewState, store: Store) -> ViewState:
    """Return a view with its defaults filled in: first page, first recording, first graph."""
    page = state.page or next(iter(pages()))
    opened = store.get(state.recording)
    graph = state.graph
    entry = pages().get(page)
    if not graph and entry is not None and entry.needs_graph:
        graph = first_graph(opened.recording)
    state = state.but(page=page, recording=opened.id, graph=graph)
    return state if entry is None or entry.complete is None else entry.complete(state, store)


def build(state: ViewState, store: Store, prefix: str) -> tuple[ViewState, Component]:
    """Return the completed view and its page; what is not there becomes a sentence."""
    if not store.opened:
        return state, sentence("No recording is open. Start with `cglens view FILE`.")
    try:
        state = complete(state, store)
        page = pages().get(state.page)
        if page is None:
            known = ", ".join(pages())
            text = f"There is no page {state.page!r}: there are {known}."
            return state, missing(text, state.but(page="", graph="", body="", node=None), prefix)
        if page.needs_graph and page.no_graph is not None and not state.graph:
            return state, sentence(page.no_graph)
        return state, page.layout(Context(store, state, prefix))
    except FormatError as error:
        return state, missing(str(error), ViewState(recording=state.recording), prefix)
    except GraphLensError as error:
        return state, missing(str(error), way_back(state, store), prefix)


def way_back(state: ViewState, store: Store) -> ViewState:
    """Return the nearest view that is there, for one that is not."""
    if state.recording not in store.opened:
        return ViewState()
    recording = store.get(state.recording).recording
    inside = state.body or state.node is not None
    if inside and state.graph in {*recording.graphs, *recording.failed}:
        body = state.body
        try:
            store.graph(state.recording, state.graph, body)
        except GraphLensError:
            body = ""
        return state.but(body=body if state.node is not None else "", node=None, search="")
    return ViewState(recording=state.recording)


def missing(text: str, back: ViewState, prefix: str) -> Component:
    """Return a page that says what is not there and leads back to something that is."""
    name = "the graph" if back.graph else "the overview"
    link = dcc.Link(f"Go to {name}", href=to_url(back, prefix), className="way-back")
    return html.Div(
        [html.P(prose(f"{text[:1].upper()}{text[1:].rstrip('.')}.")), link], className="sentence"
    )


def rail(state: ViewState, store: Store, prefix: str) -> list[Component]:
    """Return the navigation: each page, about the recording and graph that are on the screen."""
    items: list[Component] = []
    here_now = pages().get(state.page)
    for page in pages().values():
        graph = state.graph if page.needs_graph or page.takes_graph else ""
        target = ViewState(
            page=page.name,
            recording=state.recording,
            graph=graph,
            executable=state.executable if graph else "",
        )
        here = page.name == state.page
        # What is selected stays selected on another page of the same graph.
        changes: dict[str, Any] = {"page": page.name, "search": "", "view": ""}
        if not (page.needs_graph or page.takes_graph):
            changes |= {"graph": "", "body": "", "node": None}
        elif page.takes_graph or (here_now is not None and here_now.takes_graph):
            changes |= {"body": "", "node": None}  # nodes are numbered in another way there
        items.append(
            html.A(
                page.title,
                href=to_url(target, prefix),
                title=page.description,
                className="rail-link here" if here else "rail-link",
                **attributes(data_go=json.dumps(changes)),
            )
        )
    return items


def graph_options(store: Store, recording: str) -> list[dict[str, str]]:
    """Return the graphs of a recording for the picker."""
    infos = store.get(recording).recording.graphs.values()
    return [{"value": info.key, "label": info.name[:LABEL_CHARACTERS]} for info in infos]


def frame(state: ViewState, store: Store, page: Page | None) -> dict[str, Any]:
    """Return what the frame has to know about the page: neighbours of the graph, search hint."""
    before = after = ""
    if page is not None and page.needs_graph and state.recording in store.opened:
        keys = list(store.get(state.recording).recording.graphs)
        if state.graph in keys:
            place = keys.index(state.graph)
            before = keys[place - 1] if place else ""
            after = keys[place + 1] if place + 1 < len(keys) else ""
    return {
        "page": state.page,
        "recording": state.recording,
        "key": state.graph,
        "before": before,
        "after": after,
        "graph": bool(page and page.needs_graph),
        "recordingAfter": state.after,
        "graphAfter": state.graph_after,
        "hint": page.search_hint if page else "Search",
    }


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks that build pages, details and matches."""

    @app.callback(
        Output(Shell.CONTENT, "children"),
        Output(Shell.RAIL, "children"),
        Output(Shell.RECORDING, "value"),
        Output(Shell.RECORDING, "data"),
        Output(Shell.RECORDING, "disabled"),
        Output(Shell.RECORDING, "className"),
        Output(Shell.GRAPH, "data"),
        Output(Shell.GRAPH, "value"),
        Output(Shell.EXPORT, "children"),
        Output(Shell.CONTEXT, "data"),
        Output(Shell.PROBLEM, "children"),
        Input(Shell.PLACE, "data"),
        State(Shell.URL, "pathname"),
        State(Shell.URL, "search"),
        State(Shell.RECORDING, "value"),
        State(Shell.GRAPH, "data"),
        prevent_initial_call=True,
    )
    def show_page(
        place: dict[str, Any] | None,
        pathname: str,
        search: str,
        recording: str | None,
        options: list[Any],
    ) -> tuple[Any, ...]:
        state, content = build(from_url(pathname, search, prefix), store, prefix)
        page = pages().get(state.page)
        known = state.recording in store.opened
        fresh = known and (recording != state.recording or not options)
        return (
            content,
            rail(state, store, prefix),
            state.recording if known else None,
            *shell.recording_choice(store),
            graph_options(store, state.recording) if fresh else no_update,
            state.graph or None,
            export_menu.menu(Context(store, state, prefix)) if known else None,
            frame(state, store, page),
            "",
        )

    @app.callback(
        Output(Shell.DETAILS, "children"),
        Input(Shell.FOCUS, "data"),
        prevent_initial_call=True,
    )
    def show_details(focus: dict[str, Any] | None) -> Any:
        state = stored(focus)
        try:
            state = complete(state, store)
            page = pages().get(state.page)
            own = page.details if page is not None else None
            return (own or details.panel)(Context(store, state, prefix))
        except GraphLensError as error:
            LOG.debug("no details: %s", error)
            return None  # the page says why

    @app.callback(
        Output(Shell.MATCHES, "data"),
        Input(Shell.QUERY, "data"),
        prevent_initial_call=True,
    )
    def find(query: dict[str, Any] | None) -> Any:
        state = stored(query)
        text = str((query or {}).get("search") or "")
        if not text or not store.opened:
            return None
        state = complete(state, store)
        page = pages().get(state.page)
        if page is None or not (page.needs_graph or page.find):
            return None
        try:
            if page.find is not None:
                found = page.find(Context(store, state, prefix), text)
            else:
                found = store.find(state.recording, state.graph, state.body, text, state.executable)
        except GraphLensError:
            return None
        return {"search": text, "indices": found, "text": count_text(len(found))}
