"""A comparison in a real browser: two canvases that move as one, keys, links, files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Position, expect

import capture
from graphviz_app.app import create_app
from graphviz_app.commands.demo import SAMPLES
from graphviz_app.store import Store

from .dashboard import Open, serving

FORK_JOIN = Path(SAMPLES) / "fork_join.cgl"
ONE, OTHER = (quote(f"examples/batch_sizes.py:main#{n}") for n in ("0+batch=128", "3+batch=32"))
PAIR = f"/compare?recording=batch-sizes&graph={ONE}&after=batch-sizes&graph_after={OTHER}"
SIDES = ("compare-before", "compare-after")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    file = "batch_sizes.cgl"
    with serving(create_app(Store([(file, capture.read(SAMPLES / file))]))) as where:
        yield where


def stats(page: Page, host: str) -> dict[str, Any]:
    found = page.evaluate("id => document.getElementById(id).cglens.stats()", host)
    return dict(found)


def both(page: Page, name: str) -> list[Any]:
    return [stats(page, host)[name] for host in SIDES]


def drawn(page: Page) -> Page:
    for host in SIDES:
        page.wait_for_selector(f"#{host}[data-ready]")
    return page


def place(page: Page, host: str, node: int) -> Position:
    x, y = page.evaluate(
        "([id, node]) => document.getElementById(id).cglens.nodeScreenPosition(node)", [host, node]
    )
    return Position(x=x, y=y)


def test_both_sides_move_and_select_as_one_and_a_link_reopens_them(open_page: Open) -> None:
    page = drawn(open_page(PAIR))
    page.locator("#compare-before canvas").first.click(position=place(page, SIDES[0], 2))
    expect(page.locator(".details .path")).to_have_text("2")
    expect(page.locator(".details .sheet").first).to_contain_text("grid")
    assert both(page, "selected") == [2, 2]
    page.keyboard.press("+")
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(200)
    one, other = both(page, "scale")
    assert one == other > stats(page, SIDES[0])["fitScale"]
    assert place(page, SIDES[0], 5) == pytest.approx(place(page, SIDES[1], 5), abs=1.5)
    page.keyboard.press("j")
    expect(page.locator(".change-at")).to_have_text("6 of 13")
    page.keyboard.press("J")
    expect(page.locator(".change-at")).to_have_text("9 of 13")
    expect(page.locator("#compare-changes .chosen-row")).to_contain_text("memcpy")
    page.keyboard.press("k")
    expect(page.locator(".change-at")).to_have_text("8 of 13")
    link = page.url
    again = drawn(open_page(link[link.index("/compare") :]))
    expect(again.locator(".change-at")).to_have_text("8 of 13")
    selected = both(again, "selected")
    assert selected[0] == selected[1] >= 0


def test_merged_and_timelines_show_what_is_selected(open_page: Open) -> None:
    page = open_page(f"{PAIR}&node=3&view=merged")
    page.wait_for_selector("#compare-both[data-ready]")
    expect(page.locator(".change-at")).to_have_text("2 of 13")
    assert stats(page, "compare-both")["selected"] == 3
    page.get_by_role("tab", name="Timelines").click()
    hosts = ("compare-replay-before", "compare-replay-after")
    for host in hosts:
        page.wait_for_selector(f"#{host}[data-ready='13']")
    x, y = page.evaluate("id => document.getElementById(id).cgreplay.place('4')", hosts[1])
    page.locator(f"#{hosts[1]} canvas").click(position={"x": x, "y": y})
    expect(page.locator(".details .path")).to_have_text("4")
    page.locator(".compare-legend button", has_text="other kernel").click()
    expect(page.locator("#search-count")).to_have_text("4")
    page.locator("a.turn").click()
    expect(page.locator(".compare-side select").first).to_have_value(
        "examples/batch_sizes.py:main#3+batch=32"
    )


def test_another_graph_and_another_file_are_chosen(open_page: Open) -> None:
    page = open_page("/")
    page.locator("#graphs-table .ag-row .number").first.click()
    page.get_by_role("link", name="Compare with").click()
    page.locator("#compare-with .cell-link", has_text="batch=16").click()
    drawn(page)
    page.locator(".rail-link", has_text="Overview").click()
    page.locator(".rail-link", has_text="Compare").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    chooser.value.set_files(FORK_JOIN)
    expect(page.locator("#compare-pairs .ag-row")).to_have_count(11)
    expect(page.locator("#compare-progress")).to_contain_text("only after")
    assert "after=fork-join" in page.url
