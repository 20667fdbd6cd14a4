"""Where the nodes of real captures come from, and that noting it changes nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.model import Graph, Recording
from capture.origin_index import BACKWARD, FORWARD, OPTIMIZER, OriginIndex
from capture.origins import Origins
from capture.recorder import process
from tests.workloads import NAMES

from .test_recording import cglens
from .test_recording import run as run_command

torch: Any = pytest.importorskip("torch")

# torch's compiler warns of what torch itself still uses.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

WITHOUT_MODULES = ("streams_forkjoin", "triton_fused")
ENOUGH = 0.99


def launches(graph: Graph) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for node in graph.nodes():
        payload = node.payload
        if node.type == "kernel" and payload is not None:
            shape = payload.grid, payload.block, payload.dynamic_shared_bytes, payload.cluster
            found.append((payload.kernel.name, *shape))
        else:
            found.append((node.type,))
    return found


def edges(graph: Graph) -> list[tuple[int, int]]:
    return sorted((edge.source, edge.target) for edge in graph.edges())


@contextmanager
def without_origins() -> Iterator[None]:
    session = process.session()
    source, session.origin_source = session.origin_source, None
    try:
        yield
    finally:
        session.origin_source = source


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Recording]:
    numbers = iter(range(100))

    def run(work: Callable[[], Any]) -> Recording:
        path = tmp_path / f"run{next(numbers)}.cgl"
        with capture.record(path):
            work()
        return capture.read(path)

    return run


Record = Callable[..., Recording]


def warm(work: Callable[[], Any]) -> None:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def captured(work: Callable[[], Any]) -> Callable[[], Any]:
    def capture_it() -> Any:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = work()
        graph.replay()
        torch.cuda.synchronize()
        return result

    return capture_it


def only(recording: Recording) -> tuple[Graph, Origins]:
    (key,) = recording.graphs
    origins = recording.origins(key)
    assert origins is not None, recording.info(key).evidence["origins"]
    assert len(origins.stack) == len(recording.graph(key))
    return recording.graph(key), origins


def lines(origins: Origins) -> list[tuple[str, int, str] | None]:
    """Return the user's line that each node is charged to."""
    index = OriginIndex(origins, len(origins.stack))
    found: list[tuple[str, int, str] | None] = []
    for charge in index.charges:
        line = index.lines[charge.lines[0]] if charge.lines else None
        user = line is not None and line.kind == "user"
        found.append((line.file, line.line, line.function) if line and user else None)
    return found


def share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 1.0


@pytest.mark.parametrize("name", NAMES)
def test_workloads(name: str, record: Record) -> None:
    from tests.workloads import load

    workload = load(name).build()

    compiled = name == "encoder_compiled"

    def run() -> None:
        if "torch._dynamo" in sys.modules:
            torch._dynamo.reset()  # else the graphs of an earlier run are replayed
        if not compiled:
            workload.run(1)
            return
        # Of a backward that comes from the compiler's cache fewer lines are known.
        import torch._inductor.config as settings

        with settings.patch(force_disable_caches=True):
            workload.run(1)

    if not compiled:
        run()  # what is tuned once is not to differ below
    with without_origins():
        plain = record(run)
    noted = record(run)
    without, with_them = (
        # What the compiler tunes anew may come out with other sizes of blocks.
        [
            launch[:1] if compiled else launch
            for key in found.graphs
            for launch in launches(found.graph(key))
        ]
        for found in (plain, noted)
    )
    differing = [pair for pair in zip(without, with_them, strict=True) if pair[0] != pair[1]]
    assert not differing, differing[:3]
    assert [edges(plain.graph(key)) for key in plain.graphs] == [
        edges(noted.graph(key)) for key in noted.graphs
    ]
    with_line: list[bool] = []
    with_operator: list[bool] = []
    with_module: list[bool] = []
    for key in noted.graphs:
        if not len(noted.graph(key)):
            continue
        origins = noted.origins(key)
        assert origins is not None, noted.info(key).evidence["origins"]
        count = len(noted.graph(key))
        index = OriginIndex(origins, count)
        with_line += [line is not None for line in lines(origins)]
        with_operator += [
            operator >= 0 or compiled >= 0
            for operator, compiled in zip(
                index.column("operator"), index.column("compiled"), strict=True
            )
        ]
        # The optimizer and what the loss does are part of no module.
        with_module += [
            module >= 0
            for module, phase in zip(index.column("module"), index.column("phase"), strict=True)
            if phase != OPTIMIZER
        ]
        assert all("incomplete" not in reason for reason in origins.missing.values())
    assert with_line
    print(name, share(with_line), share(with_operator), share(with_module))
    assert share(with_line) >= ENOUGH
    assert share(with_operator) >= ENOUGH
    if name not in WITHOUT_MODULES:
        assert share(with_module) >= 0.9
    for process_ in noted.processes:
        assert not [text for text in process_.warnings if "origin" in text]


