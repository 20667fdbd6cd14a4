"""The page of a comparison: pairs, changes, both columns, and what cannot be compared."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import dash
import pytest

from capture import read
from capture.errors import FormatError
from capture.model import Graph, GraphInfo, Metadata, Recording
from graphviz_app.app import Settings, create_app
from graphviz_app.comparing.compared import Compared, Pair, compared
from graphviz_app.comparing.pairs import pairs_of
from graphviz_app.components.compare_choice import MOST_OPTIONS, around
from graphviz_app.components.pair_rows import pair_rows, progress_text
from graphviz_app.context import Context
from graphviz_app.figures.changes import WORDS, Mark
from graphviz_app.format import dims_text
from graphviz_app.ids import ComparePage, Shell
from graphviz_app.pages.compare import complete, matches
from graphviz_app.state import ViewState
from graphviz_app.store import Store
from tests.compare.graphs import conditional, kernels
from tests.helpers import synthetic, synthetic_memory

from .test_app import call, details_at, page_at

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "graphviz_app/samples"
BATCHES = SAMPLES / "batch_sizes.cgl"
ONE, OTHER = (f"examples/batch_sizes.py:main#{n}" for n in ("0+batch=128", "3+batch=32"))
LAYERS = "abcdefgh" * 2


def made_up(**graphs: Graph) -> Recording:
    infos = [
        GraphInfo(key=key, name=key, node_count=sum(len(part) for _, part in graph.walk()))
        for key, graph in graphs.items()
    ]
    return Recording(Metadata(complete=True), infos, loaded=graphs)


@pytest.fixture(scope="module")
def store() -> Store:
    before = made_up(
        same=kernels(LAYERS),
        edited=kernels(LAYERS),
        strange=kernels("abcdefgh"),
        empty=kernels(""),
        nested=conditional(kernels("abcd"), kernels("ab")),
        gone=kernels("zz"),
    )
    after = made_up(
        same=kernels(LAYERS),
        edited=kernels(LAYERS[:5] + "xy" + LAYERS[6:]),
        strange=kernels("stuvwxyz"),
        empty=kernels("abc"),
        nested=conditional(kernels("abxcd"), kernels("ab")),
        new=kernels("qqqq"),
    )
    again = ROOT / "tests/data/recordings_again/moe_block.cgl"
    return Store(
        [("before", before), ("after", after), ("batches", read(BATCHES)),
         ("moe", read(ROOT / "tests/data/recordings/moe_block.cgl")), ("moe", read(again))]
    )  # fmt: skip


@pytest.fixture(scope="module")
def app(store: Store) -> dash.Dash:
    return create_app(store)


def shown(app: dash.Dash, key: str, key_after: str = "", **more: str) -> str:
    view = {"recording": "before", "after": "after", "graph": key, **more}
    if key_after:
        view["graph_after"] = key_after
    query = "&".join(f"{name}={value.replace('#', '%23')}" for name, value in view.items())
    return json.dumps(page_at(app, "/compare", f"?{query}")[Shell.CONTENT]["children"])


def batches(store: Store) -> Compared:
    return compared(store, Pair("batches", ONE, "batches", OTHER))


def test_an_address_is_completed_to_the_pair_that_it_means(store: Store) -> None:
    full = complete(ViewState("compare", "before", "edited"), store)
    assert (full.after, full.graph_after) == ("after", "edited")
    one = complete(ViewState("compare", "batches", ONE, graph_after=OTHER), store)
    assert (one.after, one.graph_after) == ("batches", OTHER)
    assert complete(ViewState("compare", "moe", after="moe-2"), store).graph == ""


@pytest.mark.parametrize(
    ("key", "key_after", "said"),
    [
        ("strange", "strange", "next to nothing in common"),
        ("empty", "empty", "The graph before is empty"),
        ("empty", "gone", "no graph 'gone'"),
        ("nowhere", "", "no graph 'nowhere'"),
        ("same", "same", "No node differs in any field."),
        ("gone", "", "No graph of the recording after is paired with this one"),
    ],
)
def test_what_cannot_be_drawn_is_said(app: dash.Dash, key: str, key_after: str, said: str) -> None:
    content = shown(app, key, key_after)
    assert said.lower() in content.lower()
    assert ("data-canvas" in content) is (said.startswith("No node differs"))


def test_a_graph_with_itself(app: dash.Dash) -> None:
    assert "one and the same graph" in shown(app, "same", "same", after="before")


def test_without_timings_the_reason_stands_where_times_would(app: dash.Dash) -> None:
    assert "not timed on both sides" in shown(app, "edited")
    assert "No timings" in shown(app, "edited", view="timelines")
    panel = details_at(app, page="compare", recording="before", graph="edited", after="after",
                       graph_after="edited")  # fmt: skip
    assert "Before and after: No timings" in panel


def test_the_pairs_of_two_recordings(store: Store) -> None:
    pairs = pairs_of(store, "before", "after")
    context = Context(store, ViewState("compare", "before", after="after"))
    pairs.wait()
    rows = {row["name"]: row for row in pair_rows(context, pairs)}
    assert rows["same"]["state"] == "the same"
    assert rows["edited"]["texts"]["differences"].startswith("1 changed, 1 added")
    assert rows["strange"]["state"] == "unrelated"
    assert rows["gone"]["state"] == "only before"
    assert rows["new"]["state"] == "only after"
    assert "1 only before, 1 only after" in progress_text(pairs)
    assert "graph=edited" in rows["edited"]["links"]["name"]["href"]


def test_the_table_of_pairs_fills_while_they_are_compared(app: dash.Dash, store: Store) -> None:
    pairs_of(store, "moe", "moe-2").wait()
    answer = call(
        app,
        f"{ComparePage.PROGRESS}.children",
        {
            f"{ComparePage.TICK}.n_intervals": 1,
            f"{ComparePage.SHOWN}.data": 0,
            f"{Shell.URL}.pathname": "/compare",
            f"{Shell.URL}.search": "?recording=moe&after=moe-2",
        },
    )
    (row,) = answer[ComparePage.PAIRS]["rowTransaction"]["update"]
    assert row["state"] == "the same"
    assert "→" in row["texts"]["replay"]
    assert answer[ComparePage.TICK]["disabled"]


def test_changes_are_grouped_and_the_most_costly_come_first(store: Store) -> None:
    found = batches(store)
    costs = [abs(group.cost_ns or 0) for group in found.groups]
    assert costs == sorted(costs, reverse=True)
    assert found.groups[0].mark is Mark.SWAPPED
    assert len(found.groups[0].places) == 4
    assert found.groups[-1].noise
    assert len(found.tour.node) == found.diff.counts.changed
    assert found.tour.node[:4] == [place.node for place in found.groups[0].places]


def test_a_change_in_a_body_is_found_there(store: Store, app: dash.Dash) -> None:
    found = compared(store, Pair("before", "nested", "after", "nested"))
    (group,) = found.groups
    (place,) = group.places
    assert (group.mark, place.body) == (Mark.ADDED, "0/0")
    merged = found.merged("0/0")
    assert Mark(merged.marks[place.node]) is Mark.ADDED
    inside = shown(app, "nested", "nested", body="0/0")
    assert "else" in inside
    assert "body=0%2F0" in inside
    assert "share 0/0, 0/1" in shown(app, "nested", "nested", body="7/0")


@pytest.mark.parametrize("mark", [Mark.ADDED, Mark.CHANGED, Mark.SWAPPED])
def test_the_legend_finds_nodes_by_what_became_of_them(store: Store, mark: Mark) -> None:
    state = ViewState("compare", "before", "edited", after="after", graph_after="edited")
    found = matches(Context(store, state), f"change:{WORDS[mark]}")
    assert len(found) == {Mark.ADDED: 1, Mark.SWAPPED: 1, Mark.CHANGED: 0}[mark]


def test_a_search_finds_names_of_either_side(store: Store) -> None:
    state = ViewState("compare", "before", "edited", after="after", graph_after="edited")
    # Of the two that stand where one stood, one is added and the other in its place.
    only_after = [matches(Context(store, state), f"{name}_kernel") for name in "xy"]
    assert sorted(only_after) == [[5], [len(LAYERS)]]
    assert matches(Context(store, state), "a_kernel") == [0, 8]


def test_the_panel_has_both_columns_with_noise(app: dash.Dash, store: Store) -> None:
    node = batches(store).tour.node[0]
    place = {"page": "compare", "recording": "batches", "graph": ONE, "after": "batches",
             "graph_after": OTHER}  # fmt: skip
    panel = details_at(app, **place, node=node)
    for text in (
        "What differs",
        "other kernel",
        dims_text((2, 64, 1)),
        dims_text((8, 4, 1)),
        "± ",
        "batch_sizes.py",
    ):
        assert json.dumps(text)[1:-1] in panel
    whole = details_at(app, **place)
    for text in ("replay, untraced", "within the noise", "NVIDIA H200"):
        assert text in whole


def test_replays_are_on_one_scale_and_name_nodes_as_the_pictures_do(
    app: dash.Dash, store: Store
) -> None:
    client = app.server.test_client()
    sides: dict[str, dict[str, Any]] = {}
    for side in ("before", "after"):
        query = {"graph": ONE, "after": "batches", "graph_after": OTHER, "side": side}
        answer = client.get("/compare-replay/batches", query_string=query)
        sides[side] = json.loads(answer.data)
    spans = {name: side["last"] - side["first"] for name, side in sides.items()}
    assert spans["before"] == spans["after"]
    assert sides["before"]["path"] == sides["after"]["path"]
    types = sides["after"]["types"]
    assert {types[at]["name"] for at in sides["after"]["type"]} == {"changed", "other kernel"}
    assert client.get("/compare-replay/before?graph=same&after=after&graph_after=same&side=before"
                      ).status_code == 404  # fmt: skip
    assert client.get("/compare-nothing/before?graph=same&after=after&graph_after=same"
                      ).status_code == 404  # fmt: skip


def test_the_verdict_names_every_rule_with_its_node(app: dash.Dash) -> None:
    view = shown(app, "edited", "edited", view="update")
    assert "TOPOLOGY_CHANGED" in view
    assert "same number of nodes" in view
    taken = json.dumps(page_at(
        app, "/compare", f"?recording=batches&graph={ONE}&graph_after={OTHER}&view=update"
        .replace("#", "%23").replace("+", "%2B")))  # fmt: skip
    assert "by the documented rules" in taken
    assert "nvjet_sm90_hsh_64x8_64x16_2x4_h_bz_bias_TNT" in taken


def test_a_large_pair_is_compared_after_the_page_is_there(
    store: Store, app: dash.Dash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphviz_app.pages.compare.AT_ONCE_NODES", 0)
    fresh = create_app(Store([(name, store.get(name).recording) for name in ("before", "after")]))
    answer = page_at(fresh, "/compare", "?recording=before&after=after&graph=edited")
    content = json.dumps(answer[Shell.CONTENT]["children"])
    assert "Comparing 16 nodes with 17 nodes" in content
    assert "data-canvas" not in content
    asked = {"recording": "before", "after": "after", "graph": "edited", "graph_after": "edited"}
    filled = call(fresh, f"{ComparePage.BODY}.children", {f"{ComparePage.ASKED}.data": asked})
    assert "data-canvas" in json.dumps(filled)


@pytest.mark.parametrize(
    ("name", "opened"), [("other.cgl", "other"), ("..\\..\\etc\\.evil.cgl", "evil")]
)
def test_a_file_of_this_machine_is_opened(name: str, opened: str) -> None:
    store = Store([("batches", read(BATCHES))])
    client = create_app(store).server.test_client()
    data = (SAMPLES / "fork_join.cgl").read_bytes()
    answer = client.post("/open-file", query_string={"name": name}, data=BytesIO(data))
    assert answer.status_code == 200
    assert answer.get_json() == {"recording": opened}
    assert store.graph(opened, "examples/fork_join.py:main#0")


def test_what_is_no_recording_is_refused_and_not_kept(tmp_path: Path) -> None:
    store = Store([("batches", read(BATCHES))])
    client = create_app(store).server.test_client()
    answer = client.post("/open-file?name=notes.txt", data=BytesIO(b"no graph at all"))
    assert answer.status_code == 422
    assert list(store.opened) == ["batches"]
    open_to_all = create_app(store, Settings(host="0.0.0.0")).server.test_client()
    refused = open_to_all.post("/open-file?name=x.cgl", data=BytesIO(b""))
    assert refused.status_code == 403
    assert "takes no files" in refused.get_data(as_text=True)


def test_memory_of_both_is_shown() -> None:
    named = [(name, synthetic_memory.recording()) for name in ("one", "two")]
    app = create_app(Store(named))
    (key, *_) = named[0][1].graphs
    query = f"?recording=one&after=two&graph={key}&view=memory".replace("#", "%23")
    content = json.dumps(page_at(app, "/compare", query)[Shell.CONTENT]["children"])
    assert "pool, reserved" in content
    assert "has no evidence of memory" not in content


def test_a_list_of_thousands_of_graphs_stays_short() -> None:
    infos = [GraphInfo(key=f"g{at}", name=f"g{at}", node_count=1) for at in range(3000)]
    found = [info.key for info in around(infos, "g2000")]
    assert len(found) == MOST_OPTIONS
    assert "g2000" in found[1:-1]
    assert around(infos, "g2999")[-1].key == "g2999"


def test_damaged_timings_count_as_absent_and_a_damaged_graph_is_said() -> None:
    def broken(*_: str) -> Any:
        raise FormatError("synthetic damage")

    damaged, whole, unreadable = (
        synthetic.recording({"chain": synthetic.chain(count)}, failed=False, timed=["chain"])
        for count in (4, 5, 6)
    )
    damaged._evidence["timings"]["0"] = broken
    unreadable._graphs.clear()
    unreadable._load = broken
    named = [("damaged", damaged), ("whole", whole), ("unreadable", unreadable)]
    app = create_app(Store(named))
    key = "train.py:chain#0"
    query = f"?recording=damaged&after=whole&graph={key}".replace("#", "%23")
    content = json.dumps(page_at(app, "/compare", query)[Shell.CONTENT]["children"])
    assert "data-canvas" in content
    assert "not timed on both sides" in content
    panel = details_at(app, page="compare", recording="damaged", graph=key, after="whole",
                       graph_after=key, node=0)  # fmt: skip
    assert "synthetic damage" in panel
    query = query.replace("whole", "unreadable")
    content = json.dumps(page_at(app, "/compare", query)[Shell.CONTENT]["children"])
    assert "Synthetic damage" in content
