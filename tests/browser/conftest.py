"""One Chromium for all tests, and one tab for all tests of a module.

A page of the dashboard is megabytes of script: to load it takes two cores some seconds, to go on in
it a tenth of that. So tests go on in their module's tab from address to address, as a user does.
After a failure the next test gets a new tab.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from .canvas.site import CHROMIUM, CHROMIUM_FLAGS
from .dashboard import Open, follow, new_context

HERE = Path(__file__).parent
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a test that failed again, twice: a frame can miss its deadline on a busy machine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Remember that a test failed."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


class Watched:
    """A context, and what its pages complained about and whom they asked."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        context.on("console", self._console)
        context.on("weberror", lambda error: self.problems.append(str(error.error)))
        context.on("dialog", self._dialog)
        context.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _console(self, message: Any) -> None:
        # The flags for a machine without a GPU make Chromium copy the canvas back, and say so.
        copied = "GPU stall due to ReadPixels" in message.text
        if message.type in ("error", "warning") and not copied:
            self.problems.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def watched(browser: Browser, address: str) -> Iterator[Watched]:
    # After the address, so that it is closed before: a server waits for its connections.
    with new_context(browser) as context:
        yield Watched(context)


@pytest.fixture
def open_page(watched: Watched, address: str, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Open addresses; at the end assert that nothing went wrong and no request left the machine."""
    context = watched.context
    watched.problems.clear()
    watched.hosts.clear()
    page = context.pages[0] if context.pages else context.new_page()

    def open_(path: str, *, load: bool = False) -> Page:
        if load or not page.url.startswith(address):
            page.goto(address + path)
        else:
            follow(page, path)
        return page

    yield open_
    failed = request.node.stash.get(FAILED, False)
    for opened in context.pages if failed else context.pages[1:]:
        opened.close()
    assert watched.problems == []
    assert watched.hosts - {""} <= {urlsplit(address).netloc}, "a request left the machine"


@pytest.fixture
def page(open_page: Open) -> Page:
    """The page that the dashboard starts with."""
    return open_page("/")
