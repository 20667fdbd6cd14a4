"""The nodes of the graph on the screen as a table, served block by block."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component

from .. import node_rows
from ..ids import GraphPage
from ..state import ViewState
from ..store import Store
from .block_grid import block_grid, serve_rows
from .shell import SHELL

NUMBERS = (
    ("level", "Level", "Longest path from a start of the graph"),
    ("lane", "Lane", "Computed from the edges; a CUDA graph keeps no streams"),
    ("predecessors", "In", "Predecessors: edges that end here"),
    ("successors", "Out", "Successors: edges that start here"),
)
LAUNCH_NOTE = "Trailing ones are left out; the details panel has all three"
TIMES = (
    ("time", "Time", "Median duration over the traced replays"),
    ("slack", "Slack", "By how much it may start later without making the longest path longer"),
)

ORIGINS = (
    ("module", "Module", "Innermost module whose forward was running", 124),
    ("operator", "Operator", "Operator that launched it", 128),
    ("source", "Source", "Line that launched it, or its forward operator", 118),
)


def box(times: bool = False, origins: bool = False) -> Component:
    """Return the table; it is folded away until it is asked for.

    Parameters
    ----------
    times : bool
        Whether nodes have timings to show.
    origins : bool
        Whether it is known where they come from.
    """
    columns: list[dict[str, Any]] = [
        {"field": "position", "headerName": "Node", "width": 64, **_RIGHT},
        {
            "field": "type",
            "headerName": "Type",
            "width": 104,
            "cellRenderer": "TypeChip",
            "filter": "agTextColumnFilter",
            "filterParams": _CONTAINS,
        },
        {
            "field": "name",
            "headerName": "Name",
            "flex": 1,
            "minWidth": 140,
            "tooltipField": "full",
            "filter": "agTextColumnFilter",
            "filterParams": _CONTAINS,
        },
        *[
            {
                "field": field,
                "headerName": title,
                "headerTooltip": hint,
                "width": 80,
                "hide": not times,
                **_RIGHT,
            }
            for field, title, hint in TIMES
        ],
        *[
            {
                "field": field,
                "headerName": title,
                "headerTooltip": hint,
                "width": width,
                "hide": not origins,
                "tooltipField": field,
                "filter": "agTextColumnFilter",
                "filterParams": _CONTAINS,
            }
            for field, title, hint, width in ORIGINS
        ],
        {
            "field": "grid",
            "headerName": "Grid",
            "headerTooltip": LAUNCH_NOTE,
            "width": 88,
            "sortable": False,
            **_RIGHT,
        },
        {
            "field": "block",
            "headerName": "Block",
            "headerTooltip": LAUNCH_NOTE,
            "width": 76,
            "sortable": False,
            **_RIGHT,
        },
        *[
            {
                "field": field,
                "headerName": title,
                "headerTooltip": hint,
                "width": 60 if len(title) > 3 else 50,
                **_RIGHT,
            }
            for field, title, hint in NUMBERS
        ],
    ]
    table = block_grid(GraphPage.TABLE, columns, 26, 30)
    return html.Div(table, id=GraphPage.TABLE_BOX, className="nodes-box")


_RIGHT: dict[str, Any] = {"type": "rightAligned", "cellClass": "number"}
_CONTAINS: dict[str, Any] = {"filterOptions": ["contains"], "maxNumConditions": 1}


def register(app: Dash, store: Store) -> None:
    """Add the callbacks of the table."""

    def in_browser(name: str, *args: Any) -> None:
        app.clientside_callback(ClientsideFunction(SHELL, name), *args)  # type: ignore[no-untyped-call]

    in_browser(
        "openTable",
        Output(GraphPage.TABLE_BOX, "className"),
        Output(GraphPage.TABLE_OPEN, "aria-pressed"),
        Input(GraphPage.TABLE_OPEN, "n_clicks"),
    )
    in_browser("openNode", Input(GraphPage.TABLE, "cellClicked"))

    def block(view: ViewState, request: dict[str, Any]) -> dict[str, Any]:
        picture = store.picture(view.recording, view.graph, view.body, view.executable)
        return node_rows.block(picture, request)

    serve_rows(app, GraphPage.TABLE, block)
