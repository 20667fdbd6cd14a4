"""Activity records become node timings."""

from __future__ import annotations

from capture.model import Body, Graph, Topology
from capture.recorder.cupti_records import CONCURRENT_KERNEL, Record
from capture.recorder.node_times import busy_ns, percentile_95, split_replays, timings
from capture.recorder.timeline import ExecutableState
from capture.recorder.trace_plan import Plan


def record(node: int, start: int, end: int, launch: int = 1, stream: int = 7) -> Record:
    return Record(CONCURRENT_KERNEL, start, end, stream, launch, node)


def diamond() -> Graph:
    return Graph(
        topology=Topology(
            types=["kernel", "kernel", "empty", "kernel"],
            source=[0, 0, 1, 2],
            target=[1, 2, 3, 3],
        ),
        payloads=[None] * 4,
    )


def test_replays_are_told_apart_by_their_launch() -> None:
    records = [record(1, 50, 60, launch=2), record(0, 1, 2), record(1, 3, 4), record(0, 45, 49, 2)]
    first, second = split_replays(records)
    assert [item.node_id for item in first] == [0, 1]
    assert [item.start_ns for item in second] == [45, 50]


def test_busy_time_counts_overlaps_once() -> None:
    assert busy_ns([record(0, 0, 10), record(1, 5, 8), record(2, 9, 12), record(3, 20, 21)]) == 13


def test_percentile_is_a_value_that_occurred() -> None:
    assert percentile_95([5]) == 5
    assert percentile_95(list(range(1, 21))) == 19
    assert percentile_95(list(range(1, 101))) == 95


def test_rows_of_a_diamond() -> None:
    paths = {100: "0", 101: "1", 103: "3"}
    replays = split_replays(
        [
            *(record(100, 0, 10, 1), record(101, 12, 20, 1), record(103, 25, 30, 1)),
            *(record(100, 100, 112, 2), record(101, 115, 119, 2), record(103, 125, 131, 2)),
            *(record(100, 200, 211, 3), record(101, 213, 219, 3), record(103, 226, 231, 3)),
        ]
    )
    found = timings("e", diamond(), "g", replays, paths)
    assert found.node == ["0", "1", "3"]
    assert found.count == [3, 3, 3]
    assert found.minimum_ns == [10, 4, 5]
    assert found.median_ns == [11, 6, 5]
    assert found.makespan_ns == [30, 31, 31]
    assert found.busy_ns == [23, 22, 22]
    # The sample is a replay whose makespan is the median.
    assert found.sample_start_ns == [0, 15, 25]
    # Medians; node 3 waits for 1, and through the empty node 2 for node 0.
    assert found.gap_ns == [0, 2, 6]


def test_a_node_that_became_two_has_two_rows() -> None:
    replays = split_replays([record(5, 0, 4), record(6, 6, 9)])
    found = timings("e", Graph(topology=Topology(types=["memcpy"]), payloads=[None]), "g", replays,
                    {5: "0", 6: "0"})  # fmt: skip
    assert found.node == ["0", "0"]


def test_a_node_in_a_loop_tells_its_first_run_and_its_last_end() -> None:
    body = Graph(topology=Topology(types=["kernel"]), payloads=[None])
    graph = Graph(
        topology=Topology(types=["conditional"]),
        payloads=[None],
        bodies=[Body(node=0, index=0, role="while", graph=body)],
    )
    replays = split_replays([record(9, 0, 4), record(9, 6, 9), record(9, 10, 12)])
    found = timings("e", graph, "g", replays, {9: "0/0/0"})
    assert (found.node, found.count) == (["0/0/0"], [3])
    assert (found.sample_start_ns, found.sample_duration_ns) == ([0], [4])
    assert (found.sample_runs, found.sample_end_ns) == ([3], [12])
    assert found.gap_ns == [-1]


def test_what_follows_a_body_waits_for_its_last_node() -> None:
    body = Graph(topology=Topology(types=["kernel"]), payloads=[None])
    graph = Graph(
        topology=Topology(types=["child_graph", "kernel"], source=[0], target=[1]),
        payloads=[None, None],
        bodies=[Body(node=0, index=0, role="child", graph=body)],
    )
    replays = split_replays([record(8, 0, 90), record(9, 93, 99)])
    found = timings("e", graph, "g", replays, {8: "0/0/0", 9: "1"})
    assert (found.node, found.gap_ns) == (["0/0/0", "1"], [-1, 3])
    assert (found.sample_runs, found.sample_end_ns) == ([], [])


def test_gaps_are_medians_over_replays() -> None:
    graph = Graph(topology=Topology(types=["kernel"] * 2, source=[0], target=[1]), payloads=[])
    replays = split_replays(
        part
        for launch, gap in enumerate((1, 50, 7), start=1)
        for part in (record(1, 0, 10, launch), record(2, 10 + gap, 20 + gap, launch))
    )
    assert timings("e", graph, "g", replays, {1: "0", 2: "1"}).gap_ns == [0, 7]


def test_a_row_that_the_sample_replay_did_not_run_has_no_start_in_it() -> None:
    graph = Graph(topology=Topology(types=["kernel"] * 2), payloads=[])
    replays = split_replays([record(1, 0, 10, 1), record(1, 100, 110, 2), record(2, 111, 140, 2)])
    found = timings("e", graph, "g", replays, {1: "0", 2: "1"})
    assert (found.sample_start_ns, found.sample_duration_ns) == ([0, -1], [10, -1])


def test_without_a_replay_there_are_no_rows() -> None:
    found = timings("e", diamond(), "g", [], {})
    assert (found.node, found.makespan_ns) == ([], [])


def test_traced_and_untraced_replays_take_turns() -> None:
    plan = Plan(ExecutableState(1, 1), diamond(), {}, 20)
    turns = ""
    while not plan.done:
        if plan.trace_next:
            plan.traced += 1
            turns += "T"
        else:
            plan.untraced += 1
            turns += "-"
    assert turns == "TTT---TTTTT-----TTTTTTTTTTTT------------"


def test_records_without_correlation_belong_to_the_replay_that_they_started_in() -> None:
    """Bodies of conditionals are launched by the device."""

    def record(start: int, correlation: int, node: int) -> Record:
        return Record(10, start, start + 5, 7, correlation, node)

    records = [record(110, 0, 3), record(10, 0, 3), record(0, 4, 1), record(100, 5, 1)]
    records += [record(20, 4, 2), record(120, 5, 2)]
    first, second = split_replays(records)
    assert [item.start_ns for item in first] == [0, 10, 20]
    assert [item.start_ns for item in second] == [100, 110, 120]
    # Nobody knows which replay a record is of that started before any launch was seen.
    assert split_replays([record(10, 0, 3)]) == []
