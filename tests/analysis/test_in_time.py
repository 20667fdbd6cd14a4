"""What ran when: width, idle gaps, missed overlap, chains. Synthetic graphs and timings."""

from __future__ import annotations

import itertools
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.analysis import Result, Severity, Subject, run_analysis
from capture.analysis.idle_gaps import find_gaps
from capture.analysis.joined import Interval
from capture.analysis.missed_overlap import independent_pairs
from capture.analysis.small_kernel_chains import find_chains
from capture.analysis.width import width_over_time
from tests.analysis.graphs import (
    GPU,
    dags,
    earliest_starts,
    graph_of,
    kernel,
    subject_of,
    timings_of,
)

Dag = tuple[int, list[tuple[int, int]], list[int]]
INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=12)


def intervals_of(drawn: list[tuple[int, int]]) -> list[Interval]:
    return sorted(
        Interval(start, start + length, position, position)
        for position, (start, length) in enumerate(drawn)
    )


def column(result: Result, name: str) -> list[Any]:
    place = [item.name for item in result.columns].index(name)
    return [row[place] for row in result.rows]


@given(INTERVALS)
def test_width_is_what_counting_every_moment_gives(drawn: list[tuple[int, int]]) -> None:
    intervals = intervals_of(drawn)
    times, widths = width_over_time(intervals)
    assert times == sorted(set(times))
    assert all(before != after for before, after in itertools.pairwise(widths))
    for moment in range(45):
        open_ = sum(item.start_ns <= moment < item.end_ns for item in intervals)
        at = [width for time, width in zip(times, widths, strict=True) if time <= moment]
        assert (at[-1] if at else 0) == open_


@given(INTERVALS)
def test_gaps_are_the_moments_in_which_nothing_ran(drawn: list[tuple[int, int]]) -> None:
    intervals = intervals_of(drawn)
    gaps = find_gaps(intervals)
    idle = {moment for gap in gaps for moment in range(gap.before.end_ns, gap.after.start_ns)}
    first = min((item.start_ns for item in intervals), default=0)
    last = max((item.end_ns for item in intervals), default=0)
    # A node of no length splits a gap, so moments are compared and not gaps.
    assert idle == {
        moment
        for moment in range(first, last)
        if not any(item.start_ns <= moment < item.end_ns for item in intervals)
    }
    assert sum(gap.length_ns for gap in gaps) == len(idle)


def test_width_of_a_fork() -> None:
    subject = subject_of(4, [(0, 1), (0, 2), (1, 3), (2, 3)], [10, 20, 20, 10], [0, 10, 10, 30])
    result = run_analysis("width", subject)
    assert result.rows == [(1, 20, 0.5), (2, 20, 0.5)]
    assert result.figures["average"].value == 1.5
    assert result.figures["widest"].value == 2
    assert result.node_values == {0: 0, 1: 1, 2: 1, 3: 2}
    assert result.series[0].x == [0, 10, 30, 40]
    assert result.series[0].y == [1, 2, 1, 0]


def test_width_without_timings_counts_levels_and_says_so() -> None:
    result = run_analysis("width", subject_of(4, [(0, 1), (0, 2), (1, 3), (2, 3)]))
    assert result.rows == [(1, 2), (2, 1)]
    assert result.figures["widest_level"].value == 2
    assert "average" not in result.figures
    assert any("not known" in note for note in result.notes)


def test_idle_gaps_name_their_neighbours() -> None:
    subject = subject_of(4, [(0, 1), (1, 2)], [10, 10, 10, 5], [0, 14, 40, 24])
    result = run_analysis("idle_gaps", subject)
    assert column(result, "idle") == [11, 4]
    assert column(result, "node before") == ["3", "0"]
    assert column(result, "node after") == ["2", "1"]
    assert column(result, "edge between") == ["no", "yes"]
    assert result.figures["idle"].value == 15
    assert result.figures["share"].value == pytest.approx(0.3)
    assert result.severity is Severity.NOTICE
    assert result.node_values == {1: 4, 2: 11}
    short = run_analysis("idle_gaps", subject, minimum_ns=5)
    assert column(short, "idle") == [11]
    assert short.figures["idle"].value == 15


@given(dags())
def test_independent_pairs_are_those_without_a_path(dag: Dag) -> None:
    count, edges, _ = dag
    found = independent_pairs(subject_of(count, edges), list(range(count)))
    peer = networkx.transitive_closure(networkx.DiGraph(edges), reflexive=None)
    peer.add_nodes_from(range(count))
    expected = {
        (low, high)
        for high in range(count)
        for low in range(high)
        if not (peer.has_edge(low, high) or peer.has_edge(high, low))
    }
    assert set(found) == expected
    assert len(found) == len(expected)


