"""Watching torch's operators, on a CPU: each stands for one that makes one node of a graph."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from capture.origin_index import BACKWARD, FORWARD, OPTIMIZER, OriginIndex
from capture.origins import Origins
from capture.recorder.origins.labels import label
from capture.recorder.origins.settings import OBSERVER
from capture.recorder.torch_origins import Watcher
from capture.recorder.torch_origins_capture import CaptureOrigins, OriginSource

# Loaded before any capture, as by a warm-up: what is captured after its first use is not noted.
importlib.import_module("torch._dynamo.eval_frame")

STREAM = 7


class Info(NamedTuple):
    id: int = 1
    status: int = 1


class CountingDriver:
    """Every operator that is looked at makes one node: it is asked before and after each."""

    def __init__(self) -> None:
        self.asked = 0
        self.broken = False

    def capture_info(self, stream: int) -> Info:
        return Info()

    def capture_info_address(self) -> int:
        return 0

    def capture_tip(self, stream: int) -> Callable[[], int]:
        def tip() -> int:
            if self.broken:
                return -1
            self.asked += 1
            return self.asked // 2

        return tip

    @property
    def handles(self) -> list[int]:
        return list(range(1, self.asked // 2 + 1))


@pytest.fixture(scope="module", params=["python", "native"])
def source(request: pytest.FixtureRequest) -> Iterator[OriginSource]:
    found = OriginSource()
    found.reason = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OBSERVER, request.param)
        watcher = found._watcher = Watcher(lambda: STREAM)
    # Where the tests run there is a compiler, so one that fails is no reason to skip.
    assert watcher.observer.name == request.param, watcher.not_native
    yield found
    watcher.close()


class Capture:
    """What a capture would have noted of a call."""

    def __init__(self, source: OriginSource) -> None:
        self.source = source
        self.driver = CountingDriver()
        self.noted: CaptureOrigins | None = None
        self.result: Any = None

    def __call__(self, work: Callable[[], Any]) -> Seen:
        driver: Any = self.driver
        self.noted = noted = self.source.begin(driver, STREAM, sys._getframe(0))
        assert noted is not None
        try:
            self.result = work()
        finally:
            noted.stop()
        watcher = self.source._watcher
        assert watcher is not None
        assert not watcher.is_on(watcher.key)
        assert noted._watched.problem == ""
        return Seen(noted.build("g", self.driver.handles))


class Seen:
    """Origins, read the way the tests below ask."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.index = OriginIndex(origins, max(len(origins.operator), len(origins.stack)))

    @property
    def operators(self) -> list[str]:
        return [
            self.origins.operators[at].name.removeprefix("aten.") if at >= 0 else ""
            for at in self.index.column("operator")
        ]

    def line(self, at: int) -> tuple[str, str]:
        """Return (file, function) of the user's line that a node is charged to."""
        charge = self.index.charges[at]
        line = self.index.lines[charge.lines[0]]
        return Path(line.file).name, line.function

    def module(self, at: int) -> str | None:
        number = self.index.column("module")[at]
        return self.origins.modules[number].path if number >= 0 else None

    def only(self, operator: str) -> int:
        (at,) = [at for at, name in enumerate(self.operators) if name == operator]
        return at


@pytest.fixture
def capture(source: OriginSource) -> Capture:
    return Capture(source)


