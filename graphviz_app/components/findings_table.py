"""The table of findings, and how many there are of each kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.analysis import Severity
from capture.analysis.found import Finding

from .. import format as text
from .. import result_text
from ..context import Context
from ..findings import Findings, by_sentence
from ..ids import FindingsPage
from . import grids
from .attributes import attributes
from .prose import prose
from .result_view import link_to, node_target

MOST = 5_000
"""Rows in the browser."""
FEW = 40
"""Rows that are as high as what they say."""


def finding_id(item: Finding) -> str:
    """Return what names a finding in an address; the same whenever a recording is opened."""
    return f"{item.analysis}:{item.row}:{item.graph}"


def find(found: Findings, name: str) -> Finding | None:
    """Return the finding that an address names, if it is there."""
    return next((item for item in found.rows if finding_id(item) == name), None)


def rows(context: Context, found: Findings) -> list[dict[str, Any]]:
    """Return findings for ag-grid, the most severe first."""
    return [_row(context, found, item) for item in found.ordered()[:MOST]]


def _row(context: Context, found: Findings, item: Finding) -> dict[str, Any]:
    graphs = found.recording.graphs
    name = graphs[item.graph].name if item.graph in graphs else item.graph
    node = node_target(item.node) if item.node else {"body": "", "node": None}
    at = {"graph": item.graph, "body": node["body"], "node": node["node"]}
    chosen = {**at, "view": finding_id(item)}
    links = {"title": link_to(context, chosen)}
    if item.graph:
        graph = {"page": "graph", "graph": item.graph, "body": "", "node": None}
        links["graph"] = link_to(context, {**graph, "search": "", "view": ""})
    if item.node:
        links["node"] = link_to(context, {"page": "graph", **at, "search": "", "view": ""})
    return {
        "id": finding_id(item),
        "severity": f"{result_text.SHAPES[item.severity]} {item.severity}",
        "title": found.kinds[item.analysis].title,
        "confidence": item.confidence,
        "graph": name,
        "node": item.node,
        "what": found.words(item),
        "links": links,
        "exact": {"graph": item.graph},
    }


def grid(data: list[dict[str, Any]]) -> Component:
    """Return the table."""
    words = {"filter": "agTextColumnFilter", "tooltipValueGetter": {"function": "exact(params)"}}
    columns: list[dict[str, Any]] = [
        {
            "field": "severity",
            "headerName": "Severity",
            "width": 92,
            "cellClassRules": {
                "severity-warning": "params.value.endsWith('warning')",
                "severity-notice": "params.value.endsWith('notice')",
            },
            **words,
        },
        {
            "field": "title",
            "headerName": "Finding",
            "cellRenderer": "NodeLink",
            "minWidth": 240,
            "flex": 2,
            **words,
        },
        {
            "field": "confidence",
            "headerName": "Confidence",
            "headerTooltip": "How sure it is; empty where the analysis does not tell",
            "width": 92,
            **words,
        },
        {
            "field": "graph",
            "headerName": "Graph",
            "cellRenderer": "NodeLink",
            "minWidth": 150,
            "flex": 2,
            **words,
        },
        {
            "field": "node",
            "headerName": "Node",
            "cellRenderer": "NodeLink",
            "cellClass": "mono",
            "width": 72,
            **words,
        },
        {
            "field": "what",
            "headerName": "What",
            "minWidth": 240,
            "flex": 5,
            # Few findings are read here; of many it is the panel that tells all.
            **({"wrapText": True, "autoHeight": True} if len(data) <= FEW else {}),
            **words,
        },
    ]
    return grids.grid(
        FindingsPage.TABLE,
        columns,
        marked="isFinding",
        options={"enableCellTextSelection": True},
        rowData=data,
    )


def kinds(found: Findings) -> list[Component]:
    """Return a button per severity and kind that has findings; each filters the table."""
    severities = {
        severity: sum(kind.counts.get(severity, 0) for kind in found.kinds.values())
        for severity in (Severity.WARNING, Severity.NOTICE)
    }
    items = [
        _filter(str(severity), count, f"{result_text.SHAPES[severity]} ", f"severity-{severity}")
        for severity, count in severities.items()
        if count
    ]
    items += [_filter(kind.title, kind.count) for kind in found.ranked()]
    return items


def _filter(words: str, count: int, shape: str = "", names: str = "") -> Component:
    return html.Button(
        [
            html.Span(f"{shape}{words}", className=f"legend-name {names}".strip()),
            html.Span(text.count_text(count), className="count"),
        ],
        className="legend-entry",
        title=f"{words}: show these findings alone; again for all",
        **attributes(data_filter=json.dumps(words), aria_pressed="false"),
    )


def said(found: Findings, done: bool, error: str = "") -> list[Any]:
    """Return how far the search has come, and what it could not look for."""
    if error:
        return [f"The search for findings failed: {error}. Please report it."]
    graphs = text.counted(found.total, "graph")
    if not done:
        return [f"Looked at {text.count_text(found.looked)} of {graphs} …"]
    count = sum(kind.count for kind in found.kinds.values())
    parts: list[Any] = [
        f"{text.counted(count, 'finding')} in {graphs}."
        if count
        else f"Nothing was found in {graphs}."
    ]
    if count > min(len(found.rows), MOST):
        listed = text.count_text(min(len(found.rows), MOST))
        parts.append(f" The table has the first {listed} of them.")
    return parts


def sentences(told: Mapping[str, Mapping[str, int]]) -> list[Component]:
    """Return why analyses could not look, or what limits what they found, the most frequent first.

    Parameters
    ----------
    told : mapping of str to mapping of str to int
        See :func:`~graphviz_app.findings.by_sentence`.
    """
    items: list[Component] = []
    for sentence, names, graphs in by_sentence(told):
        of = f", of {text.counted(graphs, 'graph')}" if graphs > 1 else ""
        listed = ", ".join(name.replace("_", " ") for name in names)
        items.append(html.Li(prose(f"{listed}{of}: {sentence}")))
    return items
