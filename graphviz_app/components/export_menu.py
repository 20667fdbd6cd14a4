"""The export menu: every format that can be written, as a download."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from ..context import Context
from ..exports import writable


def menu(context: Context) -> Component | None:
    """Return the menu for what is on the screen, or nothing when no format can write."""
    state = context.state
    items: list[Component] = []
    graph = bool(state.graph) and state.graph in context.store.get(state.recording).recording.graphs
    for entry in writable(one_graph=graph):
        query = {"format": entry.name} | ({"graph": state.graph} if graph else {})
        href = f"{context.prefix}export/{quote(state.recording)}?{urlencode(query)}"
        items.append(
            html.A(
                [html.Span(entry.name, className="export-name"), html.Span(entry.description)],
                href=href,
                download="",
                className="export-item",
            )
        )
    if not items:
        return None
    what = "this graph" if graph else "this recording"
    found: Component = dmc.Menu(
        position="bottom-end",
        shadow="sm",
        children=[
            dmc.MenuTarget(html.Button("Export", className="text-button", title=f"Save {what}")),
            dmc.MenuDropdown([dmc.MenuLabel(f"Save {what} as"), *items]),
        ],
    )
    return found