class Block(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.sigmoid(self.inner(x))


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def test_a_training_step_from_module_to_operator(capture: Capture) -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
    x = torch.randn(2, 4)

    def step() -> None:
        net(x).tanh().sum().backward()
        optimizer.step()

    seen = capture(step)
    products = [at for at, name in enumerate(seen.operators) if name == "addmm.default"]
    assert [seen.module(at) for at in products] == ["blocks.0.inner", "blocks.1.inner"]
    sigmoids = [at for at, name in enumerate(seen.operators) if name == "sigmoid.default"]
    assert [seen.module(at) for at in sigmoids] == ["blocks.0", "blocks.1"]
    assert seen.line(sigmoids[0]) == (Path(__file__).name, "Block.forward")
    backward = [at for at, name in enumerate(seen.operators) if name == "sigmoid_backward.default"]
    # The last block comes first.
    assert [seen.module(at) for at in backward] == ["blocks.1", "blocks.0"]
    assert {seen.line(at)[1] for at in backward} == {"Block.forward"}
    assert {seen.index.name("autograd", at) for at in backward} == {"SigmoidBackward0"}
    at = seen.only("tanh_backward.default")
    assert seen.line(at)[1].endswith("step")
    phases = seen.index.column("phase")
    assert {phases[at] for at in products} == {FORWARD}
    assert {phases[at] for at in backward} == {BACKWARD}
    assert phases[-1] == OPTIMIZER
    assert "SGD.step" in seen.index.name("label", len(phases) - 1)


def test_results_are_the_same_bits(capture: Capture) -> None:
    def run() -> Any:
        torch.manual_seed(3)
        net = Net()
        optimizer = torch.optim.Adam(net.parameters())
        x = torch.randn(2, 4)
        for _ in range(2):
            optimizer.zero_grad()
            torch.nn.functional.dropout(net(x), 0.5).square().mean().backward()
            optimizer.step()
        return [parameter.detach().clone() for parameter in net.parameters()]

    plain = run()
    capture(run)
    assert all(map(torch.equal, plain, capture.result))


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x + 1,
        lambda x: x * 2.5,
        lambda x: 3 - x,
        lambda x: x.add_(2),
        lambda x: x / 2,
        lambda x: torch.where(x > 1, x, 0),
        lambda x: x**2,
        lambda x: torch.add(x, 1, alpha=2),
        lambda x: x.to(torch.float64),
        lambda x: torch.stack([x, x]).unbind(0)[1],
        lambda x: torch.topk(x, 1),
        lambda x: torch.nn.functional.pad(x, (1, 1)),
        lambda x: torch.empty(3, dtype=x.dtype).fill_(1),
        lambda x: x[x > 1],
        lambda x: torch.tensor([1.5]) + x,
        lambda x: torch.zeros(2, 2, dtype=torch.complex64) + 1j,
    ],
)
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_values_and_types_are_what_they_were(capture: Capture, work: Any, dtype: Any) -> None:
    def run() -> Any:
        return work(torch.tensor([1, 2, 3], dtype=dtype))

    plain = run()
    capture(run)
    both = [item if isinstance(item, tuple) else (item,) for item in (plain, capture.result)]
    for one, other in zip(*both, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


def test_derivatives_use_the_operators_that_they_use_unwatched(capture: Capture) -> None:
    a = torch.randn(5, 3, requires_grad=True)
    picked = torch.tensor([[0, 1], [1, 2], [0, 0], [1, 1], [2, 2]])

    def work() -> None:
        (a.gather(1, picked).sum() + a.topk(2, dim=1)[0].sum() + a[picked[:, 0]].sum()).backward()

    names = capture(work).operators
    assert "scatter_.src" in names
    assert "scatter_add_.default" in names
    assert "add_.Tensor" in names
    assert "scatter.src" not in names


class Doubled(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.mul(2)


def test_a_custom_function(capture: Capture) -> None:
    x = torch.randn(3, requires_grad=True)
    seen = capture(lambda: Doubled.apply(x).sum().backward())
    at = seen.only("mul.Tensor") if seen.operators.count("mul.Tensor") == 1 else 0
    backward = [at for at, phase in enumerate(seen.index.column("phase")) if phase == BACKWARD]
    names = [seen.index.name("autograd", at) for at in backward]
    assert "DoubledBackward" in names
    at = backward[names.index("DoubledBackward")]
    assert seen.line(at) == (Path(__file__).name, "Doubled.forward")


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing(capture: Capture, reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    net = Net()
    x = torch.randn(2, 4, requires_grad=True)
    seen = capture(lambda: checkpoint(net, x, use_reentrant=reentrant).sum().backward())
    products = [at for at, name in enumerate(seen.operators) if name == "addmm.default"]
    modules = [seen.module(at) for at in products]
    # Once in the forward, once again in the backward.
    assert modules == ["blocks.0.inner", "blocks.1.inner"] * 2
    backward = [at for at, name in enumerate(seen.operators) if name == "sigmoid_backward.default"]
    assert [seen.module(at) for at in backward] == ["blocks.1", "blocks.0"]


def test_a_compiled_function_is_not_compiled_again(capture: Capture) -> None:
    compiles: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiles.append(1)
        return graph.forward

    @torch.compile(backend=backend)  # type: ignore[untyped-decorator]
    def two_parts(x: Any) -> Any:
        y = x.sin() + 1
        torch._dynamo.graph_break()
        return y.cos()

    x = torch.randn(4)
    two_parts(x)
    before = len(compiles)
    seen = capture(lambda: two_parts(x).exp())
    assert len(compiles) == before
    assert seen.operators == ["sin.default", "add.Tensor", "cos.default", "exp.default"]


def test_a_compiler_that_cannot_be_followed_is_a_reason(
    capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch._dynamo

    monkeypatch.delattr(torch._dynamo.eval_frame, "_maybe_set_eval_frame")
    source = OriginSource()
    source._watcher = capture.source._watcher
    driver: Any = CountingDriver()
    assert source.begin(driver, STREAM, None) is None
    assert "_maybe_set_eval_frame" in source.reason


def test_what_is_compiled_inside_a_capture_still_compiles(capture: Capture) -> None:
    @torch.compile(backend="eager")  # type: ignore[untyped-decorator]
    def late(x: Any) -> Any:
        return x.sin() + 1

    x = torch.randn(4)
    seen = capture(lambda: late(x).exp())
    assert torch.allclose(capture.result, (x.sin() + 1).exp())
    assert seen.operators[-1] == "exp.default"


def test_parameters_and_subclasses_can_be_made(capture: Capture) -> None:
    class Mine(torch.Tensor):  # type: ignore[misc]
        pass

    x = torch.randn(3)

    def work() -> Any:
        parameter = torch.nn.Parameter(x.clone())
        mine = x.as_subclass(Mine)
        return parameter, mine, mine + 1

    capture(work)
    parameter, mine, more = capture.result
    assert type(parameter) is torch.nn.Parameter
    assert type(mine) is Mine
    assert type(more) is Mine


def test_fake_tensors_can_be_used(capture: Capture) -> None:
    import torch._dynamo  # its first use inside a capture is another case

    fake_tensor: Any = torch._subclasses.fake_tensor
    x = torch.randn(3)

    def work() -> Any:
        with fake_tensor.FakeTensorMode() as mode, mode:
            fake = mode.from_tensor(x) + 1
        x.cos()
        return fake

    seen = capture(work)
    assert type(capture.result) is fake_tensor.FakeTensor
    assert seen.operators[-1] == "cos.default"


def test_fake_tensors_of_a_mode_that_was_left(capture: Capture) -> None:
    import torch._dynamo  # as above

    fake_tensor: Any = torch._subclasses.fake_tensor
    with fake_tensor.FakeTensorMode():
        fake = torch.ones(3)
    capture(lambda: fake.sin() + fake)
    assert type(capture.result) is fake_tensor.FakeTensor


def test_subclasses_of_tensors_that_dispatch(capture: Capture) -> None:
    from torch.testing._internal import two_tensor

    make: Any = two_tensor.TwoTensor
    both = make(torch.ones(3), torch.zeros(3))
    seen = capture(lambda: (both + both).sin())
    assert torch.equal(capture.result.b, torch.zeros(3))
    assert "sin.default" in seen.operators


@pytest.mark.parametrize("dropped", [True, False])
def test_subclasses_that_call_operators_on_themselves(capture: Capture, dropped: bool) -> None:
    class Plain(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(
            cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if not dropped:
                with torch._C._DisableTorchDispatch():
                    return function(*args, **(kwargs or {}))
            guard = torch._C._DisableTorchDispatch()
            try:
                return function(*args, **(kwargs or {}))
            finally:
                del guard

    x = torch.ones(3)
    mine = x.as_subclass(Plain)
    seen = capture(lambda: (mine.sin(), x.cos()))
    assert torch.equal(capture.result[0].as_subclass(torch.Tensor), x.sin())
    assert seen.operators == ["sin.default", "cos.default"]


@pytest.mark.parametrize("inside", [True, False])
def test_with_a_dispatch_mode_of_the_users(capture: Capture, inside: bool) -> None:
    TorchDispatchMode: Any = torch.utils._python_dispatch.TorchDispatchMode  # noqa: N806

    called: list[str] = []

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            called.append(str(function))
            return function(*args, **(kwargs or {}))

    x = torch.randn(3)

    def work() -> Any:
        if inside:
            with Mode():
                return x.sin()
        return x.sin()

    if inside:
        seen = capture(work)
    else:
        with Mode():
            seen = capture(work)
    assert called == ["aten.sin.default"]
    assert "sin.default" in seen.operators


def test_with_function_transforms(capture: Capture) -> None:
    x = torch.randn(3, 4)

    def work() -> Any:
        return torch.vmap(torch.func.grad(lambda row: (row * 2 + 1).square().sum()))(x)

    plain = work()
    seen = capture(work)
    assert torch.allclose(plain, capture.result)
    assert seen.operators


def test_higher_order_operators_run(capture: Capture) -> None:
    from torch._higher_order_ops.wrap import wrap

    x = torch.randn(3)
    capture(lambda: wrap(lambda y: y.sin(), x))
    assert torch.equal(capture.result, x.sin())


def test_an_error_comes_through_unchanged(capture: Capture) -> None:
    def work() -> None:
        torch.ones(2, 3) @ torch.ones(2, 3)

    with pytest.raises(RuntimeError) as plain:
        work()
    with pytest.raises(RuntimeError) as watched:
        capture(work)
    assert str(watched.value) == str(plain.value)
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_the_operator_that_broke_the_capture_is_known(capture: Capture) -> None:
    driver: Any = capture.driver

    def guilty(x: torch.Tensor) -> torch.Tensor:
        driver.broken = True
        return x.clone()

    operator = torch.library.custom_op("cglens_tests::guilty", guilty, mutates_args=())
    capture.source.prepare()  # as before every capture: the operator is new
    noted = capture.source.begin(driver, STREAM, sys._getframe(0))
    assert noted is not None
    try:
        operator(torch.ones(3).sin()).tan()
    finally:
        noted.stop()
    name, stack, thread, stream = noted.last_op()
    assert name == "cglens_tests.guilty.default"
    assert noted.broke_in() == name
    places = [(place[0], place[2]) for place in stack]
    assert (__file__, "test_the_operator_that_broke_the_capture_is_known") in places
    assert stream == hex(STREAM)
    assert thread == threading.current_thread().name


def test_a_guard_that_outlives_the_capture_does_not_leave_it_on(capture: Capture) -> None:
    guard = torch.inference_mode()

    def work() -> None:
        guard.__enter__()

    capture(work)
    guard.__exit__(None, None, None)
    torch.ones(2) + 1
    watcher = capture.source._watcher
    assert watcher is not None
    assert not watcher.is_on(watcher.key)


def test_other_threads_are_left_alone(capture: Capture) -> None:
    def work() -> None:
        thread = threading.Thread(target=lambda: torch.ones(3).sin())
        thread.start()
        thread.join()
        torch.ones(3).cos()

    assert "sin.default" not in capture(work).operators


def test_labels(capture: Capture) -> None:
    x = torch.ones(2)

    def work() -> None:
        with torch.profiler.record_function("outer"):
            x.sin()
            with label("inner"):
                x.cos()
        x.tan()

    seen = capture(work)
    found = {
        name: seen.index.name("label", at)
        for at, name in enumerate(seen.operators)
        if name in ("sin.default", "cos.default", "tan.default")
    }
    assert found == {"sin.default": "outer", "cos.default": "inner", "tan.default": ""}


def test_shapes_and_numbers_are_kept_and_no_tensor(capture: Capture) -> None:
    gone: list[Any] = []

    def work() -> None:
        x = torch.ones(2, 3).t().clone(memory_format=torch.contiguous_format)
        gone.append(weakref.ref(torch.add(x, x, alpha=2)))

    gc.disable()
    try:
        seen = capture(work)
        assert gone[0]() is None
    finally:
        gc.enable()
    found = seen.origins.operators[seen.index.column("operator")[seen.only("add.Tensor")]]
    assert [(item.shape, item.stride) for item in found.inputs] == [((3, 2), (2, 1))] * 2
    assert found.scalars == ("alpha=2",)


def test_under_a_default_device_attributes_are_read_plainly(capture: Capture) -> None:
    calls: list[Any] = []

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append(function)
            return function(*args, **(kwargs or {}))

    x = torch.ones(2)

    def work() -> None:
        with Mode():
            torch.sin(x)

    work()
    plain = len(calls)
    calls.clear()
    capture(work)
    assert len(calls) == plain


def test_lambdas_partials_and_generated_code(capture: Capture) -> None:
    from functools import partial

    space: dict[str, Any] = {"torch": torch}
    exec("def made(x):\n    return x.sin()", space)
    x = torch.ones(2)
    seen = capture(lambda: partial(space["made"], x)())
    at = seen.only("sin.default")
    assert seen.line(at) == ("<string>", "made")
