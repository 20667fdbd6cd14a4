"""Node timings on a real GPU: who is timed, how they are joined, and what tracing leaves alone."""

from __future__ import annotations

import importlib.util
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.model import Recording

from .test_recording import cglens, mlp, run, warm

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROOT = Path(__file__).resolve().parents[2]
TIMED = {"kernel", "memcpy", "memset"}


def record(path: Path, work: Any) -> Recording:
    with capture.record(path):
        work()
    return capture.read(path)


def fork_join(replays: int) -> None:
    model, x = mlp()
    copy = torch.empty(16, 32, pin_memory=True)
    warm(lambda: model(x) @ model(x).T)
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        current = torch.cuda.current_stream()
        side.wait_stream(current)
        left = model(x)
        with torch.cuda.stream(side):
            right = model(x * 2)
        current.wait_stream(side)
        total = left + right
        torch.zeros_like(total).copy_(total)
        copy.copy_(total, non_blocking=True)
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()


def test_every_node_that_does_work_is_timed(tmp_path: Path) -> None:
    recording = record(tmp_path / "run.cgl", lambda: fork_join(50))
    (key,) = recording.graphs
    graph = recording.graph(key)
    assert recording.timed, recording.info(key).evidence["timings"]
    (found,) = recording.timings_of(key)
    assert recording.info(key).evidence["timings"].present
    assert found.joined_by == "clone map"
    working = {str(node.position) for node in graph.nodes() if node.type in TIMED}
    assert set(found.node) == working
    assert found.dropped_records == 0
    assert len(found.makespan_ns) == len(found.traced_replay_ns) == 20
    assert len(found.untraced_replay_ns) == 20
    assert all(count == 20 for count in found.count)
    # A replay's nodes lie inside its makespan, and a kernel takes time.
    assert all(minimum > 0 for minimum in found.minimum_ns)
    longest = max(found.makespan_ns)
    assert all(
        start + duration <= longest
        for start, duration in zip(found.sample_start_ns, found.sample_duration_ns, strict=True)
    )
    # Successors start when their predecessors have ended.
    end: dict[str, int] = {}
    begin: dict[str, int] = {}
    for node, start, duration in zip(
        found.node, found.sample_start_ns, found.sample_duration_ns, strict=True
    ):
        begin[node] = start
        end[node] = start + duration
    for edge in graph.edges():
        source, target = str(edge.source), str(edge.target)
        if source in end and target in begin:
            assert begin[target] >= end[source]
    assert len(set(found.stream)) >= 2


def add_child(child: int) -> None:
    """Add a child graph to the graph under capture, behind what was captured until now."""
    from cuda.bindings import driver

    stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
    _, _, _, graph, before, _, count = checked(driver.cuStreamGetCaptureInfo(stream))
    _, node = checked(driver.cuGraphAddChildGraphNode(graph, before, count, driver.CUgraph(child)))
    replace = driver.CUstreamUpdateCaptureDependencies_flags.CU_STREAM_SET_CAPTURE_DEPENDENCIES
    checked(driver.cuStreamUpdateCaptureDependencies(stream, [node], None, 1, int(replace)))


def checked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    assert int(answer[0]) == 0, answer
    return answer


def test_bodies_of_child_graphs_are_timed(tmp_path: Path) -> None:
    model, x = mlp()
    warm(lambda: model(x))

    def work() -> None:
        inner, outer = torch.cuda.CUDAGraph(keep_graph=True), torch.cuda.CUDAGraph()
        with torch.cuda.graph(inner):
            model(x)
        with torch.cuda.graph(outer):
            x.add_(0.0)
            add_child(inner.raw_cuda_graph())
        for _ in range(10):
            outer.replay()
        torch.cuda.synchronize()

    recording = record(tmp_path / "run.cgl", work)
    key = list(recording.graphs)[1]
    graph = recording.graph(key)
    assert "child_graph" in graph.topology.types
    (found,) = recording.timings_of(key)
    position = graph.topology.types.index("child_graph")
    inside = len(graph.at(f"{position}/0"))
    assert inside
    assert {f"{position}/0/{node}" for node in range(inside)} <= set(found.node)
    assert "" not in found.node
    # What the child graph did lies between the nodes around it.
    start = dict(zip(found.node, found.start_ns, strict=True))
    assert start["0"] < min(start[node] for node in found.node if "/" in node)
    # The inner graph was never instantiated or replayed by itself.
    assert all(item.graph == key for item in map(recording.timings, recording.timed) if item)


