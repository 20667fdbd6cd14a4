"""Gzip for answers that are worth it: a dashboard is often looked at through a slow tunnel."""

from __future__ import annotations

import gzip
from collections import OrderedDict
from threading import Lock

from flask import Flask, Response, request

SMALLEST_BYTES = 2_000
LEVEL = 5
KEPT_BYTES = 32 * 1024**2
_TEXTUAL = ("text/", "application/json", "application/javascript", "image/svg")
SCENE_TYPE = "application/vnd.cglens.scene"


def compress(server: Flask) -> None:
    """Compress what a browser can read compressed; scripts and styles are compressed once."""
    kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
    lock = Lock()

    @server.after_request
    def shrink(response: Response) -> Response:
        if (
            response.status_code != 200
            or "gzip" not in request.headers.get("Accept-Encoding", "")
            or "Content-Encoding" in response.headers
            or not (response.mimetype or "").startswith((*_TEXTUAL, SCENE_TYPE))
        ):
            return response
        response.direct_passthrough = False
        data = response.get_data()
        if len(data) < SMALLEST_BYTES:
            return response
        fixed = request.method == "GET" and "component-suites" in request.path
        key = (request.full_path, str(len(data)))
        with lock:
            small = kept.get(key) if fixed else None
        if small is None:
            small = gzip.compress(data, LEVEL)
            if fixed:
                with lock:
                    kept[key] = small
                    while sum(map(len, kept.values())) > KEPT_BYTES:
                        kept.popitem(last=False)
        response.set_data(small)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(small))
        response.vary.add("Accept-Encoding")
        return response
