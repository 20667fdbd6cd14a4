"""Benchmarks, node costs and removals over the fake driver, whose every node takes 1 us."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from capture.benchmarks import Benchmark, NodeCosts, Removal
from capture.errors import DriverError
from capture.measure_request import EACH
from capture.recorder.own import bench as benches
from capture.recorder.own import costs, removals
from capture.recorder.own.saved_state import Region, SavedState
from capture.recorder.own.setup import Budget, Setup
from capture.recorder.own.stopwatch import BATCH, HungError, Stopwatch
from capture.timings import Timings
from tests.driver.replay_contract import setting
from tests.helpers.declared import Declared, graph
from tests.recorder.own.conftest import SIZE, Bench


def spent() -> Budget:
    return Budget(0)


def test_a_stopwatch_times_replays_behind_a_gate(bench: Bench) -> None:
    setup = bench.setup(bench.adds(4))
    executable = setup.ready()
    launched = len(bench.driver.launched)
    assert setup.watch.warm_ns(executable, 3) == [4_000] * 3
    assert len(bench.driver.launched) == launched + 4  # one before, so that the L2 is warm
    assert setup.watch.warm_ns(executable, 99) == [4_000] * BATCH
    assert setup.watch.ungated == ""
    assert bench.driver._holds == []


def test_without_a_gate_it_says_why(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*ignored: Any) -> None:
        raise DriverError("cuStreamWaitValue32", 801, "CUDA_ERROR_NOT_SUPPORTED")

    monkeypatch.setattr(bench.driver, "hold", refuse)
    setup = bench.setup(bench.adds(2))
    benchmark = Benchmark(graph="a")
    benches.measure(setup, benchmark, Budget(60), replays=3, cold=False, l2_bytes=0)
    assert benchmark.replay_ns == [2_000] * 3
    assert any("cuStreamWaitValue32" in note for note in benchmark.notes)


def test_a_gate_opens_by_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch may wait for room in the queue, which only replays behind the gate make."""
    import time

    from capture.recorder.own import stopwatch

    monkeypatch.setattr(stopwatch, "GATE_LIMIT_S", 0.02)
    setup = bench.setup(bench.adds(2))
    executable = setup.ready()
    launch = bench.driver.launch

    def blocking(*arguments: int) -> None:
        end = time.monotonic() + 10
        event = bench.driver.new_event()
        while not bench.driver.is_done(event):
            assert time.monotonic() < end, "the gate stayed closed"
            time.sleep(0.005)
        launch(*arguments)

    monkeypatch.setattr(bench.driver, "launch", blocking)
    assert setup.watch.warm_ns(executable, 2) == [2_000] * 2
    assert "room" in setup.watch.ungated


def test_what_never_ends_is_given_up(bench: Bench) -> None:
    watch = Stopwatch(bench.driver, hung_after_s=0.05)
    bench.driver._stuck = True
    with pytest.raises(HungError, match="did not end"):
        watch.idle()


@pytest.mark.parametrize("at", ["bench", "isolated"])
def test_after_a_replay_that_hangs_nothing_waits_for_the_device(bench: Bench, at: str) -> None:
    """The fake driver fails where the real one would wait."""
    setup = bench.setup(bench.adds(2))
    executable = setup.ready()
    launch = bench.driver.launch
    count = 0

    def hanging(*arguments: int) -> None:
        nonlocal count
        launch(*arguments)
        count += 1
        bench.driver._stuck = count > 20

    bench.driver.launch = hanging

    def work() -> None:
        if at == "bench":
            found = Benchmark(graph="a")
            benches.measure(setup, found, Budget(60), replays=50, cold=True, l2_bytes=64)
        else:
            found_costs = NodeCosts()
            for _ in range(30):
                costs.isolated(setup, found_costs, costs.rows(setup, found_costs), Budget(60))

    with pytest.raises(HungError):
        work()
    setup.close()
    setup.watch.close()
    assert executable in bench.driver.executables


