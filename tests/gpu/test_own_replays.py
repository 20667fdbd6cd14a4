"""Replays of our own on a real GPU: what they measure, and that they leave nothing behind."""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median
from textwrap import dedent
from typing import Any

import pytest

import capture
from capture.benchmarks import SPLIT, Benchmark
from capture.measure_request import EACH, ENVIRONMENT, MeasureRequest
from capture.model import Recording
from capture.recorder import folder as folders
from capture.recorder import launch
from capture.recorder.pack import pack

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROOT = Path(__file__).resolve().parents[2]


class Measured:
    """A script's recording, its exit code, and what it left in a file `after.txt`."""

    def __init__(
        self, folder: Path, text: str, request: MeasureRequest, function: str = ""
    ) -> None:
        script = folder / "work.py"
        script.write_text(dedent(text), encoding="utf-8")
        target = f"{script}:{function}" if function else str(script)
        recorded = folders.make(folder / "out.cgl", [target], True)
        self.code = launch.run(launch.child_command(target, []), recorded, measure=request)
        folders.write_exit(recorded, self.code)
        self.recording: Recording = pack(recorded, folder / "out.cgl", True)
        after = folder / "after.txt"
        self.after = after.read_text(encoding="utf-8") if after.exists() else ""

    def benchmark(self, index: int = 0) -> Benchmark:
        key = list(self.recording.graphs)[index]
        found = self.recording.benchmark(key)
        assert found is not None, self.recording.graphs[key].evidence
        return found


SUM_UP = """
    import atexit, hashlib, os, sys
    def checksum():
        import torch
        torch.cuda.synchronize()
        digest = hashlib.sha256()
        for tensor in watched:
            flat = tensor.detach().cpu().contiguous().reshape(-1)
            digest.update(flat.view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()
    watched = []
    first = []
    # Registered before torch is imported, so it runs after the measurements.
    atexit.register(lambda: open("AFTER", "w").write(str(first == [checksum()])))
"""


def with_checksum(folder: Path, text: str) -> str:
    return dedent(SUM_UP).replace("AFTER", str(folder / "after.txt")) + dedent(text)


TRAINING = """
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)
    ).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    x, y = torch.randn(128, 256, device="cuda"), torch.randn(128, 64, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    watched += [*model.parameters(), *(p.grad for p in model.parameters()), loss]
    watched += [t for s in optimizer.state.values() for t in s.values() if t.is_cuda]
    first.append(checksum())
"""


def test_a_training_step_is_put_back_byte_for_byte(tmp_path: Path) -> None:
    request = MeasureRequest(replays=20, nodes=True, removals=[("", "type:memset"), ("", "node:0")])
    found = Measured(tmp_path, with_checksum(tmp_path, TRAINING), request)
    assert found.code == 0
    assert found.after == "True"
    bench = found.benchmark()
    assert not bench.refused
    assert len(bench.replay_ns) == len(bench.cold_replay_ns) == len(bench.launch_cpu_ns) == 20
    assert all(value > 0 for value in bench.replay_ns + bench.cold_replay_ns)
    assert bench.saved_bytes > 0
    assert len(bench.capture_ns) == 1
    assert bench.eager is None
    assert bench.executable_bytes is not None
    assert len(bench.upload_ns) == len(bench.first_launch_ns)
    nodes = bench.nodes
    assert nodes is not None
    assert len(nodes.node) == found.recording.graphs[bench.graph].node_count
    kernels = [
        index
        for index, type_ in enumerate(found.recording.graph(bench.graph).topology.types)
        if type_ == "kernel"
    ]
    assert all(nodes.isolated_ns[index] > 0 for index in kernels)
    assert not any("put back" in note and "differ" in note for note in bench.notes)
    assert found.recording.processes[0].costs_ns["measure"] > 0


