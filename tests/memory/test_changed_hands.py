"""Findings on made-up memory after captures: each fault is named, its healthy twin is not."""

from __future__ import annotations

from typing import Any

import pytest

from capture.analysis import Result, Severity, run_analysis
from capture.benchmarks import Benchmark
from capture.memory.torch_snapshot import Tables, add_segments, add_sums
from capture.memory_after import After, Blind, Frees, Rebinds
from capture.memory_map import Mark, Memory, Names, Ranges, Snapshot
from capture.model import Event, Executable, GraphInfo, Metadata, Process, Recording
from tests.helpers.synthetic_memory import BASE, OWN, POOL, SCALE, fill, graph, kernel, segment

NVJET = "nvjet_hsh_64x8_64x16_1x4_h_bz_splitK_TNT"
WORKSPACE = 8_519_680
"""Bytes that torch's workspaces have by default before Hopper."""
SECOND = 1_000_000
START_NS = SECOND * 1000
FREED = [{"filename": "work.py", "line": 7, "name": "main"}]
USED = [{"filename": "work.py", "line": 8, "name": "other"}]

Blocks = list[tuple[int, str]]


def gib(number: int) -> int:
    return number << 30


class Run:
    """A process with graphs that were captured one second after each other, from second 1 on."""

    def __init__(self, how: str = "history") -> None:
        self.graphs: list[GraphInfo] = []
        self.executables: list[Executable] = []
        self.memory: dict[str, Memory] = {}
        self.nodes: dict[str, Any] = {}
        self.timeline: list[Event] = []
        self.measured: list[str] = []
        self.snapshot = Snapshot(process="0", history="on")
        self.tables = Tables(self.snapshot)
        self.snapshot.frees, self.snapshot.rebinds = Frees(), Rebinds()
        self.snapshot.after = After(
            from_us=SECOND, until_us=100 * SECOND, how=how, workspace_bytes=[WORKSPACE]
        )
        self.end([])

    def graph(
        self,
        payloads: list[Any],
        segments: list[dict[str, Any]],
        pointed: list[int],
        names: dict[int, str] | None = None,
        ended: str = "alive at exit",
        pool: tuple[int, int] = OWN,
        ranges: Ranges | None = None,
    ) -> str:
        number = len(self.graphs)
        key = f"work.py:main#{number}"
        self.graphs.append(GraphInfo(key=key, name=f"graph {number}", pool=pool, process=0))
        self.executables.append(Executable(id=f"{key}/exec1", graph=key, ended=ended))
        at = (number + 1) * SECOND
        found = Memory(
            graph=key,
            pool=pool,
            marks=[Mark(name="before capture"), Mark(name="after capture", unix_us=at, cost_ns=9)],
            ranges=ranges,
        )
        add_segments(Tables(found), segments)
        assert found.blocks is not None
        found.blocks.requested_bytes = list(found.blocks.size_bytes)
        found.blocks.pointed = pointed
        if names:
            found.names = Names(
                address=list(names), size_bytes=[512] * len(names), name=list(names.values())
            )
        self.memory[key] = found
        self.nodes[key] = graph(payloads)
        return key

    def replay(self, key: str, at_s: float, count: int = 1) -> None:
        self.timeline.append(
            Event(
                kind="replay",
                start_ns=round(at_s * 1e9) - START_NS,
                duration_ns=1000,
                count=count,
                graph=key,
                thread="MainThread",
            )
        )

    def free(
        self, address: int, size: int, at_s: float, after_s: float = 0, reused: bool = False
    ) -> None:
        frees, at_us = self.snapshot.frees, round(at_s * SECOND)
        assert frees is not None
        frees.device.append(0)
        frees.address.append(address)
        frees.size_bytes.append(size)
        frees.freed_us.append(at_us)
        frees.stack.append(-1 if after_s else self.tables.stack(FREED))
        frees.after_us.append(round(after_s * SECOND) or at_us)
        frees.reused_us.append(at_us + 5 if reused else 0)
        frees.reused_stack.append(self.tables.stack(USED) if reused else -1)
        frees.returned_us.append(0)

    def rebind(
        self, name: str, kind: str, old: int, new: int, new_s: float, noticed_s: float
    ) -> None:
        rebinds = self.snapshot.rebinds
        assert rebinds is not None
        rebinds.name.append(name)
        rebinds.kind.append(kind)
        rebinds.address.append(old)
        rebinds.size_bytes.append(512)
        rebinds.new_address.append(new)
        rebinds.new_us.append(round(new_s * SECOND))
        rebinds.seen_us.append(SECOND)
        rebinds.noticed_us.append(round(noticed_s * SECOND))
        rebinds.stack.append(self.tables.stack(USED))

    def end(self, segments: list[dict[str, Any]]) -> None:
        self.snapshot.marks = [Mark(name="end", unix_us=100 * SECOND)]
        self.snapshot.sums = None
        add_segments(self.tables, segments)
        add_sums(self.tables, segments, 0)

    def recording(self) -> Recording:
        return Recording(
            Metadata(started_unix_ns=START_NS),
            self.graphs,
            executables=self.executables,
            processes=[Process(pid=1)],
            timeline=sorted(self.timeline, key=lambda event: event.start_ns),
            loaded=self.nodes,
            evidence={"memory": self.memory, "snapshots": {"0": self.snapshot}},
            benchmarks={key: Benchmark(graph=key) for key in self.measured},
        )

    def said(self, name: str) -> tuple[Result, list[dict[str, Any]]]:
        result = run_analysis(name, self.recording())
        assert result.present, result.absent_reason
        names = [column.name for column in result.columns]
        return result, [dict(zip(names, row, strict=True)) for row in result.rows]


