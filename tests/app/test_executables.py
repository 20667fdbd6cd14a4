"""Several executables of one graph, their own nodes, and dependencies on the timeline."""

from __future__ import annotations

import json
from typing import Any

import dash
import pytest

from capture.analysis import Subject
from capture.model import Executable, Graph, Recording, Topology
from capture.timings import Timings
from graphviz_app import measurements
from graphviz_app.app import create_app
from graphviz_app.figures.replay import arrows_of, bars_of, encode_replay
from graphviz_app.ids import KernelsPage, Shell
from graphviz_app.state import from_url, stored, to_url
from graphviz_app.store import Store
from graphviz_app.timing_facts import added_per_node, caution
from tests.helpers import synthetic

from .test_app import call, details_at, page_at

LAYERS = "train.py:layers#0"
QUERY = "recording=two&graph=train.py:layers%230"


def twice_instantiated() -> Recording:
    """Return a synthetic graph with two timed executables; the second takes twice as long."""
    first = synthetic.recording({"layers": synthetic.layers(4)}, failed=False, timed=["layers"])
    graph = first.graph(LAYERS)
    slow = synthetic.synthetic_timings(graph, LAYERS, "slow", replays=3)
    slow.median_ns = [2 * value for value in slow.median_ns]
    one = first.timings("0")
    assert one is not None
    return Recording(
        first.metadata,
        list(first.graphs.values()),
        executables=[*first.executables, Executable(id="slow", graph=LAYERS, replays=44)],
        timings={"0": one, "slow": slow},
        loaded={LAYERS: graph},
    )


@pytest.fixture(scope="module")
def store() -> Store:
    return Store([("two.cgl", twice_instantiated()), ("one.cgl", synthetic.typical())])


@pytest.fixture(scope="module")
def app(store: Store) -> dash.Dash:
    return create_app(store)


def shown(app: dash.Dash, page: str, query: str) -> str:
    return json.dumps(page_at(app, f"/{page}", f"?{query}")[Shell.CONTENT]["children"])


@pytest.mark.parametrize("page", ["timeline", "kernels", "graph", "whatif"])
def test_a_choice_appears_where_a_graph_has_several(app: dash.Dash, page: str) -> None:
    assert "executable slow, 44 replays" in shown(app, page, QUERY)
    alone = "recording=one&graph=train.py:layers%230"
    assert '"data-choose": "executable"' not in shown(app, page, alone)


def test_everything_follows_the_choice(app: dash.Dash, store: Store) -> None:
    first, slow = store.subject("two", LAYERS), store.subject("two", LAYERS, "", "slow")
    assert [2 * (value or 0) for value in first.durations] == [
        value or 0 for value in slow.durations
    ]
    times = [store.picture("two", LAYERS, "", name).times for name in ("", "slow")]
    assert times[0] is not None
    assert times[1] is not None
    assert times[1].duration_ns[1] == 2 * times[0].duration_ns[1]
    focus = {"page": "graph", "recording": "two", "graph": LAYERS, "body": "", "node": 1}
    assert "3 \\u00b5s" in details_at(app, **focus)
    assert "6 \\u00b5s" in details_at(app, **focus, executable="slow")
    answer = call(
        app,
        f"{KernelsPage.NODES}.getRowsResponse",
        {
            f"{KernelsPage.NODES}.getRowsRequest": {"startRow": 0, "endRow": 1},
            f"{Shell.PLACE}.data": {"recording": "two", "graph": LAYERS, "executable": "slow"},
        },
    )
    (row,) = answer[KernelsPage.NODES]["getRowsResponse"]["rowData"]
    assert row["median"] == "6 µs"
    client = app.server.test_client()
    bodies = [
        client.get(f"/replay/two?graph=train.py:layers%230{more}").get_json()["texts"]
        for more in ("", "&executable=slow")
    ]
    assert bodies[0] == bodies[1]  # bars show the sample replay, which was made alike
    assert "/replay/two?graph=train.py%3Alayers%230&executable=slow" in shown(
        app, "timeline", f"{QUERY}&executable=slow"
    )


def test_predictions_are_of_the_chosen_executable(store: Store) -> None:
    gains = [
        measurements.prediction(
            store, "two", LAYERS, store.subject("two", LAYERS, "", name), "all", name
        ).predicted_ns
        for name in ("", "slow")
    ]
    first, slow = gains
    assert first is not None
    assert slow == pytest.approx(2 * first, rel=0.02)  # gaps stay what they are


def test_an_executable_that_is_not_the_graphs_shows_the_usual_one(store: Store) -> None:
    assert store.subject("two", LAYERS, "", "nope").durations == (
        store.subject("two", LAYERS).durations
    )


def test_the_choice_is_in_the_address() -> None:
    state = from_url("/timeline", "?recording=two&graph=g&executable=slow")
    assert state.executable == "slow"
    assert "executable=slow" in to_url(state)
    assert state.at_graph("other").executable == ""
    assert stored({"page": "kernels", "executable": "slow"}).executable == "slow"


