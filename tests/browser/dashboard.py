"""Helpers of tests that look at the dashboard in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest
import waitress
from dash import Dash
from playwright.sync_api import Browser, BrowserContext, Page, expect

from graphviz_app.server import bind

WIDTH, HEIGHT = 1440, 900
NOWHERE = "nowhere"
"""A page that there is not: going there takes all of another page away."""

expect.set_options(timeout=20_000)


class Open(Protocol):
    """Opens an address of the dashboard, as a link in it does or, with ``load``, as a new tab."""

    def __call__(self, path: str, *, load: bool = False) -> Page: ...


@contextmanager
def serving(app: Dash) -> Iterator[str]:
    """Serve an app from a thread, as `cglens view` does from its process."""
    listener = bind("127.0.0.1", 0)
    server = waitress.create_server(app.server, sockets=[listener], threads=8)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.task_dispatcher.shutdown()
    server.close()
    thread.join(10)


@contextmanager
def new_context(browser: Browser) -> Iterator[BrowserContext]:
    """Open a context as a user has it who sees a desktop and no animations."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
    )
    yield context
    context.close()


def follow(page: Page, path: str) -> None:
    """Go to an address without loading the page again, from one where nothing is left."""
    go = """path => {
        document.activeElement.blur();
        history.pushState({}, "", path);
        dispatchEvent(new PopStateEvent("popstate"));
    }"""
    left = page.locator("#content .sentence", has_text=f"There is no page '{NOWHERE}'")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.mouse.move(0, 0)
    page.evaluate(go, f"/{NOWHERE}")
    left.wait_for()
    page.evaluate(go, path)
    left.wait_for(state="detached")


def ready(page: Page) -> Page:
    """Wait until the graph is drawn."""
    page.wait_for_selector("#canvas-host[data-ready]")
    return page


def node_place(page: Page, node: int) -> tuple[float, float]:
    """Return where a node is in the window."""
    box = page.locator("#canvas-host").bounding_box()
    assert box is not None
    x, y = page.evaluate(
        "i => document.getElementById('canvas-host').cglens.nodeScreenPosition(i)", node
    )
    return box["x"] + x, box["y"] + y


def wait_until_dimmed(page: Page, wanted: bool) -> None:
    """Wait until the graph stands back behind its matches, or no longer does."""
    # Playwright's own wait_for_function needs eval, which the page's policy forbids.
    for _ in range(200):
        if page.evaluate("document.getElementById('canvas-host').cglens.stats().dimmed") is wanted:
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the picture did not become {'dimmed' if wanted else 'plain'}")


def title(page: Page) -> Any:
    """Return the heading of the details."""
    return page.locator(".details h2")
