"""What each node is: families, occupancy, bandwidth, verdicts, paths. Synthetic data."""

from __future__ import annotations

from typing import Any

import pytest

from capture.analysis import Severity, Subject, run_analysis
from capture.analysis.copy_bandwidth import device_bandwidth, move_of
from capture.analysis.launch_shape import launch_shape
from capture.model import Executable, Gpu, GraphInfo
from capture.nodes.memcpy import MemcpyPayload
from capture.nodes.memset import MemsetPayload
from tests.analysis.graphs import GPU, graph_of, kernel, subject_of, timings_of, with_loop

FAST = Gpu(index=0, name="Synthetic GPU", extra={"memory_bandwidth_bytes_per_second": 2e12})


def test_critical_path_marks_nodes_and_compares_with_what_was_measured() -> None:
    subject = subject_of(
        4,
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        [10, 30, 20, 10],
        [0, 11, 11, 43],
        untraced_replay_ns=[50],
        traced_replay_ns=[53],
    )
    result = run_analysis("critical_path", subject)
    assert result.node_marks == [0, 1, 3]
    assert result.node_values == {0: 0, 1: 0, 2: 10, 3: 0}
    assert [row[:4] for row in result.rows] == [
        ("0", "kernel", 10, 0),
        ("1", "kernel", 30, 10),
        ("3", "kernel", 10, 40),
    ]
    figures = {name: figure.value for name, figure in result.figures.items()}
    assert figures["predicted"] == 50
    assert figures["measured"] == 53
    assert figures["predicted_over_measured"] == pytest.approx(50 / 53)
    assert figures["predicted_over_untraced"] == 1
    assert figures["longest_node"] == "1"
    # Gaps of 1, 1 and 2: their median twice along the path.
    assert figures["predicted_with_gaps"] == 52
    assert (
        run_analysis("critical_path", subject, gaps=False)
        .figures.keys()
        .isdisjoint({"predicted_with_gaps"})
    )


def test_the_table_of_a_long_path_holds_its_longest_nodes_in_order() -> None:
    subject = subject_of(4, [(0, 1), (1, 2), (2, 3)], [10, 40, 20, 30])
    result = run_analysis("critical_path", subject, rows=2)
    assert [row[0] for row in result.rows] == ["1", "3"]
    assert result.node_marks == [0, 1, 2, 3]
    assert any("longest of the path" in note for note in result.notes)


def test_what_if_ranks_nodes_by_gain() -> None:
    subject = subject_of(4, [(0, 1), (0, 2), (1, 3), (2, 3)], [10, 30, 25, 8], [0, 10, 10, 40])
    result = run_analysis("what_if", subject, gap_ns=0)
    assert [(row[0], row[3]) for row in result.rows] == [("0", 10), ("3", 8), ("1", 5)]
    assert result.node_values == {0: 10, 1: 5, 2: 0, 3: 8}
    both = run_analysis("what_if", subject, nodes="1,2", gap_ns=0)
    assert both.figures["without"].value == 18
    assert both.figures["gain"].value == 30
    assert both.figures["without_with_gaps"].value == 18
    assert both.node_marks == [1, 2]


def test_families_add_up_time_over_bodies_and_runs() -> None:
    timings = timings_of(
        [10, 5, 7, 20],
        nodes=["0", "1/0/0", "1/0/1", "2"],
        count=[2, 6, 6, 2],
        makespan_ns=[100, 100],
    )
    result = run_analysis("kernel_families", Subject(with_loop(), timings=timings))
    assert [row[:2] for row in result.rows] == [
        ("test", 21),
        ("last", 20),
        ("step", 15),
        ("first", 10),
    ]
    assert sum(row[2] for row in result.rows) == pytest.approx(1)  # type: ignore[misc]
    assert result.rows[0][-1] == "1/0/1"


def test_families_fold_tiles_together_and_keep_unnamed_apart() -> None:
    payloads = [
        kernel("nvjet_sm90_hsh_64x64_64x13_2x1_v_bz_bias_TNT"),
        kernel("nvjet_sm90_hsh_128x64_64x8_2x1_v_bz_bias_TNT"),
        None,
    ]
    graph = graph_of(3, [], payloads=payloads)
    result = run_analysis("kernel_families", Subject(graph, timings=timings_of([30, 10, 20])))
    assert result.rows[0][:2] == ("nvjet_sm90_hsh_v_bz_bias_TNT", 40)
    assert result.rows[0][3:8] == (2, 2, 10, 20, 30)
    assert result.rows[1][0] == "kernel without a name"
    counts = run_analysis("kernel_families", Subject(graph))
    assert [column.name for column in counts.columns][:2] == ["family", "nodes"]
    assert counts.rows[0][1] == 2
    assert any("Only counts" in note for note in counts.notes)


