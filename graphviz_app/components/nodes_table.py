"""The nodes of the graph on the screen as a table, served block by block."""

from __future__ import annotations

from dash import Dash, html
from dash.development.base_component import Component

from ..ids import GraphPage
from ..store import Store


def box() -> Component:
    """Return the place of the table, which fills when it is opened."""
    return html.Div(id=GraphPage.TABLE_BOX, className="nodes-box")


def register(app: Dash, store: Store) -> None:
    """Add the callbacks of the table."""
