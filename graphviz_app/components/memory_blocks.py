"""The table of blocks of memory, linked with the nodes that point into them."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.analysis.module_memory import TensorOwners
from capture.errors import GraphLensError

from ..context import Context
from ..ids import MemoryPage
from ..memory_rows import MOST_ROWS, Row, table
from ..origin_report import OriginReport
from ..origin_text import module_view
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
    _link_origins(context, shown)
    parts: list[Component] = [
        result_view.grid(MemoryPage.BLOCKS, _columns(nodes), shown, result_view.FEW)
    ]
    if len(ranked) > MOST_ROWS:
        more = f"The table shows {MOST_ROWS:,} of {len(ranked):,} blocks."
        parts.insert(0, html.P(more, className="note"))
    return parts


def _link_origins(context: Context, rows: list[dict[str, Any]]) -> None:
    """Link tensors with their modules, and lines with their source, where the graph has those."""
    report = _origins(context)
    if report is None:
        return
    index = report.index
    owners = TensorOwners(index)
    files = {frame.file for frame in index.origins.frames if frame.kind == "user"}
    for row in rows:
        owner = owners.find(row["name"]) if row["name"] else None
        if owner is not None:
            changes = {"page": "modules", "view": module_view(index, owner[0]), "search": ""}
            row["links"]["name"] = result_view.link_to(context, changes)
        place = row["stack"].rpartition(" ")[0]
        if place.rpartition(":")[0] in files:
            changes = {"page": "source", "view": place, "search": ""}
            row["links"]["stack"] = result_view.link_to(context, changes)


def _origins(context: Context) -> OriginReport | None:
    state = context.state
    if not state.graph:
        return None
    try:
        return context.store.by_origin(state.recording, state.graph, state.body, state.executable)
    except GraphLensError:
        return None  # the pages of origins say what is damaged


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
        {
            "field": "name",
            "headerName": "Tensor",
            "tooltipField": "name",
            "headerTooltip": "What is known to lie there; a click shows its module",
            "cellRenderer": "NodeLink",
            **words,
        },
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
        {
            "field": "stack",
            "headerName": "Allocated at",
            "tooltipField": "stack",
            "cellRenderer": "NodeLink",
            **words,
        }
    )
    return columns
