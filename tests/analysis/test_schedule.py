"""Longest paths, slack, gains and gaps, against brute force and networkx, on synthetic graphs."""

from __future__ import annotations

import itertools

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.analysis import Subject, run_analysis
from capture.analysis.gains import gains_if_free
from capture.analysis.gaps import learn_gaps
from capture.analysis.order import levels
from capture.analysis.schedule import path_to_last, schedule, slack
from capture.analysis.what_if import predict_without
from capture.errors import LookupFailed
from tests.analysis.graphs import (
    dags,
    earliest_starts,
    graph_of,
    longest,
    subject_of,
    timings_of,
)

Dag = tuple[int, list[tuple[int, int]], list[int]]


@given(dags())
def test_longest_path_is_that_of_brute_force(dag: Dag) -> None:
    count, edges, durations = dag
    subject = subject_of(count, edges, durations)
    assert subject.edges is not None
    found = schedule(subject.edges, durations)
    path = path_to_last(found)
    assert found.length == longest(count, edges, durations)
    assert sum(durations[node] for node in path) == found.length
    assert found.start == earliest_starts(count, edges, durations)
    assert all(pair in edges for pair in itertools.pairwise(path))
    if path:
        assert path[0] not in {target for _, target in edges}
        assert path[-1] not in {source for source, _ in edges}


@given(dags())
def test_slack_is_what_a_node_can_grow_by(dag: Dag) -> None:
    count, edges, durations = dag
    subject = subject_of(count, edges, durations)
    assert subject.edges is not None
    found = schedule(subject.edges, durations)
    for node, spare in enumerate(slack(subject.edges, durations, found)):
        for more, expected in ((spare, found.length), (spare + 1, found.length + 1)):
            grown = [*durations]
            grown[node] += more
            assert longest(count, edges, grown) == expected


@given(dags())
def test_gains_are_those_of_making_each_node_free(dag: Dag) -> None:
    count, edges, durations = dag
    subject = subject_of(count, edges, durations)
    assert subject.edges is not None
    whole = longest(count, edges, durations)
    gains = gains_if_free(subject.edges, durations, schedule(subject.edges, durations))
    for node in range(count):
        free = [*durations]
        free[node] = 0
        assert whole - longest(count, edges, free) == gains.get(node, 0)
        assert predict_without(subject, [node], gap_ns=0) == longest(count, edges, free)


@given(st.lists(st.tuples(st.integers(0, 29), st.integers(2, 29), st.integers(0, 9)), max_size=20))
def test_gains_on_a_chain_with_ways_around_it(ways: list[tuple[int, int, int]]) -> None:
    # A chain of 30, and nodes beside it that start after one of its nodes and end before another.
    edges = [(node, node + 1) for node in range(29)]
    durations = [3] * 30
    for start, length, duration in ways:
        if start + length < 30:
            edges += [(start, len(durations)), (len(durations), start + length)]
            durations.append(duration * length)
    subject = subject_of(len(durations), edges, durations)
    assert subject.edges is not None
    whole = predict_without(subject, [], gap_ns=0)
    gains = gains_if_free(subject.edges, durations, schedule(subject.edges, durations))
    for node in range(len(durations)):
        assert gains.get(node, 0) == whole - predict_without(subject, [node], gap_ns=0)


@given(dags(largest=40))
def test_longest_path_is_that_of_networkx(dag: Dag) -> None:
    count, edges, durations = dag
    subject = subject_of(count, edges, durations)
    assert subject.edges is not None
    # An edge weighs its source's duration, and every node leads to one end.
    peer = networkx.DiGraph()
    peer.add_weighted_edges_from((source, target, durations[source]) for source, target in edges)
    peer.add_weighted_edges_from((node, "end", durations[node]) for node in range(count))
    expected = networkx.dag_longest_path_length(peer) if count else 0
    assert schedule(subject.edges, durations).length == expected


@given(dags(largest=40))
def test_order_of_edges_is_topological(dag: Dag) -> None:
    count, edges, _ = dag
    subject = subject_of(count, edges)
    assert subject.order is not None
    assert subject.edges is not None
    place = {node: number for number, node in enumerate(subject.order)}
    assert sorted(place) == list(range(count))
    assert all(place[source] < place[target] for source, target in edges)
    ordered = list(zip(subject.edges.source, subject.edges.target, strict=True))
    assert sorted(ordered) == sorted(edges)
    left: set[int] = set()
    for source, target in ordered:
        assert target not in left
        left.add(source)
    peer = networkx.DiGraph(edges)
    peer.add_nodes_from(range(count))
    expected = {
        node: level
        for level, nodes in enumerate(networkx.topological_generations(peer))
        for node in nodes
    }
    assert levels(count, subject.edges) == [expected[node] for node in range(count)]


