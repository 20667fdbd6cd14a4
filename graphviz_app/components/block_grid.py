"""A table over all nodes of a graph, served block by block as it is scrolled."""

from __future__ import annotations

from typing import Any

from dash.development.base_component import Component

from ..node_rows import BLOCK
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
