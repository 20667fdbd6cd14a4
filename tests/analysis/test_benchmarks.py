"""Analyses of stored benchmarks: distributions, costs of nodes, removals, curves over graphs."""

from __future__ import annotations

from typing import Any

import pytest

from capture.analysis import Result, Severity, Subject, run_analysis
from capture.analysis.replay_curve import MOST_TIMED_NODES, numbers_of, varying
from capture.benchmarks import Benchmark, Conditions, Eager, NodeCosts, Removal
from capture.errors import FormatError
from capture.model import Evidence, Executable, GraphInfo, Metadata, Recording
from capture.timings import Timings
from tests.analysis.graphs import subject_of
from tests.helpers.recordings import chain, recording_of
from tests.helpers.stored_evidence import synthetic_benchmark, with_evidence

NAMES = ("replay_cost", "node_costs", "removals", "launch_bound")


def benchmarked(**fields: Any) -> Subject:
    subject = subject_of(3, [(0, 1), (1, 2)], [2_000, 3_000, 500])
    subject.benchmark = Benchmark(graph="g", **fields)
    return subject


def notes(result: Result) -> str:
    return "\n".join(result.text(note) for note in result.notes)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_benchmark_it_says_how_to_get_one(name: str) -> None:
    plain = subject_of(3, [], [1, 2, 3])
    assert "cglens bench" in run_analysis(name, plain).absent_reason
    info = GraphInfo(key="g", name="g")
    info.evidence["benchmarks"] = Evidence(present=False, reason="it was not asked for")
    told = Subject(plain.graph, info, plain.timings)
    assert "it was not asked for" in run_analysis(name, told).absent_reason
    refused = benchmarked(refused="it holds host nodes")
    assert "it holds host nodes" in run_analysis(name, refused).absent_reason
    damaged = Subject(plain.graph, unreadable={"benchmarks": "it cannot be read"})  # type: ignore[dict-item]
    assert "it cannot be read" in run_analysis(name, damaged).absent_reason


@pytest.mark.parametrize("name", NAMES)
def test_a_body_has_no_benchmark_of_its_own(name: str) -> None:
    body = Subject(subject_of(2, []).graph, path="3/0", benchmark=synthetic_benchmark("g"))
    assert "look at the graph that holds it" in run_analysis(name, body).absent_reason


@pytest.mark.parametrize("name", NAMES[:3])
def test_an_empty_benchmark_has_a_reason(name: str) -> None:
    assert "cglens" in run_analysis(name, benchmarked()).absent_reason


def test_the_cost_of_a_replay() -> None:
    subject = subject_of(3, [], [1, 2, 3])
    subject.benchmark = synthetic_benchmark("g")
    result = run_analysis("replay_cost", subject)
    rows = {row[0]: row[1:] for row in result.rows}
    assert rows["replay, warm L2"] == (3, 20_000, 20_100, 20_280, 150)
    assert rows["capture"] == (1, 9_000_000, 9_000_000, 9_000_000, 0)
    assert list(rows) == [
        "capture",
        "instantiate",
        "upload",
        "first launch",
        "launch, on the CPU",
        "replay, warm L2",
        "replay, cold L2",
        "eager call, until the device is done",
        "eager call, on the CPU",
        "eager call, between two events",
    ]
    # Capture 9 ms, instantiate 0.81 ms, upload 0.06 ms; a call takes 90.5 us, a replay 27.2 us.
    assert result.figures["replays_to_pay"].value == 156
    assert result.figures["executable_bytes"].value == 65_536
    assert result.figures["cold_over_warm"].value == pytest.approx(27_250 / 20_100)
    text = notes(result)
    assert "below its highest in 1 of 2 looks" in text
    assert "sw_power_cap" in text
    assert "1 other processes" in text
    assert "two blocks could not be saved" in text
    assert result.severity is Severity.NOTICE


