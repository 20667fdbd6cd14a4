"""The table of blocks of memory, linked with the nodes that point into them."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from ..context import Context
from ..ids import MemoryPage
from ..memory_rows import MOST_ROWS, Row, table
from . import result_view


def blocks_table(context: Context, rows: list[Row], nodes: bool = True) -> list[Component]:
    """Return blocks as a table: those that nodes point into first, then the largest.

    Parameters
    ----------
    context : Context
    rows : list of Row
    nodes : bool
        Whether there are nodes that may point into them.
    """
    ranked = sorted(rows, key=lambda row: (not row.nodes, -row.size_bytes))
    shown = table(ranked)
    for row in shown:
        changes = {"page": "graph", "view": "", "node": None, "search": f"block:{row['address']}"}
        if row["nodes"]:
            row["links"]["address"] = result_view.link_to(context, changes)
        for field in ("first", "last"):
            if row[field]:
                target = result_view.node_target(row[field])
                row["links"][field] = result_view.link_to(context, target)
    parts: list[Component] = [result_view.grid(MemoryPage.BLOCKS, _columns(nodes), shown)]
    if len(ranked) > MOST_ROWS:
        more = f"The table shows {MOST_ROWS:,} of {len(ranked):,} blocks."
        parts.insert(0, html.P(more, className="note"))
    return parts


def _columns(nodes: bool) -> list[dict[str, Any]]:
    number = {
        "type": "rightAligned",
        "cellClass": "number",
        "valueFormatter": {"function": "shown(params)"},
        "tooltipValueGetter": {"function": "exact(params)"},
    }
    link = {"cellRenderer": "NodeLink", "cellClass": "mono"}
    words = {"flex": 2, "minWidth": 120, "filter": "agTextColumnFilter"}
    hint = "A click finds the nodes that point into it"
    columns: list[dict[str, Any]] = [
        {"field": "address", "headerName": "Block", "headerTooltip": hint, "width": 150, **link},
        {"field": "name", "headerName": "Tensor", "tooltipField": "name", **words},
        {"field": "size", "headerName": "Size", "width": 92, **number},
        {"field": "where", "headerName": "Where", "tooltipField": "where", **words},
    ]
    if nodes:
        columns += [
            {"field": "nodes", "headerName": "Nodes", "width": 72, **number},
            {"field": "first", "headerName": "First", "width": 72, **link},
            {"field": "last", "headerName": "Last", "width": 72, **link},
        ]
    else:
        columns.append({"field": "pool", "headerName": "Pool", "width": 110})
    columns.append(
        {"field": "stack", "headerName": "Allocated at", "tooltipField": "stack", **words}
    )
    return columns
