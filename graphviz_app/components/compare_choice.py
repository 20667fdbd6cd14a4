"""What is compared with what: the two graphs, the pairs of two recordings, another file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.model import GraphInfo

from .. import format as text
from ..context import Context
from ..ids import ComparePage
from . import grids
from .attributes import attributes
from .choice import choice
from .links import go_link
from .result_view import link_to

NAME_CHARACTERS = 100
FEW_PAIRS = 20
MOST_OPTIONS = 300
"""Graphs in a list at most: every view of the page sends it again."""
DROP: dict[str, Any] = {"body": "", "node": None, "search": ""}


def head(context: Context) -> Component:
    """Return the two sides with their recordings and graphs, and the way to turn them round."""
    state = context.state
    turned = {
        "recording": state.after,
        "after": state.recording,
        "graph": state.graph_after,
        "graph_after": state.graph,
        **DROP,
    }
    parts: list[Any] = [
        _side(context, "Before", "recording", "graph"),
        go_link(context, "\N{LEFT RIGHT ARROW}", turned, className="icon-button turn",
                title="Turn round: after becomes before")
        if state.after
        else None,
        _side(context, "After", "after", "graph_after"),
    ]  # fmt: skip
    if state.after and state.after != state.recording and (state.graph or state.graph_after):
        changes = {"graph": "", "graph_after": "", "view": "", **DROP}
        parts.append(go_link(context, "All pairs", changes, className="text-link"))
    elif state.graph_after:
        changes = {"graph_after": "", "view": "", **DROP}
        parts.append(
            go_link(
                context,
                "Others\N{HORIZONTAL ELLIPSIS}",
                changes,
                className="text-link",
                title="Choose what to compare with",
            )
        )
    return html.Div(parts, className="compare-head")


def _side(context: Context, words: str, recording: str, graph: str) -> Component:
    state, store = context.state, context.store
    chosen, key = getattr(state, recording), getattr(state, graph)
    found: list[Any] = [html.B(words)]
    if len(store.opened) > 1:
        titles = [item.title for item in store.opened.values()]
        options = [
            (item.id, item.title if titles.count(item.title) == 1 else f"{item.title} · {item.id}")
            for item in store.opened.values()
        ]
        if not chosen:
            options.insert(0, ("", "choose a recording"))
        label = f"Recording {words.lower()}"
        found.append(choice(recording, options, chosen, label, also={graph: "", **DROP}))
    if chosen in store.opened:
        graphs = list(store.get(chosen).recording.graphs.values())
        named = [(info.key, title_of(info)) for info in around(graphs, key)]
        if len(named) < len(graphs):
            more = text.count_text(len(graphs) - len(named))
            named.append(("", f"{more} more, in the table"))  # which choosing none leads to
        if not key:
            one = state.graph or state.graph_after or state.after == state.recording
            named.insert(0, ("", "choose a graph" if one else "all graphs"))
        label = f"Graph {words.lower()}"
        found.append(choice(graph, named, key, label, class_name="wide", also=DROP))
    if not chosen and len(store.opened) == 1:
        found.append(html.Span("choose it below", className="absent"))
    return html.Div(found, className="compare-side")


def around(graphs: list[GraphInfo], key: str) -> list[GraphInfo]:
    """Return the graphs that a list offers: of thousands those near the chosen one."""
    if len(graphs) <= MOST_OPTIONS:
        return graphs
    at = next((at for at, info in enumerate(graphs) if info.key == key), 0)
    first = min(max(0, at - MOST_OPTIONS // 2), len(graphs) - MOST_OPTIONS)
    return graphs[first : first + MOST_OPTIONS]


def title_of(info: GraphInfo) -> str:
    """Return the name of a graph for a list, its label included."""
    name = info.name if len(info.name) <= NAME_CHARACTERS else f"…{info.name[-NAME_CHARACTERS:]}"
    return name if not info.label or info.label in name else f"{name} · {info.label}"


def chooser(context: Context, said: str = "") -> Component:
    """Return what a graph can be compared with."""
    state, store = context.state, context.store
    recording = store.get(state.recording).recording
    parts: list[Any] = [html.P(said)] if said else []
    others = [info for info in recording.graphs.values() if info.key != state.graph]
    chosen = recording.graphs.get(state.graph)
    if chosen is not None and others:
        parts.append(html.H2(f"Compare {title_of(chosen)} with"))
        parts.append(_graphs(context, chosen, others))
    elif chosen is not None and not said:
        parts.append(html.P("This recording has one graph, so there is none to compare it with."))
    elif chosen is None and not said:
        parts.append(html.P("This recording holds no graph, so there is nothing to compare."))
    if len(store.opened) > 1:
        parts.append(html.H2("Compare the recording with"))
        links = [
            html.Li(go_link(context, opened.title,
                            {"after": opened.id, "graph": "", "graph_after": "", **DROP}))
            for opened in store.opened.values()
            if opened.id != state.recording
        ]  # fmt: skip
        parts.append(html.Ul(links, className="plain-list"))
    parts.append(html.H2("Another recording"))
    if store.takes_files:
        parts.append(
            html.P(
                [
                    html.Button(
                        "Open a file",
                        className="text-button",
                        **attributes(data_open_file="true"),
                    ),
                    html.Span("a .cgl, or any format that cglens reads; it stays on this machine",
                              className="absent beside-button"),
                ]
            )
        )  # fmt: skip
    parts.append(html.P(["Or start with both: ", html.Code("cglens compare BEFORE AFTER")],
                        className="absent"))  # fmt: skip
    return html.Div(parts, className="compare-text")


def _graphs(context: Context, chosen: GraphInfo, others: Sequence[GraphInfo]) -> Component:
    rows = []
    for info in others:
        changes = {"after": context.state.recording, "graph_after": info.key, **DROP}
        alike = bool(info.topology) and info.topology == chosen.topology
        rows.append(
            {
                "id": info.key,
                "name": title_of(info),
                "nodes": info.node_count,
                "edges": info.edge_count,
                "alike": "the same" if alike else "another",
                "links": {"name": link_to(context, changes)},
                "texts": {
                    "nodes": text.count_text(info.node_count),
                    "edges": text.count_text(info.edge_count),
                },
            }
        )
    columns = [
        {"field": "name", "headerName": "Graph", "flex": 3, "cellRenderer": "NodeLink",
         "filter": "agTextColumnFilter"},
        _number("nodes", "Nodes"),
        _number("edges", "Edges"),
        {"field": "alike", "headerName": "Topology", "width": 100},
    ]  # fmt: skip
    return table("compare-with", columns, rows)


def pairs_table(rows: list[dict[str, Any]]) -> Component:
    """Return the table of the pairs of two recordings, whose rows `pair_rows` makes."""
    columns = [
        {"field": "name", "headerName": "Graph", "flex": 4, "minWidth": 160,
         "cellRenderer": "NodeLink", "filter": "agTextColumnFilter", "tooltipField": "name"},
        {"field": "by", "headerName": "Paired by", "width": 84, "tooltipField": "by",
         "filter": "agTextColumnFilter"},
        _number("nodes", "Nodes", 84, "Before and after, bodies included"),
        {"field": "state", "headerName": "Result", "width": 108, "cellRenderer": "TypeChip",
         "filter": "agTextColumnFilter"},
        {"field": "differences", "headerName": "Differences", "flex": 3, "minWidth": 160,
         "valueFormatter": {"function": "shown(params)"},
         "tooltipValueGetter": {"function": "shown(params)"},
         "headerTooltip": "Nodes by what became of them, and dependencies; sorts by how many"},
        _number("replay", "Replay", 146, "Before and after; sorts by the difference"),
        {"field": "update", "headerName": "Update", "width": 78, "tooltipField": "updateWhy",
         "headerTooltip": "Would cuGraphExecUpdate take it, by the documented rules?"},
    ]  # fmt: skip
    return table(ComparePage.PAIRS, columns, rows, few=FEW_PAIRS)


def _number(field: str, title: str, width: int = 84, hint: str = "") -> dict[str, Any]:
    return {
        "field": field,
        "headerName": title,
        "headerTooltip": hint or title,
        "width": width,
        "type": "rightAligned",
        "cellClass": "number",
        "valueFormatter": {"function": "shown(params)"},
        "tooltipValueGetter": {"function": "exact(params)"},
    }


def table(
    id_: str, columns: list[dict[str, Any]], rows: list[dict[str, Any]], few: int = 14
) -> Component:
    """Return a table of graphs; with more rows than `few` it fills its box."""
    return grids.grid(
        id_,
        columns,
        class_name="grid" if len(rows) > few else "grid few",
        options=grids.layout_for(rows, few),
        rowData=rows,
    )
