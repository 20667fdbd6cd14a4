"""From blocks of memory to nodes and back, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import capture
from graphviz_app.app import create_app
from graphviz_app.store import Store
from tests.helpers import synthetic_memory

from .dashboard import Open, serving

SNAPSHOT = Path(__file__).parents[1] / "data" / "memory" / "train_step_snapshot.pickle"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    named = [("run", synthetic_memory.recording()), ("file", capture.read(SNAPSHOT))]
    with serving(create_app(Store(named))) as where:
        yield where


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
    details.locator("a.neighbour", has_text="Net: weight").click()
    expect(page.locator("#search-count")).to_have_text("1 of 2")
    details.get_by_role("link", name="block").first.click()
    expect(page.locator("#memory-blocks .ag-row:not(.ag-row-loading)")).to_have_count(1)
    page.keyboard.press("Shift")  # whoever does something is not scrolled to the table any more
    page.locator("#memory-pool .nsewdrag").hover()
    expect(
        page.locator("#memory-pool .hovertext").first
    ).to_be_visible()  # else no point is clicked
    page.locator("#memory-pool .nsewdrag").click()
    expect(page).to_have_url(re.compile("/graph.*node="))


def test_data_flow_is_drawn_when_asked_for_and_a_link_keeps_it(page: Page) -> None:
    host = page.locator("#canvas-host")
    page.locator(".rail-link", has_text="Graph").click()
    button = page.get_by_role("button", name="Data flow")
    legend = page.get_by_text("dependency without data")
    expect(legend).to_be_hidden()
    button.click()
    expect(legend).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(host).to_have_attribute("data-flows-shown", "3")
    page.reload()
    expect(host).to_have_attribute("data-flows-shown", "3")
    page.get_by_role("button", name="Data flow").click()
    expect(host).to_have_attribute("data-flows-shown", "")


def test_captures_the_end_and_a_snapshot_file(page: Page, open_page: Open) -> None:
    page.locator(".rail-link", has_text="Memory").click()
    page.get_by_role("tab", name="Captures").click()
    expect(page.locator("#memory-chart .bars .point").first).to_be_visible()
    page.get_by_role("tab", name="End of the process").click()
    expect(page.locator("#memory-map .bars .point")).to_have_count(4)
    open_page("/memory?recording=file", load=True)
    expect(page.get_by_role("heading", name="Address map")).to_contain_text("10 segments")
    expect(page.get_by_text("train_step.py:20").first).to_be_visible()
