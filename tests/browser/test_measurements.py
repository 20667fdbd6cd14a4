"""Benchmarks, what-if and the choice of executables in a real browser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import capture
from graphviz_app.app import Settings, create_app
from graphviz_app.measuring import Workload
from graphviz_app.store import Store
from tests.app.test_executables import twice_instantiated
from tests.helpers import synthetic_benchmarks
from tests.recorder.conftest import ROOT, STAND_IN

from .dashboard import Open, new_context, ready, serving

LAYERS = "graph=train.py:layers%230"
SCRIPT = """
import torch
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    torch.launch()
    torch.launch()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    store = Store(
        [
            ("full.cgl", synthetic_benchmarks.with_everything()),
            ("two.cgl", twice_instantiated()),
        ]
    )
    with serving(create_app(store)) as where:
        yield where


def arrows(page: Page) -> int:
    return int(page.evaluate("document.getElementById('replay-host').cgreplay.arrows()"))


def test_the_choice_of_an_executable_is_followed(open_page: Open) -> None:
    page = open_page(f"/timeline?recording=two&{LAYERS}&node=1")
    page.wait_for_selector("#replay-host[data-ready]")
    expect(page.locator(".details")).to_contain_text("3 µs")
    page.locator("[data-choose=executable] select").select_option("slow")
    expect(page.locator(".details")).to_contain_text("6 µs")
    assert "executable=slow" in page.url
    page.locator(".rail-link", has_text="Graph").first.click()
    ready(page)
    assert "executable=slow" in page.url
    page.go_back()
    page.wait_for_selector("#replay-host[data-ready]")
    expect(page.locator("[data-choose=executable] select")).to_have_value("slow")


def test_the_dependencies_of_a_selected_node_are_arrows(open_page: Open) -> None:
    page = open_page(f"/timeline?recording=full&{LAYERS}")
    page.wait_for_selector("#replay-host[data-ready]")
    assert arrows(page) == 0  # of 264 edges none, until a node is selected
    page.locator("#replay-host canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".details-kind .path")).to_have_text("1")
    page.wait_for_timeout(100)
    assert arrows(page) == 3  # to the fork of three; the memset before it is not timed


def test_what_if_is_asked_by_typing_by_type_and_by_family(open_page: Open) -> None:
    page = open_page(f"/whatif?recording=full&{LAYERS}", load=True)
    answer = page.locator(".whatif-answer")
    expect(answer).to_contain_text("Choose nodes")
    page.locator("#whatif-asked").fill("node:1-3")
    page.keyboard.press("Enter")
    expect(answer).to_contain_text("predicted gain")
    assert "view=node:1-3" in page.url
    page.get_by_role("button", name="all memcpy").click()
    expect(answer).to_contain_text("30.3 µs ± 741 ns")
    expect(page.locator("#whatif-asked")).to_have_value("type:memcpy")
    page.locator(".whatif-family select").select_option(index=1)
    expect(answer).to_contain_text("family:")
    expect(page.locator("#whatif-start")).to_be_hidden()
    page.locator(".whatif-answer a").click()
    ready(page)
    expect(page.locator("#search")).to_have_value(re.compile("^free:family:"))
    expect(page.locator("#search-count")).not_to_have_text("no match")


def test_the_panel_asks_what_if_of_its_node(open_page: Open) -> None:
    page = open_page(f"/timeline?recording=full&{LAYERS}&node=3")
    page.get_by_role("link", name="if this node took no time").click()
    expect(page.locator("#whatif-asked")).to_have_value("node:3")
    expect(page.locator(".details-kind .path")).to_have_text("3")


def test_benchmarks_show_one_graph_and_all(open_page: Open) -> None:
    page = open_page(f"/benchmarks?recording=full&{LAYERS}", load=True)
    expect(page.locator(".strip-row .js-plotly-plot")).to_have_count(10)
    expect(page.locator("#bench-state .js-plotly-plot")).to_be_visible()
    page.get_by_role("tab", name="All graphs").click()
    page.locator("#bench-graphs .cell-link", has_text="refused").click()
    expect(page.locator(".bench-page")).to_contain_text("This graph was not replayed")
    assert "refused" in page.url


def test_the_workload_of_this_session_is_measured_at_a_click(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphviz_app import cli

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(STAND_IN), str(ROOT))))
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    assert cli.main(["record", "train.py"]) == 0
    first = tmp_path / "train.cgl"
    store = Store([(first.name, capture.read(first), first)])
    app = create_app(store, Settings(workload=Workload("train.py")))
    with serving(app) as where, new_context(browser) as context:
        page = context.new_page()
        page.goto(f"{where}/whatif?view=node:1")
        page.locator("#whatif-start").click()
        expect(page.locator(".measure-said")).to_contain_text("easur")
        expect(page.locator(".whatif-measured")).to_contain_text("node:1", timeout=60_000)
        assert "recording=train-whatif-1" in page.url
        expect(page.locator("#recording")).to_be_enabled()
    assert store.measurer is not None
    store.measurer.close()
