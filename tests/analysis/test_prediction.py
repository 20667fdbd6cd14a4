"""Predicted replays: durations, edges and two constants; nothing of the graph's own gaps."""

from __future__ import annotations

import pytest
from hypothesis import given

from capture.analysis import run_analysis
from capture.analysis.gains import gains_if_free
from capture.analysis.prediction import (
    GAP_NS,
    LAUNCH_NS,
    predict_makespan,
    predict_replay,
    spaced,
)
from capture.analysis.schedule import schedule
from capture.analysis.what_if import predict_without
from capture.benchmarks import Benchmark, NodeCosts, Removal
from tests.analysis.graphs import dags, earliest_starts, subject_of

Dag = tuple[int, list[tuple[int, int]], list[int]]
CHAIN = [(0, 1), (1, 2)]


def test_a_gap_for_every_dependency_and_a_launch() -> None:
    subject = subject_of(3, CHAIN, [100, 50, 30])
    assert predict_makespan(subject, gap_ns=7) == 180 + 2 * 7
    assert predict_makespan(subject) == 180 + 2 * GAP_NS
    assert predict_replay(subject) == 180 + 2 * GAP_NS + LAUNCH_NS
    # The gap of a free node stays.
    assert predict_makespan(subject, [1], gap_ns=7) == 130 + 2 * 7


def test_what_was_not_timed_has_no_gap() -> None:
    subject = subject_of(3, CHAIN, [100, 30], nodes=["0", "2"])
    assert subject.durations == [100, None, 30]
    assert predict_makespan(subject, gap_ns=7) == 130 + 7


@given(dags())
def test_it_is_the_longest_path_with_gaps(dag: Dag) -> None:
    count, edges, durations = dag
    if not count:
        return
    starts = earliest_starts(count, edges, durations, gap=5)
    ends = [start + duration for start, duration in zip(starts, durations, strict=True)]
    assert predict_makespan(subject_of(count, edges, durations), gap_ns=5) == max(ends)


@given(dags())
def test_gains_with_gaps_are_those_of_making_each_node_free(dag: Dag) -> None:
    count, edges, durations = dag
    subject = subject_of(count, edges, durations)
    assert subject.edges is not None
    apart = spaced(subject.edges, durations, [True] * count, 5)
    gains = gains_if_free(subject.edges, apart, schedule(subject.edges, apart), durations)
    for node in range(count):
        whole = predict_makespan(subject, gap_ns=5)
        assert gains.get(node, 0) == whole - predict_makespan(subject, [node], gap_ns=5)


def test_critical_path_sets_it_beside_an_untraced_replay() -> None:
    subject = subject_of(3, CHAIN, [1000, 500, 300], untraced_replay_ns=[9000, 9260, 9500])
    figures = run_analysis("critical_path", subject).figures
    assert figures["predicted_replay"].value == 1800 + 2 * GAP_NS + LAUNCH_NS
    assert figures["predicted_replay_over_untraced"].value == pytest.approx(
        (1800 + 2 * GAP_NS + LAUNCH_NS) / 9260
    )


def measured() -> Benchmark:
    return Benchmark(
        graph="g",
        nodes=NodeCosts(
            node=["0", "1", "2"],
            isolated_ns=[990, 510, 320],
            marginal_ns=[800, 30, -1],
            spread_ns=40,
            reasons={"2": "it cannot be disabled"},
        ),
        removals=[
            Removal(asked="node:1,2", nodes=["1", "2"], with_ns=[9000] * 4, without_ns=[8400] * 4),
            Removal(asked="type:memset", reason="refused"),
        ],
    )


def test_what_if_shows_what_was_measured_beside_what_is_predicted() -> None:
    subject = subject_of(3, CHAIN, [1000, 500, 300])
    subject.benchmark = measured()
    result = run_analysis("what_if", subject)
    assert [column.name for column in result.columns[-2:]] == [
        "measured gain",
        "predicted over measured",
    ]
    rows = {row[0]: row[-2:] for row in result.rows}
    assert rows["0"] == (800, 1000 / 800)
    assert rows["1"] == (30, None), "within twice the spread there is no ratio"
    assert rows["2"] == (None, None)
    both = run_analysis("what_if", subject, nodes=[2, 1])
    assert both.figures["gain"].value == 800
    assert both.figures["measured_gain"].value == 600
    assert both.figures["predicted_over_measured"].value == pytest.approx(800 / 600)
    assert "Measured by leaving them out: 600 ns" in both.text(both.summary)
    alone = run_analysis("what_if", subject, nodes=[1])
    assert "no gain beyond the noise (30 ns" in alone.text(alone.summary)
    assert "measured_gain" not in run_analysis("what_if", subject, nodes=[0, 1]).figures


def test_without_a_benchmark_nothing_is_said_to_be_measured() -> None:
    result = run_analysis("what_if", subject_of(3, CHAIN, [1000, 500, 300]))
    assert len(result.columns) == 5
    assert predict_without(subject_of(3, CHAIN, [10, 5, 3]), [1], gap_ns=0) == 13
