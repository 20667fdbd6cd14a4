"""Tables of ag-grid as all pages have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_ag_grid as dag
from dash.development.base_component import Component

WRAPPED_HEADERS = {"wrapHeaderText": True, "autoHeaderHeight": True}
"""As `defaults`: names of columns may take several lines."""


def layout_for(rows: Sequence[object], few: int) -> dict[str, str]:
    """Return the option by which few rows make a low table, and others fill its box."""
    return {"domLayout": "autoHeight" if len(rows) <= few else "normal"}


def grid(
    id_: str,
    columns: list[dict[str, Any]],
    *,
    class_name: str = "grid",
    row_id: str = "params.data.id",
    row_height: int = 28,
    header_height: int = 32,
    marked: str = "",
    defaults: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    **props: Any,
) -> Component:
    """Return a table.

    Parameters
    ----------
    id_ : str
    columns : list of dict
        ag-grid's column definitions.
    class_name : str
    row_id : str
        What names a row, in JavaScript.
    row_height, header_height : int
        Pixels.
    marked : str
        Function in the browser that says whether a row is the chosen one; empty for none.
    defaults : dict, optional
        Added to what all columns have.
    options : dict, optional
        More of ag-grid's options.
    **props
        Of ``AgGrid``, such as ``rowData``.
    """
    rules = {"chosen-row": {"function": f"{marked}(params)"}} if marked else {}
    table: Component = dag.AgGrid(
        id=id_,
        className=class_name,
        columnDefs=columns,
        getRowId=row_id,
        defaultColDef={"resizable": True, "sortable": True, **(defaults or {})},
        dashGridOptions={
            "rowHeight": row_height,
            "headerHeight": header_height,
            "animateRows": False,
            "tooltipShowDelay": 400,
            **({"rowClassRules": rules} if rules else {}),
            **(options or {}),
        },
        style={"height": None, "width": "100%"},
        **props,
    )
    return table