@given(dags())
def test_a_schedule_with_one_gap_everywhere_is_predicted_exactly(dag: Dag) -> None:
    count, edges, durations = dag
    starts = earliest_starts(count, edges, durations, gap=3)
    subject = subject_of(count, edges, durations, starts, stream=[7] * count)
    learned = learn_gaps(subject)
    if not edges:
        assert learned is None
        return
    assert learned is not None
    assert subject.edges is not None
    assert [(item.name, item.median_ns) for item in learned.classes] == [("kernel → kernel", 3)]
    found = schedule(subject.edges, durations, learned.per_edge, learned.root_ns)
    assert found.length == subject.makespan_ns
    assert found.start == starts


def test_gaps_of_many_nodes_are_learned_from_runs_spread_over_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 1_000
    edges = [(node, node + 1) for node in range(count - 1)]
    durations = [10] * count
    # The gap is 1 in the first quarter and 3 after it, so the first nodes alone would mislead.
    starts = [11 * node if node < 250 else 2_750 + 13 * (node - 250) for node in range(count)]
    streams = [7] * 500 + [8] * 500
    subject = subject_of(count, edges, durations, starts, stream=streams)
    whole = learn_gaps(subject)
    monkeypatch.setattr("capture.analysis.gaps.MOST_NODES", 128)
    monkeypatch.setattr("capture.analysis.gaps.BLOCKS", 8)
    some = learn_gaps(subject)
    assert whole is not None
    assert some is not None
    assert sum(item.edges for item in whole.classes) == count - 1
    assert sum(item.edges for item in some.classes) == 8 * 16 - 1
    assert len(some.per_edge) == count - 1
    for found in (whole, some):
        assert {item.name: item.median_ns for item in found.classes} == {
            "kernel → kernel": 3,
            "kernel → kernel, other stream": 3,
        }


def test_gaps_tell_streams_types_and_programmatic_edges_apart() -> None:
    graph = graph_of(
        5,
        [(0, 1), (1, 2), (2, 3), (3, 4)],
        types=["kernel", "kernel", "memcpy", "kernel", "kernel"],
        edge_type=[0, 0, 0, 1],
    )
    timings = timings_of([10] * 5, [0, 11, 23, 36, 44], stream=[7, 7, 7, 8, 8])
    learned = learn_gaps(Subject(graph, timings=timings))
    assert learned is not None
    assert {item.name: item.median_ns for item in learned.classes} == {
        "kernel → kernel": 1,
        "kernel → memcpy": 2,
        "memcpy → kernel, other stream": 3,
        "kernel → kernel, programmatic": -2,
    }


def test_gaps_span_nodes_that_were_not_timed() -> None:
    graph = graph_of(4, [(0, 2), (1, 2), (2, 3)], types=["kernel", "kernel", "empty", "kernel"])
    timings = timings_of([10, 20, 10], [0, 0, 25], nodes=["0", "1", "3"])
    subject = Subject(graph, timings=timings)
    learned = learn_gaps(subject)
    assert learned is not None
    assert [(item.name, item.edges, item.median_ns) for item in learned.classes] == [
        ("empty → kernel", 1, 5)
    ]
    assert subject.edges is not None
    found = schedule(subject.edges, [10, 20, 0, 10], learned.per_edge, learned.root_ns)
    assert found.length == 35


@pytest.mark.parametrize(
    "name", ["critical_path", "what_if", "width", "missed_overlap", "small_kernel_chains"]
)
@pytest.mark.parametrize("edges", [[(0, 1), (1, 0)], [(0, 0)]])
def test_a_cycle_has_no_result_and_a_reason(name: str, edges: list[tuple[int, int]]) -> None:
    result = run_analysis(name, subject_of(2, edges, [1, 2], [0, 1]))
    assert "cycle" in result.absent_reason
    assert not result.rows


def test_predictions_say_what_is_missing() -> None:
    with pytest.raises(LookupFailed, match="timed"):
        predict_without(subject_of(2, [(0, 1)]), [0])
    with pytest.raises(LookupFailed, match="no node 9"):
        predict_without(subject_of(2, [(0, 1)], [1, 2]), [9])
    with pytest.raises(LookupFailed, match="cycle"):
        predict_without(subject_of(2, [(0, 1), (1, 0)], [1, 2]), [0])
    with pytest.raises(LookupFailed, match="gaps"):
        predict_without(subject_of(2, [(0, 1)], [1, 2]), [0], gaps=True)


def test_prediction_keeps_edges_of_free_nodes() -> None:
    subject = subject_of(3, [(0, 1), (1, 2)], [5, 7, 11], [0, 6, 14])
    assert predict_without(subject, [], gap_ns=0) == 23
    assert predict_without(subject, [1], gap_ns=0) == 16
    # The gaps (median of 1 and 1) on both sides of the free node stay.
    assert predict_without(subject, [1], gaps=True) == 18


def test_a_long_chain_needs_no_stack() -> None:
    count = 50_000
    edges = [(node, node + 1) for node in range(count - 1)]
    subject = subject_of(count, edges, [1] * count)
    result = run_analysis("critical_path", subject)
    assert result.figures["path_nodes"].value == count
    assert len(result.rows) == 1000