def test_a_benchmark(bench: Bench) -> None:
    setup = bench.setup(bench.mixed())
    benchmark = Benchmark(graph="a")
    samples = 0
    between: list[int] = []

    class Eager:
        def sample(self) -> tuple[int, int, int]:
            nonlocal samples
            samples += 1
            return 10 + samples, 5, 7

    benches.measure(
        setup,
        benchmark,
        Budget(60),
        replays=12,
        cold=True,
        l2_bytes=1024,
        eager=Eager(),
        between=lambda: between.append(1),
    )
    assert benchmark.replay_ns == benchmark.cold_replay_ns == [3_000] * 12
    assert len(benchmark.launch_cpu_ns) == 12
    assert len(benchmark.instantiate_ns) == 2 * benches.FRESH
    assert len(benchmark.upload_ns) == len(benchmark.first_launch_ns) == benches.FRESH
    assert benchmark.executable_bytes == bench.driver.executable_bytes
    assert benchmark.eager is not None
    assert len(benchmark.eager.call_ns) == samples == 8
    assert between
    executables = set(bench.driver.executables)
    setup.close()
    assert len(executables) == 1
    assert bench.driver.executables == {}


def test_little_time_still_gives_a_few_samples(bench: Bench) -> None:
    benchmark = Benchmark(graph="a")
    setup = bench.setup(bench.adds(1))
    benches.measure(setup, benchmark, spent(), replays=50, cold=False, l2_bytes=0)
    assert benches.FEWEST <= len(benchmark.replay_ns) <= BATCH
    assert any("of 50 samples" in note for note in benchmark.notes)


def test_no_cold_replays_has_a_reason(bench: Bench) -> None:
    benchmark = Benchmark(graph="a")
    setup = bench.setup(bench.adds(1))
    benches.measure(setup, benchmark, spent(), replays=3, cold=True, l2_bytes=0)
    assert benchmark.cold_replay_ns == []
    assert any("cold L2" in note for note in benchmark.notes)


def test_costs_of_nodes(bench: Bench) -> None:
    bench.driver.cost_ns = lambda type_, payload: 500 if type_ == "empty" else 2_000
    setup = bench.setup(bench.mixed())
    found = NodeCosts()
    positions = costs.rows(setup, found)
    assert positions == [0, 1, 2]
    costs.isolated(setup, found, positions, Budget(60))
    announced: list[int] = []
    costs.marginal(setup, found, positions, Budget(60), announced.append)
    assert found.node == ["0", "1", "2"]
    assert found.isolated_ns == [2_000, 2_000, -1]
    assert found.marginal_ns == [2_000, 2_000, 500]
    assert announced == [0, 1, 2]
    assert "empty" in found.reasons["2"]
    assert costs.shares(found) == {0: 0.5, 1: 0.5}
    # Graphs and executables of chains are gone; three are of the graph itself.
    clones = {bench.driver.executables[executable] for executable in bench.driver.executables}
    assert clones == {setup.clone}


def test_a_node_alone_reads_what_the_nodes_before_it_wrote(bench: Bench) -> None:
    """Memory is used again within a replay: its end is no state to run an early node from."""
    index = bench.memory + 64
    nodes = [
        setting(index, 1),  # what the kernel between takes for its input
        *bench.nodes(bench.adds(1)),
        setting(index, 9),  # the same memory, used again
    ]
    setup = bench.setup(graph(nodes, [(0, 1), (1, 2)]))
    seen: list[bytes] = []
    run = bench.driver._run

    def watching(type_: str, payload: Any) -> None:
        if type_ == "kernel":
            seen.append(ctypes.string_at(index, 1))
        run(type_, payload)

    bench.driver.launch(setup.ready(), 0)  # leaves the last value behind
    bench.driver._run = watching
    found = NodeCosts()
    costs.isolated(setup, found, costs.rows(setup, found), Budget(60))
    assert found.isolated_ns == [1_000] * 3
    assert set(seen) == {b"\x01"}


