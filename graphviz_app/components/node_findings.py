"""Findings on the page of a graph: the button that marks nodes, and a node's own in its panel."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from capture.analysis.found import findings_in

from .. import format as text
from .. import result_text
from ..context import Context
from ..marks_route import marks_url
from .attributes import attributes
from .facts import Children
from .findings_table import finding_id
from .links import go_link

MOST_OF_NODE = 20
UNMARKED = "unmarked"
"""What the view says while nodes are not marked."""
HINT = "Marks nodes that have a finding: a diamond for a warning, a triangle for a notice"


def findings_button(context: Context) -> Component:
    """Return the button that marks nodes with findings, or no longer."""
    state = context.state
    src = marks_url(state.recording, state.graph, state.body, context.prefix)
    return html.Button(
        ["Findings", html.Span(className="count")],
        className="text-button marks-button",
        title=HINT,
        **attributes(data_marks=src, aria_pressed=str(state.view != UNMARKED).lower()),
    )


def of_node(context: Context, position: int) -> Children:
    """Return the findings about a node, for its own panel, as far as they are known by now."""
    state = context.state
    if state.graph not in context.store.get(state.recording).recording.graphs:
        return []
    marks = context.store.marks(state.recording, state.graph)
    path = f"{state.body}/{position}" if state.body else str(position)
    items = [
        (entry.title, item, result, item.row)
        for entry, result in marks.values()
        for item in findings_in(entry, result, state.graph)
        if item.graph == state.graph and (item.node == path or item.node.startswith(f"{path}/"))
    ]
    if not items:
        return []
    rows: Children = []
    for title, item, result, row in items[:MOST_OF_NODE]:
        # The panel has the kernel's name above; where no column is called so, a name is the node's.
        own = "kernel" if any(column.name == "kernel" for column in result.columns) else "name"
        words = (
            result_text.row_text(result, row, (own,)) if row >= 0 else result_text.summary(result)
        )
        change = {"page": "findings", "view": finding_id(item), "search": ""}
        sure = f" ({item.confidence})" if item.confidence else ""
        link = go_link(
            context,
            [
                html.Span(
                    f"{result_text.SHAPES[item.severity]} ", className=f"severity-{item.severity}"
                ),
                f"{title}{sure}",
            ],
            change,
        )
        rows.append(html.Li([link, html.P(words, className="note")]))
    if len(items) > MOST_OF_NODE:
        rows.append(html.Li(f"and {text.count_text(len(items) - MOST_OF_NODE)} more"))
    return [html.Section([html.H3("Findings"), html.Ul(rows, className="node-findings")])]