COMMON = [segment(BASE, [(512, "active_allocated"), (512, "inactive")])]
PRIVATE = segment(POOL, [(1024, "active_allocated"), (3072, "inactive")], OWN)


def user(run: Run, name: str = SCALE, **more: Any) -> str:
    return run.graph(
        [kernel(SCALE, POOL, 0, POOL + 8), kernel(name, POOL, 0, BASE)],
        [*COMMON, PRIVATE],
        [1, 0, 1, 1],
        {BASE: "Net: weight"},
        **more,
    )


@pytest.mark.parametrize(
    ("kernel_name", "replayed_s", "severity", "confidence"),
    [
        (SCALE, 9.0, Severity.WARNING, "certain"),
        ("plain", 9.0, Severity.NOTICE, "likely"),
        (SCALE, 2.0, Severity.NOTICE, "may"),
    ],
)
def test_what_was_freed_is_told_with_node_and_lines(
    kernel_name: str, replayed_s: float, severity: Severity, confidence: str
) -> None:
    run = Run()
    key = user(run, kernel_name)
    run.free(BASE, 512, 5, reused=True)
    run.replay(key, replayed_s, count=3)
    result, (row,) = run.said("freed_later")
    assert (result.severity, row["confidence"]) == (severity, confidence)
    assert (row["graph"], row["node"], row["name"]) == (key, "1", "Net: weight")
    assert row["replays since"] == (3 if replayed_s > 5 else 0)
    assert row["now"] == "handed out again"
    assert (row["freed at"], row["used since by"]) == ("work.py:7 main", "work.py:8 other")


def test_replays_that_no_timeline_holds_came_after_those_it_holds() -> None:
    run = Run()
    key = user(run)
    run.executables[0].replays = 7
    run.free(BASE, 512, 5)
    run.replay(key, 4, count=2)
    assert [row["replays since"] for row in run.said("freed_later")[1]] == [0]
    run.replay(key, 6, count=2)
    assert [row["replays since"] for row in run.said("freed_later")[1]] == [2 + 3]


def test_a_free_before_the_capture_or_after_the_graph_was_gone_is_none() -> None:
    run = Run()
    key = user(run, ended="destroyed")
    run.replay(key, 4)
    run.free(BASE, 512, 0.5)
    run.free(BASE, 512, 5)
    result, rows = run.said("freed_later")
    assert (rows, result.severity) == ([], Severity.INFO)


def test_a_graphs_own_pool_and_free_memory_of_other_pools_are_left_alone() -> None:
    run = Run()
    key = run.graph(
        [kernel(SCALE, POOL, 0, BASE)],
        [segment(BASE, [(512, "active_allocated")], (2, 0)), PRIVATE],
        [1, 1, 0],
    )
    run.free(POOL, 1024, 5)
    run.free(BASE, 512, 5)
    run.replay(key, 9)
    assert run.said("freed_later")[1] == []
    run.snapshot.frees = Frees()
    run.free(BASE, 512, 6, reused=True)
    assert [row["now"] for row in run.said("freed_later")[1]] == ["handed out again"]