@pytest.mark.parametrize("name", ["gpt_train", "moe_block", "convnet_train"])
def test_results_are_those_of_eager_execution(name: str, record: Record) -> None:
    from tests.workloads import load

    record(load(name).build().check)


def indexing() -> Any:
    a = torch.randn(64, 32, device="cuda", requires_grad=True)
    picked = torch.randint(0, 32, (64, 4), device="cuda")
    rows = torch.randint(0, 64, (16,), device="cuda")

    def step() -> Any:
        a.grad = None
        parts = [
            a.gather(1, picked).sum(),
            a[rows].sum(),
            a.topk(3, dim=1)[0].sum(),
            a.max(1)[0].sum(),
            a.index_select(0, rows).sum(),
            a.masked_fill(a > 0, 0.0).sum(),
            torch.nn.functional.binary_cross_entropy_with_logits(a, a.detach().sigmoid()),
            (a * a).norm(),
        ]
        loss = torch.stack(parts).sum()
        loss.backward()
        return a.grad

    return step


def test_derivatives_are_the_ones_without_recording(record: Record) -> None:
    # A dispatch mode would make torch use scatter for scatter_ and add for add_.
    step = indexing()
    warm(step)
    with without_origins():
        plain = record(captured(step))
    graph, origins = only(record(captured(step)))
    (key,) = plain.graphs
    assert launches(graph) == launches(plain.graph(key))
    assert edges(graph) == edges(plain.graph(key))
    names = {operator.name for operator in origins.operators}
    assert {"aten.scatter_.src", "aten.add_.Tensor"} <= names


