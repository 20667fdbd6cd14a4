"""A table over all nodes of a graph, served block by block as it is scrolled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output, State, no_update
from dash.development.base_component import Component

from capture.errors import GraphLensError

from ..ids import Shell
from ..node_rows import BLOCK
from ..state import ViewState, stored
from . import grids


def block_grid(
    id_: str, columns: list[dict[str, Any]], row_height: int, header_height: int
) -> Component:
    """Return a table of ag-grid's infinite row model; rows are nodes with an `id`.

    Parameters
    ----------
    id_ : str
    columns : list of dict
        ag-grid's column definitions.
    row_height, header_height : int
        Pixels.
    """
    return grids.grid(
        id_,
        columns,
        row_height=row_height,
        header_height=header_height,
        marked="isChosen",
        options={
            "rowBuffer": 0,
            "cacheBlockSize": BLOCK,
            "maxBlocksInCache": 20,
            # More than one request at a time leaves a block loading for ever.
            "maxConcurrentDatasourceRequests": 1,
        },
        rowModelType="infinite",
    )


def serve_rows(
    app: Dash, id_: str, block: Callable[[ViewState, dict[str, Any]], dict[str, Any]]
) -> None:
    """Answer a table's requests for rows.

    Parameters
    ----------
    app : Dash
    id_ : str
        Of the table.
    block : callable
        ``block(view, request)`` returns ``rowData`` and ``rowCount``. Where what the view names is
        not there, the table is empty.
    """

    @app.callback(
        Output(id_, "getRowsResponse"),
        Input(id_, "getRowsRequest"),
        State(Shell.CONTEXT, "data"),
        State(Shell.PLACE, "data"),
        prevent_initial_call=True,
    )
    def rows(request: dict[str, Any] | None, context: Any, place: Any) -> Any:
        if request is None or not place:
            return no_update
        try:
            return block(stored(place, context), request)
        except GraphLensError:
            return {"rowData": [], "rowCount": 0}
