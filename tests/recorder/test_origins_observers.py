"""The observers of operators, in Python and in C++, note the same of the same work."""

from __future__ import annotations

import contextlib
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import torch
from torch.nn import functional as F

from capture.recorder.origins.labels import label
from capture.recorder.origins.settings import OBSERVER
from capture.recorder.torch_origins import Watcher
from capture.recorder.torch_origins_capture import OriginSource

from .test_origins_torch import STREAM, CountingDriver, Doubled, Net

Work = Callable[[], Any]
SEEDS = range(6)
"""Of the random models."""


class Hooked(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self.hidden = [torch.nn.Linear(4, 4)]
        self.again = self.net.blocks[0]
        self.register_forward_hook(lambda module, args, output: output * 2)

    def forward(self, x: Any) -> Any:
        return self.hidden[0](self.again(self.net(x)))


def training() -> Work:
    net, x = Hooked(), torch.randn(2, 4)
    optimizer = torch.optim.Adam(net.parameters())

    def work() -> None:
        optimizer.zero_grad()
        loss = F.dropout(net(x), 0.25).square().mean()
        loss.register_hook(lambda grad: grad * 3)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return work


def autocast() -> Work:
    net, x = Net(), torch.randn(2, 4)

    def work() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(x).sum().backward()

    return work


def inference() -> Work:
    net, x = Net(), torch.randn(2, 4)

    def work() -> None:
        with torch.inference_mode():
            net(x).softmax(-1)

    return work


def checkpointed(reentrant: bool) -> Work:
    from torch.utils.checkpoint import checkpoint

    net, x = Net(), torch.randn(2, 4, requires_grad=True)
    return lambda: checkpoint(net, x, use_reentrant=reentrant).sum().backward()


def custom() -> Work:
    x = torch.randn(3, requires_grad=True)
    return lambda: (Doubled.apply(x).sin() + Doubled.apply(x)).sum().backward()


def twice_derived() -> Work:
    x = torch.randn(3, requires_grad=True)

    def work() -> None:
        (grad,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
        grad.sum().backward()

    return work


def compiled() -> Work:
    @torch.compile(backend="eager")  # type: ignore[untyped-decorator]
    def parts(x: Any) -> Any:
        y = x.sin() + 1
        torch._dynamo.graph_break()
        return y.cos()

    x = torch.randn(4)
    parts(x)
    return lambda: parts(x).exp()


def transformed() -> Work:
    x = torch.randn(3, 4)
    return lambda: torch.vmap(torch.func.grad(lambda row: (row * 2 + 1).square().sum()))(x)


def labelled() -> Work:
    x = torch.ones(2)

    def work() -> None:
        with torch.profiler.record_function("outer"):
            x.sin()
            with label("inner"):
                x.cos()
        x.tan()

    return work


def in_threads() -> Work:
    x = torch.ones(2, requires_grad=True)

    def work() -> None:
        thread = threading.Thread(target=lambda: x.sin())
        thread.start()
        thread.join()
        x.cos().sum().backward()

    return work


def in_generators() -> Work:
    x = torch.ones(2)

    def several() -> Iterator[Any]:
        yield x.sin()
        yield from (x.cos() for _ in range(2))

    async def later() -> Any:
        return x.tan()

    def work() -> None:
        list(several())
        with contextlib.suppress(StopIteration):
            later().send(None)
        eval("sorted([3, 1], key=lambda at: x.add(at).sum())", {"x": x})

    return work


def refused() -> Work:
    x = torch.ones(2, 3)

    def work() -> None:
        with contextlib.suppress(RuntimeError):
            x @ x
        x.sin()

    return work


def arguments() -> Work:
    x, index = torch.arange(12.0).reshape(3, 4), torch.tensor([0, 2])
    complex_one = torch.ones(2, dtype=torch.complex64)
    generator = torch.Generator()
    sparse = torch.eye(3).to_sparse()

    def work() -> None:
        x[:, index], x[None, index]
        x.clone()[:, index] = 1
        torch.cat([x, x]), torch.stack([x] * 7), torch.einsum("ij,kj->ik", x, x)
        (
            x.add(x, alpha=2),
            x.add(1),
            x.mul(2.5),
            complex_one.mul(1j),
            x.div(2, rounding_mode="floor"),
        )
        F.gelu(x, approximate="tanh"), x.sum(dim=(0, 1), keepdim=True), x.std(0, correction=0)
        x.to(torch.float64), x.to(torch.bfloat16, memory_format=torch.preserve_format)
        torch.zeros(2, 3, dtype=torch.int8, device="cpu"), torch.full((2,), True)
        torch.ones(2, 2, 2, 2).clone(memory_format=torch.channels_last)
        x.clamp(min=1), x.clamp(max=torch.tensor(2.0)), torch.where(x > 1, x, 0.0)
        torch.rand(3, generator=generator), torch.empty(2).uniform_(0, 2, generator=generator)
        torch._foreach_add([x, x, x, x, x], 1.5), torch._foreach_mul([x], [x])
        F.interpolate(x[None, None], scale_factor=2.0), F.pad(x, (1, 1)), x.roll((1, 2), (0, 1))
        (
            torch.searchsorted(x[0].contiguous(), x[1].contiguous(), right=True),
            x.split([1, 3], 1)[1].abs(),
        )
        sparse @ torch.ones(3, 2), x.t().exp(), x[::2].neg(), x.view(torch.int32).bitwise_not()
        F.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 4)] * 3), x.permute(1, 0).contiguous()
        F.embedding(index, x), F.conv1d(torch.ones(1, 2, 5), torch.ones(3, 2, 2), padding=1)

    return work


