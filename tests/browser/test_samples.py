"""Every shipped recording in a real browser, from the overview to each page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from capture import read
from capture.model import Graph
from graphviz_app.app import create_app
from graphviz_app.commands.demo import SAMPLES
from graphviz_app.format import count_text
from graphviz_app.picture import Picture
from graphviz_app.store import Store

from .dashboard import Open, node_place, ready, serving, title

PATHS = sorted(SAMPLES.glob("*.cgl"))
UNTIMED = {"all_node_types"}
"""Read from a handle: nothing launched it, and the recording says so."""


@pytest.fixture(scope="module")
def store() -> Store:
    return Store([(path.name, read(path)) for path in PATHS])


@pytest.fixture(scope="module")
def address(store: Store) -> Iterator[str]:
    with serving(create_app(store)) as where:
        yield where


def path_shown(page: Page) -> Locator:
    return page.locator(".details-kind .path")


def neighbours(page: Page, heading: str) -> Locator:
    section = page.locator(".details section", has=page.locator("h3", has_text=heading))
    return section.locator(".neighbour")


def go_to(page: Page, name: str) -> None:
    page.locator(".rail-link", has_text=name).click()
    expect(page.locator(".rail-link.here")).to_have_text(name)


def inner_node(graph: Graph, picture: Picture) -> int:
    """Return the first node between others, which a link leads away from in both directions."""
    found = (at for at in range(len(graph)) if picture.into(at) and picture.out_of(at))
    return next(found)


def test_the_samples_are_shipped() -> None:
    assert len(PATHS) >= 6
    timed = {path.stem for path in PATHS if read(path).timed}
    assert timed == {path.stem for path in PATHS} - UNTIMED


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_a_sample_is_read_through(path: Path, store: Store, open_page: Open) -> None:
    opened = next(item for item in store.opened.values() if item.title == path.stem + ".py")
    info = max(opened.recording.graphs.values(), key=lambda item: item.node_count)
    graph, picture = store.graph(opened.id, info.key), store.picture(opened.id, info.key)
    page = open_page(f"/?recording={opened.id}")
    page.get_by_role("link", name=info.name, exact=True).click()
    ready(page)
    expect(title(page)).to_have_text(info.name)

    node = inner_node(graph, picture)
    page.mouse.click(*node_place(page, node))
    expect(path_shown(page)).to_have_text(str(node))
    expect(title(page)).to_have_text(picture.labels[node])

    word = re.findall(r"[A-Za-z_]{3,}", picture.labels[node])[0]
    found = store.find(opened.id, info.key, "", word)
    assert node in found
    page.keyboard.press("/")
    page.keyboard.type(word)
    place = f"{found.index(node) + 1} of {count_text(len(found))}"
    expect(page.locator("#search-count")).to_have_text(place)

    for heading, end in (("Predecessors", -1), ("Successors", 1)):
        link = neighbours(page, heading).first
        other = link.locator(".note").inner_text()
        edges = picture.into(node) if end < 0 else picture.out_of(node)
        ends = {edge.source if end < 0 else edge.target for edge in edges}
        assert int(other) in ends
        link.click()
        expect(path_shown(page)).to_have_text(other)
        node = int(other)

    page.reload()
    ready(page)
    expect(path_shown(page)).to_have_text(str(node))
    expect(title(page)).to_have_text(picture.labels[node])

    if path.stem in UNTIMED:
        expect(page.locator("#colour input[value=time]")).to_be_disabled()
        expect(page.locator("#replay-strip")).to_be_hidden()
        go_to(page, "Timeline")
        expect(page.locator(".sentence")).to_contain_text("No timings")
    else:
        page.locator("#colour label", has_text="Time").click()
        cost = page.locator(".legend-caution")
        expect(cost).to_be_visible()
        expect(cost).to_have_text(
            re.compile(rf"^[1-9]\d* of {info.node_count} nodes timed, tracing [0-9.]+")
        )
        go_to(page, "Timeline")
        page.wait_for_selector("#replay-host[data-ready]")
    go_to(page, "Kernels")
    expect(page.locator("#families-table .ag-row").first).to_be_visible()


@pytest.mark.parametrize("type_", ["child_graph", "conditional"])
def test_a_body_of_a_sample_is_entered_and_left(
    type_: str,
    store: Store,
    open_page: Open,
) -> None:
    opened = next(item for item in store.opened.values() if item.title == "all_node_types.py")
    (info,) = opened.recording.graphs.values()
    graph = store.graph(opened.id, info.key)
    node = graph.topology.types.index(type_)
    body = graph.bodies_of(node)[0]
    page = ready(open_page(f"/graph?recording={opened.id}"))
    page.mouse.click(*node_place(page, node))
    expect(path_shown(page)).to_have_text(str(node))
    neighbours(page, "Bod").first.click()
    expect(page.locator(".crumb.here")).to_have_text(body.role)
    ready(page)
    page.mouse.click(*node_place(page, 0))
    expect(path_shown(page)).to_have_text(f"{node}/{body.index}/0")
    page.locator(".crumb", has_text=f"node {node}").click()
    expect(path_shown(page)).to_have_text(str(node))
    ready(page)
    assert "body=" not in page.url
