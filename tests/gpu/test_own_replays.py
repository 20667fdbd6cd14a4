"""Replays of our own on a real GPU: what they measure, and that they leave nothing behind."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from textwrap import dedent

import pytest

from capture.benchmarks import SPLIT, Benchmark
from capture.measure_request import EACH, MeasureRequest
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


WORK = """
    import ctypes, gc
    import torch
    from cuda.bindings import driver

    def captured(work, warm=True):
        if warm:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(3):
                    work()
            torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = work()
        return graph, result

    def replayed(graph):
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()

    torch.manual_seed(0)
    kept = []

    def training():
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
        graph, loss = captured(step)
        replayed(graph)
        kept.append((graph, step))
        watched.extend([*model.parameters(), *(p.grad for p in model.parameters()), loss])
        watched.extend(t for s in optimizer.state.values() for t in s.values() if t.is_cuda)

    def pinned_and_foreign():
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
        graph, _ = captured(work)
        replayed(graph)
        kept.append(graph)
        watched.extend([x, foreign, pinned])

    def returned():
        table = torch.randn(1000, 64, device="cuda")
        index = torch.arange(512, device="cuda")
        weight = torch.nn.Linear(64, 64).cuda()
        def work():
            with torch.no_grad():
                return weight(table[index])
        graph, out = captured(work)
        replayed(graph)

    def host():
        x = torch.zeros(8, device="cuda")
        free = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
        def work():
            x.add_(1)
            current = driver.CUstream(torch.cuda.current_stream().cuda_stream)
            (code,) = driver.cuLaunchHostFunc(current, driver.CUhostFn(free), 0)
            assert int(code) == 0
        kept.append(captured(work))

    def event():
        x = torch.zeros(8, device="cuda")
        event = torch.cuda.Event(external=True)
        def work():
            x.add_(1)
            event.record()
        kept.append((captured(work, warm=False), event))

    def freed():
        x = torch.zeros(1024, device="cuda")
        _, other = driver.cuMemAlloc(1 << 25)
        def work():
            x.add_(1)
            stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
            driver.cuMemcpyDtoDAsync(other, x.data_ptr(), 4096, stream)
        graph, _ = captured(work)
        replayed(graph)
        kept.append((graph, x))
        driver.cuMemFree(other)

    for work in (training, pinned_and_foreign, returned, host, event, freed):
        work()
    gc.collect()
    torch.cuda.empty_cache()
    # Whatever was freed is written over: as indices this would be far outside any table.
    junk = [torch.full((1 << 20,), 1 << 40, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()
    first.append(checksum())
"""


def test_graphs_of_all_kinds_are_measured_or_refused_and_put_back(tmp_path: Path) -> None:
    request = MeasureRequest(replays=10, nodes=True, removals=[("", "node:0")])
    found = Measured(tmp_path, with_checksum(tmp_path, WORK), request)
    assert found.code == 0
    assert found.after == "True"  # every byte that was watched is as the script left it
    assert found.recording.processes[0].costs_ns["measure"] > 0
    assert len(found.recording.graphs) == 6
    training, pinned, returned, host, event, freed = map(found.benchmark, range(6))
    for bench in (training, pinned, returned):
        assert not bench.refused
        assert len(bench.replay_ns) == len(bench.cold_replay_ns) == len(bench.launch_cpu_ns) == 10
        assert all(value > 0 for value in bench.replay_ns + bench.cold_replay_ns)
        assert len(bench.upload_ns) == len(bench.first_launch_ns)
        assert len(bench.capture_ns) == 1
        assert bench.saved_bytes > 0
        assert bench.eager is None
        assert bench.executable_bytes is not None
        assert not any("put back" in note and "differ" in note for note in bench.notes)
        (removal,) = bench.removals
        assert removal.reason == ""
        assert len(removal.with_ns) == len(removal.without_ns) == 10
        nodes = bench.nodes
        assert nodes is not None
        assert nodes.reasons == {}
        assert len(nodes.node) == found.recording.graphs[bench.graph].node_count
        assert all(value > 0 for value in nodes.isolated_ns)
    # The recording says when the script let go of a graph: its clone does not keep it alive.
    (executable,) = found.recording.executables_of(returned.graph)
    assert executable.ended == "destroyed"
    for bench, words in ((host, "host node"), (event, "event_record node"), (freed, "was freed")):
        assert words in bench.refused
        assert bench.replay_ns == []
    assert "node 1" in freed.refused


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
    assert eager.busy_ns > 0
    assert any(name.startswith("cuda") or name.startswith("cu") for name in eager.calls)
    (removal,) = bench.removals
    assert not removal.reason
    assert median(removal.without_ns) < median(removal.with_ns)
    nodes = bench.nodes
    assert nodes is not None
    (matmul,) = (int(node) for node in removal.nodes)
    assert nodes.marginal_ns[matmul] > 0
    assert nodes.isolated_ns[matmul] == max(nodes.isolated_ns)
    conditions = bench.conditions
    assert conditions is not None
    if conditions.reason:
        assert "nvidia-ml-py" in conditions.reason
    else:
        assert len(conditions.at_ns) >= 3
        assert 0 < max(conditions.sm_clock_mhz) <= (conditions.max_sm_clock_mhz or 0)


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


def test_what_breaks_the_device_is_said_and_comes_last(tmp_path: Path) -> None:
    """Of two graphs: one with a node whose removal is fatal, and a decode step.

    Run alone out of what a whole replay leaves behind, nodes of a decode step would break the
    device: what hands indices on lies in memory that is used again.
    """
    request = MeasureRequest(replays=10, nodes=True, removals=[("", "node:0"), ("", "node:1")])
    found = Measured(tmp_path, FATAL + DECODE, request)
    fatal, decode = found.benchmark(0), found.benchmark(1)
    for bench in (fatal, decode):
        assert len(bench.replay_ns) == 10
        assert bench.nodes is not None
        assert all(value > 0 for value in bench.nodes.isolated_ns), bench.nodes.reasons
    broken, later = fatal.removals
    assert broken.nodes == ["0"]
    assert "without these nodes failed" in broken.reason
    assert later.reason
    assert later.without_ns == []
    assert any("left the device in an error" in note for note in decode.notes)


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


def test_a_compiled_model_trains_as_without_measuring(tmp_path: Path) -> None:
    """Graph trees look at which tensors live: keeping memory must not look like a use."""
    # The example itself compares its loss with that of its eager twin.
    script = ROOT / "examples" / "compiled.py"
    recorded = folders.make(tmp_path / "out.cgl", [str(script)], True)
    command = launch.child_command(str(script), [])
    code = launch.run(command, recorded, measure=MeasureRequest(replays=5))
    assert code == 0
    folders.write_exit(recorded, code)
    recording = pack(recorded, tmp_path / "out.cgl", True)
    counts = [info.node_count for info in recording.graphs.values()]
    assert sum(count > 0 for count in counts) >= 2  # forward and backward
    for key in recording.benchmarked:
        found = recording.benchmark(key)
        assert found is not None
        assert bool(found.refused) == (recording.graphs[key].node_count == 0), found.refused
        assert bool(found.replay_ns) != bool(found.refused)
