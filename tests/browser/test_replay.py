"""The replay in a real browser: what is clicked there is selected everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from graphviz_app.app import create_app
from graphviz_app.store import Store
from tests.helpers import synthetic

from .dashboard import Open, node_place, ready, serving, title

TIMED = "graph=train.py:layers%230"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(create_app(Store([("run", synthetic.typical())]))) as where:
        yield where


def drawn(page: Page, host: str) -> Page:
    page.wait_for_selector(f"#{host}[data-ready]")
    return page


def click_run(page: Page, host: str, path: str) -> None:
    box = page.locator(f"#{host}").bounding_box()
    assert box is not None
    x, y = page.evaluate(
        "([host, path]) => document.getElementById(host).cgreplay.place(path)", [host, path]
    )
    page.mouse.click(box["x"] + x, box["y"] + y)


def canvas_stats(page: Page) -> Any:
    return page.evaluate("document.getElementById('canvas-host').cglens.stats()")


def test_a_click_on_the_timeline_is_selected_in_the_graph(open_page: Open) -> None:
    page = drawn(open_page(f"/timeline?{TIMED}"), "replay-host")
    click_run(page, "replay-host", "6")
    expect(page.locator(".details-kind .path")).to_have_text("6")
    expect(title(page)).to_have_text("memcpy HtoD")
    assert "node=6" in page.url
    page.locator(".rail-link", has_text="Graph").click()
    ready(page)
    expect(page.locator(".details-kind .path")).to_have_text("6")
    assert canvas_stats(page)["selected"] == 6


def test_the_strip_and_the_picture_share_the_selection(open_page: Open) -> None:
    page = ready(open_page(f"/graph?{TIMED}&colour=time", load=True))
    drawn(page, "replay-strip")
    click_run(page, "replay-strip", "1")
    expect(page.locator(".details-kind .path")).to_have_text("1")
    assert canvas_stats(page)["selected"] == 1
    page.mouse.click(*node_place(page, 2))
    expect(page.locator(".details-kind .path")).to_have_text("2")
    page.keyboard.press("Escape")
    expect(page.locator(".details-kind .path")).to_have_count(0)


def test_a_key_zooms_and_fit_shows_all_again(open_page: Open) -> None:
    page = drawn(open_page(f"/timeline?{TIMED}"), "replay-host")
    place = "document.getElementById('replay-host').cgreplay.place('1')[0]"
    before = page.evaluate(place)
    page.locator("#replay-host canvas").focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.evaluate(place) != before
    page.get_by_role("button", name="Fit").click()
    assert page.evaluate(place) == pytest.approx(before)


def test_colours_by_time_are_off_without_timings(open_page: Open) -> None:
    page = ready(open_page("/graph?graph=train.py:chain%232&colour=time"))
    expect(page.locator("#legend")).to_have_attribute("data-colour", "type")
    expect(page.locator("#colour input[value=time]")).to_be_disabled()
    expect(page.locator("#replay-strip")).to_be_hidden()


def test_what_tracing_cost_stands_beside_colours_by_time(open_page: Open) -> None:
    page = ready(open_page(f"/graph?{TIMED}"))
    cost = page.locator(".legend-caution")
    expect(cost).to_be_hidden()
    page.locator("#colour label", has_text="Time").click()
    expect(cost).to_be_visible()
    expect(cost).to_contain_text("1.42")
    page.locator(".legend-entry:visible", has_text="not timed").click()
    expect(page.locator("#search-count")).to_have_text("1")


def test_a_long_legend_can_be_seen_whole(open_page: Open) -> None:
    page = ready(open_page(f"/graph?{TIMED}&colour=kernel"))
    page.set_viewport_size({"width": 900, "height": 700})
    more = page.get_by_role("button", name="Show all")
    more.click()
    entries = page.locator(".legend-entry:visible")
    box = page.locator("#legend").bounding_box()
    last = entries.last.bounding_box()
    assert box is not None
    assert last is not None
    assert last["x"] + last["width"] <= box["x"] + box["width"]
    page.get_by_role("button", name="Show less").click()


def test_a_kernel_is_found_in_the_graph_and_its_command_copied(open_page: Open) -> None:
    page = open_page(f"/kernels?{TIMED}", load=True)
    page.get_by_role("tab", name="Nodes").click()
    row = page.locator("#kernels-table .ag-row").first
    row.locator("[col-id=median]").click()
    expect(page.locator(".details-kind").first).to_contain_text("kernel")
    assert "view=nodes" in page.url
    page.get_by_role("tab", name="Families").click()
    page.locator("#families-table .cell-link").first.click()
    ready(page)
    expect(page.locator("#search")).to_have_value(re_family())
    expect(page.locator("#search-count")).not_to_have_text("no match")


def re_family() -> Any:
    import re

    return re.compile("^family:")


def test_an_analysis_is_chosen_by_link_and_leads_to_a_node(open_page: Open) -> None:
    page = open_page(f"/analyses?{TIMED}", load=True)
    page.locator(".analysis-item", has_text="Critical path").click()
    expect(page.locator(".analysis h2")).to_have_text("Critical path")
    assert "view=critical_path" in page.url
    page.locator("#analysis-table .cell-link").first.click()
    ready(page)
    assert "node=" in page.url


def test_a_graph_is_looked_at_beside_the_table_and_opened_by_a_double_click(
    page: Page,
) -> None:
    page.wait_for_selector(".cell-link")
    cell = page.locator("#graphs-table .ag-row").nth(2).locator("[col-id=depth]")
    cell.click()
    expect(title(page)).to_have_text("chain batch_size=4")
    expect(page.locator(".rail-link.here")).to_have_text("Overview")
    cell.dblclick()
    ready(page)
    expect(title(page)).to_have_text("chain batch_size=4")