def test_memory_of_another_library_that_cuda_no_longer_knows() -> None:
    run = Run("looks")
    ranges = Ranges(address=[gib(200)], size_bytes=[4096], kind=["device"])
    key = run.graph([fill(gib(200) + 64, 8)], [PRIVATE], [0, 0], ranges=ranges)
    run.free(gib(200), 4096, 100, after_s=1)
    run.replay(key, 9)
    result, (row,) = run.said("freed_later")
    assert (row["node"], row["confidence"], row["freed at"]) == ("0", "may", "")
    assert any("outside torch's allocator" in note for note in result.notes)
    assert any("history was off" in note for note in result.notes)


def test_times_without_sight_are_told() -> None:
    run = Run()
    user(run)
    assert run.snapshot.after is not None
    run.snapshot.after.blind = [
        Blind(from_us=3 * SECOND, until_us=5 * SECOND, reason="it overflowed")
    ]
    result, _ = run.said("freed_later")
    assert (result.figures["blind_from_0"].value, result.figures["blind_for_0"].value) == (
        2 * 10**9,
        2 * 10**9,
    )
    assert "it overflowed" in result.notes[-1]


@pytest.mark.parametrize(
    ("freed_s", "new_s", "replayed_s", "confidence"),
    [
        (5.0, 4.0, 9.0, "certain"),
        (0.0, 4.0, 9.0, "certain"),  # somebody keeps the old one
        (0.0, 0.0, 9.0, "likely"),  # when it was replaced is not known
        (5.0, 4.0, 3.0, "may"),
    ],
)
def test_a_weight_with_other_storage(
    freed_s: float, new_s: float, replayed_s: float, confidence: str
) -> None:
    run = Run()
    key = user(run, NVJET)
    if freed_s:
        run.free(BASE, 512, freed_s)
    run.rebind("Net: weight", "parameter", BASE, gib(201), new_s, 100)
    run.replay(key, replayed_s)
    result, (row,) = run.said("rebound_storage")
    assert (row["node"], row["name"], row["confidence"]) == ("1", "Net: weight", confidence)
    assert row["new one allocated at"] == "work.py:8 other"
    assert row["old one now"] == ("free" if freed_s else "still allocated")
    expected = Severity.WARNING if confidence == "certain" else Severity.NOTICE
    assert result.severity is expected


def test_storage_that_was_replaced_before_the_capture_is_none() -> None:
    run = Run()
    run.replay(user(run), 9)
    run.rebind("Net: weight", "parameter", BASE, gib(201), 0.2, 0.5)
    assert run.said("rebound_storage")[1] == []


def test_a_second_variable_may_hold_what_was_captured() -> None:
    run = Run()
    run.replay(user(run), 9)
    run.rebind("x", "variable", BASE, gib(201), 4, 100)
    assert run.said("rebound_storage")[1] == []
    run.free(BASE, 512, 5)
    assert [row["name"] for row in run.said("rebound_storage")[1]] == ["x"]


def test_two_sets_of_weights_with_a_graph_each_may_be_meant() -> None:
    run = Run()
    first = user(run)
    second = run.graph(
        [kernel(SCALE, POOL, 0, gib(201))],
        [segment(gib(201), [(512, "active_allocated")]), PRIVATE],
        [1, 1, 0],
    )
    run.rebind("Net: weight", "parameter", BASE, gib(201), 1.5, 2)
    run.replay(first, 9)
    run.replay(second, 10)
    assert [row["confidence"] for row in run.said("rebound_storage")[1]] == ["likely"]


def two_of_a_pool(run: Run) -> tuple[str, str]:
    """Capture two graphs whose pool they share: the second's output lies in a temporary."""
    early = segment(POOL, [(512, "active_allocated"), (3584, "inactive")], OWN)
    late = segment(
        POOL, [(512, "active_allocated"), (1024, "active_allocated"), (2560, "inactive")], OWN
    )
    first = run.graph(
        [kernel(SCALE, POOL + 512, 0, BASE), kernel(SCALE, POOL, 0, POOL + 512)],
        [*COMMON, early],
        [1, 0, 1, 1],
    )
    second = run.graph(
        [kernel(SCALE, POOL + 512, 0, BASE)],
        [*COMMON, late],
        [1, 0, 0, 1, 0],
        {POOL + 512: "y"},
    )
    return first, second