def test_bodies_of_conditionals_are_timed(tmp_path: Path) -> None:
    from cuda.bindings import driver

    nodes = load_example("all_node_types")
    flags = torch.full((4,), -1, dtype=torch.int32, device="cuda")
    x = torch.ones(nodes.COUNT, device="cuda")
    warm(lambda: x.mul_(1.0))
    kernels = nodes.load_kernels()
    outer = torch.cuda.CUDAGraph()

    def add_loop() -> None:
        """Add a loop of three iterations behind what was captured until now."""
        stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
        _, _, _, graph, before, _, count = checked(driver.cuStreamGetCaptureInfo(stream))
        context = nodes.checked(driver.cuCtxGetCurrent())
        loop = nodes.new_condition(graph, context, 1)
        kind = driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_WHILE
        node, (body,) = nodes.add_conditional(graph, before[:count], context, loop, kind, 1)
        pointer, integer, number = nodes.ctypes.c_uint64, nodes.ctypes.c_int, nodes.ctypes.c_float
        data = pointer(x.data_ptr())
        arguments = [data, data, integer(nodes.COUNT), number(0.5)]
        inner = nodes.add_kernel(body, [], kernels["scale"], arguments, threads=nodes.COUNT)
        arguments = [pointer(int(loop)), pointer(flags.data_ptr()), integer(1), integer(3)]
        nodes.add_kernel(body, [inner], kernels["count_up"], arguments)
        replace = driver.CUstreamUpdateCaptureDependencies_flags.CU_STREAM_SET_CAPTURE_DEPENDENCIES
        checked(driver.cuStreamUpdateCaptureDependencies(stream, [node], None, 1, int(replace)))

    def work() -> None:
        with torch.cuda.graph(outer):
            flags.zero_()
            add_loop()
            x.mul_(1.0)
        for _ in range(6):
            outer.replay()
        torch.cuda.synchronize()

    recording = record(tmp_path / "run.cgl", work)
    assert x[0].item() == 0.5 ** (3 * 6)
    (key,) = recording.graphs
    (found,) = recording.timings_of(key)
    count = dict(zip(found.node, found.count, strict=True))
    traced = len(found.makespan_ns)
    assert count["0"] == traced
    assert count["1/0/0"] == count["1/0/1"] == 3 * traced
    start = dict(zip(found.node, found.sample_start_ns, strict=True))
    assert start["0"] < start["1/0/0"] < start["1/0/1"] < start["2"]


def load_example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_timings_the_reason_is_said(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "x = torch.zeros(8, device='cuda')\n"
        "graph = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(graph):\n"
        "    x.add_(1)\n"
        "graph.replay()\n"
        "torch.cuda.synchronize()\n"
    )
    done = run(cglens("record", "--timings", "0", "-o", "run.cgl", str(script)), tmp_path)
    assert done.returncode == 0, done.stderr
    recording = capture.read(tmp_path / "run.cgl")
    (info,) = recording.graphs.values()
    evidence = info.evidence["timings"]
    assert not evidence.present
    assert "--timings 0" in evidence.reason
    assert recording.timed == []


def test_the_script_s_own_profiler_sees_what_it_would_see(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from torch.profiler import ProfilerActivity, profile\n"
        "x = torch.zeros(8, device='cuda')\n"
        "graph = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(graph):\n"
        "    x.add_(1); x.mul_(2)\n"
        "for _ in range(2): graph.replay()\n"
        "torch.cuda.synchronize()\n"
        "with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as found:\n"
        "    for _ in range(3): graph.replay()\n"
        "    torch.cuda.synchronize()\n"
        "names = [e.name for e in found.events() if str(e.device_type).endswith('CUDA')]\n"
        "print(len(names))\n"
    )
    plain = run([sys.executable, str(script)], tmp_path)
    done = run(cglens("record", "-o", "run.cgl", str(script)), tmp_path)
    assert done.stdout == plain.stdout
    assert int(done.stdout) >= 6
    recording = capture.read(tmp_path / "run.cgl")
    (executable,) = recording.executables
    assert executable.replays == 5
    found = recording.timings(executable.id)
    assert found is not None
    assert len(found.makespan_ns) == 2


def test_tracing_cost_and_replays_afterwards(tmp_path: Path) -> None:
    recording = record(tmp_path / "run.cgl", lambda: fork_join(200))
    assert recording.timed, [info.evidence["timings"] for info in recording.graphs.values()]
    (found,) = (recording.timings(name) for name in recording.timed)
    assert found is not None
    assert found.tracing_ratio is not None
    assert 0.8 < found.tracing_ratio < 5
    assert statistics.median(found.busy_ns) <= statistics.median(found.makespan_ns)
    assert recording.processes[0].costs_ns["trace"] > 0