def test_an_undisturbed_benchmark_is_no_notice() -> None:
    calm = Conditions(at_ns=[0], sm_clock_mhz=[1950], max_sm_clock_mhz=1980)
    result = run_analysis("replay_cost", benchmarked(replay_ns=[5], conditions=calm))
    assert result.severity is Severity.INFO
    assert "only some was measured: replay, warm L2 5 ns" in result.text(result.summary)
    unknown = run_analysis("replay_cost", benchmarked(replay_ns=[5], launch_cpu_ns=[2]))
    assert "Clocks and other processes are not known: nobody looked." in notes(unknown)


@pytest.mark.parametrize(
    ("eager", "words"),
    [([27, 27], "never pays"), ([100_000] * 2, "capture or instantiate was not timed")],
)
def test_no_payback_says_why(eager: list[int], words: str) -> None:
    subject = benchmarked(
        replay_ns=[20] * 4, launch_cpu_ns=[7] * 4, instantiate_ns=[5], eager=Eager(call_ns=eager)
    )
    result = run_analysis("replay_cost", subject)
    assert "replays_to_pay" not in result.figures
    assert words in notes(result)


def test_launch_bound_takes_the_benchmark_unless_told_otherwise() -> None:
    subject = subject_of(3, [], [1, 2, 3])
    subject.benchmark = synthetic_benchmark("g")
    result = run_analysis("launch_bound", subject)
    assert result.figures["verdict"].value == "launch-bound"
    assert (result.figures["eager"].value, result.figures["graph"].value) == (90_500, 27_200)
    assert result.figures["eager_gpu"].value == 19_000
    assert result.figures["capture"].value == 9_000_000
    assert "stored benchmark" in notes(result)
    told = run_analysis("launch_bound", subject, eager_ns=1_000, graph_ns=990, spread_ns=1)
    assert told.figures["verdict"].value == "device-bound"
    assert "stored benchmark" not in notes(told)
    one = run_analysis("launch_bound", subject, eager_ns=27_300)
    assert one.figures["verdict"].value == "no difference"
    subject.benchmark.eager = Eager(reason="the script captured it by itself")
    absent = run_analysis("launch_bound", subject).absent_reason
    assert "the script captured it by itself" in absent
    assert "eager_ns and graph_ns" in absent


def test_costs_of_nodes_stand_beside_traced_durations() -> None:
    subject = benchmarked(
        nodes=NodeCosts(
            node=["0", "1", "2", "9", "1/0/0"],
            isolated_ns=[2_200, 2_900, -1, 7, 7],
            marginal_ns=[1_900, 100, -1, 7, 7],
            repetitions=20,
            spread_ns=60,
            reasons={"2": "host nodes cannot be disabled"},
        )
    )
    result = run_analysis("node_costs", subject)
    assert [row[0] for row in result.rows] == ["1", "0", "2"]
    rows = {row[0]: row[2:] for row in result.rows}
    assert rows["0"] == (2_000, 2_200, 1_900, 1.1, None)
    assert rows["2"] == (500, None, None, None, "host nodes cannot be disabled")
    assert result.node_values == {0: 1_900, 1: 100}
    assert result.text(result.summary).startswith("2 of 3 nodes were measured by themselves; 1 ")
    # A file may hold columns of any content, and no timings at all.
    bare = Subject(subject.graph, benchmark=subject.benchmark)
    assert run_analysis("node_costs", bare).rows[0][2] is None


def test_nodes_that_were_all_refused() -> None:
    costs = NodeCosts(node=["0"], isolated_ns=[-1], marginal_ns=[-1], reasons={"0": "too late"})
    assert run_analysis("node_costs", benchmarked(nodes=costs)).absent_reason.endswith("too late")


