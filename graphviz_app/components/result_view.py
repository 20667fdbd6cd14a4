"""Results of analyses as components, whichever analysis they came from."""

from __future__ import annotations

import json
from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.analysis import Result, Unit
from capture.errors import GraphLensError

from .. import result_text
from ..context import Context
from . import grids
from .prose import prose

NUMBER_WIDTH = 78
NODE_WIDTH = 68
FEW = 14
"""Rows of a table that is as high as they are."""


def notes_of(result: Result) -> Component:
    """Return a result's caveats."""
    return html.Ul(
        [html.Li(prose(result_text.written(result, note))) for note in result.notes],
        className="notes",
    )


def node_target(path: str) -> dict[str, Any]:
    """Return the change of view that shows a node."""
    body, _, position = path.rpartition("/")
    return {
        "page": "graph",
        "body": body,
        "node": int(position) if position.isdecimal() else None,
        "search": "",
        "view": "",
    }


def graph_target(key: str) -> dict[str, Any]:
    """Return the change of view that shows a graph."""
    return {"page": "graph", "graph": key, "body": "", "node": None, "search": "", "view": ""}


def link_to(context: Context, changes: dict[str, Any]) -> dict[str, str]:
    """Return the address of a changed view, and the change for the browser."""
    return {"href": context.url(context.state.but(**changes)), "go": json.dumps(changes)}


def rows_of(context: Context, result: Result) -> list[dict[str, Any]]:
    """Return a result's rows for ag-grid: values to sort by, texts to show, links of nodes."""
    graphs = context.store.get(context.state.recording).recording.graphs
    has_text = any(column.unit is Unit.TEXT for column in result.columns)
    files = user_files(context) if has_text else ()
    found = []
    for number, cells in enumerate(result.rows):
        row: dict[str, Any] = {"id": str(number), "texts": {}, "exact": {}, "links": {}}
        graph: dict[str, Any] = {}
        for place, (cell, column) in enumerate(zip(cells, result.columns, strict=True)):
            field = f"c{place}"
            row[field] = cell
            unit = str(column.unit)
            if column.unit is Unit.GRAPH and isinstance(cell, str) and cell:
                graph = {"graph": cell}
                row["links"][field] = link_to(context, graph_target(cell))
                row["texts"][field] = graphs[cell].name if cell in graphs else cell
                continue
            if column.unit is Unit.NODE and isinstance(cell, str) and cell:
                # A node is one of the graph that the row names before it.
                row["links"][field] = link_to(context, node_target(cell) | graph)
                row["texts"][field] = cell
                continue
            words = result_text.value_text(column.name, cell, column.unit)
            row["exact"][field] = result_text.exact_text(cell, unit) or words
            row["texts"][field] = result_text.short_place(words)
            line = words.partition(" ")[0]
            if line.rpartition(":")[0] in files:
                row["links"][field] = link_to(context, {"page": "source", "view": line})
        found.append(row)
    return found


def user_files(context: Context) -> frozenset[str]:
    """Return the files of the user that the graph on the screen comes from."""
    state = context.state
    if not state.graph:
        return frozenset()
    try:
        origins = context.store.subject(state.recording, state.graph).origins
    except GraphLensError:
        return frozenset()
    frames = origins.frames if origins is not None else []
    return frozenset(frame.file for frame in frames if frame.kind == "user")


def column_of(name: str, unit: Unit, field: str) -> dict[str, Any]:
    """Return ag-grid's definition of one column of a result."""
    common = {
        "field": field,
        "headerName": f"{name[:1].upper()}{name[1:]}",
        "headerTooltip": name,
        "tooltipValueGetter": {"function": "exact(params)"},
    }
    if unit is Unit.TEXT:
        text = {"cellRenderer": "NodeLink", "filter": "agTextColumnFilter"}
        return {**common, "minWidth": 140, "flex": 2, **text}
    if unit is Unit.GRAPH:
        return {**common, "minWidth": 140, "flex": 2, "cellRenderer": "NodeLink"}
    if unit is Unit.NODE:
        width = max(NODE_WIDTH, 30 + 8 * max(map(len, name.split()), default=0))
        return {**common, "width": width, "cellRenderer": "NodeLink", "cellClass": "mono"}
    return {
        **common,
        # Headers wrap between words, never inside one.
        "width": max(NUMBER_WIDTH, 30 + 8 * max(map(len, name.split()), default=0)),
        "type": "rightAligned",
        "cellClass": "number",
        "filter": "agNumberColumnFilter",
        "valueFormatter": {"function": "shown(params)"},
    }


def grid(
    id_: str, columns: list[dict[str, Any]], rows: list[dict[str, Any]], few: int = 0
) -> Component:
    """Return a table that fills its box, or is as high as its rows when they are at most `few`."""
    return grids.grid(
        id_,
        columns,
        defaults=grids.WRAPPED_HEADERS,
        options={**grids.layout_for(rows, few), "enableCellTextSelection": True},
        rowData=rows,
    )


def table(context: Context, id_: str, result: Result) -> Component:
    """Return a result's rows as a table."""
    columns = [
        column_of(column.name, column.unit, f"c{place}")
        for place, column in enumerate(result.columns)
    ]
    if len(result.rows) <= FEW:
        # Few rows have room for all that they say.
        for column in columns:
            if column.get("flex"):
                column |= {"wrapText": True, "autoHeight": True}
    return grid(id_, columns, rows_of(context, result), few=FEW)
