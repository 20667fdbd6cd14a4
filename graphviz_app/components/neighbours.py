"""Links from a node to those before and after it, and into its bodies."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from capture.model import Edge, Graph

from .. import format as text
from .. import naming
from ..context import Context
from ..picture import Picture
from .facts import Children
from .links import go_link

NEIGHBOURS = 60
"""Links shown per direction; a join of thousands would bury the rest of the panel."""


def bodies(context: Context, graph: Graph, position: int) -> Children:
    """Return links to the bodies of a node."""
    state = context.state
    found = graph.bodies_of(position)
    if not found:
        return []
    rows = []
    for body in found:
        path = f"{state.node_path}/{body.index}"
        size = text.counted(len(body.graph), "node")
        link = go_link(
            context,
            [html.Span(body.role, className="name"), html.Span(size, className="note")],
            {"body": path, "node": None, "search": ""},
            className="neighbour",
        )
        rows.append(html.Li(link))
    return [
        html.Section(
            [html.H3("Body" if len(found) == 1 else "Bodies"), html.Ul(rows, className="links")]
        )
    ]


def neighbours(context: Context, picture: Picture, position: int) -> Children:
    """Return predecessors and successors as links, with the type and ports of their edges."""
    parts: Children = []
    for title, edges, end in (
        ("Predecessors", picture.into(position), "source"),
        ("Successors", picture.out_of(position), "target"),
    ):
        heading_text = html.H3([title, html.Span(text.count_text(len(edges)), className="count")])
        if not edges:
            none = "None: it starts the graph." if end == "source" else "None: it ends the graph."
            parts.append(html.Section([heading_text, html.P(none, className="absent")]))
            continue
        rows = [
            _neighbour(context, picture, edge, getattr(edge, end)) for edge in edges[:NEIGHBOURS]
        ]
        if len(edges) > NEIGHBOURS:
            more = f"{text.count_text(len(edges) - NEIGHBOURS)} more, marked in the picture."
            rows.append(html.Li(more, className="absent"))
        parts.append(html.Section([heading_text, html.Ul(rows, className="links")]))
    return parts


def _neighbour(context: Context, picture: Picture, edge: Edge, other: int) -> Component:
    colour = naming.type_colour(picture.graph.topology.types[other])
    label: Children = [
        html.I(className="chip", style={"background": colour}),
        html.Span(picture.labels[other], className="name", title=picture.names[other][:2000]),
        html.Span(str(other), className="note"),
    ]
    note = edge_text(edge)
    if note:
        label.append(html.Span(note, className="edge-note"))
    return html.Li(go_link(context, label, {"node": other}, className="neighbour"))


def edge_text(edge: Edge) -> str:
    """Return an edge's type and ports; a default edge without ports says nothing.

    Examples
    --------
    >>> edge_text(Edge(0, 1, 1, 0, 1)), edge_text(Edge(0, 1))
    ('programmatic, port 1 → 0', '')
    """
    words = []
    if edge.type:
        words.append("programmatic" if edge.type == 1 else f"edge type {edge.type}")
    if edge.from_port or edge.to_port:
        words.append(f"port {edge.from_port} → {edge.to_port}")
    return ", ".join(words)