def fork(rows: list[tuple[str, int, int]]) -> tuple[Subject, Timings]:
    """Return a fork of 0 to 1 and 2, joined in 3, with rows of (node, start, duration)."""
    graph = Graph(
        topology=Topology(types=["kernel"] * 4, source=[0, 0, 1, 2], target=[1, 2, 3, 3]),
        payloads=[None] * 4,
    )
    timings = Timings(
        executable="0",
        graph="g",
        node=[name for name, _, _ in rows],
        median_ns=[length for _, _, length in rows],
        start_ns=[start for _, start, _ in rows],
        stream=[7] * len(rows),
        sample_start_ns=[start for _, start, _ in rows],
        sample_duration_ns=[length for _, _, length in rows],
        makespan_ns=[100],
        busy_ns=[90],
    )
    return Subject(graph, timings=timings), timings


def arrows(subject: Subject) -> set[tuple[str, int, str, int]]:
    """Return dependencies as paths and starts of their ends."""
    assert subject.timings is not None
    bars = bars_of(subject)
    names = [subject.timings.node[row] for row in bars.row]
    return {
        (names[a], bars.start_ns[a], names[b], bars.start_ns[b])
        for a, b in zip(*arrows_of(subject, bars), strict=True)
    }


def test_every_edge_between_nodes_that_ran_is_an_arrow() -> None:
    subject, _ = fork([("0", 0, 10), ("1", 10, 5), ("2", 12, 9), ("3", 30, 4)])
    assert arrows(subject) == {
        ("0", 0, "1", 10),
        ("0", 0, "2", 12),
        ("1", 10, "3", 30),
        ("2", 12, "3", 30),
    }


def test_a_node_of_several_bars_is_left_last_and_reached_first() -> None:
    subject, _ = fork([("0", 0, 10), ("1", 10, 5), ("1", 16, 9), ("3", 30, 4), ("", 40, 1)])
    assert arrows(subject) == {("0", 0, "1", 10), ("1", 16, "3", 30)}


def test_what_ran_in_a_body_stands_for_the_node_that_has_it() -> None:
    run = synthetic.recording({"bodies": synthetic.with_bodies()}, failed=False)
    (key,) = run.graphs
    timings = Timings(
        executable="0",
        graph=key,
        node=["0", "1/0/0", "1/0/1/0/2", "3"],
        median_ns=[5, 5, 5, 5],
        start_ns=[0, 10, 20, 40],
        stream=[7] * 4,
        sample_start_ns=[0, 10, 20, 40],
        sample_duration_ns=[5, 5, 5, 5],
        makespan_ns=[45],
    )
    subject = Subject(run.graph(key), timings=timings)
    found = arrows(subject)
    assert ("0", 0, "1/0/0", 10) in found
    assert ("1/0/1/0/2", 20, "3", 40) in found
    assert ("1/0/0", 10, "1/0/1/0/2", 20) in found  # kernel to while, inside the if


def test_arrows_are_in_the_document_of_the_replay() -> None:
    subject, _ = fork([("0", 0, 10), ("1", 10, 5), ("2", 12, 9), ("3", 30, 4)])
    document = json.loads(encode_replay(subject, []))
    assert sorted(zip(document["from"], document["to"], strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 3),
        (2, 3),
    ]


def test_nodes_that_only_the_executable_has_are_listed(app: dash.Dash) -> None:
    made = synthetic.recording({"layers": synthetic.layers(1)}, failed=False)
    graph = made.graph(LAYERS)
    timings = synthetic.synthetic_timings(graph, LAYERS, "0")
    copy = timings.node.index("5")
    columns: dict[str, Any] = {}
    for name in ("count", "minimum_ns", "median_ns", "p95_ns", "start_ns", "gap_ns", "stream"):
        columns[name] = getattr(timings, name)
    for name in (*columns, "sample_start_ns", "sample_duration_ns"):
        values = getattr(timings, name)
        values += [values[copy], values[copy]]
    timings.node += ["5", ""]
    run = Recording(
        made.metadata,
        list(made.graphs.values()),
        executables=made.executables,
        timings={"0": timings},
        loaded={LAYERS: graph},
    )
    content = shown(create_app(Store([("r.cgl", run)])), "timeline", "graph=train.py:layers%230")
    assert content.count("one of 2 that this captured node became") == 2
    assert "of no captured node" in content
    plain = shown(app, "timeline", QUERY)
    assert "of no captured node" not in plain


def test_what_tracing_added_a_node_stands_where_it_stretched() -> None:
    timings = Timings(
        executable="0",
        graph="g",
        node=["0", "1"],
        traced_replay_ns=[3_000],
        untraced_replay_ns=[2_000],
    )
    assert added_per_node(timings) == 500
    assert "(about 500 ns a node)" in caution(timings, 2)
    assert "nothing is corrected" in caution(timings, 2)
    timings.traced_replay_ns = [2_010]
    assert "a node" not in caution(timings, 2)
