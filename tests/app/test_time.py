"""What is shown of when nodes ran: colours, facts, the replay, kernels and analyses, as data."""

from __future__ import annotations

import json
from typing import Any

import dash
import numpy as np
import pytest

from capture.analysis import Result, Series, Unit, analyses
from capture.analysis.base import Quantity
from capture.errors import FormatError, LookupFailed
from capture.model import Body, Graph, Kernel, Recording, Topology
from capture.timings import Timings
from graphviz_app import profiling, result_text, timing_facts
from graphviz_app.app import create_app
from graphviz_app.context import Context
from graphviz_app.figures import series, time_colourings
from graphviz_app.figures.replay import bars_of, encode_replay, idle_of
from graphviz_app.figures.scene import decode_scene
from graphviz_app.format import ABSENT
from graphviz_app.ids import KernelsPage
from graphviz_app.kernel_rows import KernelNodes, block
from graphviz_app.node_times import NodeTimes
from graphviz_app.pages import analyses as analyses_page
from graphviz_app.state import ViewState
from graphviz_app.store import Store
from graphviz_app.subjects import shown_timings, subject_of
from tests.helpers import synthetic

from .test_app import BODIES, LAYERS, call, details_at, page_at

CHAIN = "train.py:chain#2"


@pytest.fixture(scope="module")
def store() -> Store:
    return Store([("run.cgl", synthetic.typical())])


@pytest.fixture(scope="module")
def app(store: Store) -> dash.Dash:
    return create_app(store)


def times(durations: list[float], slack: list[float], path: list[int]) -> NodeTimes:
    return NodeTimes(np.array(durations), np.array(slack), np.array(path, np.int64))


NAN = float("nan")


def test_bins_hold_every_value_at_readable_limits() -> None:
    for values in ([1.0], [999.0, 1000.0], [0.0, 3.0], [50.0, 5e9], [7.0] * 9, [1.0, 1e12]):
        limits = time_colourings.bounds(np.array(values))
        assert limits[0] <= max(min(values), 1)
        assert limits[-1] > max(values)
        assert limits == sorted(set(limits))
        assert 1 <= len(limits) - 1 <= time_colourings.MOST_BINS
        index = time_colourings.bin_of(np.array(values), limits)
        assert ((index >= 0) & (index < len(limits) - 1)).all()


def test_time_colours_count_nodes_and_name_those_that_are_not_timed() -> None:
    found = time_colourings.by_time(times([1500.0, NAN, 40_000.0, 1_700.0], [NAN] * 4, []))
    names = [entry.name for entry in found.legend]
    assert names[0] == "1 µs to 2 µs"
    assert names[-1] == "not timed"
    assert [entry.count for entry in found.legend] == np.bincount(found.index).tolist()
    assert names[found.index[2]] == "20 µs to 50 µs"
    assert found.strong


def test_scales_run_from_quiet_to_loud_on_both_grounds() -> None:
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2

    for scale in (time_colourings.TIME_SCALE, time_colourings.SLACK_SCALE[::-1]):
        light = [lightness(colour) for colour, _ in scale]
        dark = [lightness(colour) for _, colour in scale]
        assert light == sorted(light, reverse=True)
        assert dark == sorted(dark)


def test_the_path_and_its_edges_are_loud() -> None:
    source, target = np.array([0, 0, 1, 2], np.int32), np.array([1, 2, 3, 3], np.int32)
    given = times([5.0, 9.0, 1.0, 2.0], [0.0, 0.0, 8.0, 0.0], [0, 1, 3])
    found = time_colourings.by_path(given, source, target)
    assert found.legend[0].name == "on the critical path"
    assert [found.index[at] for at in (0, 1, 3)] == [0, 0, 0]
    assert found.index[2] != 0
    assert found.loud_edges is not None
    assert found.loud_edges.tolist() == [True, False, True, False]