FOREIGN = """
    import torch
    from cuda.bindings import driver
    x = torch.zeros(1024, device="cuda")
    _, address = driver.cuMemAlloc(4096)
    class Foreign:
        __cuda_array_interface__ = {
            "shape": (1024,), "typestr": "<f4", "data": (int(address), False), "version": 3,
        }
    foreign = torch.as_tensor(Foreign(), device="cuda")
    foreign.zero_()
    pinned = torch.zeros(1024, pin_memory=True)
    def work():
        x.add_(1)
        foreign.add_(x)
        pinned.copy_(foreign, non_blocking=True)
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    graph.replay()
    torch.cuda.synchronize()
    watched += [x, foreign, pinned]
    first.append(checksum())
"""


def test_pinned_memory_and_memory_of_other_allocators_is_put_back(tmp_path: Path) -> None:
    request = MeasureRequest(replays=10, removals=[("", "type:memcpy")])
    found = Measured(tmp_path, with_checksum(tmp_path, FOREIGN), request)
    assert found.after == "True"
    bench = found.benchmark()
    assert len(bench.replay_ns) == 10
    (removal,) = bench.removals
    assert removal.reason == ""
    assert len(removal.without_ns) == 10


DECODE = """
    import torch
    torch.manual_seed(0)
    table = torch.randn(512, 64, device="cuda")
    cache = torch.zeros(128, 64, device="cuda")
    position = torch.zeros(1, dtype=torch.int64, device="cuda")
    token = torch.zeros(1, dtype=torch.int64, device="cuda")
    weight = torch.randn(64, 512, device="cuda")

    def step():
        row = table[token * 1]
        slot = position * 1
        cache.index_copy_(0, slot, row)
        scores = (row @ cache.T).softmax(-1) @ cache
        logits = scores @ weight
        token.copy_(logits.argmax(-1))
        position.add_(1)
        return logits

    with torch.cuda.stream(torch.cuda.Stream()):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    for _ in range(100):
        graph.replay()
    torch.cuda.synchronize()
"""


def test_nodes_that_hand_indices_on_are_measured_alone(tmp_path: Path) -> None:
    """Run alone, out of what a whole replay leaves behind, they would break the device."""
    found = Measured(tmp_path, DECODE, MeasureRequest(replays=10, nodes=True))
    assert found.code == 0
    bench = found.benchmark()
    assert len(bench.replay_ns) == 10
    nodes = bench.nodes
    assert nodes is not None
    assert all(value > 0 for value in nodes.isolated_ns)
    # Left out, one of them may: then that is said, and what was measured before stays.
    taken = [value for value in nodes.marginal_ns if value != -1]
    assert len(taken) == len(nodes.node) or any("device" in note for note in bench.notes)


FUNCTION = """
    import torch
    torch.manual_seed(0)
    big = torch.randn(4096, 4096, device="cuda")
    small = torch.randn(64, 64, device="cuda")

    def forward():
        product = big @ big
        other = small + 1
        return product, other * 2
"""


def test_a_function_against_eager_and_a_matmul_that_is_removed(tmp_path: Path) -> None:
    request = MeasureRequest(replays=20, nodes=True, removals=[("", EACH)])
    found = Measured(tmp_path, FUNCTION, request, "forward")
    bench = found.benchmark()
    eager = bench.eager
    assert eager is not None
    assert len(bench.capture_ns) == 4
    assert len(eager.call_ns) == len(eager.cpu_ns) == len(eager.gpu_ns) >= 10
    assert all(call >= cpu for call, cpu in zip(eager.call_ns, eager.cpu_ns, strict=True))
    assert set(eager.share) == set(SPLIT), eager.reason
    assert sum(eager.share.values()) == pytest.approx(1)
    assert eager.launches == 3
    assert eager.busy_ns is not None
    assert eager.busy_ns > 0.5 * median(eager.gpu_ns)
    assert any(name.startswith("cuda") or name.startswith("cu") for name in eager.calls)
    (removal,) = bench.removals
    assert not removal.reason
    gain = median(removal.with_ns) - median(removal.without_ns)
    assert gain > 0.5 * median(removal.with_ns)
    nodes = bench.nodes
    assert nodes is not None
    (matmul,) = (int(node) for node in removal.nodes)
    assert nodes.marginal_ns[matmul] > 0.5 * median(bench.replay_ns)
    assert 0.5 < nodes.isolated_ns[matmul] / nodes.marginal_ns[matmul] < 2
    assert bench.replay_ns[0] > 0