class Square(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Mixed(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(32, 32)
        self.second = torch.nn.Linear(32, 32)

    def forward(self, x: Any) -> Any:
        x = Square.apply(self.first(x))
        return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)

    def inner(self, x: Any) -> Any:
        return torch.relu(self.second(x))


def settings() -> dict[str, Callable[[Callable[[], Any]], Any]]:
    TorchDispatchMode: Any = torch.utils._python_dispatch.TorchDispatchMode  # noqa: N806

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    def within(context: Any) -> Callable[[Callable[[], Any]], Any]:
        def run(work: Callable[[], Any]) -> Any:
            with context():
                return work()

        return run

    return {
        "plain": lambda work: work(),
        "autocast": within(lambda: torch.autocast("cuda", dtype=torch.bfloat16)),
        "dispatch mode": within(Mode),
        "default device": within(lambda: torch.device("cuda")),
    }


@pytest.mark.parametrize("setting", settings())
@pytest.mark.parametrize("inside", [False, True])
def test_training_in_every_setting(setting: str, inside: bool, record: Record) -> None:
    torch.manual_seed(1)
    model = Mixed().cuda()
    x = torch.randn(16, 32, device="cuda")
    around = settings()[setting]

    def step() -> Any:
        model.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        return loss

    def work() -> Any:
        return around(step) if inside else step()

    def run() -> Any:
        return captured(work)() if inside else around(captured(work))

    warm(work)
    with without_origins():
        plain = record(run)
    graph, origins = only(record(run))
    (key,) = plain.graphs
    assert launches(graph) == launches(plain.graph(key))
    assert edges(graph) == edges(plain.graph(key))
    assert share([line is not None for line in lines(origins)]) == 1
    index = OriginIndex(origins, len(graph))
    paths = {module.path for module in origins.modules}
    assert {"first", "second"} <= paths
    assert {FORWARD, BACKWARD} <= set(index.column("phase"))
    backward = [at for at, phase in enumerate(index.column("phase")) if phase == BACKWARD]
    assert share([index.column("forward")[at] >= 0 for at in backward]) >= 0.8
    autograd = {index.name("autograd", at) for at in backward}
    assert "SquareBackward" in autograd


def test_a_profiler_that_is_running(tmp_path: Path) -> None:
    # In a process of its own: torch's profiler never lets go of CUPTI, which other tests need.
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from torch.profiler import ProfilerActivity, profile\n"
        "x = torch.randn(16, 32, device='cuda')\n"
        "x @ x.T\n"
        "torch.cuda.synchronize()\n"
        "with profile(activities=[ProfilerActivity.CPU]):\n"
        "    graph = torch.cuda.CUDAGraph()\n"
        "    with torch.cuda.graph(graph):\n"
        "        y = (x @ x.T).relu()\n"
        "    graph.replay()\n"
        "    torch.cuda.synchronize()\n"
    )
    done = run_command(cglens("record", "-o", "run.cgl", str(script)), tmp_path)
    assert done.returncode == 0, done.stderr
    graph, origins = only(capture.read(tmp_path / "run.cgl"))
    assert [line and line[1] for line in lines(origins)] == [9] * len(graph)


def test_inference_mode(record: Record) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).cuda()
    x = torch.randn(4, 8, device="cuda")

    def work() -> Any:
        with torch.inference_mode():
            return model(x)

    warm(work)
    _, origins = only(record(captured(work)))
    assert {module.path for module in origins.modules} == {"", "0", "1"}
    assert set(origins.phase) == {FORWARD}


