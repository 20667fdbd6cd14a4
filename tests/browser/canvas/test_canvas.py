"""The canvas in a real browser, without Dash: what it draws, what it answers, what it tells."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from .scenes import block12
from .site import serve

Open = Callable[..., Page]
WIDTH, HEIGHT = 1100, 760
SIZE: ViewportSize = {"width": WIDTH, "height": HEIGHT}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve() as where:
        yield where


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport=SIZE, reduced_motion="reduce")
    yield page
    page.close()


@pytest.fixture
def open_scene(tab: Page, address: str) -> Iterator[Open]:
    problems: list[str] = []

    def complain(error: object) -> None:
        problems.append(str(error))

    def open_(scene: str, query: str = "", page: Page = tab) -> Page:
        page.set_viewport_size(SIZE)
        page.mouse.move(0, 0)
        page.goto(f"{address}/page.html?scene={scene}{query}")
        page.wait_for_selector("#host[data-ready], #host[data-error]")
        return page

    tab.on("pageerror", complain)
    yield open_
    tab.remove_listener("pageerror", complain)
    assert problems == []


def stats(page: Page) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate("host.cglens.stats()")
    return result


def place(page: Page, node: int) -> tuple[float, float]:
    x, y = page.evaluate("i => host.cglens.nodeScreenPosition(i)", node)
    return x, y


def click(page: Page, node: int) -> None:
    page.mouse.click(*place(page, node))


def settle(page: Page) -> None:
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))")


def colour_at(page: Page, x: float, y: float) -> tuple[int, int, int]:
    """The colour on the screen, read from a picture of one pixel."""
    png = page.screenshot(clip={"x": round(x), "y": round(y), "width": 1, "height": 1})
    data, at = b"", 8
    while at < len(png):
        length = int.from_bytes(png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    row = zlib.decompress(data)
    return row[1], row[2], row[3]  # after the filter, which changes nothing for one pixel


def call(page: Page, name: str, *values: object) -> Any:
    answer = page.evaluate(
        "([name, values]) => dash_clientside.cglens[name](...values)", [name, list(values)]
    )
    settle(page)
    return answer


def test_a_driver_graph_is_drawn_whole_with_names(open_scene: Open) -> None:
    page = open_scene("block12")
    seen = stats(page)
    assert (seen["nodes"], seen["boxes"], seen["renderer"]) == (132, 132, "webgl2")
    assert seen["texts"] >= 132
    assert page.get_attribute("#host", "data-ready") == "132"
    kind, detail = page.evaluate("heard[0]")
    assert kind == "ready"
    assert (detail["nodes"], detail["edges"]) == (132, 131)
    assert detail["frames"] >= 1
    assert page.evaluate("returned") == "no update"


@pytest.mark.parametrize("renderer", ["webgl2", "2d"])
def test_boxes_have_the_colour_of_their_category(open_scene: Open, renderer: str) -> None:
    page = open_scene("shapes", f"&renderer={renderer}")
    x, y = place(page, 1)
    bar = colour_at(page, x - 164 * stats(page)["scale"] / 2 + 2, y)
    r, _, b = bar
    assert b > 150 > r, f"a kernel's bar is blue, not {bar}"
    x, y = place(page, 0)
    r, _, b = colour_at(page, x - 164 * stats(page)["scale"] / 2 + 2, y)
    assert r > 200 > b


@pytest.mark.parametrize("node", [0, 65, 131])
def test_a_click_selects_the_node_under_it(open_scene: Open, node: int) -> None:
    page = open_scene("block12")
    click(page, node)
    expected = {"index": node, "path": f"0/{node}", "how": "click"}
    assert page.evaluate("told") == [["selected", expected]]
    assert page.evaluate("heard.at(-1)") == ["select", expected]
    assert stats(page)["selected"] == node
    label = block12().labels[node]
    assert label in (page.text_content(".cglens-announcer") or "")
    page.mouse.click(2, HEIGHT / 2)
    assert page.evaluate("told.at(-1)[1].index") is None
    assert not stats(page)["dimmed"]


def test_a_selection_leaves_neighbours_loud_and_dims_the_rest(open_scene: Open) -> None:
    page = open_scene("block12")
    edge_of = 164 * stats(page)["scale"] / 2 - 8
    before = {i: colour_at(page, place(page, i)[0] + edge_of, place(page, i)[1]) for i in (4, 20)}
    click(page, 5)
    settle(page)
    after = {i: colour_at(page, place(page, i)[0] + edge_of, place(page, i)[1]) for i in (4, 20)}
    assert sum(after[4]) < sum(before[4]), "the predecessor is louder"
    assert sum(after[20]) > sum(before[20]), "a node elsewhere is paler"


def test_the_page_selects_without_an_echo_and_pans_into_view(open_scene: Open) -> None:
    page = open_scene("chain813")
    page.evaluate("host.cglens.mounted.view.camera.set({ x: 0, y: 0, scale: 2 })")
    assert call(page, "setSelection", 700) == "no update"
    assert page.evaluate("told") == []
    x, y = place(page, 700)
    assert 0 < x < WIDTH
    assert 0 < y < HEIGHT
    call(page, "setSelection", None)
    assert stats(page)["selected"] == -1


def test_a_search_dims_all_but_its_matches(open_scene: Open) -> None:
    page = open_scene("block12")
    edge_of = 164 * stats(page)["scale"] / 2 - 8

    def tone(i: int) -> int:
        x, y = place(page, i)
        return sum(colour_at(page, x + edge_of, y))

    before = {i: tone(i) for i in (3, 4)}
    call(page, "setMatches", [3, 14])
    assert stats(page)["dimmed"]
    assert tone(3) < before[3]
    assert tone(4) > before[4]
    call(page, "setMatches", None)
    assert {i: tone(i) for i in (3, 4)} == before
    call(page, "setMatches", [])
    assert tone(3) > before[3], "no match dims everything"


def test_colourings_can_be_changed(open_scene: Open) -> None:
    page = open_scene("block12")
    assert stats(page)["colouring"] == "kernel"
    call(page, "setColouring", "type")
    assert stats(page)["colouring"] == "type"


def test_wheel_zooms_about_the_cursor_and_fit_returns(open_scene: Open) -> None:
    page = open_scene("block12")
    fitted = stats(page)["scale"]
    x, y = place(page, 40)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    settle(page)
    assert stats(page)["scale"] > fitted * 1.3
    assert place(page, 40) == pytest.approx((x, y), abs=1.5)
    page.keyboard.press("Tab")
    call(page, "fit")
    assert stats(page)["scale"] == pytest.approx(fitted)


def test_a_drag_pans_and_does_not_select(open_scene: Open) -> None:
    page = open_scene("chain813")
    page.mouse.move(500, 400)
    page.mouse.wheel(0, -600)
    settle(page)
    x, y = place(page, 0)
    page.mouse.down()
    page.mouse.move(520, 410)
    page.mouse.move(560, 430)
    page.mouse.up()
    settle(page)
    assert place(page, 0) == pytest.approx((x + 60, y + 30), abs=1)
    assert page.evaluate("told") == []
    assert page.is_visible(".cglens-minimap")


def test_keys_follow_edges_enter_bodies_and_clear(open_scene: Open) -> None:
    page = open_scene("shapes")
    page.focus(".cglens-picture")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("told.at(-1)[1]") == {"index": 2, "path": "0/2", "how": "key"}
    page.keyboard.press("ArrowRight")
    assert stats(page)["selected"] in {4, 5}
    page.keyboard.press("ArrowUp")
    click(page, 2)
    page.keyboard.press("Enter")
    assert page.evaluate("told.at(-1)") == ["entered", {"index": 2, "path": "0/2"}]
    page.keyboard.press("Escape")
    assert stats(page)["selected"] == -1
    scale = stats(page)["scale"]
    page.keyboard.press("+")
    assert stats(page)["scale"] > scale
    page.keyboard.press("f")
    settle(page)
    assert stats(page)["scale"] == pytest.approx(scale)


def test_a_double_click_enters_a_body_and_only_a_body(open_scene: Open) -> None:
    page = open_scene("shapes")
    page.mouse.dblclick(*place(page, 1))
    page.mouse.dblclick(*place(page, 2))
    entered = page.evaluate("heard.filter(([kind]) => kind === 'enter')")
    assert entered == [["enter", {"index": 2, "path": "0/2"}]]


def test_names_are_text_and_never_markup(open_scene: Open) -> None:
    page = open_scene("shapes")
    page.mouse.move(*place(page, 3))
    settle(page)
    assert page.text_content(".cglens-tooltip-name") == "<img src=x onerror=alert(1)>"
    assert page.locator(".cglens-tooltip img").count() == 0
    assert "node 0/3" in (page.text_content(".cglens-tooltip-facts") or "")


@pytest.mark.parametrize(
    ("scene", "sentence"),
    [
        ("nonsense", "What the server sent is not the picture of a graph"),
        ("damaged", "is cut off"),
        ("absent", "The server answered 404"),
    ],
)
def test_a_bad_payload_shows_a_sentence(open_scene: Open, scene: str, sentence: str) -> None:
    page = open_scene(scene)
    assert sentence in (page.get_attribute("#host", "data-error") or "")
    assert page.is_visible(".cglens-failure")
    assert sentence in (page.text_content(".cglens-failure") or "")
    assert page.get_attribute("#host", "data-ready") is None


def test_a_good_scene_after_a_bad_one(open_scene: Open) -> None:
    page = open_scene("nonsense")
    call(page, "mount", "/scene/shapes", "host")
    page.wait_for_selector("#host[data-ready='9']")
    assert not page.is_visible(".cglens-failure")
    assert page.get_attribute("#host", "data-error") is None


def test_the_last_of_several_mounts_wins_and_calls_made_early_are_kept(open_scene: Open) -> None:
    page = open_scene("shapes")
    page.evaluate(
        """() => {
          const { mount, setSelection } = dash_clientside.cglens;
          mount("/scene/synthetic10k", "host");
          mount("/scene/block12", "host");
          setSelection(7);
        }"""
    )
    page.wait_for_selector("#host[data-ready='132']")
    settle(page)
    assert stats(page)["selected"] == 7
    assert page.locator("#host canvas.cglens-picture").count() == 1


def test_no_nodes_is_said(open_scene: Open) -> None:
    page = open_scene("empty")
    assert "no nodes" in (page.text_content(".cglens-notice") or "")


def test_a_cycle_is_drawn_with_its_warning(open_scene: Open) -> None:
    page = open_scene("cyclic")
    assert stats(page)["boxes"] == 3
    assert "cycle" in (page.text_content(".cglens-notice") or "")


def test_the_theme_follows_the_page(open_scene: Open) -> None:
    page = open_scene("shapes")
    assert min(colour_at(page, 5, 300)) > 240
    page.evaluate("document.documentElement.dataset.mantineColorScheme = 'dark'")
    settle(page)
    assert max(colour_at(page, 5, 300)) < 60


def test_a_lost_context_comes_back(open_scene: Open) -> None:
    page = open_scene("block12")
    page.evaluate(
        """async () => {
          const { gl } = host.cglens.mounted.view.renderer;
          const lose = gl.getExtension("WEBGL_lose_context");
          lose.loseContext();
          await new Promise((done) => setTimeout(done, 100));
          lose.restoreContext();
          await new Promise((done) => setTimeout(done, 300));
        }"""
    )
    x, y = place(page, 0)
    assert colour_at(page, x - 164 * stats(page)["scale"] / 2 + 1, y) != (255, 255, 255)


def test_a_dense_screen_gets_sharp_pixels(open_scene: Open, browser: Browser) -> None:
    dense = browser.new_page(viewport=SIZE, device_scale_factor=2)
    page = open_scene("shapes", page=dense)
    assert page.evaluate("document.querySelector('.cglens-picture').width") == 2 * WIDTH
    dense.close()


def test_the_canvas_follows_the_size_of_its_host(open_scene: Open) -> None:
    page = open_scene("block12")
    before = stats(page)["scale"]
    page.set_viewport_size({"width": 600, "height": 400})
    # Not wait_for_function: it polls with eval, which the page's policy forbids.
    page.evaluate(
        """async () => {
          const picture = document.querySelector(".cglens-picture");
          while (picture.width !== 600) await new Promise(requestAnimationFrame);
        }"""
    )
    settle(page)
    assert stats(page)["scale"] < before
    assert stats(page)["scale"] == pytest.approx(stats(page)["fitScale"])


def test_a_host_that_leaves_the_page_frees_the_canvas(open_scene: Open) -> None:
    page = open_scene("shapes")
    lost = page.evaluate(
        """async () => {
          const { gl } = host.cglens.mounted.view.renderer;
          host.remove();
          await new Promise((done) => setTimeout(done, 50));
          return gl.isContextLost();
        }"""
    )
    assert lost


def test_ten_thousand_nodes_are_merged_but_none_is_lost(open_scene: Open) -> None:
    page = open_scene("synthetic10k")
    seen = stats(page)
    assert seen["mode"] == "strips"
    assert seen["boxes"] < 10_000
    x, y = place(page, 5_000)
    page.mouse.click(x, y)
    assert page.evaluate("told.at(-1)[1].index") == 5_000
    counted = page.evaluate(
        """async () => {
          const { buildStrips } = await import("/assets/canvas/lod.mjs");
          const { scene, state } = host.cglens.mounted.view;
          const strips = buildStrips(scene, scene.colour1, 8, state.emphasis, 3, 1);
          let rows = 0;
          for (let s = 0; s < strips.count; s++) rows += strips.rowB[s] - strips.rowA[s] + 1;
          return { strips: strips.count, rows };
        }"""
    )
    assert counted["strips"] < counted["rows"]


def test_a_strip_shows_the_category_with_the_largest_sum(open_scene: Open) -> None:
    page = open_scene("shapes")
    result = page.evaluate(
        """async () => {
          const { buildStrips } = await import("/assets/canvas/lod.mjs");
          const scene = {
            nodes: 4, columns: 1, order: Uint32Array.of(0, 1, 2, 3), columnStart: [0, 4],
            column: [0, 0, 0, 0], row: [0, 1, 2, 3], columnBand: [0], bandRow: [0, 4],
          };
          const strip = (extra) =>
            buildStrips({ ...scene, ...extra }, [0, 0, 0, 1], 2, [1, 1, 2, 1], 2, 0);
          const [plain, weighed] = [strip({}), strip({ weight: [1, 1, 1, 9] })];
          return [plain.count, plain.category[0], weighed.category[0], plain.emphasis[0]];
        }"""
    )
    assert result == [1, 0, 1, 2]


def test_the_tooltip_says_how_many_nodes_are_merged(open_scene: Open) -> None:
    page = open_scene("synthetic10k")
    page.mouse.move(*place(page, 5_000))
    settle(page)
    assert "nodes are merged here, most are" in (page.text_content(".cglens-tooltip") or "")


def test_the_minimap_moves_the_picture(open_scene: Open) -> None:
    page = open_scene("chain813")
    page.mouse.move(300, 300)
    page.mouse.wheel(0, -900)
    settle(page)
    box = page.locator(".cglens-minimap").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 8, box["y"] + 8)
    settle(page)
    x, y = place(page, 780)
    assert -200 < x < WIDTH
    assert -200 < y < HEIGHT


def test_lanes_have_the_names_they_were_given(open_scene: Open) -> None:
    page = open_scene("streams4known")
    shown = page.evaluate("host.cglens.mounted.view.list.texts.map((t) => t.text)")
    assert {"stream 0", "stream 1", "stream 2", "stream 3"} <= set(shown)


def test_a_fork_of_a_hundred_thousand_stays_bounded(open_scene: Open) -> None:
    page = open_scene("star100k")
    assert stats(page)["lines"] < 20_000
    page.evaluate("host.cglens.mounted.view.camera.set({ x: 0, y: 0, scale: 0.7 })")
    call(page, "setSelection", 0)
    seen = stats(page)
    assert seen["mode"] == "boxes"
    assert seen["lines"] < 40_000


def test_runs_of_one_module_have_a_bracket_and_their_name(open_scene: Open) -> None:
    page = open_scene("modules")
    plain = stats(page)
    assert plain["groups"] == 0
    call(page, "setColouring", "module")
    found = stats(page)
    assert found["groups"] == 2, "of two modules; the last node has none"
    assert found["texts"] == plain["texts"] + 2
