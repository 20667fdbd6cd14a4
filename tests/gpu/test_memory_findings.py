"""Memory that changes hands after captures, on a real GPU: who freed it, rebound it, reuses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture.analysis import Result, Severity, run_analysis
from tests.gpu.test_memory import Recorded

pytest.importorskip("torch")

FAULTS = """
    import json, sys, torch
    from pathlib import Path

    told = {}

    def capture(call, pool=None):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            result = call()
        return graph, result

    def here():
        return sys._getframe(1).f_lineno

    batch = torch.randn(2048, 512, device="cuda")
    model = torch.nn.Linear(512, 512).cuda().requires_grad_(False)
    other = torch.randn(2048, 512, device="cuda")
    half = torch.randn(64, 16384, device="cuda", dtype=torch.float16)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.softmax(batch * 2, -1), model(batch), half @ half.T, other + 3
    torch.cuda.synchronize()

    freed, kept = capture(lambda: torch.softmax(batch, -1))
    rebound, kept2 = capture(lambda: model(other))
    first, a = capture(lambda: torch.softmax(other * 2, -1))
    second, b = capture(lambda: other + 3, first.pool())
    products = [capture(lambda: half[:rows] @ half.T) for rows in (64, 32)]
    pinned, small = capture(lambda: torch.softmax(other, -1).sum())
    healthy, kept3 = capture(lambda: torch.softmax(other, 0))
    for graph in (freed, rebound, pinned, healthy, *(graph for graph, _ in products)):
        graph.replay()
    torch.cuda.synchronize()

    batch = None; told["freed"] = here()
    reused = torch.zeros(2048, 512, device="cuda"); told["reused"] = here()
    freed.replay()
    trained = torch.randn(512, 512, device="cuda")
    model.weight.data = trained; told["rebound"] = here()
    rebound.replay()
    torch.cuda.synchronize()
    for _ in range(3):
        second.replay()
        first.replay()
    total = b.sum().item()
    torch._C._cuda_clearCublasWorkspaces(); told["cleared"] = here()
    for graph, _ in products:
        graph.replay()
    torch.cuda.synchronize()
    del pinned
    healthy.replay()
    torch.cuda.synchronize()
    Path(__file__).with_name("addresses.json").write_text(json.dumps(told))
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("faults"), FAULTS, "stacks")


def said(recorded: Recorded, name: str) -> tuple[Result, list[dict[str, object]]]:
    result = run_analysis(name, recorded.recording)
    assert result.present, result.absent_reason
    print(name, result.severity, result.text(result.summary), result.rows, result.notes)
    names = [column.name for column in result.columns]
    return result, [dict(zip(names, row, strict=True)) for row in result.rows]


def index(recorded: Recorded, row: dict[str, object]) -> int:
    return list(recorded.recording.graphs).index(str(row["graph"]))


def test_an_input_freed_later_is_told_with_the_lines_that_freed_it_and_have_it_now(
    faults: Recorded,
) -> None:
    result, rows = said(faults, "freed_later")
    assert result.severity is Severity.WARNING
    (row,) = [row for row in rows if index(faults, row) == 0]
    assert row["confidence"] == "certain"
    assert row["name"] == "batch"
    assert row["now"] == "handed out again"
    assert row["replays since"] == 1
    assert f"work.py:{faults.told['freed']} " in str(row["freed at"])
    assert f"work.py:{faults.told['reused']} " in str(row["used since by"])
    # What is certain is only what was freed; the weight's old storage may be told as well.
    assert {index(faults, row) for row in rows} <= {0, 1}


def test_a_weight_with_other_data_is_told_by_its_path(faults: Recorded) -> None:
    result, rows = said(faults, "rebound_storage")
    assert result.severity is Severity.WARNING
    (row,) = [row for row in rows if row["name"] == "Linear: weight"]
    assert (index(faults, row), row["confidence"], row["replays since"]) == (1, "certain", 1)
    assert row["old one now"] in ("free", "handed out again")
    assert f"work.py:{faults.told['rebound']} " in str(row["replaced at"])
    assert index(faults, row) not in {index(faults, other) for other in rows if other is not row}


def test_an_output_that_the_other_graph_of_its_pool_writes_over(faults: Recorded) -> None:
    result, rows = said(faults, "overwritten_outputs")
    (row,) = rows
    assert index(faults, row) == 3
    # Of three; a replay that starts late leaves time in which somebody could have read it.
    assert row["times"] in (2, 3)
    assert str(row["kernel"]).startswith("add ")
    assert result.severity is Severity.WARNING


def test_a_workspace_of_several_graphs_that_was_cleared(faults: Recorded) -> None:
    _, rows = said(faults, "shared_workspaces")
    assert {4, 5} <= {index(faults, row) for row in rows}
    assert all(f"work.py:{faults.told['cleared']} " in str(row["freed at"]) for row in rows)


def test_a_pool_that_one_number_keeps(faults: Recorded) -> None:
    result, rows = said(faults, "pinned_pools")
    (row,) = rows
    assert (index(faults, row), row["name"]) == (6, "small")
    assert result.severity is Severity.NOTICE


def test_nothing_is_said_of_the_healthy_graph(faults: Recorded) -> None:
    for name in (
        "freed_later",
        "rebound_storage",
        "overwritten_outputs",
        "shared_workspaces",
        "identical_workspaces",
        "pinned_pools",
    ):
        _, rows = said(faults, name)
        assert 7 not in {index(faults, row) for row in rows}, name


UNSEEN = """
    import torch
    if {entries}:
        torch.cuda.memory._record_memory_history(max_entries={entries})
    x = torch.randn(2048, 512, device="cuda")
    torch.softmax(x, -1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.softmax(x, -1)
    graph.replay()
    torch.cuda.synchronize()
    for _ in range(300):
        z = torch.zeros(1024, device="cuda")
    del x
    x = torch.zeros(2048, 512, device="cuda")
    for _ in range({after}):
        z = torch.zeros(1024, device="cuda")
    graph.replay()
    torch.cuda.synchronize()
"""


def test_without_a_history_it_is_said_what_is_missed(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, UNSEEN.format(entries=0, after=1), "1")
    result, _ = said(recorded, "freed_later")
    assert any("memory history was off" in note for note in result.notes)


def test_a_history_that_overflowed_tells_from_when_to_when(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, UNSEEN.format(entries=100, after=300), "stacks")
    result, _ = said(recorded, "freed_later")
    assert any("holds 100 events" in note for note in result.notes)
    assert result.figures["blind_for_0"].value


def test_a_script_with_a_history_of_its_own_is_followed(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, UNSEEN.format(entries=100_000, after=1), "1")
    result, rows = said(recorded, "freed_later")
    assert [row["now"] for row in rows] == ["handed out again"]
    assert rows[0]["freed at"]
    assert not any("blind" in name for name in result.figures)


def test_expandable_segments_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    recorded = Recorded(tmp_path, UNSEEN.format(entries=0, after=1), "stacks")
    _, rows = said(recorded, "freed_later")
    assert [row["confidence"] for row in rows] == ["certain"]
