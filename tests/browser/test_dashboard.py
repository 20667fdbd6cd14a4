"""The dashboard in a real browser: what only a browser shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from capture import read
from graphviz_app.app import Settings, create_app
from graphviz_app.state import Colouring, ViewState, from_url, to_url
from graphviz_app.store import Store
from tests.helpers import synthetic

from .dashboard import (
    HEIGHT,
    WIDTH,
    Open,
    node_place,
    ready,
    serving,
    title,
    wait_until_dimmed,
)

DATA = Path(__file__).parent.parent / "data" / "driver_dot"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    driver = DATA / "alltypes_verbose.dot"
    markup = synthetic.recording({"<img src=x onerror=alert(1)>": synthetic.chain(4)})
    store = Store(
        [
            ("synthetic run.cgl", synthetic.typical()),
            ("markup.cgl", markup),
            (driver.name, read(driver)),
        ]
    )
    with serving(create_app(store)) as where:
        yield where


def test_from_the_overview_into_a_body_and_back(page: Page) -> None:
    page.get_by_role("link", name="bodies batch_size=2").click()
    ready(page)
    expect(title(page)).to_have_text("bodies batch_size=2")
    page.mouse.click(*node_place(page, 1))
    expect(title(page)).to_have_text("if")
    assert "node=1" in page.url
    assert "recording=synthetic-run" in page.url
    page.mouse.dblclick(*node_place(page, 1))
    expect(page.locator(".crumb.here")).to_have_text("if")
    ready(page)
    assert "body=1/0" in page.url
    page.locator(".crumb", has_text="else").click()
    expect(page.locator(".crumb.here")).to_have_text("else")
    page.go_back()
    expect(page.locator(".crumb.here")).to_have_text("if")
    page.keyboard.press("u")
    expect(title(page)).to_have_text("if")
    assert "body=" not in page.url
    page.go_back()
    page.go_forward()
    expect(title(page)).to_have_text("if")


def test_search_matches_and_links(open_page: Open) -> None:
    page = ready(open_page("/graph"))
    page.keyboard.press("/")
    page.keyboard.type("flash")
    count = page.locator("#search-count")
    expect(count).to_have_text("24")
    page.keyboard.press("Enter")
    expect(count).to_have_text("1 of 24")
    first = title(page).inner_text()
    page.keyboard.press("Enter")
    expect(count).to_have_text("2 of 24")
    page.locator(".neighbour").first.click()
    expect(title(page)).not_to_have_text(first)
    expect(count).to_have_text("24")
    assert "search=flash" in page.url


def test_a_reload_and_a_copied_link_show_the_same(open_page: Open) -> None:
    page = ready(open_page("/graph"))
    page.locator(".legend-entry:visible", has_text="memcpy").click()
    expect(page.locator("#search")).to_have_value("type:memcpy")
    page.locator("#colour label", has_text="Kernel").click()
    page.keyboard.press("n")
    expect(page.locator("#search-count")).to_have_text("1 of 24")
    name = "memcpy HtoD"
    expect(title(page)).to_have_text(name)
    link = page.url

    def same(other: Page) -> None:
        ready(other)
        expect(title(other)).to_have_text(name)
        expect(other.locator("#search")).to_have_value("type:memcpy")
        expect(other.locator("#search-count")).to_have_text("1 of 24")
        expect(other.locator("#colour input:checked")).to_have_value("kernel")
        stats = other.evaluate("document.getElementById('canvas-host').cglens.stats()")
        assert stats["selected"] == int(other.url.partition("node=")[2].partition("&")[0])

    page.reload()
    same(page)
    tab = page.context.new_page()
    tab.goto(link)
    same(tab)


def test_a_choice_is_kept_when_a_key_follows_at_once(open_page: Open) -> None:
    page = ready(open_page("/graph?search=type:memcpy"))
    expect(page.locator("#search-count")).to_have_text("24")
    for number, colour in ((1, "kernel"), (2, "lane"), (3, "type")):
        page.evaluate(
            """colour => {
                document.querySelector(`#colour input[value=${colour}]`).click();
                const n = new KeyboardEvent("keydown", {key: "n", bubbles: true});
                document.body.dispatchEvent(n);
            }""",
            colour,
        )
        expect(page.locator("#search-count")).to_have_text(f"{number} of 24")
        expect(page.locator(".details-kind").first).to_contain_text("memcpy")
        expect(page.locator("#colour input:checked")).to_have_value(colour)
        assert ("colour=" in page.url) is (colour != "type")


def test_graphs_are_stepped_through_and_picked(open_page: Open) -> None:
    page = ready(open_page("/graph"))
    page.keyboard.press("]")
    expect(title(page)).to_have_text("bodies batch_size=2")
    page.click("#previous-graph")
    expect(title(page)).to_have_text("layers batch_size=1")
    page.click("#graph-picker")
    page.get_by_role("option", name="chain batch_size=4").click()
    expect(title(page)).to_have_text("chain batch_size=4")
    page.click("#recording")
    page.get_by_role("option", name="alltypes").click()
    expect(page.locator(".rail-link.here")).to_have_text("Overview")
    assert "recording=alltypes-verbose-dot" in page.url


def test_the_drivers_own_dot_opens_and_says_what_is_missing(open_page: Open) -> None:
    page = open_page("/?recording=alltypes-verbose-dot")
    expect(page.locator(".timeline .absent")).to_contain_text("No timeline")
    page.locator(".cell-link").first.click()
    ready(page)
    page.keyboard.press("/")
    page.keyboard.type("type:kernel")
    page.keyboard.press("Enter")
    expect(page.locator(".details-kind").first).to_contain_text("kernel")
    expect(page.locator(".details")).to_contain_text("grid")


def test_what_the_server_sets_in_a_picker_is_no_choice_of_the_users(open_page: Open) -> None:
    page = open_page("/?recording=alltypes-verbose-dot")
    expect(page.locator(".timeline .absent")).to_contain_text("No timeline")
    # As when a page comes late, while the address names another recording already.
    page.evaluate(
        """() => {
            window.late = {recording: "synthetic-run", key: ""};
            dash_clientside.shell.pickRecording("synthetic-run", window.late);
        }"""
    )
    assert "recording=alltypes-verbose-dot" in page.url
    page.evaluate("dash_clientside.shell.pickRecording('synthetic-run', window.late)")
    assert "recording=synthetic-run" in page.url


def test_the_table_and_the_picture_select_each_other(open_page: Open) -> None:
    page = ready(open_page("/graph"))
    page.keyboard.press("t")
    row = page.locator("#nodes-table .ag-row[row-id='5']")
    row.locator("[col-id=name]").click()
    expect(page.locator(".details-kind .path")).to_have_text("5")
    expect(row).to_have_class(re.compile("chosen-row"))
    page.locator(".neighbour").first.click()
    path = page.locator(".details-kind .path")
    expect(path).not_to_have_text("5")
    chosen = page.locator("#nodes-table .chosen-row")
    expect(chosen).to_have_attribute("row-id", path.inner_text())


def test_the_picture_has_the_room(open_page: Open) -> None:
    page = ready(open_page("/graph"))
    box = page.locator("#canvas-host").bounding_box()
    assert box is not None
    assert box["width"] >= 900
    assert box["height"] >= 700
    overflow = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    assert overflow == [WIDTH, HEIGHT]


def test_the_theme_is_kept_and_is_there_before_the_page(page: Page) -> None:
    root = page.locator("html")
    for choice in ("Light", "Dark"):
        page.locator("#theme label", has_text=choice).click()
        expect(root).to_have_attribute("data-mantine-color-scheme", choice.lower())
        page.reload(wait_until="commit")
        page.wait_for_selector("body")
        assert root.get_attribute("data-mantine-color-scheme") == choice.lower()
        expect(page.locator("#theme input:checked")).to_have_value(choice.lower())
        expect(root).to_have_attribute("data-mantine-color-scheme", choice.lower())
    page.locator("#theme label", has_text="System").click()
    expect(root).to_have_attribute("data-mantine-color-scheme", "light")


def test_names_with_markup_are_text(open_page: Open) -> None:
    page = open_page("/?recording=markup")
    expect(page.locator(".cell-link").first).to_contain_text("<img src=x onerror=alert(1)>")
    page.wait_for_selector(".js-plotly-plot .ytick")
    # Its middle may be cut off.
    page.locator(".cell-link").first.click(position={"x": 8, "y": 8})
    ready(page)
    expect(title(page)).to_contain_text("<img")
    assert page.locator("img").count() == 0


def test_an_export_is_downloaded(open_page: Open) -> None:
    page = ready(open_page("/graph"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as waiting:
        page.locator(".export-item", has_text="dot").first.click()
    assert waiting.value.suggested_filename.endswith(".dot")


def test_help_opens_by_key(page: Page) -> None:
    page.wait_for_selector(".cell-link")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_browser_and_the_server_write_the_same_addresses(page: Page) -> None:
    page.wait_for_selector(".cell-link")
    for state in (
        ViewState("graph", "r", "train.py:step#0", "3/0", 12, Colouring.LANE, "gemm"),
        ViewState(
            "graph", "r", 'dir/ü.py:a b&c=d?"', "", None, Colouring.TYPE, 'type:"mem alloc" +%'
        ),
        ViewState("overview"),
        ViewState("graph", "r", "(x)!*'~"),
        ViewState("compare", "r", "a#0", after="r-2", graph_after="b#1+batch=8", view="merged"),
    ):
        view = {**asdict(state), "colour": state.colour.value}
        url = page.evaluate(
            "v => { const u = cgShell.compose(v); return u.pathname + u.search; }", view
        )
        path, _, query = url.partition("?")
        assert from_url(path, query) == state
        path, _, query = to_url(state).partition("?")
        assert page.evaluate("u => cgShell.parse(u[0], u[1])", [path, query]) == view


def test_back_leaves_the_graph_in_one_step(page: Page) -> None:
    page.get_by_role("link", name="layers batch_size=1").click()
    ready(page)
    expect(title(page)).to_have_text("layers batch_size=1")
    page.go_back()
    expect(page.locator(".rail-link.here")).to_have_text("Overview")
    expect(page.locator(".cell-link").first).to_be_visible()


def test_a_failed_capture_shows_what_it_had_reached(page: Page) -> None:
    page.get_by_role("link", name="5 nodes reached").click()
    ready(page)
    expect(page.locator(".toolbar-note")).to_contain_text("This capture failed")
    expect(title(page)).to_have_text("bad_step")


def test_the_overview_filters_graphs(page: Page) -> None:
    page.wait_for_selector(".cell-link")
    page.keyboard.press("/")
    page.keyboard.type("bodies")
    expect(page.locator("#graphs-table .ag-row")).to_have_count(1)
    assert "search=bodies" in page.url


def test_behind_a_prefix(browser: Browser) -> None:
    store = Store([("run.cgl", synthetic.typical())])
    with serving(create_app(store, Settings(prefix="/lens"))) as address:
        page = browser.new_page()
        page.goto(f"{address}/lens/")
        page.get_by_role("link", name="layers batch_size=1").click()
        ready(page)
        assert urlsplit(page.url).path == "/lens/graph"
        page.reload()
        ready(page)
        page.close()


def test_a_link_with_a_search_dims_all_else(open_page: Open) -> None:
    page = ready(open_page("/graph?search=flash", load=True))
    expect(page.locator("#search-count")).to_have_text("24")
    wait_until_dimmed(page, True)
    page.keyboard.press("Escape")
    wait_until_dimmed(page, False)
    expect(page.locator("#search")).to_have_value("")
