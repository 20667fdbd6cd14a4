"""The way from a captured graph down to the body on the screen."""

from __future__ import annotations

from typing import Any

from dash import html

from capture.model import Graph

from ..context import Context
from .links import go_link

SEPARATOR = "\u203a"


def breadcrumb(context: Context, graph: Graph, name: str) -> list[Any]:
    """Return the way from the graph down to the body on the screen, with its sibling bodies."""
    parts = [part for part in context.state.body.split("/") if part]
    root: dict[str, Any] = {"body": "", "node": None, "search": ""}
    crumbs: list[Any] = [
        go_link(context, name, root, className="crumb")
        if parts
        else html.Span(name, className="crumb")
    ]
    path = ""
    for node, index in zip(parts[::2], parts[1::2], strict=True):
        around = graph
        siblings = around.bodies_of(int(node))
        up = {"body": path, "node": int(node), "search": ""}
        path = f"{path}/{node}" if path else node
        crumbs.append(html.Span(SEPARATOR, className="crumb-sep"))
        crumbs.append(
            go_link(context, f"node {node}", up, className="crumb", title="Back to this node")
        )
        crumbs.append(html.Span(SEPARATOR, className="crumb-sep"))
        for body in siblings:
            target = {"body": f"{path}/{body.index}", "node": None, "search": ""}
            here = str(body.index) == index
            names = "crumb here" if here else "crumb"
            crumbs.append(go_link(context, body.role, target, className=names))
            if here:
                graph = body.graph
        path = f"{path}/{index}"
    return crumbs