def test_what_left_out_nodes_would_have_written_is_zero(bench: Bench) -> None:
    size = 64
    scratch = bench.driver.allocate(size)
    ctypes.memset(scratch, 0xFF, size)
    built = graph([setting(scratch, 7), *bench.nodes(bench.adds(1))], [(0, 1)])
    setup = bench.setup(built)
    setup.state = SavedState(
        bench.driver,
        [Region(scratch, size), Region(bench.memory, SIZE)],
        temporaries={(scratch, size)},
    )
    setup = Setup(
        bench.driver, built, setup.clone, setup.nodes, setup.state, Stopwatch(bench.driver)
    )
    setup.blank = True
    seen: list[bytes] = []
    run = bench.driver._run

    def watching(type_: str, payload: Any) -> None:
        if type_ == "kernel":
            seen.append(ctypes.string_at(scratch, 1))
        run(type_, payload)

    bench.driver._run = watching
    # A replay leaves something there, too: zeros are wanted before each.
    launch = bench.driver.launch

    def leaving(*arguments: int) -> None:
        launch(*arguments)
        if arguments[0] != setup._wiping:
            ctypes.memset(scratch, 0xEE, size)

    bench.driver.launch = leaving
    benchmark = Benchmark(graph="a")
    found = [Removal(asked="node:0", nodes=["0"])]
    removals.measure(setup, benchmark, found, 5, Budget(60), lambda: None)
    assert set(seen) == {b"\x07", b"\x00"}  # with the node, and without it
    setup.blank = False
    setup.restore()
    assert ctypes.string_at(scratch, size) == b"\xff" * size


def test_costs_that_there_was_no_time_for(bench: Bench) -> None:
    setup = bench.setup(bench.adds(3))
    found = NodeCosts()
    costs.isolated(setup, found, costs.rows(setup, found), spent())
    assert found.isolated_ns == [-1] * 3
    assert set(found.reasons) == {"0", "1", "2"}
    assert costs.shares(found) == {}


def test_only_the_first_nodes_of_a_large_graph(bench: Bench) -> None:
    setup = bench.setup(bench.adds(4))
    found = NodeCosts()
    assert costs.rows(setup, found, most=2) == [0, 1]
    assert set(found.reasons) == {"2", "3"}


def wanted(bench: Bench, *texts: str, key: str = "a", **shares: float) -> list[Removal]:
    setup = bench.setup(bench.mixed())
    pairs = [("", text) for text in texts]
    numbers = {int(name[1:]): share for name, share in shares.items()}
    return removals.wanted(setup, key, pairs, numbers)


def test_what_is_removed(bench: Bench) -> None:
    (all_,) = wanted(bench, "all")
    assert all_.nodes == ["0", "1", "2"]
    assert all_.left == {}
    (wrong,) = wanted(bench, "node:77")
    assert "77" in wrong.reason
    each = wanted(bench, EACH, n0=0.5, n1=0.001, n2=0.3)
    assert [item.nodes for item in each] == [["0"], ["2"]]
    (small,) = wanted(bench, EACH, n0=0.009)
    assert "1 %" in small.reason
    (unknown,) = wanted(bench, EACH)
    assert "no node's time is known" in unknown.reason


def test_removals_of_other_graphs_are_not_ours(bench: Bench) -> None:
    setup = bench.setup(bench.adds(1))
    assert removals.wanted(setup, "a", [("b", "all")], {}) == []
    assert len(removals.wanted(setup, "b", [("b", "all")], {})) == 1


def test_removals_are_written_before_and_after(bench: Bench) -> None:
    setup = bench.setup(bench.adds(3))
    benchmark = Benchmark(graph="a")
    written: list[tuple[str, int]] = []

    def write() -> None:
        last = benchmark.removals[-1]
        written.append((last.reason, len(last.without_ns)))

    found = [Removal(asked="a", nodes=["0"]), Removal(asked="b", nodes=["0", "2"])]
    removals.measure(setup, benchmark, found, 7, Budget(60), write)
    assert written == [(removals.DIED, 0), ("", 7)] * 2
    first, second = benchmark.removals
    assert first.with_ns == second.with_ns == [3_000] * 7
    assert first.without_ns == [2_000] * 7
    assert second.without_ns == [1_000] * 7


def test_a_removal_that_breaks_the_device(bench: Bench) -> None:
    bench.driver.fatal_without = {1}
    setup = bench.setup(bench.adds(3))
    benchmark = Benchmark(graph="a")
    found = [Removal(asked=f"node:{at}", nodes=[str(at)]) for at in range(3)]
    with pytest.raises(DriverError):
        removals.measure(setup, benchmark, found, 3, Budget(60), lambda: None)
    good, broken, never = benchmark.removals
    assert good.reason == ""
    assert "ILLEGAL_ADDRESS" in broken.reason
    assert "earlier removal" in never.reason
    assert never.without_ns == []


