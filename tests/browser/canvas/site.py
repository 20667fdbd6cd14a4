"""A server for the canvas's test page, with the content-security policy of the product."""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .scenes import SCENES

HERE = Path(__file__).parent
ASSETS = Path(__file__).parents[3] / "assets"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
}
POLICY = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
"""None leaves the choice to Playwright, which has a browser of its own once installed."""
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    # WebGL alone goes through the software GPU; the rest of the page is quicker without it.
    "--disable-gpu-compositing",
)


@functools.cache
def scene(name: str) -> bytes:
    """Build a payload once."""
    return SCENES[name]()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path.startswith("/scene/"):
            name = path.removeprefix("/scene/")
            if name not in SCENES:
                self.send_error(404)
                return
            self._answer("application/octet-stream", scene(name))
            return
        root = ASSETS if path.startswith("/assets/") else HERE
        file = root / path.removeprefix("/assets/").removeprefix("/")
        if file.suffix not in TYPES or not file.is_file():
            self.send_error(404)
            return
        self._answer(TYPES[file.suffix], file.read_bytes())

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve() -> Iterator[str]:
    """Serve on a free port of the loopback; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
