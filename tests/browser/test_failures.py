"""From the overview to the reason of a failed capture, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from graphviz_app.app import create_app
from graphviz_app.source_access import SourceAccess
from graphviz_app.store import Store
from tests.failures.recordings import zoo_recording
from tests.helpers import synthetic

from .dashboard import Open, serving

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    named = [("zoo", zoo_recording()), ("run", synthetic.typical())]
    with serving(create_app(Store(named, sources=SourceAccess([ROOT])))) as where:
        yield where


def test_from_the_overview_to_the_line_and_on_to_another(page: Page, address: str) -> None:
    entry = page.locator(".failed-list li", has_text="swallowed.py")
    entry.get_by_role("link", name="Host synchronisation").click()
    expect(page.locator(".failure h2")).to_have_text("Host synchronisation")
    expect(page.locator(".source .guilty")).to_contain_text("y.mean().item()")
    expect(page.locator(".failure .advice")).to_contain_text("Keep the value on the GPU")
    page.locator(".analysis-item", has_text="triton_autotune.py").click()
    expect(page.locator(".failure h2")).to_have_text("Loaded or tuned inside the capture")
    expect(page).to_have_url(f"{address}/failures?recording=zoo&view=triton_autotune%230")
    page.locator(".failure-stack summary").click()
    expect(page.locator(".failure-stack")).to_contain_text("autotuner.py")
    page.go_back()
    expect(page.locator(".failure h2")).to_have_text("Host synchronisation")


def test_to_the_nodes_that_were_reached_and_back(open_page: Open) -> None:
    page = open_page("/failures?recording=run", load=True)
    page.get_by_role("link", name="5 nodes").click()
    note = page.locator(".toolbar-note")
    expect(note).to_contain_text("This capture failed")
    note.get_by_role("link").click()
    expect(page.locator(".failure h2")).to_have_text("Reason not known")
