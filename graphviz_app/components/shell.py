"""The frame around every page: bar on top, rail on the left, details on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from ..ids import Shell
from ..store import Store
from . import help_panel
from .attributes import attributes

SHELL = "shell"
"""Namespace of the client-side functions, in ``assets/shell``."""
SEARCH_DELAY_MS = 150


def layout(store: Store, prefix: str, places: Mapping[str, Sequence[str]]) -> Component:
    """Return the frame; pages, details and pickers are filled by callbacks.

    Parameters
    ----------
    store : Store
    prefix : str
    places : mapping
        Per page, the parts of a view that it is built from; see :class:`~..pages.Page`.
    """
    frame: Component = dmc.MantineProvider(
        id=Shell.PROVIDER,
        theme={
            "fontFamily": "var(--font)",
            "fontFamilyMonospace": "var(--mono)",
            "primaryColor": "blue",
            "defaultRadius": "sm",
            "cursorType": "pointer",
        },
        children=[
            dcc.Location(id=Shell.URL, refresh=False),
            dcc.Store(id=Shell.PREFIX, data=prefix),
            dcc.Store(id=Shell.PLACES, data={name: list(parts) for name, parts in places.items()}),
            *[
                dcc.Store(id=name)
                for name in (
                    Shell.PLACE,
                    Shell.FOCUS,
                    Shell.QUERY,
                    Shell.MATCHES,
                    Shell.SELECT,
                    Shell.ENTER,
                    Shell.RUN_SELECT,
                    Shell.CONTEXT,
                )
            ],
            help_panel.modal(),
            html.Div(
                className="shell",
                children=[
                    _bar(store, prefix),
                    html.Nav(id=Shell.RAIL, className="rail", **attributes(aria_label="Pages")),
                    html.Main(
                        className="work",
                        children=[
                            html.Div(id=Shell.PROBLEM, className="problem", role="alert"),
                            html.Div(id=Shell.CONTENT, className="content"),
                        ],
                    ),
                    html.Aside(
                        id=Shell.DETAILS, className="details", **attributes(aria_label="Details")
                    ),
                ],
            ),
        ],
    )
    return frame


def recording_choice(store: Store) -> tuple[list[dict[str, str]], bool, str]:
    """Return the options of the picker of recordings, whether it is off, and its classes."""
    several = len(store.opened) > 1
    titles = [item.title for item in store.opened.values()]
    options = [
        {
            "value": item.id,
            # Runs of one script have one title: their files tell them apart.
            "label": item.title if titles.count(item.title) == 1 else f"{item.title} · {item.id}",
        }
        for item in store.opened.values()
    ]
    return options, not several, f"pick pick-recording{'' if several else ' only-one'}"


def _bar(store: Store, prefix: str) -> Component:
    recordings, alone, names = recording_choice(store)
    return html.Header(
        className="bar",
        children=[
            dcc.Link(
                [html.Span(className="mark", **attributes(aria_hidden="true")), "CUDA Graph Lens"],
                href=prefix,
                className="product",
            ),
            dmc.Select(
                id=Shell.RECORDING,
                data=recordings,
                allowDeselect=False,
                searchable=not alone,
                className=names,
                size="xs",
                disabled=alone,
                comboboxProps={"shadow": "sm", "width": 320, "position": "bottom-start"},
                **attributes(aria_label="Recording"),
            ),
            html.Div(
                id=Shell.GRAPH_BOX,
                className="graph-picker",
                children=[
                    _icon_button(Shell.PREVIOUS, "\u2039", "Previous graph  ["),
                    dmc.Select(
                        id=Shell.GRAPH,
                        data=[],
                        searchable=True,
                        allowDeselect=False,
                        limit=200,
                        className="pick pick-graph",
                        size="xs",
                        placeholder="Choose a graph",
                        nothingFoundMessage="No graph of that name",
                        comboboxProps={"shadow": "sm", "width": 420, "position": "bottom-start"},
                        **attributes(aria_label="Graph"),
                    ),
                    _icon_button(Shell.NEXT, "\u203a", "Next graph  ]"),
                ],
            ),
            html.Div(className="spring"),
            html.Div(
                className="search",
                children=[
                    dmc.TextInput(
                        id=Shell.SEARCH,
                        debounce=SEARCH_DELAY_MS,
                        size="xs",
                        value="",
                        rightSection=html.Span(id=Shell.SEARCH_COUNT, className="search-count"),
                        rightSectionWidth=92,
                        **attributes(aria_label="Search"),
                    ),
                    _icon_button(Shell.SEARCH_PREVIOUS, "↑", "Previous match  Shift+Enter"),
                    _icon_button(Shell.SEARCH_NEXT, "↓", "Next match  Enter"),
                ],
            ),
            html.Div(id=Shell.EXPORT, className="export"),
            dmc.SegmentedControl(
                id=Shell.THEME,
                size="xs",
                value="system",
                persistence=True,
                persistence_type="local",
                data=[
                    {"value": "light", "label": "Light"},
                    {"value": "dark", "label": "Dark"},
                    {"value": "system", "label": "System"},
                ],
                **attributes(aria_label="Theme"),
            ),
            _icon_button(Shell.HELP_OPEN, "?", "Help and keyboard  ?"),
        ],
    )


def _icon_button(id_: Shell, text: str, hint: str) -> Component:
    return html.Button(
        text, id=id_, className="icon-button", title=hint, n_clicks=0, **attributes(aria_label=hint)
    )


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks that run in the browser: address, pickers, search, theme, help.

    Each action writes the address, and everything else follows the address; the canvas and the
    pickers therefore never talk to each other.
    """

    def in_browser(name: str, *args: Any) -> None:
        app.clientside_callback(ClientsideFunction(SHELL, name), *args)  # type: ignore[no-untyped-call]

    in_browser(
        "route",
        Output(Shell.PLACE, "data"),
        Output(Shell.FOCUS, "data"),
        Output(Shell.QUERY, "data"),
        Output(Shell.SEARCH, "value"),
        Input(Shell.URL, "pathname"),
        Input(Shell.URL, "search"),
        State(Shell.PREFIX, "data"),
        State(Shell.PLACES, "data"),
        State(Shell.PLACE, "data"),
        State(Shell.FOCUS, "data"),
        State(Shell.QUERY, "data"),
    )
    in_browser("selected", Input(Shell.SELECT, "data"))
    in_browser("runSelected", Input(Shell.RUN_SELECT, "data"))
    in_browser("entered", Input(Shell.ENTER, "data"))
    context = State(Shell.CONTEXT, "data")
    in_browser("pickRecording", Input(Shell.RECORDING, "value"), context)
    in_browser("pickGraph", Input(Shell.GRAPH, "value"), context)
    in_browser(
        "stepGraph",
        Input(Shell.PREVIOUS, "n_clicks"),
        Input(Shell.NEXT, "n_clicks"),
        State(Shell.CONTEXT, "data"),
    )
    in_browser("searchFor", Input(Shell.SEARCH, "value"))
    in_browser(
        "stepMatch",
        Input(Shell.SEARCH_PREVIOUS, "n_clicks"),
        Input(Shell.SEARCH_NEXT, "n_clicks"),
        State(Shell.MATCHES, "data"),
    )
    in_browser(
        "showMatches",
        Output(Shell.SEARCH_COUNT, "children"),
        Input(Shell.MATCHES, "data"),
        Input(Shell.FOCUS, "data"),
    )
    in_browser(
        "showFrame",
        Output(Shell.SEARCH, "placeholder"),
        Output(Shell.GRAPH_BOX, "style"),
        Input(Shell.CONTEXT, "data"),
    )
    in_browser("theme", Output(Shell.PROVIDER, "forceColorScheme"), Input(Shell.THEME, "value"))
    in_browser(
        "help",
        Output(Shell.HELP, "opened"),
        Input(Shell.HELP_OPEN, "n_clicks"),
        State(Shell.HELP, "opened"),
    )