def test_a_removal_that_the_driver_refuses_is_only_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = bench.setup(bench.adds(3))
    destroy_nodes = bench.driver.destroy_nodes

    def refusing(nodes: list[int]) -> None:
        if len(nodes) == 2:
            raise DriverError("cuGraphDestroyNode", 1, "CUDA_ERROR_INVALID_VALUE")
        destroy_nodes(nodes)

    monkeypatch.setattr(bench.driver, "destroy_nodes", refusing)
    benchmark = Benchmark(graph="a")
    found = [Removal(asked="x", nodes=["0", "1"]), Removal(asked="y", nodes=["2"])]
    removals.measure(setup, benchmark, found, 3, Budget(60), lambda: None)
    refused, good = benchmark.removals
    assert "INVALID_VALUE" in refused.reason
    assert good.without_ns == [2_000] * 3


def test_a_child_graph_is_left_out_as_a_whole(bench: Bench) -> None:
    inner = bench.adds(3)
    nested = graph([*bench.nodes(inner), Declared("child_graph", None, (("child", inner),))], [])
    outer = graph(
        [*bench.nodes(bench.adds(1)), Declared("child_graph", None, (("c", nested),))], []
    )
    setup = bench.setup(outer)
    asked: list[tuple[int, bool]] = []
    bench.driver.set_enabled = lambda executable, node, enabled: asked.append((node, enabled))
    setup.set_enabled(1, 1, False)
    driver = bench.driver
    (child,) = driver.child_graphs([setup.nodes[1]]).values
    inside = driver.nodes(child)
    (deeper,) = driver.child_graphs([inside[3]]).values
    assert {node for node, _ in asked} == {*inside[:3], *driver.nodes(deeper)}
    assert not any(enabled for _, enabled in asked)


def test_memory_is_put_back_before_every_batch(bench: Bench) -> None:
    from capture.memory.addresses import addresses
    from capture.recorder.own.saved_state import SavedState, plan

    built = bench.adds(1)
    setup = bench.setup(built)
    setup.state = SavedState(
        bench.driver, plan(bench.driver, addresses(built), bench.blocks).regions
    )
    benchmark = Benchmark(graph="a")
    highest = 0.0
    launch = bench.driver.launch

    def watching(executable: int, stream: int) -> None:
        nonlocal highest
        launch(executable, stream)
        highest = max(highest, bench.value())

    bench.driver.launch = watching
    benches.measure(setup, benchmark, Budget(60), replays=50, cold=True, l2_bytes=64)
    # 12 replays at most from one state: a warm batch with its first, and the launches after it.
    assert 0 < highest <= 0.5 * 2 * (BATCH + 1)
    setup.restore()
    assert bench.value() == 0


def test_nothing_is_left_of_an_executable_without_nodes(bench: Bench) -> None:
    setup = bench.setup(bench.adds(3))
    graphs, executables = set(bench.driver._graphs), set(bench.driver.executables)
    executable = setup.without([1])
    assert setup.watch.warm_ns(executable, 1) == [2_000]
    setup.drop(executable)
    assert set(bench.driver.executables) == executables
    assert set(bench.driver._graphs) - graphs <= bench.driver.destroyed
    everything = setup.without([0, 1, 2])
    assert setup.watch.warm_ns(everything, 1) == [0]


def test_shares_of_traced_replays() -> None:
    timings = Timings(
        executable="a/exec1",
        graph="a",
        node=["0", "2", "2", "3/0/1", ""],
        median_ns=[600, 100, 100, 50, 7],
        makespan_ns=[900, 1_000, 1_100],
    )
    assert removals.traced_shares(timings) == {0: 0.6, 2: 0.2}
    assert removals.traced_shares(Timings(executable="a", graph="a")) == {}


def test_a_budget_is_a_share_of_what_is_left() -> None:
    now = 0.0
    budget = Budget(10, lambda: now)
    part = budget.part(0.5)
    now = 4.0
    assert part.left_s == 1.0
    assert budget.left_s == 6.0
    now = 6.0
    assert not part
    assert budget
