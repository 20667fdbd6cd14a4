"""The page of memory, and the way from blocks to nodes and back, on made-up memory."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dash
import pytest

import capture
from capture.analysis import Subject
from capture.memory.lifetimes import bytes_by_node
from capture.memory.sums import Step
from capture.memory_map import Snapshot
from capture.model import Evidence, GraphInfo, Metadata, Recording
from capture.origins import Frame, Module, Origins
from graphviz_app.app import create_app
from graphviz_app.figures.memory import MOST_SEGMENTS, address_map, lifetime_map, use_map
from graphviz_app.figures.memory_pool import MOST_POINTS, pool_figure
from graphviz_app.figures.memory_steps import STEPS, steps_figure
from graphviz_app.flow_route import HOW, encode, encoded
from graphviz_app.ids import Shell
from graphviz_app.memory_rows import blocks_of, node_section, rows_of, table
from graphviz_app.store import Store
from tests.app.test_app import details_at, page_at
from tests.helpers.synthetic_memory import (
    BASE,
    KEY,
    OWN,
    PINNED,
    POOL,
    SCALE,
    copy,
    fill,
    graph,
    kernel,
    memory,
    recording,
    segment,
)

SNAPSHOT = Path(__file__).parents[1] / "data" / "memory" / "train_step_snapshot.pickle"


@pytest.fixture(scope="module")
def app() -> dash.Dash:
    bare = Recording(
        Metadata(),
        [GraphInfo(key="k", name="k", node_count=1)],
        loaded={"k": graph([copy(1, 2, 3)])},
    )
    named = [("run", recording()), ("bare", bare), ("file", capture.read(SNAPSHOT))]
    return create_app(Store(named))


def shown(app: dash.Dash, query: str, page: str = "/memory") -> str:
    return json.dumps(page_at(app, page, query)[Shell.CONTENT]["children"])


def test_blocks_stand_with_tensor_owner_and_nodes(app: dash.Dash) -> None:
    content = shown(app, "?recording=run")
    assert "Net: weight" in content
    assert "output, or kept by the script" in content
    assert "train.py:12 make" in content
    assert "block:0x7f0000000000" in content
    assert "took 4 KiB more from the driver" in content
    assert "1 node holds 1 address of memory that was free" in content
    assert "Addresses of freed memory (1)" in content
    assert "/findings?recording=run" in content


def test_a_block_leads_to_the_module_and_the_line_of_its_tensor() -> None:
    whole = recording()
    frames = [Frame("train.py", 12, "make")]
    origins = Origins(graph=KEY, modules=[Module("", "Net", -1)], frames=frames, stacks=[(0,)])
    whole.graphs[KEY].evidence["origins"] = Evidence(present=True)
    known = Recording(
        Metadata(),
        list(whole.graphs.values()),
        loaded={KEY: whole.graph(KEY)},
        origins={KEY: origins},
        evidence={"memory": {KEY: memory(KEY)}},
    )
    content = shown(create_app(Store([("run", known)])), "?recording=run")
    assert "/modules?recording=run" in content
    assert "/source?recording=run" in content
    assert "view=train.py:12" in content


def test_a_block_finds_its_nodes(app: dash.Dash) -> None:
    store = Store([("run", recording())])
    assert store.find("run", KEY, "", f"block:0x{BASE:x}") == [0, 1]
    assert store.find("run", KEY, "", f"block:0x{POOL:x}") == [0, 2]
    assert store.find("run", KEY, "", "block:0x5") == []
    assert store.find("run", KEY, "", "block:tomorrow") == []
    content = shown(app, f"?recording=run&graph={KEY}&search=block:0x{BASE:x}", "/graph")
    assert content


def test_a_node_tells_its_memory(app: dash.Dash) -> None:
    details = details_at(app, page="graph", recording="run", graph=KEY, node=1)
    assert "Net: weight" in details
    assert "common pool, allocated, 512 B" in details
    assert r"temporary \u00b7 graph's pool, free after the capture" in details
    assert "Nodes of the same memory" in details
    assert "2 nodes" in details


def test_data_flow_as_curves_and_as_links(app: dash.Dash) -> None:
    client = app.server.test_client()
    data = client.get("/flows/run", query_string={"graph": KEY}).data
    assert data[:12] == struct.pack("<4sII", b"CGLF", 2, 3)
    *ends, first, second, third = struct.unpack("<6I3B", data[12:])
    assert ends == [0, 1, 2, 1, 2, 3], "from, then to"
    assert [HOW[first], HOW[second], HOW[third]] == ["possible", "no data", "no data"]
    assert client.get("/flows/run", query_string={"graph": "no"}).status_code == 404
    reader = details_at(app, page="graph", recording="run", graph=KEY, node=1)
    assert "Reads what was written by" in reader
    assert "this node writes, and may read, by the kernel's signature" in reader
    assert "Read after it by" not in reader
    content = shown(app, f"?recording=run&graph={KEY}&view=data", "/graph")
    assert f'"data-flows": "/flows/run?graph={quote(KEY)}"' in content
    bare = shown(app, "?recording=bare&graph=k", "/graph")
    assert "No data flow: memory was not looked at" in bare


def test_nodes_that_no_dependency_orders_are_drawn_with_the_data_flow() -> None:
    kinds = HOW.index("no data"), HOW.index("unordered")
    both = struct.unpack("<4sII4I2B", encode([], [(1, 2)], [(4, 9)]))
    assert both == (b"CGLF", 2, 2, 1, 4, 2, 9, *kinds)
    race = graph([fill(BASE, 64), fill(BASE, 64), copy(BASE + 512, POOL, 8)])
    info = GraphInfo(key=KEY, name="race", evidence={"memory": Evidence(present=True)})
    known = Recording(
        Metadata(), [info], loaded={KEY: race}, evidence={"memory": {KEY: memory(KEY)}}
    )
    found = encoded(Store([("run", known)]), "run", KEY)
    assert struct.unpack("<4sII2IB", found)[3:] == (0, 1, HOW.index("unordered"))


def test_captures_and_the_end_of_the_process(app: dash.Dash) -> None:
    captures = shown(app, "?recording=run&view=captures")
    assert "The captures of 1 graph in 1 pool added 4 KiB to reserved memory" in captures
    assert f"/graph?recording=run&graph={quote(KEY, safe='/:')}" in captures, (
        "a row leads to its graph"
    )
    end = shown(app, "?recording=run&view=end")
    assert "2 segments" in end
    assert "0x7f1000000000" in end


def test_absent_memory_says_why_and_how_to_record_it(app: dash.Dash) -> None:
    for view in ("", "captures", "end"):
        content = shown(app, f"?recording=bare&view={view}")
        assert "cglens record --memory" in content


def test_a_snapshot_file_is_shown_without_a_graph(app: dash.Dash) -> None:
    content = shown(app, "?recording=file")
    assert "10 segments" in content
    assert "(1, 0)" in content
    assert "train_step.py" in content
    assert "Captures" not in content
    overview = shown(app, "?recording=file", "/")
    assert "This is a memory snapshot" in overview
    assert "torch had reserved 140 MiB" in overview


def test_sums_stand_beside_what_torch_and_the_driver_count(app: dash.Dash) -> None:
    content = shown(app, "?recording=run")
    assert "All 4 sums equal torch's own counters to the byte." in content
    whole = recording()
    found = memory(KEY)
    found.counters[0].driver_free_bytes, found.counters[1].driver_free_bytes = 9 << 20, 4 << 20
    found.counters[1].peak_allocated_bytes = 3 << 30
    known = Recording(
        Metadata(),
        list(whole.graphs.values()),
        loaded={KEY: whole.graph(KEY)},
        evidence={"memory": {KEY: found}},
    )
    counted = shown(create_app(Store([("run", known)])), "?recording=run")
    for words in ("peak until then", "3 GiB", "taken from the device", "5 MiB"):
        assert words in counted
        assert words not in content
    assert "memory-pools" in shown(app, "?recording=file"), "pools of a file, too"


def test_damaged_memory_is_a_sentence() -> None:
    def damaged() -> Any:
        raise capture.errors.FormatError("synthetic damage")

    whole = recording()
    broken = Recording(
        Metadata(),
        list(whole.graphs.values()),
        processes=whole.processes,
        loaded={KEY: whole.graph(KEY)},
        evidence={"memory": {KEY: damaged}, "snapshots": {"0": damaged}},
    )
    app = create_app(Store([("run", broken)]))
    for view in ("", "captures", "end"):
        assert "synthetic damage" in shown(app, f"?view={view}")


def subject() -> Subject:
    whole = recording()
    return Subject(whole.graph(KEY), memory=whole.memory(KEY))


def test_every_byte_of_a_segment_is_drawn_once() -> None:
    found = memory()
    figure = address_map(found, rows_of(found, subject()))
    widths: dict[int, float] = {}
    for trace in figure["data"]:
        for y, width in zip(trace["y"], trace["x"], strict=True):
            widths[y] = widths.get(y, 0) + width
    assert widths == pytest.approx({0: 1.0, 1: 1.0})
    # The graph's own pool comes first.
    assert figure["layout"]["yaxis"]["ticktext"][0].startswith("graph's (1, 0)")


def test_memory_of_another_device_says_so() -> None:
    made = memory()
    assert made.segments is not None
    made.segments.device[0] = 1
    made.segments.expandable = [0, 1]
    rows = rows_of(made, Subject(graph([kernel(SCALE, BASE + 8, 0, POOL)]), memory=made))
    assert {row.device for row in rows if row.segment == 0} == {1}
    assert {row.device for row in rows if row.segment == 1} == {None}
    assert table(rows)[0]["where"] == "common pool, allocated, on device 1"
    labels = address_map(made, rows)["layout"]["yaxis"]["ticktext"]
    assert [label.startswith("device 1 · ") for label in labels] == [False, True]
    assert [label.endswith(", expandable") for label in labels] == [True, False]


def test_use_goes_from_the_first_to_the_last_node() -> None:
    figure = use_map(rows_of(memory(), subject()), 4)
    spans = {
        trace["hovertext"][i].split(",")[0]: (trace["base"][i], trace["x"][i])
        for trace in figure["data"]
        for i in range(len(trace["y"]))
    }
    assert spans[f"0x{BASE:x}"] == (0, 2)
    assert spans[f"0x{POOL:x}"] == (0, 3)
    assert spans[f"0x{PINNED:x}"] == (2, 1)


def test_a_pool_is_drawn_over_the_nodes_at_which_its_bytes_lived() -> None:
    found = memory()
    figure = pool_figure(found, 4)
    assert figure is not None
    (trace,) = figure["data"]
    # 1,000 bytes from the start; 3,000 more lived between the first node and the third.
    assert trace["x"] == [0, 1, 2, 3, 4]
    assert [round(value * 1024) for value in trace["y"]] == [1000, 4000, 4000, 1000, 1000]
    assert trace["customdata"] == [0, 1, 2, 3, 3]
    assert found.events is not None
    assert bytes_by_node(found.events, 4) == [1000, 4000, 4000, 1000]
    many = pool_figure(found, 100_000)
    assert many is not None
    assert len(many["data"][0]["x"]) <= MOST_POINTS + 1
    assert max(many["data"][0]["y"]) == trace["y"][1]  # the peak survives
    found.events.nodes_before = []
    assert pool_figure(found, 4) is None


def test_captures_tell_what_they_added_and_what_they_could_use_again() -> None:
    steps = [
        Step("a", OWN, 4096, 12288, 8192, 0, 8192, 0),
        Step("b", OWN, 12288, 14336, 2048, 8192, 10240, 0),
    ]
    figure = steps_figure(["a", "b"], steps, ["key a", "key b"])
    heights = {trace["name"]: trace["y"] for trace in figure["data"]}
    assert [heights[name] for name, _ in STEPS if name in heights] == [[4, 4], [0, 8], [8, 2]]
    assert figure["data"][0]["customdata"] == ["key a", "key b"]
    large = steps_figure(["a"] * 3000, steps[:1] * 3000, ["a"] * 3000)
    assert {trace["type"] for trace in large["data"]} == {"scatter"}


def test_many_segments_and_blocks_stay_bounded() -> None:
    from capture.memory.torch_snapshot import Tables, add_segments

    found = memory()
    blocks = [(512, "active_allocated" if n % 3 else "inactive") for n in range(400)]
    add_segments(
        Tables(found),
        [segment(BASE + n * (4 << 20), blocks, OWN if n == 99 else (0, 0)) for n in range(100)],
    )
    figure = address_map(found, rows_of(found))
    assert len(figure["layout"]["yaxis"]["ticktext"]) == MOST_SEGMENTS
    assert figure["layout"]["yaxis"]["ticktext"][0].startswith("graph's")


def test_nothing_to_draw_is_said() -> None:
    empty = Snapshot(process="0")
    assert address_map(empty, [])["layout"]["annotations"][0]["text"] == "Nothing was allocated."
    assert use_map([], 0)["layout"]["annotations"]
    assert steps_figure([], [])["data"][0]["y"] == []


def test_a_node_without_addresses_says_so() -> None:
    bare = Subject(graph([kernel(SCALE, 1, 2, 3)]), memory=memory())
    section = node_section(bare, 0)
    assert section is not None
    assert "no number" in section.absent
    assert blocks_of(bare, 0) == []
    assert node_section(Subject(graph([])), 0) is None


def test_allocations_stand_between_the_nodes_of_their_time() -> None:
    figure = lifetime_map(memory(), 4)
    assert figure is not None
    spans = {
        trace["name"]: (trace["base"], trace["x"], trace["hovertext"][0])
        for trace in figure["data"]
    }
    kept, freed = spans["still allocated after the capture"], spans["freed in the capture"]
    assert kept[:2] == ([0], [4])
    assert freed[:2] == ([1], [1])
    assert "before node 1 to before node 2" in freed[2]
    unplaced = memory()
    assert unplaced.events is not None
    unplaced.events.nodes_before = []
    assert lifetime_map(unplaced, 4) is None