def test_an_edge_that_skips_a_node_of_the_path_is_not_loud() -> None:
    source, target = np.array([0, 1, 0], np.int32), np.array([1, 2, 2], np.int32)
    given = times([1.0] * 3, [0.0] * 3, [0, 1, 2])
    edges = time_colourings.path_edges(given, source, target)
    assert edges.tolist() == [True, True, False]


def test_a_scene_with_timings_has_weights_notes_and_time_colours(store: Store) -> None:
    scene = decode_scene(store.picture("run", LAYERS).scene)
    names = [item["name"] for item in scene.header["colourings"]]
    assert names == ["type", "kernel", "lane", "time", "path"]
    durations = store.subject("run", LAYERS).durations
    assert scene.arrays["weight"].tolist() == [float(value or 0) for value in durations]
    notes = [scene.header["notes"][i] for i in scene.arrays["note"]]
    assert notes[:2] == ["not timed", "3 µs"]
    assert scene.arrays["loudEdges4"].sum() == len(store.picture("run", LAYERS).times.path) - 1  # type: ignore[union-attr]
    without = decode_scene(store.picture("run", CHAIN).scene)
    assert "weight" not in without.arrays
    assert [item["name"] for item in without.header["colourings"]] == ["type", "kernel", "lane"]


def test_search_finds_what_the_time_legends_name(store: Store) -> None:
    picture = store.picture("run", LAYERS)
    for name in ("time", "path"):
        for place, entry in enumerate(picture.colourings[name].legend):
            found = picture.index.find(f'{name}:"{entry.name}"')
            assert (
                found.tolist() == np.flatnonzero(picture.colourings[name].index == place).tolist()
            )


def test_search_finds_a_family(store: Store) -> None:
    rows = store.result("run", LAYERS, "", "kernel_families").rows
    picture = store.picture("run", LAYERS)
    assert sum(len(picture.index.find(f'family:"{row[0]}"')) for row in rows) == sum(
        name == "kernel" for name in picture.graph.topology.types
    )


def test_a_nodes_timing_stands_under_what_tracing_cost(store: Store) -> None:
    critical = store.result("run", LAYERS, "", "critical_path")
    section = timing_facts.node_section(store.subject("run", LAYERS), 1, critical)
    said = {fact.label: fact.text for fact in section.facts}
    assert said[""].startswith("192 of 193 nodes timed; traced replays took 1.42 ")
    assert "longer here than without tracing" in said[""]
    assert said["median"] == "3 µs"
    assert said["minimum"] == "2.94 µs"
    assert said["seen"] == "5 times"
    assert said["hardware stream"] == "7"
    assert said["share of the makespan"].endswith("%")
    assert said["on the critical path"] in ("yes", "no")


def test_a_node_without_a_row_says_why(store: Store) -> None:
    critical = store.result("run", LAYERS, "", "critical_path")
    section = timing_facts.node_section(store.subject("run", LAYERS), 0, critical)
    assert "synthetic: its record has another id" in section.facts[-1].text


def test_absent_timings_say_why_and_what_to_do(store: Store) -> None:
    critical = store.result("run", CHAIN, "", "critical_path")
    section = timing_facts.node_section(store.subject("run", CHAIN), 0, critical)
    assert section.facts == []
    assert section.absent == "No timings: not asked for; record with `cglens record --timings`."


def two_rows() -> Recording:
    graph = Graph(
        topology=Topology(types=["memcpy", "child_graph"], source=[0], target=[1]),
        payloads=[synthetic.copy_payload(), None],
        bodies=[Body(node=1, index=0, role="child", graph=synthetic.chain(2))],
    )
    run = synthetic.recording({"layers": graph}, failed=False)
    run._evidence["timings"]["0"] = Timings(
        executable="0",
        graph=LAYERS,
        node=["0", "0", "1/0/0", "1/0/1", ""],
        count=[1] * 5,
        minimum_ns=[900] * 5,
        median_ns=[1000] * 5,
        p95_ns=[1100] * 5,
        start_ns=[0, 500, 2000, 3000, 9000],
        gap_ns=[0] * 5,
        stream=[7, 8, 7, 7, 8],
        sample_start_ns=[0, 500, 2000, 3000, -1],
        sample_duration_ns=[1000, 1000, 1000, 1000, 0],
        makespan_ns=[4000],
        busy_ns=[3500],
    )
    return run


