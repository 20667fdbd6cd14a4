"""Memory around captures on a real GPU: sums to the byte, pointers against logged addresses."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from capture.analysis import run_analysis
from capture.memory.lifetimes import lifetimes
from capture.memory.pointers import Pointer, resolve
from capture.memory.sums import against_torch, pool_sums, step
from capture.memory_map import Memory
from capture.model import Recording
from capture.recorder import folder as folders
from capture.recorder import launch
from capture.recorder.pack import pack

torch = pytest.importorskip("torch")

TRAIN = """
    import json, torch
    from pathlib import Path
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(256, 512)
            self.second = torch.nn.Linear(512, 256)
            self.register_buffer("scale", torch.ones(256))

        def forward(self, x):
            return self.second(torch.relu(self.first(x))) * self.scale

    net = Net().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), capturable=True)
    x = torch.randn(64, 256, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    Path(__file__).with_name("addresses.json").write_text(json.dumps({
        "x": x.data_ptr(),
        "loss": loss.data_ptr(),
        **{name: p.data_ptr() for name, p in net.named_parameters()},
        **{f"grad {name}": p.grad.data_ptr() for name, p in net.named_parameters()},
        "scale": net.scale.data_ptr(),
        "value": loss.item(),
    }))
"""


class Recorded:
    """A script recorded with memory, and what it wrote down itself."""

    def __init__(self, folder: Path, text: str, memory: str = "1") -> None:
        script = folder / "work.py"
        script.write_text(dedent(text), encoding="utf-8")
        recorded = folders.make(folder / "out.cgl", [str(script)], True)
        variables = {launch.MEMORY: memory} if memory else {}
        command = launch.child_command(str(script), [])
        code = launch.run(command, recorded, timings=0, variables=variables)
        assert code == 0
        folders.write_exit(recorded, code)
        self.recording: Recording = pack(recorded, folder / "out.cgl", True)
        told = folder / "addresses.json"
        self.told: dict[str, Any] = json.loads(told.read_text()) if told.exists() else {}

    def memory(self, index: int = 0) -> Memory:
        key = list(self.recording.graphs)[index]
        found = self.recording.memory(key)
        assert found is not None, self.recording.graphs[key].evidence["memory"]
        return found

    def pointers(self, index: int = 0) -> list[Pointer]:
        key = list(self.recording.graphs)[index]
        return resolve(self.recording.graph(key), self.memory(index))


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("train"), TRAIN, "stacks")


def test_sums_are_torchs_own_counters_to_the_byte(train: Recorded) -> None:
    memory = train.memory()
    rows = against_torch(memory)
    assert {row.what for row in rows} == {"reserved", "allocated", "active", "requested"}
    assert {row.mark for row in rows} == {0, 1}
    assert [row for row in rows if row.torch_bytes != row.summed_bytes] == []
    snapshot = train.recording.snapshot(0)
    assert snapshot is not None
    assert [row for row in against_torch(snapshot) if row.torch_bytes != row.summed_bytes] == []


def test_the_capture_added_its_own_pool(train: Recorded) -> None:
    memory = train.memory()
    found = step(memory)
    assert found is not None
    assert memory.pool not in (None, (0, 0))
    assert found.pool_before_bytes == 0
    # What torch itself allocates for a capture, such as the seed, is in the common pool.
    assert found.added_bytes >= found.pool_after_bytes > 0
    rows = {(row.mark, row.pool): row.reserved_bytes for row in pool_sums(memory)}
    others = sum(
        size - rows.get((0, pool), 0)
        for (mark, pool), size in rows.items()
        if mark == 1 and pool != memory.pool
    )
    assert found.added_bytes == found.pool_after_bytes + others
    assert found.kept_bytes > 0


def test_every_tensor_that_the_step_uses_is_pointed_at(train: Recorded) -> None:
    starts = {item.place.start for item in train.pointers() if item.place.kind == "block"}
    expected = {name: at for name, at in train.told.items() if name != "value"}
    assert {name for name, at in expected.items() if at not in starts} == set()


def test_blocks_are_named_by_module_path(train: Recorded) -> None:
    names = {item.place.start: item.place.name for item in train.pointers()}
    assert names[train.told["first.weight"]] == "Net: first.weight"
    assert names[train.told["scale"]] == "Net: scale (buffer)"
    assert names[train.told["grad second.bias"]] == "gradient of Net: second.bias"
    assert any(name.startswith("AdamW: exp_avg of Net: ") for name in names.values())


def test_almost_every_kernel_points_somewhere(train: Recorded) -> None:
    recording = train.recording
    graph = recording.graph(next(iter(recording.graphs)))
    kernels = {str(i) for i, type_ in enumerate(graph.topology.types) if type_ == "kernel"}
    found = {item.word.node for item in train.pointers() if item.place.kind == "block"}
    assert kernels - found == set()


def test_nothing_of_a_healthy_step_points_at_free_memory_of_others(train: Recorded) -> None:
    pool = train.memory().pool
    stale = [
        item
        for item in train.pointers()
        if item.place.state == "free" and item.place.pool != pool and not item.word.guess
    ]
    assert stale == []


def test_blocks_and_events_of_the_capture_have_stacks(train: Recorded) -> None:
    memory = train.memory()
    assert memory.history == "switched on"
    assert memory.events is not None
    assert memory.blocks is not None
    made = lifetimes(memory.events)
    assert made
    files = {
        memory.frames[frame].file.rpartition("/")[2]
        for item in made
        if item.stack >= 0
        for frame in memory.stacks[item.stack]
    }
    assert "work.py" in files
    kept = [item for item in made if item.freed is None]
    assert train.told["loss"] in {item.address for item in kept}


def test_allocations_are_placed_before_the_nodes_that_use_them(train: Recorded) -> None:
    memory = train.memory()
    assert memory.events is not None
    before = memory.events.nodes_before
    (info,) = train.recording.graphs.values()
    assert before == sorted(before)
    assert 0 <= before[0] < before[-1] <= info.node_count
    uses: dict[int, list[int]] = {}
    for word, place in train.pointers():
        if place.kind == "block":
            uses.setdefault(place.start, []).append(int(word.node))
    kept = [item for item in lifetimes(memory.events) if item.freed is None]
    used = [item for item in kept if item.address in uses]
    fitting = [item for item in used if any(node >= item.first for node in uses[item.address])]
    print(f"{len(fitting)} of {len(used)} kept allocations are used after they were made")
    assert used
    assert len(fitting) >= 0.9 * len(used)


def test_looking_changes_neither_results_nor_nodes(train: Recorded, tmp_path: Path) -> None:
    plain = Recorded(tmp_path, TRAIN, "")
    assert plain.told["value"] == train.told["value"]
    one, other = (
        recorded.recording.graph(next(iter(recorded.recording.graphs)))
        for recorded in (plain, train)
    )
    assert one.topology == other.topology


def test_what_looking_cost_is_told(train: Recorded) -> None:
    (info,) = train.recording.graphs.values()
    assert info.evidence["memory"].cost_ns
    cost_ns = train.recording.processes[0].costs_ns["memory"]
    print(f"memory: {cost_ns / 1e6:.1f} ms for a graph of {info.node_count} nodes")
    assert cost_ns > 0


STALE = """
    import torch
    x = torch.randn(1 << 20, device="cuda")
    y = torch.empty_like(x)
    host = torch.empty(1 << 20, pin_memory=True)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    keep = torch.zeros(4, device="cuda")
    with torch.cuda.graph(graph):
        torch.mul(x, 2.0, out=y)
        host.copy_(y, non_blocking=True)
        del x
    graph.replay()
    torch.cuda.synchronize()
"""


def test_an_input_that_was_freed_in_the_capture_is_free(tmp_path: Path) -> None:
    found = Recorded(tmp_path, STALE).pointers()
    stale = [item for item in found if item.place.state == "free" and item.word.node == "0"]
    assert stale
    assert stale[0].place.pool == (0, 0)
    pinned = [item for item in found if item.word.role == "destination"]
    assert [item.place.kind for item in pinned] == ["outside"]
    assert pinned[0].place.state == "host"
    assert (pinned[0].word.size_bytes, pinned[0].word.writes) == (4 << 20, True)


LATER = """
    import torch
    x = torch.randn(1 << 22, device="cuda")
    y = torch.empty_like(x)
    z = torch.empty_like(x)
    torch.mul(x, 2.0, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.mul(x, 2.0, out=y)
        z.copy_(y)
    graph.replay()
    torch.cuda.synchronize()
    print(x.data_ptr())
    del x
"""


def test_an_input_that_was_freed_after_the_capture_is_named(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, LATER)
    result = run_analysis("freed_later", recorded.recording)
    assert len(result.rows) == 1, result
    assert result.rows[0][6] == 4 << 22
    stale = [item for item in recorded.pointers() if item.place.state == "free"]
    assert stale == []


SHARED = """
    import torch
    x = torch.randn(256, 256, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        (x @ x).relu().sum()
    torch.cuda.synchronize()
    pool = torch.cuda.graph_pool_handle()
    graphs, kept = [], []
    for size in (256, 128, 64):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            kept.append((x[:size] @ x).relu().sum())
        graphs.append(graph)
    torch.cuda.synchronize()
"""


def test_graphs_of_one_pool_reuse_it(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, SHARED)
    steps = [step(recorded.memory(index)) for index in range(3)]
    assert len({recorded.memory(index).pool for index in range(3)}) == 1
    assert all(found is not None for found in steps)
    assert steps[0] is not None
    assert steps[1] is not None
    assert steps[0].pool_before_bytes == 0
    assert steps[1].pool_before_bytes == steps[0].pool_after_bytes
    assert steps[1].added_bytes < steps[0].added_bytes


ONE = """
    import torch
    x = torch.randn(1024, device="cuda")
    y = torch.empty_like(x)
    torch.mul(x, 2.0, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.mul(x, 2.0, out=y)
    graph.replay()
    torch.cuda.synchronize()
"""


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("backend:cudaMallocAsync", "absent"), ("expandable_segments:True", "noted")],
)
def test_other_allocators(
    setting: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", setting)
    recorded = Recorded(tmp_path, ONE)
    if expected == "absent":
        for info in recorded.recording.graphs.values():
            assert not info.evidence["memory"].present
            assert "cudaMallocAsync" in info.evidence["memory"].reason
        return
    assert any("expandable" in note for note in recorded.memory().notes)
    rows = [row for row in against_torch(recorded.memory()) if row.what == "allocated"]
    assert rows
    assert all(row.torch_bytes == row.summed_bytes for row in rows)