@pytest.mark.parametrize(
    ("blocks", "threads", "resident", "waves", "tail", "occupancy"),
    [
        (400, 128, 4, 1.0, 0.0, 0.25),
        (401, 128, 4, 401 / 400, 399 / 800, 0.25),
        (100, 128, 4, 0.25, 0.75, 0.25),
        (1600, 33, 32, 0.5, 0.5, 1.0),
        (1000, 1024, 2, 5.0, 0.0, 1.0),
    ],
)
def test_waves_tail_and_occupancy(
    blocks: int, threads: int, resident: int, waves: float, tail: float, occupancy: float
) -> None:
    shape = launch_shape(kernel("a", blocks, threads, resident), GPU)
    assert shape is not None
    assert shape.waves == pytest.approx(waves)
    assert shape.tail == pytest.approx(tail)
    assert shape.occupancy == pytest.approx(occupancy)


def test_occupancy_groups_equal_launches_and_marks_tails() -> None:
    payloads = [kernel("a", 400), kernel("a", 400), kernel("b", 10), None]
    graph = graph_of(4, [], payloads=payloads)
    result = run_analysis("occupancy", Subject(graph, gpu=GPU))
    assert [(row[0], row[1]) for row in result.rows] == [("a", 2), ("b", 1)]
    assert result.rows[0][-1] is None
    assert result.node_marks == [2]
    assert result.node_values == {0: 1.0, 1: 1.0, 2: 0.025}
    assert any("3 of 4 kernels" in result.text(note) for note in result.notes)
    timed = run_analysis(
        "occupancy", Subject(graph, gpu=GPU, timings=timings_of([1, 2, 9], nodes=["0", "1", "2"]))
    )
    assert [(row[0], row[-1]) for row in timed.rows] == [("b", 9), ("a", 3)]
    assert "device is not known" in run_analysis("occupancy", Subject(graph)).absent_reason


def test_copies_count_their_bytes_once() -> None:
    payloads = [
        MemcpyPayload(kind="DtoD", width_bytes=1000, height=2, depth=1),
        MemcpyPayload(kind="HtoD", width_bytes=500),
        MemsetPayload(width=100, element_bytes=4, height=1),
        MemcpyPayload(),
    ]
    graph = graph_of(4, [], types=["memcpy", "memcpy", "memset", "memcpy"], payloads=payloads)
    timings = timings_of([4, 3, 10, 2, 7], [0, 5, 10, 20, 30], nodes=["0", "0", "1", "2", "3"])
    result = run_analysis("copy_bandwidth", Subject(graph, timings=timings, gpu=FAST))
    rows: dict[Any, Any] = {row[0]: row[2:] for row in result.rows}
    # Node 0 became two: from 0 to 8. Within the device its bytes are read and written.
    assert rows["0"] == (2000, 8, 2000e9 / 8, pytest.approx(2 * 2000e9 / 8 / 2e12))
    assert rows["1"] == (500, 10, 50e9, None)
    assert rows["2"] == (400, 2, 200e9, pytest.approx(0.1))
    assert "3" not in rows
    assert result.figures["size"].value == 2900
    text = "\n".join(map(result.text, result.notes))
    assert "1 of them are several nodes" in text
    assert "Of 4 memcpy and memset nodes, 3" in text


def test_bandwidth_needs_sizes_and_times() -> None:
    graph = graph_of(1, [], types=["memcpy"])
    result = run_analysis("copy_bandwidth", Subject(graph, timings=timings_of([5], [0])))
    assert "1 have no known size" in result.absent_reason
    assert move_of("kernel", None) is None
    assert device_bandwidth(None) is None
    clocked = Gpu(
        index=0, name="a", extra={"memory_clock_khz": 1_000_000, "memory_bus_width_bits": 4096}
    )
    assert device_bandwidth(clocked) == pytest.approx(1.024e12)
    odd = Gpu(index=0, name="a", extra={"memory_bandwidth_bytes_per_second": "fast"})
    assert device_bandwidth(odd) is None


@pytest.mark.parametrize(
    ("eager", "graph", "spread", "verdict"),
    [
        (2_820_000, 572_000, 10_000, "launch-bound"),
        (1_000_000, 950_000, 1_000, "device-bound"),
        (1_000_000, 950_000, 25_000, "no difference"),
        (1_000_000, 1_100_000, 1_000, "slower as a graph"),
    ],
)
def test_verdict(eager: int, graph: int, spread: int, verdict: str) -> None:
    subject = subject_of(1, [])
    result = run_analysis("launch_bound", subject, eager_ns=eager, graph_ns=graph, spread_ns=spread)
    assert result.figures["verdict"].value == verdict
    assert (result.severity is Severity.NOTICE) == (verdict == "launch-bound")
    assert "replays_to_pay" not in result.figures


def test_replays_until_the_capture_has_paid() -> None:
    subject = Subject(
        graph_of(1, []),
        GraphInfo(key="a", name="a", capture_duration_ns=9_000),
        executable=Executable(id="0", graph="a", instantiate_duration_ns=1_001),
    )
    result = run_analysis("launch_bound", subject, eager_ns=2_000, graph_ns=1_000, eager_gpu_ns=500)
    assert result.figures["replays_to_pay"].value == 11
    assert result.figures["eager_idle_share"].value == 0.75
    absent = run_analysis("launch_bound", subject, eager_ns=2_000).absent_reason
    assert "eager_ns and graph_ns" in absent
    assert (
        "above zero" in run_analysis("launch_bound", subject, eager_ns=0, graph_ns=5).absent_reason
    )