def test_a_copy_that_became_two_shows_both_rows() -> None:
    store = Store([("run.cgl", two_rows())])
    critical = store.result("run", LAYERS, "", "critical_path")
    section = timing_facts.node_section(store.subject("run", LAYERS), 0, critical)
    said = {fact.label: fact.text for fact in section.facts}
    assert said["duration"] == "1.5 µs"
    assert section.rows == [("0", "1 µs", "0 ns", "7"), ("0", "1 µs", "500 ns", "8")]
    assert "what tracing cost was not measured" in said[""]
    body = store.subject("run", LAYERS, "1/0")
    assert body.durations == [1000, 1000]


def test_the_replay_has_a_lane_per_stream_and_every_row_that_ran() -> None:
    run = two_rows()
    subject = subject_of(run, LAYERS, run.graph(LAYERS))
    bars = bars_of(subject)
    assert bars.stream == [7, 7, 7, 8]
    assert idle_of(bars) == [(1500, 2000)]
    document = json.loads(encode_replay(subject, [1]))
    assert document["lanes"] == ["stream 7", "stream 8"]
    assert document["path"] == ["0", "1/0/0", "1/0/1", "0"]
    assert document["critical"] == [0, 1, 1, 0]
    assert [document["types"][i]["name"] for i in document["type"]] == [
        "memcpy",
        "kernel",
        "kernel",
        "memcpy",
    ]


def test_the_replay_over_http(app: dash.Dash) -> None:
    client = app.server.test_client()
    answer = client.get("/replay/run", query_string={"graph": LAYERS})
    assert answer.status_code == 200
    document = answer.get_json()
    assert len(document["start"]) == 192
    assert document["lanes"] == ["stream 7", "stream 13"]
    absent = client.get("/replay/run", query_string={"graph": CHAIN})
    assert absent.status_code == 404
    assert "not asked for" in absent.get_data(as_text=True)
    assert client.get("/replay/run", query_string={"graph": "no"}).status_code == 404


def test_without_timings_there_is_no_replay(store: Store) -> None:
    with pytest.raises(LookupFailed, match="not asked for"):
        store.replay("run", CHAIN)


def test_the_executable_with_most_traced_replays_is_shown() -> None:
    run = synthetic.recording({"layers": synthetic.layers(2)}, failed=False, timed=["layers"])
    again = synthetic.synthetic_timings(run.graph(LAYERS), LAYERS, "again", replays=9)
    run.executables.append(type(run.executables[0])(id="again", graph=LAYERS))
    run._evidence["timings"]["again"] = again
    assert shown_timings(run, LAYERS)[1] is again


@pytest.mark.parametrize("page", ["timeline", "kernels", "analyses", "graph"])
def test_pages_of_time_carry_what_tracing_cost(app: dash.Dash, page: str) -> None:
    content = json.dumps(page_at(app, f"/{page}", "?graph=train.py:layers%230"), ensure_ascii=False)
    assert "1.42" in content


@pytest.mark.parametrize("page", ["timeline", "kernels", "analyses", "graph"])
@pytest.mark.parametrize("graph", ["chain%232", "bodies%231", "empty%234", "bad_step%230"])
def test_pages_of_time_open_without_timings(app: dash.Dash, page: str, graph: str) -> None:
    name = "train.py:" + graph
    content = json.dumps(page_at(app, f"/{page}", f"?graph={name}")["content"])
    assert "ot asked for" in content or "has no nodes" in content


def test_the_longest_nodes_are_links(app: dash.Dash) -> None:
    content = json.dumps(page_at(app, "/timeline", "?graph=train.py:layers%230"))
    assert content.count("longest-node") == 10
    assert "memcpy HtoD" in content


