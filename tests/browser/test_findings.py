"""From a finding to its node and back, and marks on the graph, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from graphviz_app.app import create_app
from graphviz_app.store import Store
from tests.app.test_findings import recording

from .dashboard import new_context, serving


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(create_app(Store([("run", recording())]))) as where:
        yield where


def test_a_finding_leads_to_its_node_which_is_marked(page: Page) -> None:
    page.locator(".rail-link", has_text="Findings").click()
    expect(page.locator("#findings-line")).to_have_text("2 findings in 4 graphs.")
    rows = page.locator("#findings-table .ag-center-cols-container .ag-row")
    expect(rows).to_have_count(2)
    page.locator("#findings-table a", has_text="Addresses of freed memory").click()
    details = page.locator("#details")
    expect(details.get_by_text("Why, and what to do")).to_be_visible()
    expect(page.locator("#findings-table .chosen-row")).to_have_count(1)
    details.get_by_role("link", name="Node 1 in the graph").click()
    host = page.locator("#canvas-host")
    expect(host).to_have_attribute("data-marks-shown", "1")
    button = page.locator("[data-marks]")
    expect(button).to_have_text("Findings1")
    expect(details.locator(".node-findings a")).to_have_count(1)
    button.click()
    expect(host).to_have_attribute("data-marks-shown", "")
    details.locator(".node-findings a").click()
    expect(page.locator("#findings-table .chosen-row")).to_have_count(1)
    page.locator("[data-filter]", has_text="Empty graphs").click()
    expect(rows).to_have_count(1)
    assert "search=Empty" in page.url


def test_a_link_to_a_finding_waits_for_it(page: Page, browser: Browser) -> None:
    page.locator(".rail-link", has_text="Findings").click()
    page.locator("#findings-table a", has_text="Addresses of freed memory").click()
    expect(page).to_have_url(re.compile("view=stale_pointers"))
    link = page.url[page.url.index("/findings") :]
    with (
        serving(create_app(Store([("run", recording())]))) as where,
        new_context(browser) as context,
    ):
        other = context.new_page()
        other.goto(where + link)
        expect(other.locator("#details").get_by_text("Why, and what to do")).to_be_visible()