@given(dags())
def test_whatever_runs_as_early_as_possible_misses_no_overlap_of_equal_nodes(dag: Dag) -> None:
    count, edges, _ = dag
    durations = [100] * count
    starts = earliest_starts(count, edges, durations)
    subject = subject_of(count, edges, durations, starts)
    result = run_analysis("missed_overlap", subject, minimum_ns=0, minimum_share=0)
    if result.absent_reason:
        assert count == 0
        return
    # Equal nodes on one level always overlap, so a pair that did not is of two levels.
    firsts, seconds = column(result, "node"), column(result, "other node")
    for first, second in zip(firsts, seconds, strict=True):
        assert starts[int(first)] != starts[int(second)]


def branches(shapes: tuple[int, int] = (1, 1), second_start: int = 5_000) -> Subject:
    """Return two independent kernels, by default one after the other."""
    graph = graph_of(2, [], payloads=[kernel("a", shapes[0]), kernel("b", shapes[1])])
    timings = timings_of([5_000, 4_000], [0, second_start], stream=[7, 8])
    return Subject(graph, timings=timings, gpu=GPU)


@pytest.mark.parametrize("starts", [(0, 5_000), (4_000, 0), (0, 7_000)])
def test_branches_one_after_the_other_are_a_missed_overlap(starts: tuple[int, int]) -> None:
    subject = branches()
    assert subject.timings is not None
    subject.timings.sample_start_ns = list(starts)
    result = run_analysis("missed_overlap", subject)
    assert column(result, "could overlap for") == [4_000]
    assert column(result, "same hardware stream") == ["no"]
    assert column(result, "room on the device") == ["yes"]
    assert result.node_marks == [0, 1]
    assert result.severity is Severity.NOTICE


def test_kernels_that_fill_the_device_have_no_room() -> None:
    result = run_analysis("missed_overlap", branches((400, 401)))
    assert column(result, "room on the device") == ["no"]
    assert result.node_marks == []
    assert result.severity is Severity.INFO


def test_overlapping_branches_are_not_listed() -> None:
    result = run_analysis("missed_overlap", branches(second_start=4_999))
    assert result.rows == []
    assert "overlapped" in result.summary


def test_the_bound_on_compared_nodes_is_told() -> None:
    count = 30
    starts = [5_000 * node for node in range(count)]
    subject = subject_of(count, [], [4_000 + node for node in range(count)], starts)
    result = run_analysis("missed_overlap", subject, longest=10, rows=5)
    assert len(result.rows) == 5
    assert set(result.node_marks) == set(range(20, 30))
    text = "\n".join(map(result.text, result.notes))
    assert "Compared were 10 of the 30 nodes" in text
    assert "shows 5 of 45 pairs" in text


@given(dags(largest=10))
def test_chains_are_the_maximal_single_file_runs(dag: Dag) -> None:
    count, edges, durations = dag
    subject = subject_of(count, edges, durations)
    small = {node for node in range(count) if durations[node] < 6}
    links = networkx.Graph()
    links.add_nodes_from(small)
    for source, target in edges:
        single = sum(s == source for s, _ in edges) == 1 == sum(t == target for _, t in edges)
        if single and {source, target} <= small:
            links.add_edge(source, target)
    expected = {
        frozenset(nodes) for nodes in networkx.connected_components(links) if len(nodes) > 1
    }
    chains = find_chains(subject, 6)
    assert {frozenset(chain) for chain in chains} == expected
    assert len(chains) == len(expected)
    for chain in chains:
        assert all(pair in edges for pair in itertools.pairwise(chain))


def test_a_chain_would_save_its_gaps() -> None:
    subject = subject_of(
        6,
        [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5)],
        [2_000, 1_000, 1_000, 1_000, 9_000, 1_000],
        [0, 3_000, 5_000, 7_000, 9_000, 9_000],
    )
    result = run_analysis("small_kernel_chains", subject)
    assert result.rows == [("0", "3", "kernel", 4, 5_000, 8_000, 3_000)]
    assert result.node_marks == [0, 1, 2, 3]
    assert result.figures["removed"].value == 3_000
    assert result.severity is Severity.NOTICE
    assert run_analysis("small_kernel_chains", subject, minimum_length=5).rows == []
    assert run_analysis("small_kernel_chains", subject, threshold_ns=1_001).rows == [
        ("1", "3", "kernel", 3, 3_000, 5_000, 2_000)
    ]


def test_without_starts_a_chain_has_no_estimate() -> None:
    subject = subject_of(3, [(0, 1), (1, 2)], [1_000, 1_000, 1_000])
    result = run_analysis("small_kernel_chains", subject)
    assert result.rows == [("0", "2", "kernel", 3, 3_000, None, None)]
    assert "removed" not in result.figures
    assert any("not estimated" in note for note in result.notes)