def random_model(seed: int) -> Work:
    """Return a step of a model that is put together at random."""
    choose = random.Random(seed)
    torch.manual_seed(seed)
    width = choose.choice((4, 8))

    def layer(depth: int) -> torch.nn.Module:
        kinds: list[Callable[[], torch.nn.Module]] = [
            lambda: torch.nn.Linear(width, width, bias=choose.random() < 0.5),
            lambda: torch.nn.LayerNorm(width),
            torch.nn.GELU,
            lambda: torch.nn.Dropout(0.5),
            lambda: torch.nn.MultiheadAttention(width, 2),
            lambda: torch.nn.GRU(width, width),
        ]
        if depth < 2:
            kinds.append(lambda: torch.nn.Sequential(*(layer(depth + 1) for _ in range(2))))
        return choose.choice(kinds)()

    def through(module: torch.nn.Module, x: Any) -> Any:
        if isinstance(module, torch.nn.Sequential):
            for child in module:
                x = through(child, x)
            return x
        if isinstance(module, torch.nn.MultiheadAttention):
            return x + module(x, x, x)[0]
        return module(x)[0] if isinstance(module, torch.nn.GRU) else module(x)

    model = torch.nn.ModuleList(layer(0) for _ in range(choose.randrange(2, 6)))
    head = torch.nn.Linear(width, 1)
    parameters = [*model.parameters(), *head.parameters()]
    make = choose.choice((torch.optim.SGD, torch.optim.AdamW))
    optimizer = make(parameters, lr=0.1, foreach=choose.random() < 0.5)
    x = torch.randn(3, 2, width)
    lower = choose.random() < 0.3

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=lower):
            y = x
            for module in model:
                y = through(module, y)
            loss = head(y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


WORKS: dict[str, Callable[[], Work]] = {
    make.__name__: make
    for make in (
        *(training, autocast, inference, custom, twice_derived, compiled, transformed, labelled),
        *(in_threads, in_generators, refused, arguments),
    )
}
WORKS |= {f"checkpointed {kind}": lambda kind=kind: checkpointed(kind) for kind in (False, True)}
WORKS |= {f"random {seed}": lambda seed=seed: random_model(seed) for seed in SEEDS}


def noted(source: OriginSource, work: Work) -> dict[str, Any]:
    work()  # what is done only the first time is done
    driver: Any = CountingDriver()
    noted = source.begin(driver, STREAM, sys._getframe(0))
    assert noted is not None
    try:
        work()
    finally:
        noted.stop()
    assert noted._watched.problem == ""
    found = msgspec.structs.asdict(noted.build("g", driver.handles))
    # How it was noted, and what that cost, are their own.
    del found["how"], found["extra"]
    return found | {"last": noted.last_op(), "seen": noted._watched.seen}


@pytest.fixture(scope="module")
def both() -> dict[str, dict[str, Any]]:
    """Return what each observer noted of each work."""
    found: dict[str, dict[str, Any]] = {name: {} for name in WORKS}
    for observer in ("python", "native"):
        source = OriginSource()
        source.reason = ""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(OBSERVER, observer)
            watcher = source._watcher = Watcher(lambda: STREAM)
        assert watcher.observer.name == observer, watcher.not_native
        for name, make in WORKS.items():
            found[name][observer] = noted(source, make())
        watcher.close()
    return found


@pytest.mark.parametrize("name", WORKS)
def test_both_note_the_same(both: dict[str, dict[str, Any]], name: str) -> None:
    python, native = both[name]["python"], both[name]["native"]
    assert python["operators"], "this test would say nothing"
    for what, value in python.items():
        assert native[what] == value, what