def test_conditions(tmp_path: Path) -> None:
    pytest.importorskip("pynvml")
    bench = Measured(tmp_path, FUNCTION, MeasureRequest(replays=10), "forward").benchmark()
    conditions = bench.conditions
    assert conditions is not None
    assert conditions.reason == ""
    assert len(conditions.at_ns) >= 3
    assert min(conditions.sm_clock_mhz) > 0
    assert max(conditions.sm_clock_mhz) <= (conditions.max_sm_clock_mhz or 0)


RETURNED = """
    import torch

    def main():
        table = torch.randn(1000, 64, device="cuda")
        index = torch.arange(512, device="cuda")
        weight = torch.nn.Linear(64, 64).cuda()
        def work():
            return weight(table[index])
        with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
            work()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = work()
        graph.replay()
        torch.cuda.synchronize()

    main()
    import gc
    gc.collect()
    torch.cuda.empty_cache()
    # Whatever is freed now is written over: as indices this would be far outside the table.
    junk = [torch.full((1 << 20,), 1 << 40, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()
"""


def test_a_graph_whose_script_let_go_of_it_is_still_measured(tmp_path: Path) -> None:
    found = Measured(tmp_path, RETURNED, MeasureRequest(replays=20))
    assert found.code == 0
    bench = found.benchmark()
    assert not bench.refused
    assert len(bench.replay_ns) == 20
    # The recording says when the script let go of it: the clone does not keep it alive.
    assert [item.ended for item in found.recording.executables] == ["destroyed"]