def test_an_output_that_is_written_over_at_once() -> None:
    run = Run()
    first, second = two_of_a_pool(run)
    for turn in (20, 21):
        run.replay(second, turn)
        run.replay(first, turn + 2e-6)
    result, (row,) = run.said("overwritten_outputs")
    assert (row["graph"], row["node"], row["name"]) == (second, "0", "y")
    assert (row["overwritten by graph"], row["times"]) == ("graph 0", 2)
    assert (row["confidence"], result.severity) == ("certain", Severity.WARNING)


@pytest.mark.parametrize("case", ["time to read", "in order", "dropped", "read once"])
def test_outputs_that_may_have_been_read(case: str) -> None:
    run = Run()
    first, second = two_of_a_pool(run)
    if case == "dropped":
        run.free(POOL + 512, 1024, 15)
    for turn in (20, 21):
        order = [first, second] if case == "in order" else [second, first]
        run.replay(order[0], turn)
        gap = 5e-5 if case == "time to read" or (case, turn) == ("read once", 21) else 2e-6
        run.replay(order[1], turn + gap)
    result, rows = run.said("overwritten_outputs")
    assert (rows, result.severity) == ([], Severity.INFO)


@pytest.mark.parametrize(("turns", "told"), [((20,), True), ((20, 21), False)])
def test_a_first_replay_takes_longer_to_begin(turns: tuple[int, ...], told: bool) -> None:
    run = Run()
    first, second = two_of_a_pool(run)
    for turn in turns:
        run.replay(second, turn)
        run.replay(first, turn + 13e-6)
    result, rows = run.said("overwritten_outputs")
    assert [row["confidence"] for row in rows] == (["likely"] if told else [])
    assert result.severity is (Severity.NOTICE if told else Severity.INFO)


@pytest.mark.parametrize("pool", [OWN, (5, 0)])
def test_an_output_that_a_third_graph_reads_too_late(pool: tuple[int, int]) -> None:
    run = Run()
    first, second = two_of_a_pool(run)
    late = segment(
        POOL, [(512, "active_allocated"), (1024, "active_allocated"), (2560, "inactive")], OWN
    )
    third = run.graph([kernel(SCALE, POOL + 2048, 0, POOL + 512)], [late], [0, 1, 1], pool=pool)
    for at, key in ((20, second), (21, third), (22, first), (23, second), (24, third)):
        run.replay(key, at)
    assert run.said("overwritten_outputs")[1] == []
    run.replay(first, 25)
    run.replay(third, 26)
    result, (row,) = run.said("overwritten_outputs")
    assert (row["graph"], row["confidence"], row["times"]) == (second, "certain", 1)
    assert row["read by"].startswith("graph 2, node 0")
    assert result.severity is Severity.WARNING


def product(run: Run, workspace: int, pool: tuple[int, int], held_by: tuple[int, int]) -> str:
    return run.graph(
        [kernel(NVJET, BASE, workspace), kernel(SCALE, BASE, 0, BASE)],
        [*COMMON, segment(workspace, [(WORKSPACE, "active_allocated")], held_by)],
        [1, 0, 1],
        pool=pool,
    )


def test_a_workspace_of_several_graphs_that_is_freed() -> None:
    run = Run()
    keys = [product(run, gib(300), (number, 0), (0, 1)) for number in (1, 2)]
    result, rows = run.said("shared_workspaces")
    assert (rows, result.figures["shared"].value) == ([], 1)
    run.free(gib(300), WORKSPACE, 9)
    run.replay(keys[0], 10)
    result, rows = run.said("shared_workspaces")
    assert [(row["graph"], row["node"], row["confidence"]) for row in rows] == [
        (keys[0], "0", "likely"),
        (keys[1], "0", "may"),
    ]
    assert rows[0]["freed at"] == "work.py:7 main"
    assert result.severity is Severity.NOTICE


def test_a_tensor_of_a_workspaces_size_is_none() -> None:
    run = Run()
    for number in (1, 2):
        run.graph(
            [kernel(NVJET, BASE, gib(300)), kernel(SCALE, gib(300), 0, BASE)],
            [*COMMON, segment(gib(300), [(WORKSPACE, "active_allocated")], (number, 0))],
            [1, 0, 1],
            pool=(number, 0),
        )
    run.free(gib(300), WORKSPACE, 9)
    assert run.said("shared_workspaces")[1] == []
    assert run.said("identical_workspaces")[1] == []


