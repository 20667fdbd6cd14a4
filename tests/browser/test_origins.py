"""From module, operator and source line to nodes and back, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from graphviz_app.app import create_app
from graphviz_app.source_access import SourceAccess
from graphviz_app.store import Store
from tests.helpers import origins

from .dashboard import ready, serving, title, wait_until_dimmed

DEPTH = 12
MLP = origins.line_of(origins.SOURCE, "self.down(F.gelu")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    made = origins.recording(origins.transformer(DEPTH), origins.compiled())
    with serving(create_app(Store([("o", made)], sources=SourceAccess(editor="vscode")))) as where:
        yield where


def go(page: Page, name: str) -> None:
    page.locator(".rail-link", has_text=name).click()


def test_a_module_opens_finds_its_nodes_and_is_found_from_a_node(page: Page) -> None:
    go(page, "Modules")
    table = page.locator("#modules-table")
    expect(table.get_by_text("blocks.11", exact=True)).to_be_visible()
    expect(table.get_by_text("attn", exact=True)).to_have_count(0)
    row = table.locator(".ag-row", has=page.get_by_text("blocks.3", exact=True))
    row.locator(".tree-toggle").click()
    expect(table.get_by_text("attn", exact=True)).to_have_count(1)
    # Sorted by time, what is inside a module stays under it.
    table.locator(".ag-header-cell", has_text="Nodes").click()
    names = table.locator(".ag-center-cols-container .tree-name")
    expect(names.first).to_have_text("Transformer")
    order = [
        one.inner_text()
        for one in sorted(names.all(), key=lambda one: (one.bounding_box() or {"y": 0})["y"])
    ]
    at = order.index("blocks.3")
    assert set(order[at + 1 : at + 5]) == {"norm1", "attn", "norm2", "mlp"}
    row.locator(".tree-toggle").click()
    expect(table.get_by_text("attn", exact=True)).to_have_count(0)
    # A search shows what it finds with what is around it, open or not.
    page.locator("#search").fill("blocks.7.attn.proj")
    expect(table.get_by_text("proj", exact=True)).to_have_count(1)
    expect(names).to_have_count(4)
    expect(table.get_by_text("norm1", exact=True)).to_have_count(0)
    page.locator("#search").fill("")
    expect(table.get_by_text("proj", exact=True)).to_have_count(0)
    table.get_by_text("blocks.3", exact=True).click()
    ready(page)
    expect(page.locator("#search-count")).to_have_text("24")
    wait_until_dimmed(page, True)
    page.keyboard.press("n")
    expect(page.locator("#search-count")).to_have_text("1 of 24")
    page.locator(".details .origin a", has_text="blocks.3.norm1").click()
    marked = page.locator("#modules-table .chosen-row .tree-name")
    expect(marked).to_have_text("norm1")


def test_a_line_finds_its_nodes_and_a_node_its_line(page: Page) -> None:
    go(page, "Source")
    line = page.locator(f'#source-lines .ag-row[row-id="{MLP}"]').first
    expect(line.locator(".code-text")).to_have_text("        return self.down(F.gelu(self.up(x)))")
    expect(line).to_contain_text("96")
    link = page.locator(f'#source-lines [row-id="{MLP}"] .line-link').first
    expect(link).to_have_attribute("href", f"vscode://file{origins.FILE}:{MLP}")
    line.locator(".code-text").click()
    ready(page)
    expect(page.locator("#search")).to_have_value(f"source:model.py:{MLP}")
    expect(page.locator("#search-count")).to_have_text("96")
    page.keyboard.press("n")
    expect(page.locator("#search-count")).to_have_text("1 of 96")
    edit = page.locator(".details .origin .copy").first
    expect(edit).to_have_attribute("href", f"vscode://file{origins.FILE}:{MLP}")
    page.locator(".details .origin a", has_text=f"model.py:{MLP}").click()
    expect(page.locator("#source-lines .chosen-row .code-text")).to_contain_text("F.gelu")
    page.go_back()
    expect(title(page)).not_to_be_empty()
    ready(page)


def test_operators_open_and_colours_by_origin_have_legends(page: Page) -> None:
    go(page, "Operators")
    table = page.locator("#operators-table")
    row = table.locator(".ag-row", has=page.get_by_text("aten.addmm.default", exact=True))
    row.locator(".tree-toggle").click()
    table.get_by_text("bfloat16[3072], bfloat16[8192, 768]").click()
    ready(page)
    expect(page.locator("#search-count")).to_have_text(str(DEPTH))
    page.locator("#colour label", has_text="Module").click()
    legend = page.locator('[data-colouring="module"]')
    expect(legend).to_be_visible()
    legend.locator(".legend-entry", has_text="blocks.2").first.click()
    expect(page.locator("#search")).to_have_value("module:blocks.2")
    expect(page.locator("#search-count")).to_have_text("24")
    stats = page.evaluate("document.getElementById('canvas-host').cglens.stats()")
    assert stats["colouring"] == "module"