def test_threads_capture_side_by_side(record: Record) -> None:
    x = torch.randn(64, 64, device="cuda")

    def first() -> Any:
        return (x * x).relu()

    def second() -> Any:
        return (x + x).sigmoid()

    def work() -> None:
        barrier = threading.Barrier(2)

        def one(step: Callable[[], Any]) -> None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.stream(torch.cuda.Stream()):
                graph.capture_begin(capture_error_mode="thread_local")
                barrier.wait()
                for _ in range(50):
                    step()
                barrier.wait()
                graph.capture_end()

        threads = [threading.Thread(target=one, args=(step,)) for step in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    warm(first)
    warm(second)
    recording = record(work)
    assert len(recording.graphs) == 2
    functions = set()
    for key in recording.graphs:
        origins = recording.origins(key)
        assert origins is not None
        names = {line[2].rpartition(".")[2] for line in lines(origins) if line}
        assert len(names) == 1, names
        functions |= names
    assert functions == {"first", "second"}


def test_labels(record: Record) -> None:
    x = torch.randn(8, 8, device="cuda")

    def work() -> Any:
        with torch.profiler.record_function("outer"):
            y = x + 1
            with capture.label("decoder"):
                y = y * 2
            torch.cuda.nvtx.range_push("range")
            y = y - 3
            torch.cuda.nvtx.range_pop()
        return y.sin()

    def run() -> None:
        with capture.label("step 7"):
            captured(work)()

    warm(work)
    recording = record(run)
    _, origins = only(recording)
    index = OriginIndex(origins, len(origins.stack))
    found = [index.name("label", at) for at in range(len(origins.stack))]
    assert found == ["outer", "decoder", "range", "step 7"]
    (info,) = recording.graphs.values()
    assert info.label == "step 7"
    assert "label_from" not in info.extra


def test_optimizer_and_shapes(record: Record) -> None:
    model = torch.nn.Linear(16, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
    x = torch.randn(4, 16, device="cuda")

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(x).sum().backward()
        optimizer.step()

    warm(step)
    graph, origins = only(record(captured(step)))
    index = OriginIndex(origins, len(graph))
    phases = index.column("phase")
    assert phases == sorted(phases)
    assert OPTIMIZER in phases
    product = next(item for item in origins.operators if item.name == "aten.addmm.default")
    assert [item.shape for item in product.inputs] == [(8,), (4, 16), (16, 8)]
    assert product.inputs[2].stride == (1, 16)
    assert {item.dtype for item in product.inputs} == {"float32"}
    labels = {index.name("label", at) for at, phase in enumerate(phases) if phase == OPTIMIZER}
    assert any("AdamW.step" in label for label in labels)


def test_kernels_of_triton_name_their_function(record: Record) -> None:
    from tests.workloads import load, triton_kernels

    workload = load("triton_fused").build()
    workload.run(1)
    recording = record(lambda: workload.run(1))
    key = next(iter(recording.graphs))
    origins = recording.origins(key)
    assert origins is not None
    places = {}
    for kernel in origins.compiled_kernels:
        for stack in kernel.stacks:
            frame = origins.frames[origins.stacks[stack][0]]
            places[kernel.kernel] = frame.file, frame.line
    assert places
    assert {file for file, _ in places.values()} == {triton_kernels.__file__}


def test_compiled_kernels_name_operators_and_lines(record: Record) -> None:
    from tests.workloads import load

    workload = load("encoder_compiled").build()
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    import torch._inductor.config as settings

    with settings.patch(force_disable_caches=True):
        recording = record(lambda: workload.run(1))
    kernels = [
        kernel
        for key in recording.graphs
        if (origins := recording.origins(key)) is not None
        for kernel in origins.compiled_kernels
    ]
    written = [kernel for kernel in kernels if kernel.kernel.startswith("triton_")]
    assert written
    assert share([bool(kernel.operators) for kernel in written]) >= ENOUGH
    assert share([bool(kernel.stacks) for kernel in written]) >= ENOUGH
    assert share([bool(kernel.modules) for kernel in written]) >= 0.9
    assert len([key for key in recording.graphs if recording.origins(key)]) >= 2  # and backward
    assert {"layers.0.linear1", "layers.1.norm2"} <= {
        path for kernel in kernels for path in kernel.modules
    }


def test_a_compiled_function_inside_a_capture_is_not_compiled_again(record: Record) -> None:
    from torch._dynamo.utils import counters

    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU()).cuda()
    compiled = torch.compile(model)
    x = torch.randn(8, 32, device="cuda")

    def work() -> Any:
        with torch.no_grad():
            return compiled(x) + 1

    warm(work)
    frames = counters["frames"]["total"]
    graph, origins = only(record(captured(work)))
    assert counters["frames"]["total"] == frames
    assert share([line is not None for line in lines(origins)]) == 1
    index = OriginIndex(origins, len(graph))
    assert index.column("operator")[-1] >= 0


def test_a_failing_capture_names_the_operator(record: Record) -> None:
    x = torch.randn(8, 8, device="cuda")

    def guilty() -> float:
        return float(x.sum().item())

    def work() -> None:
        def step() -> None:
            y = x + 1
            y.mul_(2)
            guilty()

        with pytest.raises(RuntimeError):
            captured(step)()

    warm(lambda: x + 1)
    recording = record(work)
    (info,) = recording.failed.values()
    assert info.failure is not None
    assert info.failure.operator == "aten._local_scalar_dense.default"
    torch.cuda.synchronize()
    # A capture that ends well gives torch its random generator back.
    captured(lambda: x + 1)()


def test_nothing_is_noted_once_no_capture_is_open(record: Record) -> None:
    x = torch.randn(8, 8, device="cuda")
    warm(lambda: x + 1)
    record(captured(lambda: x + 1))
    source: Any = process.session().origin_source
    watcher = source._watcher
    assert not watcher.open
    assert not watcher.is_on(watcher.key)
    parameter = torch.nn.Parameter(x.clone())
    assert type(parameter) is torch.nn.Parameter
