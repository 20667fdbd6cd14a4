"""The timeline and the colourings, by their data."""

from __future__ import annotations

import numpy as np
import pytest

from capture.model import Event
from capture.nodes import node_types
from graphviz_app.figures import timeline
from graphviz_app.figures.colourings import PALETTE, by_kernel, by_lane, by_type
from graphviz_app.naming import CATEGORY_COLOURS, type_colour
from tests.helpers import synthetic


def replay(start_ns: int, duration_ns: int, count: int = 1, graph: str = "g") -> Event:
    return Event(
        kind="replay", start_ns=start_ns, duration_ns=duration_ns, count=count, graph=graph
    )


def test_events_that_a_screen_cannot_tell_apart_are_one_bar_with_their_number() -> None:
    events = [replay(i, 1) for i in range(1000)] + [replay(10_000_000, 5, count=7)]
    (bars,) = timeline.bars(events, {})
    assert bars.events.tolist() == [1000, 1]
    assert bars.total.tolist() == [1000, 7]
    assert bars.start_ns.tolist() == [0, 10_000_000]
    assert bars.stop_ns.tolist() == [1000, 10_000_005]
    assert bars.busy_ns.tolist() == [1000, 5]


def test_a_long_event_swallows_those_inside_it() -> None:
    events = [replay(0, 1_000_000), replay(10, 5), replay(900_000, 5), replay(5_000_000, 1)]
    (bars,) = timeline.bars(events, {})
    assert bars.events.tolist() == [3, 1]
    assert bars.stop_ns.tolist() == [1_000_000, 5_000_001]


def test_a_hundred_thousand_events_stay_few_bars() -> None:
    events = [replay(i * 1000, 500, graph=f"g{i % 3}") for i in range(100_000)]
    figure = timeline.figure(events, {})
    assert sum(len(trace["base"]) for trace in figure["data"]) <= 3 * timeline.TICKS


def test_lanes_are_graphs_while_there_are_few_and_kinds_when_there_are_many() -> None:
    few = [replay(0, 1, graph=f"g{i}") for i in range(timeline.GRAPH_LANES)]
    assert {bars.lane for bars in timeline.bars(few, {})} == {event.graph for event in few}
    many = [replay(0, 1, graph=f"g{i}") for i in range(timeline.GRAPH_LANES + 1)]
    assert {bars.lane for bars in timeline.bars(many, {})} == {"replay"}


def test_graphs_of_one_name_keep_their_own_lanes() -> None:
    run = synthetic.recording({"a": synthetic.chain(2), "b": synthetic.chain(2)}, failed=False)
    for info in run.graphs.values():
        info.name = "same"
    lanes = timeline.lane_of(run.timeline, run.graphs)
    assert sorted(lanes.values()) == ["same", "same (2)"]


def test_bars_lie_inside_the_axis_and_short_ones_can_be_seen() -> None:
    figure = timeline.figure([replay(0, 10**9), replay(3 * 10**9, 1)], {})
    first, last = figure["layout"]["xaxis"]["range"]
    assert first < 0 < 3 < last
    assert figure["data"][0]["x"][1] > 0.001
    assert "(s)" in figure["layout"]["xaxis"]["title"]["text"]


def test_names_with_markup_are_escaped_in_hover_texts() -> None:
    (trace,) = timeline.figure([replay(0, 1, graph="<b>x</b>")], {})["data"]
    assert trace["hovertext"][0].startswith("&lt;b&gt;")


def test_an_unknown_kind_of_event_is_drawn() -> None:
    figure = timeline.figure([Event(kind="teleport", start_ns=0, duration_ns=5)], {})
    assert figure["data"][0]["name"] == "teleport"


def test_the_legend_counts_replays_one_by_one() -> None:
    found = timeline.legend([replay(0, 1, count=40), replay(5, 1, count=2)])
    assert [(name, count) for name, _, count in found] == [("replay", 42)]


def test_types_have_colours_of_their_own_that_keep_to_their_category() -> None:
    colours = {name: type_colour(name) for name in node_types()}
    assert len(set(colours.values())) == len(colours)
    assert colours["kernel"] == CATEGORY_COLOURS[node_types()["kernel"].category] == "#0072B2"


@pytest.mark.parametrize("count", [0, 1, 500])
def test_every_colouring_covers_every_node(count: int) -> None:
    graph = synthetic.chain(count) if count else synthetic.chain(1)
    labels = [f"k{i % 40}" for i in range(len(graph))]
    for colouring in (
        by_type(graph.topology.types),
        by_kernel(graph.topology.types, labels),
        by_lane(np.arange(len(graph)) % 30),
    ):
        counts = np.bincount(colouring.index, minlength=len(colouring.legend))
        assert [entry.count for entry in colouring.legend] == counts.tolist()
        assert all(entry.count for entry in colouring.legend)


def test_kernels_past_the_palette_share_a_colour() -> None:
    labels = [f"k{i}" for i in range(40)] + ["copy"]
    colouring = by_kernel(["kernel"] * 40 + ["memcpy"], labels)
    names = [entry.name for entry in colouring.legend]
    assert names[-2:] == [f"{40 - len(PALETTE)} other kernels", "not a kernel"]
    assert colouring.legend[-1].count == 1
