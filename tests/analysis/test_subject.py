"""Timings joined to positions: partial, doubled, in bodies, in loops, broken. Synthetic data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.analysis import Subject, run_analysis
from capture.analysis.joined import join_rows
from capture.model import Evidence, EvidenceKind, GraphInfo
from capture.timings import Timings
from tests.analysis.graphs import graph_of, subject_of, timings_of, with_loop


def test_rows_in_any_order_join_by_path() -> None:
    timings = timings_of([30, 10, 20], [60, 0, 40], nodes=["2", "0", "1"])
    subject = Subject(graph_of(3, [(0, 1), (1, 2)]), timings=timings)
    assert subject.durations == [10, 20, 30]
    assert subject.starts == [0, 40, 60]
    assert subject.ends == [10, 60, 90]
    assert [(item.start_ns, item.position) for item in subject.intervals] == [
        (0, 0),
        (40, 1),
        (60, 2),
    ]


def test_partly_timed_nodes_stay_unknown() -> None:
    timings = timings_of([10, 20], [0, 40], nodes=["0", "2"])
    subject = Subject(graph_of(3, [(0, 1), (1, 2)]), timings=timings)
    assert subject.durations == [10, None, 20]
    assert subject.starts == [0, -1, 40]
    assert subject.rows_of(1) == []


def test_a_memcpy_that_became_two_takes_from_first_start_to_last_end() -> None:
    timings = timings_of([10, 20, 20], [0, 12, 30], nodes=["0", "1", "1"])
    subject = Subject(graph_of(2, [(0, 1)], types=["kernel", "memcpy"]), timings=timings)
    assert subject.durations == [10, 38]
    assert len(subject.intervals) == 3
    assert subject.rows_of(1) == [1, 2]
    without = Subject(subject.graph, timings=timings_of([10, 20, 20], nodes=["0", "1", "1"]))
    assert without.durations == [10, 40]


def test_a_loop_takes_from_its_first_start_to_its_last_end() -> None:
    timings = timings_of(
        [10, 5, 5, 10],
        [0, 12, 18, 60],
        nodes=["0", "1/0/0", "1/0/1", "2"],
        sample_runs=[1, 3, 3, 1],
        sample_end_ns=[10, 50, 55, 70],
        count=[1, 3, 3, 1],
        makespan_ns=[70],
    )
    subject = Subject(with_loop(), timings=timings)
    assert subject.durations == [10, 43, 10]
    # The loop is one interval, or its two kernels would seem to run at the same time.
    assert [(item.start_ns, item.end_ns) for item in subject.intervals] == [
        (0, 10),
        (12, 55),
        (60, 70),
    ]
    inside = Subject(with_loop().at("1/0"), timings=timings, path="1/0")
    assert inside.durations == [5, 5]
    assert inside.node_path(1) == "1/0/1"
    assert inside.untraced_ns is None
    assert inside.describe(inside.intervals[0]) == ("1/0/0", "step")


def test_a_loop_of_which_only_the_first_run_is_known_says_so() -> None:
    timings = timings_of(
        [10, 5, 5, 10],
        [0, 12, 18, 60],
        nodes=["0", "1/0/0", "1/0/1", "2"],
        count=[1, 3, 3, 1],
    )
    result = run_analysis("critical_path", Subject(with_loop(), timings=timings))
    assert any("first run" in note for note in result.notes)


def test_a_body_that_did_not_run_in_the_sample_has_no_start() -> None:
    timings = timings_of([10, 5, 5, 10], [0, -1, -1, 12], nodes=["0", "1/0/0", "1/0/1", "2"])
    subject = Subject(with_loop(), timings=timings)
    assert subject.starts == [0, -1, 12]
    assert subject.durations == [10, 10, 10]
    assert len(subject.intervals) == 2


def test_nodes_of_the_executable_only_count_as_running() -> None:
    timings = timings_of([10, 20], [0, 15], nodes=["0", ""])
    subject = Subject(graph_of(1, []), timings=timings)
    assert [item.position for item in subject.intervals] == [0, -1]
    assert subject.describe(subject.intervals[1]) == ("", "node of the executable only")
    result = run_analysis("idle_gaps", subject)
    assert result.figures["idle"].value == 5


def test_starts_fall_back_to_medians_and_say_so() -> None:
    timings = timings_of([10, 20], start_ns=[0, 15])
    subject = Subject(graph_of(2, [(0, 1)]), timings=timings)
    assert subject.starts_from == "medians"
    assert subject.makespan_ns == 35
    assert any("medians" in note for note in run_analysis("idle_gaps", subject).notes)


def test_columns_of_another_length_are_not_used() -> None:
    timings = timings_of([10, 20], [0, 15], stream=[7])
    timings.sample_start_ns.pop()
    subject = Subject(graph_of(2, [(0, 1)]), timings=timings)
    assert subject.column("stream") == []
    assert subject.starts == [-1, -1]
    assert subject.durations == [10, 20]


@given(st.lists(st.one_of(st.text("0123456789/-x²", max_size=12), st.integers(0, 4).map(str))))
def test_broken_paths_join_nothing_and_fail_nowhere(names: list[str]) -> None:
    joined = join_rows(with_loop(), names)
    used = [row for row in joined.first if row >= 0] + joined.apart
    used += [row for rows in joined.several.values() for row in rows[1:]]
    assert sorted(used) == list(range(len(names)))
    for position, row in enumerate(joined.first):
        assert row < 0 or int(names[row].partition("/")[0]) == position


@pytest.mark.parametrize("duplicate", [False, True])
def test_the_short_cut_joins_as_the_long_way(duplicate: bool) -> None:
    graph = graph_of(4, [])
    names = ["3", "1", "0", *(["1"] if duplicate else [])]
    inside = graph_of(6, [])
    long = join_rows(graph, [f"5/0/{name}" for name in names], "5/0")
    short = join_rows(graph, names)
    assert short[:3] == long[:3]
    assert join_rows(inside, names).first[:4] == short.first


def test_why_there_are_no_timings_is_passed_on() -> None:
    info = GraphInfo(
        key="a",
        name="a",
        evidence={"timings": Evidence(present=False, reason="CUPTI is held by another tool")},
    )
    subject = Subject(graph_of(1, []), info)
    assert subject.lacks(EvidenceKind.TIMINGS) == "CUPTI is held by another tool"
    assert run_analysis("critical_path", subject).absent_reason == "CUPTI is held by another tool"
    never = Timings(executable="0", graph="a", missing={"0": "the graph was never replayed"})
    subject = Subject(graph_of(1, []), info, timings=never)
    assert "never replayed" in subject.lacks(EvidenceKind.TIMINGS)
    assert "cglens record" in subject_of(1, []).lacks(EvidenceKind.TIMINGS)


def test_caveats_name_coverage_cost_and_losses() -> None:
    timings = timings_of(
        [10],
        [0],
        nodes=["0"],
        missing={"1": "empty nodes do not run"},
        dropped_records=3,
        joined_by="order",
        untraced_replay_ns=[100, 100],
        traced_replay_ns=[140],
    )
    result = run_analysis("critical_path", Subject(graph_of(2, [(0, 1)]), timings=timings))
    text = "\n".join(result.text(note) for note in result.notes)
    assert "1 of 2 nodes are timed" in text
    assert "empty nodes do not run" in text
    assert "to 1.4 times" in text
    assert "by their order only" in text
    assert "lost 3 records" in text
    assert "An untraced replay took 100 ns" in text


def test_neighbours_are_listed_in_the_order_of_the_edges() -> None:
    subject = subject_of(4, [(2, 3), (0, 3), (0, 1)])
    assert subject.predecessors == [[], [0], [], [2, 0]]
    assert subject.successors == [[3, 1], [], [3], []]