REFUSED = {
    "host": (
        """
        import ctypes
        from cuda.bindings import driver
        import torch
        class Call:
            pass
        stream = torch.cuda.Stream()
        x = torch.zeros(8, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x.add_(1)
            free = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
            current = driver.CUstream(torch.cuda.current_stream().cuda_stream)
            code, = driver.cuLaunchHostFunc(current, driver.CUhostFn(free), 0)
            assert int(code) == 0
        """,
        "host node",
    ),
    "event": (
        """
        import torch
        x = torch.zeros(8, device="cuda")
        event = torch.cuda.Event(external=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x.add_(1)
            event.record()
        """,
        "event_record node",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_so(tmp_path: Path, name: str) -> None:
    text, words = REFUSED[name]
    found = Measured(tmp_path, text, MeasureRequest(replays=5))
    assert found.code == 0
    bench = found.benchmark()
    assert words in bench.refused
    assert bench.replay_ns == []


def test_memory_that_was_freed_is_refused(tmp_path: Path) -> None:
    # Allocated by nobody that torch knows, and freed again.
    text = """
        import torch
        from cuda.bindings import driver
        x = torch.zeros(1024, device="cuda")
        _, other = driver.cuMemAlloc(1 << 25)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x.add_(1)
            stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
            driver.cuMemcpyDtoDAsync(other, x.data_ptr(), 4096, stream)
        graph.replay()
        torch.cuda.synchronize()
        driver.cuMemFree(other)
    """
    bench = Measured(tmp_path, text, MeasureRequest(replays=5)).benchmark()
    assert "was freed" in bench.refused
    assert "node 1" in bench.refused


FATAL = """
    import torch
    x = torch.zeros(64, 64, device="cuda")
    index = torch.zeros(16, device="cuda", dtype=torch.int64)
    good = torch.zeros(16, device="cuda", dtype=torch.int64)
    def work():
        index.copy_(good)
        return x[index]
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = work()
    graph.replay()
    torch.cuda.synchronize()
    index.fill_(1 << 40)
"""


def test_a_removal_that_breaks_the_device_leaves_a_recording_that_says_so(tmp_path: Path) -> None:
    request = MeasureRequest(replays=10, removals=[("", "node:0"), ("", "node:1")])
    found = Measured(tmp_path, FATAL, request)
    bench = found.benchmark()
    # The benchmark came first and is whole.
    assert len(bench.replay_ns) == 10
    broken, later = bench.removals
    assert broken.nodes == ["0"]
    assert "without these nodes failed" in broken.reason
    assert later.reason
    assert later.without_ns == []


def test_a_script_that_broke_cuda_is_not_replayed(tmp_path: Path) -> None:
    text = (
        FATAL
        + """
    x[index]
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        pass
    """
    )
    found = Measured(tmp_path, text, MeasureRequest(replays=5))
    (key,) = found.recording.graphs
    assert found.recording.benchmark(key) is None
    evidence = found.recording.graphs[key].evidence["benchmarks"]
    assert "left CUDA in an error" in evidence.reason


def test_without_a_request_nothing_is_replayed(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(dedent(FUNCTION), encoding="utf-8")
    recorded = folders.make(tmp_path / "out.cgl", [str(script)], True)
    command = launch.child_command(f"{script}:forward", [])
    assert launch.run(command, recorded) == 0
    folders.write_exit(recorded, 0)
    recording = pack(recorded, tmp_path / "out.cgl", True)
    assert recording.benchmarked == []
    assert "measure" not in recording.processes[0].costs_ns


def test_only_the_graphs_that_were_asked_for(tmp_path: Path) -> None:
    text = """
        import torch
        x = torch.zeros(1024, device="cuda")
        graphs = []
        for number in range(3):
            graphs.append(torch.cuda.CUDAGraph())
            with torch.cuda.graph(graphs[-1]):
                for _ in range(number + 1):
                    x.add_(1)
    """
    first = Measured(tmp_path, text, MeasureRequest(replays=3))
    keys = list(first.recording.graphs)
    assert first.recording.benchmarked == keys
    again = Measured(tmp_path, text, MeasureRequest(replays=3, graphs=[keys[1]]))
    assert again.recording.benchmarked == [keys[1]]


def test_a_compiled_model_trains_as_without_measuring(tmp_path: Path) -> None:
    """Graph trees look at which tensors live: keeping memory must not look like a use."""
    script = ROOT / "examples" / "compiled.py"
    outs, counts = [], []
    for name, request in (("plain", None), ("measured", MeasureRequest(replays=5))):
        recorded = folders.make(tmp_path / f"{name}.cgl", [str(script)], True)
        with open(tmp_path / f"{name}.txt", "w") as file:
            code = _run_into(file, script, recorded, request)
        assert code == 0, (tmp_path / f"{name}.txt").read_text()
        folders.write_exit(recorded, code)
        recording = pack(recorded, tmp_path / f"{name}.cgl", True)
        counts.append([info.node_count for info in recording.graphs.values()])
        lines = (tmp_path / f"{name}.txt").read_text().splitlines()
        outs.append([line for line in lines if line.startswith("compiled:")])
    assert counts[0] == counts[1]
    assert outs[0] == outs[1]
    for key in recording.benchmarked:
        found = recording.benchmark(key)
        assert found is not None
        assert bool(found.refused) == (recording.graphs[key].node_count == 0), found.refused
        assert bool(found.replay_ns) != bool(found.refused)


def _run_into(file: Any, script: Path, recorded: Path, request: MeasureRequest | None) -> int:
    environment = launch.child_environment(recorded)
    if request is not None:
        environment[ENVIRONMENT] = request.to_json()
    command = launch.child_command(str(script), [])
    return subprocess.run(
        command, env=environment, stdout=file, stderr=subprocess.STDOUT, timeout=300, check=False
    ).returncode


def test_cglens_bench_end_to_end(tmp_path: Path) -> None:
    import sys

    script = tmp_path / "work.py"
    script.write_text(dedent(FUNCTION), encoding="utf-8")
    command = [sys.executable, "-m", "graphviz_app", "bench", "--replays", "10", "-o", "b.cgl"]
    done = subprocess.run(
        [*command, f"{script}:forward"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    recording: Any = capture.read(tmp_path / "b.cgl")
    assert len(recording.benchmarked) == 1