def test_removals_stand_beside_predictions() -> None:
    subject = benchmarked(
        removals=[
            Removal(asked="node:1", nodes=["1"], with_ns=[9_000] * 4, without_ns=[6_500] * 4),
            Removal(asked="type:memset", nodes=["2"], with_ns=[9_000, 9_400], without_ns=[9_100]),
            Removal(asked="all", reason="none of these nodes can be disabled"),
            Removal(asked="node:77", nodes=["77"], with_ns=[9_000] * 2, without_ns=[8_000] * 2),
        ]
    )
    result = run_analysis("removals", subject)
    assert [row[4:8] for row in result.rows] == [
        (2_500, 0, 3_000, 1.2),
        (100, 200, 500, None),
        (None, None, None, None),
        (1_000, 0, None, None),
    ]
    assert result.rows[2][8] == "none of these nodes can be disabled"
    assert "most is gained without node:1: 2500 ns" in result.text(result.summary)
    assert "1 of them differ by no more than twice the spread" in notes(result)
    untimed = Subject(subject.graph, benchmark=subject.benchmark)
    assert "Nothing is predicted" in notes(run_analysis("removals", untimed))


def ladder(batches: list[int], kind: str = "benchmark") -> Recording:
    infos, benchmarks, timings, executables = [], {}, {}, []
    for batch in batches:
        key = f"f.py:run#{batch}"
        infos.append(GraphInfo(key=key, name=key, label=f"batch={batch} seq=128", node_count=49))
        if kind == "benchmark":
            benchmarks[key] = Benchmark(
                graph=key, replay_ns=[1_000 + 10 * batch] * 3, launch_cpu_ns=[70]
            )
        else:
            executables.append(Executable(id=key, graph=key))
            timings[key] = Timings(
                executable=key, graph=key, untraced_replay_ns=[1_000 + 10 * batch] * 3
            )
    return Recording(
        Metadata(), infos, benchmarks=benchmarks, timings=timings, executables=executables
    )


@pytest.mark.parametrize("kind", ["benchmark", "timings"])
def test_a_curve_over_batch_sizes(kind: str) -> None:
    result = run_analysis("replay_curve", ladder([64, 8, 1], kind))
    assert [row[2] for row in result.rows] == [1, 8, 64]
    assert [row[4] for row in result.rows] == [1_010, 1_080, 1_640]
    assert [row[8] for row in result.rows] == [1_010, 135, 26]
    (series,) = result.series
    assert (series.x, series.y) == ([1, 8, 64], [1_010, 1_080, 1_640])
    assert "with batch 1 to 64" in result.text(result.summary)
    assert "least with batch 64" in notes(result)
    assert ("script's own" in notes(result)) == (kind == "timings")


def test_a_curve_reads_no_timings_of_large_recordings() -> None:
    recording = ladder([8, 4], "timings")
    for info in recording.graphs.values():
        info.node_count = MOST_TIMED_NODES
    assert "cglens bench" in run_analysis("replay_curve", recording).absent_reason


def test_a_curve_leaves_out_what_is_damaged() -> None:
    def damaged() -> Benchmark:
        raise FormatError("benchmarks/0.json is not valid JSON")

    recording = ladder([8, 4])
    infos = list(recording.graphs.values())
    good = recording.benchmark(infos[1].key)
    assert good is not None
    broken = Recording(Metadata(), infos, benchmarks={infos[0].key: damaged, infos[1].key: good})
    result = run_analysis("replay_curve", broken)
    assert [row[2] for row in result.rows] == [None]
    assert "not valid JSON" in notes(result)


def test_a_curve_without_labels_is_a_table() -> None:
    result = run_analysis("replay_curve", with_evidence(recording_of(chain(3), chain(5))))
    assert [row[2] for row in result.rows] == [None, None]
    assert result.series == []
    assert "2 of 2 graphs were measured; their" in result.text(result.summary)
    assert (
        "no replay of any graph"
        in run_analysis("replay_curve", recording_of(chain(2))).absent_reason
    )


def test_numbers_of_labels() -> None:
    assert numbers_of("batch=8, seq=128") == {"batch": 8, "seq": 128}
    assert numbers_of("bs 8 of 16") == {"#0": 8, "#1": 16}
    assert numbers_of("sm90 v2.1 float16") == {}
    assert numbers_of("") == {}
    assert varying(["batch=8 seq=128", "batch=16 seq=128"]) == "batch"
    assert varying(["batch=8", "batch=8"]) == ""
    assert varying([]) == ""
