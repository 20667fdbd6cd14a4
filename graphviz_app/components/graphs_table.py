"""The table of a recording's graphs: values to sort by, texts to show."""

from __future__ import annotations

import json
from typing import Any

from dash.development.base_component import Component

from capture.model import GraphInfo

from .. import format as text
from ..context import Context
from ..facts import place_text
from ..ids import Overview
from ..naming import type_colour
from . import grids

FEW = 12
"""Up to this many rows the table is as high as they are; with more it fills the room."""


def graph_rows(context: Context) -> list[dict[str, Any]]:
    """Return the rows of the table of graphs: values to sort by, texts to show."""
    store, state = context.store, context.state
    recording = store.get(state.recording).recording
    twins = store.twins(state.recording)
    replays: dict[str, int] = {}
    for executable in recording.executables:
        replays[executable.graph] = replays.get(executable.graph, 0) + executable.replays
    observed = bool(recording.executables)
    return [
        _row(
            context, info, twins.get(info.topology), replays.get(info.key, 0) if observed else None
        )
        for info in recording.graphs.values()
    ]


def _row(
    context: Context, info: GraphInfo, twins: int | None, replays: int | None
) -> dict[str, Any]:
    capture_ns = info.capture_duration_ns
    counts = sorted(info.type_counts.items(), key=lambda item: -item[1])
    target = {"page": "graph", "graph": info.key, "body": "", "node": None, "search": ""}
    return {
        "key": info.key,
        "href": context.url(context.state.at_graph(info.key)),
        "go": json.dumps(target),
        "title": info.key,
        "name": info.name,
        "label": info.label,
        "nodes": info.node_count,
        "edges": info.edge_count,
        "types": [
            {
                "name": text.type_text(name),
                "count": count,
                "text": text.count_text(count),
                "colour": type_colour(name),
            }
            for name, count in counts
        ],
        "words": " ".join(text.type_text(name) for name, _ in counts),
        "width": info.width,
        "depth": info.depth,
        "place": place_text(info.place),
        "replays": replays,
        "capture": capture_ns,
        "twins": twins,
        "texts": {
            "nodes": text.count_text(info.node_count),
            "edges": text.count_text(info.edge_count),
            "width": text.count_text(info.width),
            "depth": text.count_text(info.depth),
            "replays": text.count_text(replays),
            "capture": text.duration_text(capture_ns),
            "twins": text.count_text(twins),
        },
        "exact": {
            "capture": text.exact_duration_text(capture_ns) if capture_ns is not None else ""
        },
    }


def _number(field: str, title: str, hint: str, width: int) -> dict[str, Any]:
    return {
        "field": field,
        "headerName": title,
        "headerTooltip": hint,
        "width": width,
        "type": "rightAligned",
        "cellClass": "number",
        "filter": "agNumberColumnFilter",
        "valueFormatter": {"function": "shown(params)"},
        "tooltipValueGetter": {"function": "exact(params)"},
    }


def grid(rows: list[dict[str, Any]]) -> Component:
    """Return the table of graphs."""
    columns = [
        {
            "field": "name",
            "headerName": "Graph",
            "cellRenderer": "GraphLink",
            "minWidth": 160,
            "flex": 4,
            "filter": "agTextColumnFilter",
        },
        {
            "field": "label",
            "headerName": "Label",
            "headerTooltip": "What tells it from its siblings",
            "hide": not any(row.get("label") for row in rows),
            "minWidth": 96,
            "flex": 1,
            "filter": "agTextColumnFilter",
        },
        _number("nodes", "Nodes", "Bodies included", 66),
        _number("edges", "Edges", "Bodies included", 66),
        {
            "field": "words",
            "headerName": "By type",
            "headerTooltip": "Nodes by type, bodies included",
            "cellRenderer": "TypeBar",
            "minWidth": 140,
            "flex": 2,
            "filter": "agTextColumnFilter",
            "sortable": False,
        },
        _number("width", "Width", "Most nodes on one longest-path level", 64),
        _number("depth", "Depth", "Levels on the longest path", 64),
        _number("replays", "Replays", "Launches counted while recording", 74),
        _number("capture", "Capture", "From begin to end of the capture, without our reading", 78),
        _number("twins", "Alike", "Graphs with this topology, this one included", 56),
        {
            "field": "place",
            "headerName": "Captured at",
            "minWidth": 104,
            "flex": 2,
            "cellClass": "mono",
            "filter": "agTextColumnFilter",
            "tooltipField": "place",
            "cellRenderer": "PathEnd",
        },
    ]
    return grids.grid(
        Overview.GRAPHS,
        columns,
        row_id="params.data.key",
        row_height=30,
        marked="isShown",
        defaults={"suppressHeaderMenuButton": False},
        options={
            **grids.layout_for(rows, FEW),
            "suppressCellFocus": False,
            "enableCellTextSelection": True,
        },
        rowData=rows,
    )
