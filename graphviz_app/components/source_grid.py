"""The table of a file's lines: what their nodes take, and their text."""

from __future__ import annotations

from typing import Any

from dash.development.base_component import Component

from .. import source_rows
from ..ids import SourcePage
from . import grids
from .origin_head import SHARE
from .tree_table import number_column

BACKWARD = "Of the nodes of the backward pass that belong to what this line launched"
CALLS = "With what the functions take that this line calls, their backward pass included"

ALLOCATED = "Bytes that torch allocated for these nodes during the capture, freed ones included"


def source_grid(
    rows: list[dict[str, Any]], *, timed: bool, chosen: int, editor: str = ""
) -> Component:
    """Return the table.

    Parameters
    ----------
    rows : list of dict
        Of :func:`~graphviz_app.source_rows.line_rows`.
    timed : bool
        Whether nodes have timings.
    chosen : int
        Number of the line that is scrolled to; 0 for none.
    editor : str
        Address that opens a line in the editor, with ``{line}`` in it; empty for no links.
    """
    columns: list[dict[str, Any]] = [
        {
            "field": "bars",
            "headerName": "",
            "headerTooltip": "Full width is the line that takes the most",
            "cellRenderer": "PartBar",
            "cellDataType": False,
            "sortable": False,
            "width": 72,
        },
        number_column("time", "Time", "Of the nodes that this line launched", 70, hide=not timed),
        number_column(
            "back",
            "Back\N{SOFT HYPHEN}ward",
            BACKWARD,
            72,
            hide=not timed or not source_rows.has(rows, "back"),
        ),
        number_column("share", "Share", SHARE, 64, hide=not timed),
        {
            **number_column("nodes", "Nodes", "Click to find them in the graph", 58),
            "cellRenderer": "FoundNodes",
        },
        number_column("calls", "With calls", CALLS, 70, hide=not timed),
    ]
    if source_rows.has(rows, "allocated"):
        columns.append(number_column("allocated", "Allo\N{SOFT HYPHEN}cated", ALLOCATED))
    if source_rows.has(rows, "moved"):
        columns.append(number_column("moved", "Moved", "Bytes of its memcpy and memset nodes"))
    if source_rows.has(rows, "shared"):
        hint = "Nodes of fused kernels, which other lines are charged with in full as well"
        columns.append(number_column("shared", "Shared", hint, 66))
    columns += [
        {
            "field": "line",
            "headerName": "",
            "width": 52,
            "type": "rightAligned",
            "cellClass": "number line-number",
            "cellRenderer": "LineCell",
        },
        {
            "field": "code",
            "headerName": "Code",
            "flex": 1,
            "minWidth": 260,
            "sortable": False,
            "cellRenderer": "CodeCell",
            "cellClass": "mono code",
        },
    ]
    return grids.grid(
        SourcePage.CODE,
        columns,
        class_name="grid source-grid",
        row_height=22,
        defaults=grids.WRAPPED_HEADERS,
        options={
            "enableCellTextSelection": True,
            "context": {"editor": editor},
            "rowClassRules": {
                "chosen-row": {"function": "isMarked(params)"},
                "charged-row": {"function": "hasNodes(params)"},
            },
        },
        rowData=rows,
        scrollTo={"rowId": str(chosen), "rowPosition": "middle"} if chosen else None,
    )
