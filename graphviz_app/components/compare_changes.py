"""The list of changes: alike ones in one row, the most costly first."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from ..comparing.change_groups import Group
from ..comparing.compared import Compared
from ..context import Context
from ..figures.changes import COLOURS, WORDS
from ..format import (
    ABSENT,
    count_text,
    counted,
    exact_duration_text,
    signed_duration_text,
)
from ..ids import ComparePage
from . import grids
from .attributes import attributes
from .result_view import link_to

MOST_ROWS = 2_000
MOST_PATHS = 6
FEW = 7
"""Up to this many rows the list is as high as they are, and the pictures get the room."""
WITHIN = "within noise"


def change_rows(context: Context, compared: Compared) -> list[dict[str, Any]]:
    """Return a row per group: values to sort by, texts to show, a link to its first node."""
    return [
        _row(context, number, group) for number, group in enumerate(compared.groups[:MOST_ROWS])
    ]


def _row(context: Context, number: int, group: Group) -> dict[str, Any]:
    first = group.places[0]
    link = link_to(context, {"body": first.body, "node": first.node})
    shown = ", ".join(group.paths[:MOST_PATHS])
    rest = len(group.paths) - MOST_PATHS
    paths = f"{shown} and {count_text(rest)} more" if rest > 0 else shown
    difference = ABSENT if group.cost_ns is None else signed_duration_text(group.cost_ns)
    return {
        "id": str(number),
        "group": number,
        "kind": WORDS[group.mark],
        "colour": COLOURS[group.mark],
        "count": len(group.places),
        "what": group.what,
        "how": group.how,
        "time": group.time,
        "cost": group.cost_ns,
        "noise": WITHIN if group.noise else "",
        "paths": paths,
        "links": {"what": link, "paths": link},
        "texts": {
            "count": count_text(len(group.places)),
            "cost": difference,
            "what": group.what,
            "paths": paths,
        },
        "exact": {"cost": "" if group.cost_ns is None else exact_duration_text(group.cost_ns)},
    }


def changes_list(context: Context, compared: Compared) -> list[Component]:
    """Return the heading and the table of changes; a sentence where there are none."""
    groups, total = compared.groups, len(compared.tour.node)
    edges = edges_text(compared)
    head: list[Any] = [
        html.H2(["Changes", html.Span(count_text(total), className="count")]),
        html.Span("", className="change-at", **attributes(aria_live="polite")),
        html.Span(edges, className="absent") if edges else None,
        html.Div(className="spring"),
        html.Span(
            [html.Kbd("j"), " next ", html.Kbd("k"), " previous, with Shift by row"],
            className="key-hint",
        ),
    ]
    if not groups:
        said = "No node differs in any field"
        timed = compared.before.is_timed and compared.after.is_timed
        more = ", nor in its time by more than noise." if timed else "."
        if compared.one_and_the_same:
            said, more = "Both sides are one and the same graph, so nothing differs", "."
        return [html.Div(head[:1] + head[2:3], className="changes-head"),
                html.P(f"{said}{more}", className="absent changes-none")]  # fmt: skip
    rows = change_rows(context, compared)
    parts = [html.Div(head, className="changes-head"), grid(rows)]
    if len(groups) > MOST_ROWS:
        more = (
            f"{counted(len(groups) - MOST_ROWS, 'row')} more: the keys reach them, and "
            f"cglens compare --format json writes all."
        )
        parts.append(html.P(more, className="absent changes-none"))
    return parts


def edges_text(compared: Compared) -> str:
    """Return how many dependencies differ, in words; empty for none."""
    counts = compared.diff.counts
    parts = [
        f"{count_text(number)} {kind}"
        for kind in ("added", "removed", "changed")
        if (number := getattr(counts, f"edges_{kind}"))
    ]
    if not parts:
        return ""
    kept = f", {count_text(counts.edges_rewired)} of them between nodes of both"
    return f"dependencies: {', '.join(parts)}{kept if counts.edges_rewired else ''}"


def grid(rows: list[dict[str, Any]]) -> Component:
    """Return the table of changes."""

    def number(field: str, title: str, width: int, **more: Any) -> dict[str, Any]:
        return {
            "field": field,
            "headerName": title,
            "width": width,
            "type": "rightAligned",
            "cellClass": "number",
            "valueFormatter": {"function": "shown(params)"},
            "tooltipValueGetter": {"function": "exact(params)"},
            **more,
        }

    columns = [
        {"field": "kind", "headerName": "Change", "width": 112, "cellRenderer": "TypeChip"},
        number("count", "Nodes", 64),
        {"field": "what", "headerName": "What", "flex": 5, "minWidth": 150,
         "cellRenderer": "NodeLink", "tooltipField": "what"},
        {"field": "how", "headerName": "Fields", "flex": 4, "minWidth": 120,
         "tooltipField": "how"},
        {"field": "paths", "headerName": "At", "flex": 1, "minWidth": 70, "cellClass": "mono",
         "tooltipField": "paths", "cellRenderer": "NodeLink"},
        {"field": "time", "headerName": "Time", "width": 136, "cellClass": "number",
         "type": "rightAligned", "tooltipField": "time",
         "headerTooltip": "Sum of medians before and after"},
        number("cost", "Difference", 92, headerTooltip="After less before, over all nodes",
               comparator={"function": "bySize"}),
        {"field": "noise", "headerName": "", "width": 98, "cellClass": "muted",
         "hide": not any(row["noise"] for row in rows)},
    ]  # fmt: skip
    return grids.grid(
        ComparePage.CHANGES,
        columns,
        row_height=26,
        header_height=28,
        marked="isCurrentChange",
        options=grids.layout_for(rows, FEW),
        rowData=rows,
    )
