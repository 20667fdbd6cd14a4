"""Plain HTTP routes beside Dash: the scene of a graph, and downloads."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from flask import Flask, Response, request

from capture.errors import GraphLensError, LookupFailed

from .comparing.compared import Pair
from .comparing.data import compare_data
from .compression import SCENE_TYPE
from .exports import export
from .store import Store


def scene_url(
    recording: str, graph: str, body: str, prefix: str = "/", executable: str = ""
) -> str:
    """Return the address of a graph's scene."""
    query = {"graph": graph} | ({"body": body} if body else {})
    query |= {"executable": executable} if executable else {}
    return f"{prefix}scene/{quote(recording)}?{urlencode(query)}"


def replay_url(recording: str, graph: str, prefix: str = "/", executable: str = "") -> str:
    """Return the address of a graph's sample replay."""
    query = {"graph": graph} | ({"executable": executable} if executable else {})
    return f"{prefix}replay/{quote(recording)}?{urlencode(query)}"


def compare_url(kind: str, pair: Pair, prefix: str = "/", side: str = "", body: str = "") -> str:
    """Return the address of a part of a comparison: its ``scene``, ``replay`` or ``tour``."""
    query = {"graph": pair.graph, "after": pair.after, "graph_after": pair.graph_after}
    query |= {name: value for name, value in (("side", side), ("body", body)) if value}
    return f"{prefix}compare-{kind}/{quote(pair.recording)}?{urlencode(query)}"


def register(server: Flask, store: Store, prefix: str) -> None:
    """Add the routes to a Flask server."""

    @server.get(f"{prefix}scene/<recording>")
    def scene(recording: str) -> Response:
        try:
            picture = store.picture(
                recording,
                request.args.get("graph", ""),
                request.args.get("body", ""),
                request.args.get("executable", ""),
            )
        except LookupFailed as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        except GraphLensError as error:
            return Response(f"{error}\n", 422, mimetype="text/plain")
        response = Response(picture.scene, mimetype=SCENE_TYPE)
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.get(f"{prefix}replay/<recording>")
    def replay(recording: str) -> Response:
        try:
            data = store.replay(
                recording, request.args.get("graph", ""), request.args.get("executable", "")
            )
        except LookupFailed as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        except GraphLensError as error:
            return Response(f"{error}\n", 422, mimetype="text/plain")
        response = Response(data, mimetype="application/json")
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.get(f"{prefix}compare-<kind>/<recording>")
    def comparison(kind: str, recording: str) -> Response:
        asked = {name: request.args.get(name, "") for name in ("graph", "after", "graph_after")}
        try:
            data, mimetype = compare_data(
                store,
                kind,
                Pair(recording, asked["graph"], asked["after"], asked["graph_after"]),
                request.args.get("side", ""),
                request.args.get("body", ""),
            )
        except LookupFailed as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        except GraphLensError as error:
            return Response(f"{error}\n", 422, mimetype="text/plain")
        response = Response(data, mimetype=mimetype)
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.get(f"{prefix}export/<recording>")
    def download(recording: str) -> Response:
        arguments = request.args
        try:
            data, name = export(
                store, recording, arguments.get("graph", ""), arguments.get("format", "")
            )
        except LookupFailed as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        except GraphLensError as error:
            return Response(f"{error}\n", 422, mimetype="text/plain")
        response = Response(data, mimetype="application/octet-stream")
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        response.headers["Cache-Control"] = "no-store"
        return response