def test_a_workspace_in_the_pool_of_each_graph() -> None:
    run = Run()
    keys = [product(run, gib(300 + number), (number, 0), (number, 0)) for number in (1, 2)]
    result, rows = run.said("identical_workspaces")
    # Both are there at once on one stream: two threads need them.
    assert rows == []
    for number in (1, 2):
        run.free(gib(300 + number), WORKSPACE, number + 0.5)
    result, rows = run.said("identical_workspaces")
    assert [row["graph"] for row in rows] == keys
    assert result.figures["saved"].value == WORKSPACE


def test_a_workspace_on_each_stream() -> None:
    run = Run()
    keys = [product(run, gib(300 + number), (number, 0), (number, 0)) for number in (1, 2)]
    for number, key in enumerate(keys):
        segments = run.memory[key].segments
        assert segments is not None
        segments.stream = [100 + number, 0]
    assert [row["graph"] for row in run.said("identical_workspaces")[1]] == keys


def test_workspaces_that_graphs_share_or_need() -> None:
    shared = Run()
    for _ in range(2):
        product(shared, gib(300), (1, 0), (1, 0))
    assert shared.said("identical_workspaces")[1] == []
    # Two threads of one graph, such as autograd's, have a handle each.
    threads = Run()
    threads.graph(
        [kernel(NVJET, BASE, gib(300)), kernel(NVJET, BASE, gib(301))],
        [
            *COMMON,
            *(segment(gib(at), [(WORKSPACE, "active_allocated")], OWN) for at in (300, 301)),
        ],
        [1, 0, 1, 1],
    )
    assert threads.said("identical_workspaces")[1] == []


def test_a_leftover_in_another_kernel_makes_no_tensor_of_a_workspace() -> None:
    struct = "_Z5otherPf6Params"
    run = Run()
    for number in (1, 2):
        left = kernel(struct, BASE, 0, gib(300 + number))
        assert left.kernel is not None
        left.kernel.parameters = [(0, 8), (8, 16)]
        run.graph(
            [kernel(NVJET, BASE, gib(300 + number)), left],
            [*COMMON, segment(gib(300 + number), [(WORKSPACE, "active_allocated")], (number, 0))],
            [1, 0, 1],
            pool=(number, 0),
        )
        run.free(gib(300 + number), WORKSPACE, number + 0.5)
    assert len(run.said("identical_workspaces")[1]) == 2


def test_a_pool_that_a_workspace_keeps_is_not_kept_by_an_output() -> None:
    run = Run()
    key = product(run, gib(300), OWN, OWN)
    run.executables[0].ended = "destroyed"
    run.end([*COMMON, segment(gib(300), [(WORKSPACE, "active_allocated")], OWN)])
    assert run.snapshot.blocks is not None
    run.snapshot.blocks.requested_bytes = list(run.snapshot.blocks.size_bytes)
    result, rows = run.said("pinned_pools")
    assert (rows, result.severity) == ([], Severity.INFO)
    assert result.figures["workspaces"].value == 1
    run.snapshot.names = Names(address=[gib(300)], size_bytes=[WORKSPACE], name=["y"])
    assert [row["graph"] for row in run.said("pinned_pools")[1]] == [key]
    # What replays of our own keep is not the script's doing.
    run.measured = [key]
    result, rows = run.said("pinned_pools")
    assert rows == []
    assert any("replayed again to be measured" in note for note in result.notes)


@pytest.mark.parametrize(
    ("ended", "state", "pinned"),
    [
        ("destroyed", "active_allocated", True),
        ("alive at exit", "active_allocated", False),
        ("reset", "inactive", False),
    ],
)
def test_a_pool_that_an_output_keeps(ended: str, state: str, pinned: bool) -> None:
    run = Run()
    key = user(run, ended=ended)
    run.end([*COMMON, segment(POOL, [(1024, state), (3072, "inactive")], OWN)])
    run.snapshot.names = Names(address=[POOL], size_bytes=[1024], name=["losses[0]"])
    result, rows = run.said("pinned_pools")
    assert [(row["graph"], row["node"], row["name"]) for row in rows] == (
        [(key, "1", "losses[0]")] if pinned else []
    )
    assert result.severity is (Severity.NOTICE if pinned else Severity.INFO)
    assert result.figures["reserved"].value == (4096 if pinned else 0)