def rows_at(app: dash.Dash, **request: Any) -> dict[str, Any]:
    answer = call(
        app,
        f"{KernelsPage.NODES}.getRowsResponse",
        {
            f"{KernelsPage.NODES}.getRowsRequest": {"startRow": 0, "endRow": 5, **request},
            "place.data": {"recording": "run", "graph": LAYERS},
        },
    )
    return dict(answer[KernelsPage.NODES]["getRowsResponse"])


def test_kernel_nodes_sort_over_all_nodes_and_carry_their_command(app: dash.Dash) -> None:
    longest = rows_at(app, sortModel=[{"colId": "median", "sort": "desc"}])
    shortest = rows_at(app, sortModel=[{"colId": "median", "sort": "asc"}])
    assert {row["median"] for row in longest["rowData"]} == {"8 µs"}
    assert {row["median"] for row in shortest["rowData"]} == {"2 µs"}
    assert longest["rowCount"] == shortest["rowCount"] == 24 * 7
    row = longest["rowData"][0]
    assert row["copy"].startswith("ncu --graph-profiling node ")
    assert row["waves"] != ABSENT
    few = rows_at(app, filterModel={"name": {"filter": "flash"}})
    assert few["rowCount"] == 24


def test_kernel_nodes_without_timings_or_device(store: Store) -> None:
    picture = store.picture("run", CHAIN)
    subject = store.subject("run", CHAIN)
    subject.gpu = None
    kernels = KernelNodes.of(picture, subject)
    rows = block(picture, kernels, lambda name: "", {"startRow": 0, "endRow": 2})["rowData"]
    assert rows[0]["median"] == rows[0]["waves"] == ABSENT


def test_families_lead_to_their_nodes(app: dash.Dash) -> None:
    content = json.dumps(page_at(app, "/kernels", "?graph=train.py:layers%230"))
    assert "search=family:" in content


@pytest.mark.parametrize("name", list(analyses()))
def test_each_analysis_is_on_the_page_and_opens(app: dash.Dash, name: str) -> None:
    query = f"?graph=train.py:layers%230&view={name}"
    content = json.dumps(page_at(app, "/analyses", query)["content"])
    assert json.dumps(analyses()[name].description)[1:-1] in content
    assert content.count("analysis-item") >= len(analyses())


def test_a_link_to_an_analysis_that_is_not_there_opens_the_first(app: dash.Dash) -> None:
    content = page_at(app, "/analyses", "?graph=train.py:layers%230&view=nope")
    assert "analysis-item here" in json.dumps(content)


def test_figures_are_written_with_their_units() -> None:
    result = Result(summary="{a} and {b_share}, not {c}.")
    result.figures = {"a": Quantity(1500, Unit.NS), "b_share": Quantity(0.5, Unit.RATIO)}
    assert result_text.summary(result) == "1.5 µs and 50 %, not {c}."


def test_names_with_braces_stay_as_they_are() -> None:
    result = Result(summary="{top}!", figures={"top": Quantity("f<{top}>", Unit.TEXT)})
    assert result_text.summary(result) == "f<{top}>!"


def test_a_series_is_a_plot_in_its_units() -> None:
    figure = series.series_figure(
        Series(name="nodes running", x_unit=Unit.NS, y_unit=Unit.COUNT, x=[0, 5000], y=[2, 0])
    )
    assert figure["data"][0]["x"] == [0, 5]
    assert figure["data"][0]["line"]["shape"] == "hv"
    assert figure["layout"]["xaxis"]["title"]["text"] == "time in the replay (µs)"
    assert figure["layout"]["yaxis"]["dtick"] == 1


