"""The data flow of a graph as one binary answer for the canvas, asked for when it is shown.

In little-endian order: the magic ``CGLF``, a 32-bit version, the number of flows, then as 32-bit
integers all writers and all readers, and as bytes how each is known (:data:`HOW`).
`assets/canvas/flows.mjs` is the reader in the browser.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from flask import Flask, Response, request

from capture.errors import GraphLensError, LookupFailed
from capture.memory.flow import Flow

from .compression import SCENE_TYPE
from .store import Store

MAGIC = b"CGLF"
VERSION = 1
HOW = ("exact", "measured", "inferred", "possible")
TYPE = f"{SCENE_TYPE}.flows"
"""Compressed as scenes are."""


def flows_url(recording: str, graph: str, body: str = "", prefix: str = "/") -> str:
    """Return the address of a graph's data flow."""
    query = {"graph": graph} | ({"body": body} if body else {})
    return f"{prefix}flows/{quote(recording)}?{urlencode(query)}"


def encode(flows: Sequence[Flow]) -> bytes:
    """Encode flows for the canvas.

    Examples
    --------
    >>> len(encode([Flow(0, 1, 64, "exact")]))
    21
    """
    known = {name: number for number, name in enumerate(HOW)}
    ends = array("I", [flow.writer for flow in flows])
    ends.extend(flow.reader for flow in flows)
    if sys.byteorder == "big":
        ends.byteswap()
    how = bytes(known[flow.how] for flow in flows)
    return MAGIC + struct.pack("<II", VERSION, len(flows)) + ends.tobytes() + how


def register(server: Flask, store: Store, prefix: str) -> None:
    """Add the route to a Flask server."""

    @server.get(f"{prefix}flows/<recording>")
    def flows(recording: str) -> Response:
        arguments = request.args
        try:
            subject = store.subject(
                recording, arguments.get("graph", ""), arguments.get("body", "")
            )
            found = subject.flows
        except LookupFailed as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        except GraphLensError as error:
            return Response(f"{error}\n", 422, mimetype="text/plain")
        response = Response(encode(found), mimetype=TYPE)
        response.headers["Cache-Control"] = "no-store"
        return response
