"""From blocks of memory to nodes and back, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import capture
from graphviz_app.app import create_app
from graphviz_app.store import Store
from tests.helpers import synthetic_memory

from .test_dashboard import browser, new_context, serving

__all__ = ["browser"]

SNAPSHOT = Path(__file__).parents[1] / "data" / "memory" / "train_step_snapshot.pickle"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    named = [("run", synthetic_memory.recording()), ("file", capture.read(SNAPSHOT))]
    with serving(create_app(Store(named))) as where:
        yield where


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    problems: list[str] = []
    with new_context(browser) as context:
        opened = context.new_page()
        opened.on(
            "console",
            lambda message: (
                problems.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.goto(address)
        yield opened
    assert problems == []


def test_a_block_finds_its_nodes_and_a_node_its_blocks(page: Page) -> None:
    page.locator(".rail-link", has_text="Memory").click()
    expect(page.locator("#memory-map .bars .point")).to_have_count(4)
    expect(page.locator("#memory-lifetimes .bars .point")).to_have_count(2)
    table = page.locator("#memory-blocks")
    table.locator("a", has_text="0x7f1000000000").click()
    expect(page.locator("#search-count")).to_have_text("2")
    assert "block:0x7f1000000000" in page.url
    page.go_back()
    row = page.locator("#memory-blocks .ag-row", has_text="Net: weight")
    row.locator("a").nth(1).click()
    details = page.locator("#details")
    expect(details.get_by_text("common pool, allocated, 512 B")).to_be_visible()
    details.locator("a", has_text="Net: weight").click()
    expect(page.locator("#search-count")).to_have_text("1 of 2")


def test_data_flow_is_drawn_when_asked_for_and_a_link_keeps_it(page: Page) -> None:
    host = page.locator("#canvas-host")
    page.locator(".rail-link", has_text="Graph").click()
    button = page.get_by_role("button", name="Data flow")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(host).to_have_attribute("data-flows-shown", "1")
    page.reload()
    expect(host).to_have_attribute("data-flows-shown", "1")
    page.get_by_role("button", name="Data flow").click()
    expect(host).to_have_attribute("data-flows-shown", "")


def test_captures_the_end_and_a_snapshot_file(page: Page, address: str) -> None:
    page.locator(".rail-link", has_text="Memory").click()
    page.get_by_role("tab", name="Captures").click()
    expect(page.locator("#memory-chart .bars .point").first).to_be_visible()
    page.get_by_role("tab", name="End of the process").click()
    expect(page.locator("#memory-map .bars .point")).to_have_count(4)
    page.goto(f"{address}/memory?recording=file")
    expect(page.get_by_role("heading", name="Address map")).to_contain_text("10 segments")
    expect(page.get_by_text("train_step.py:20").first).to_be_visible()
