"""Which nodes of a graph have findings, as JSON for the canvas; asked for once it is drawn.

``{"warning": [positions], "notice": [positions], "findings": count}``; a node that has both is a
warning. `assets/canvas/marks.mjs` is the reader in the browser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from flask import Flask, Response, request

from capture.analysis import Analysis, Result, Severity
from capture.analysis.found import findings_in
from capture.errors import GraphLensError, LookupFailed

from .store import Store


def marks_url(recording: str, graph: str, body: str = "", prefix: str = "/") -> str:
    """Return the address of a graph's marks."""
    query = {"graph": graph} | ({"body": body} if body else {})
    return f"{prefix}marks/{quote(recording)}?{urlencode(query)}"


def marks_at(
    results: Mapping[str, tuple[Analysis, Result]], graph: str, body: str
) -> dict[str, Any]:
    """Return positions of one level with findings, by severity; what a node holds counts for it.

    Parameters
    ----------
    results : mapping
        About the whole graph, by name of the analysis.
    graph : str
        Key.
    body : str
        Path of the level; empty for the graph itself.
    """
    prefix = f"{body}/" if body else ""
    found: dict[Severity, set[int]] = {Severity.WARNING: set(), Severity.NOTICE: set()}
    count = 0
    for entry, result in results.values():
        for item in findings_in(entry, result, graph):
            if item.graph != graph:
                continue
            count += 1
            if item.node.startswith(prefix):
                position = item.node[len(prefix) :].partition("/")[0]
                if position.isdecimal():
                    found[item.severity].add(int(position))
    notices = found[Severity.NOTICE] - found[Severity.WARNING]
    return {
        "warning": sorted(found[Severity.WARNING]),
        "notice": sorted(notices),
        "findings": count,
    }


def register(server: Flask, store: Store, prefix: str) -> None:
    """Add the route to a Flask server."""

    @server.get(f"{prefix}marks/<recording>")
    def marks(recording: str) -> Response:
        key, body = request.args.get("graph", ""), request.args.get("body", "")
        try:
            store.graph(recording, key, body)
            found = marks_at(store.marks(recording, key), key, body)
        except LookupFailed as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        except GraphLensError as error:
            return Response(f"{error}\n", 422, mimetype="text/plain")
        response = Response(json.dumps(found), mimetype="application/json")
        response.headers["Cache-Control"] = "no-store"
        return response
