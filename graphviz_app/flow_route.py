"""The data flow of a graph as one binary answer for the canvas, asked for when it is shown.

In little-endian order: the magic ``CGLF``, a 32-bit version, the number of pairs of nodes, then as
32-bit integers all writers and all readers, and as bytes how each is known (:data:`HOW`). The last
two kinds are no flows: dependencies between nodes that share no bytes, and nodes that touch the
same bytes, one of them writing, and that no dependency orders.
`assets/canvas/flows.mjs` is the reader in the browser.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from flask import Flask, Response, request

from capture.analysis.edges_without_data import split
from capture.errors import GraphLensError, LookupFailed
from capture.memory.flow import Flow

from .compression import SCENE_TYPE
from .store import Store

MAGIC = b"CGLF"
VERSION = 2
HOW = ("exact", "measured", "inferred", "possible", "no data", "unordered")
TYPE = f"{SCENE_TYPE}.flows"
"""Compressed as scenes are."""


def flows_url(recording: str, graph: str, body: str = "", prefix: str = "/") -> str:
    """Return the address of a graph's data flow."""
    query = {"graph": graph} | ({"body": body} if body else {})
    return f"{prefix}flows/{quote(recording)}?{urlencode(query)}"


def encode(
    flows: Sequence[Flow],
    without: Sequence[tuple[int, int]] = (),
    unordered: Sequence[tuple[int, int]] = (),
) -> bytes:
    """Encode pairs of nodes for the canvas.

    Parameters
    ----------
    flows : sequence of Flow
    without : sequence of tuple of int
        Dependencies that no data needs.
    unordered : sequence of tuple of int
        Nodes that share bytes, and that no dependency orders.

    Examples
    --------
    >>> len(encode([Flow(0, 1, 64, "exact")], [(1, 2)]))
    30
    """
    known = {name: number for number, name in enumerate(HOW)}
    pairs = [*((flow.writer, flow.reader) for flow in flows), *without, *unordered]
    ends = array("I", [pair[0] for pair in pairs])
    ends.extend(pair[1] for pair in pairs)
    if sys.byteorder == "big":
        ends.byteswap()
    how = bytes(known[flow.how] for flow in flows)
    how += bytes([known["no data"]]) * len(without) + bytes([known["unordered"]]) * len(unordered)
    return MAGIC + struct.pack("<II", VERSION, len(pairs)) + ends.tobytes() + how


def encoded(store: Store, recording: str, graph: str, body: str = "") -> bytes:
    """Return all that the canvas draws of a graph's data.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    subject = store.subject(recording, graph, body)
    found = split(subject)
    races = store.result(recording, graph, body, "unordered_writes")
    pairs = [(_position(row[0]), _position(row[2])) for row in races.rows]
    return encode(subject.flows, found.loose if found is not None else [], pairs)


def _position(path: object) -> int:
    return int(str(path).rpartition("/")[2])


def register(server: Flask, store: Store, prefix: str) -> None:
    """Add the route to a Flask server."""

    @server.get(f"{prefix}flows/<recording>")
    def flows(recording: str) -> Response:
        arguments = request.args
        try:
            found = encoded(store, recording, arguments.get("graph", ""), arguments.get("body", ""))
        except LookupFailed as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        except GraphLensError as error:
            return Response(f"{error}\n", 422, mimetype="text/plain")
        response = Response(found, mimetype=TYPE)
        response.headers["Cache-Control"] = "no-store"
        return response
