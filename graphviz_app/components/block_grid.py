"""A table over all nodes of a graph, served block by block as it is scrolled."""

from __future__ import annotations

from typing import Any

import dash_ag_grid as dag
from dash.development.base_component import Component

from ..node_rows import BLOCK


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
    table: Component = dag.AgGrid(
        id=id_,
        className="grid",
        rowModelType="infinite",
        columnDefs=columns,
        getRowId="params.data.id",
        defaultColDef={"resizable": True, "sortable": True},
        dashGridOptions={
            "rowHeight": row_height,
            "headerHeight": header_height,
            "rowBuffer": 0,
            "cacheBlockSize": BLOCK,
            "maxBlocksInCache": 20,
            # More than one request at a time leaves a block loading for ever.
            "maxConcurrentDatasourceRequests": 1,
            "animateRows": False,
            "tooltipShowDelay": 400,
            "rowClassRules": {"chosen-row": {"function": "isChosen(params)"}},
        },
        style={"height": None, "width": "100%"},
    )
    return table