def test_replays_are_busy_and_idle() -> None:
    busy, idle = series.replays_figure([10_000, 20_000], [9_000, 15_000])["data"]
    assert (busy["y"], idle["y"]) == ([9, 15], [1, 5])
    (only,) = series.replays_figure([10_000], [])["data"]
    assert only["y"] == [10]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["train.py", "--n", "3"], "python train.py --n 3"),
        (["-m", "pkg.train"], "python -m pkg.train"),
        (["pkg.mod:step"], "--target-processes all cglens record --timings 0 pkg.mod:step"),
        (["python", "train.py"], "python train.py"),
        ([], ""),
    ],
)
def test_the_profilers_command_is_built_from_the_recorded_one(
    command: list[str], expected: str
) -> None:
    run = synthetic.recording({}, failed=False)
    run.metadata.command = command
    found = profiling.ncu_command(run, "_Z3foo$")
    assert found.endswith(expected)
    assert not found or r"'regex:^_Z3foo\$$'" in found


def test_a_converted_file_has_no_command() -> None:
    run = synthetic.recording({}, failed=False)
    run.metadata.source = "dot"
    assert profiling.ncu_command(run, "k") == ""


def test_details_of_a_kernel_have_timing_and_profile(app: dash.Dash) -> None:
    shown = details_at(app, page="kernels", recording="run", graph=LAYERS, node=1)
    for text in ("Timing", "95th percentile", "Profile", "--graph-profiling node", "slack"):
        assert text in shown
    graph = details_at(app, page="overview", recording="run", graph=LAYERS)
    for text in ("makespan", "untraced replay", "1.42", "192 of 193 nodes timed"):
        assert text in graph
    assert "ot asked for" in details_at(app, page="overview", recording="run", graph=BODIES)


def test_a_kernel_without_a_name_has_no_command() -> None:
    run = synthetic.recording({}, failed=False)
    assert profiling.ncu_command(run, Kernel(name="").name) == ""


def test_damaged_timings_leave_the_graph_to_look_at() -> None:
    run = synthetic.recording({"layers": synthetic.layers(2)}, failed=False, timed=["layers"])

    def broken() -> Timings:
        raise FormatError("the stored timings are damaged: expected 10 columns, found 2")

    run._evidence["timings"]["0"] = broken
    app = create_app(Store([("run.cgl", run)]))
    client = app.server.test_client()
    assert client.get("/scene/run", query_string={"graph": LAYERS}).status_code == 200
    assert client.get("/replay/run", query_string={"graph": LAYERS}).status_code == 422
    for node in (None, 1):
        shown = details_at(app, page="graph", recording="run", graph=LAYERS, node=node)
        assert "expected 10 columns, found 2" in shown
    for page in ("timeline", "kernels", "analyses"):
        content = json.dumps(page_at(app, f"/{page}", "?graph=train.py:layers%230"))
        assert "expected 10 columns, found 2" in content


def test_a_search_finds_the_nodes_that_an_analysis_marks(app: dash.Dash, store: Store) -> None:
    marks = store.result("run", LAYERS, "", "critical_path").node_marks
    assert store.find("run", LAYERS, "", "marks:critical_path") == sorted(marks)
    assert store.find("run", LAYERS, "", "marks:nope") == []
    query = {"page": "graph", "recording": "run", "graph": LAYERS, "search": "marks:critical_path"}
    answer = call(app, "matches.data", {"query.data": query})
    assert answer["matches"]["data"]["indices"] == sorted(marks)
    content = json.dumps(page_at(app, "/analyses", "?graph=train.py:layers%230&view=critical_path"))
    assert "search=marks:critical_path" in content


def test_analyses_of_a_large_graph_come_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Store([("run", synthetic.typical())])
    key = next(iter(store.get("").recording.graphs))
    context = Context(store, ViewState("analyses", "run", key, view="what_if"))
    some, left = analyses_page.results(context, 0.0)
    assert list(some) == ["what_if"], "the one that is asked for comes first"
    assert left > 10
    monkeypatch.setattr(analyses_page, "PATIENCE_S", 0.0)
    shown = str(analyses_page.layout(context))
    assert f"{left} analyses to come" in shown
    assert "disabled=False" in shown
    monkeypatch.setattr(analyses_page, "PATIENCE_S", 600.0)
    whole = str(analyses_page.layout(context))
    assert "to come" not in whole
    assert "disabled=True" in whole
