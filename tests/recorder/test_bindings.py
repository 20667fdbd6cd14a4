"""Names of tensors and where they lead later, over real modules and optimizers on the CPU."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capture.memory.torch_snapshot import Tables
from capture.memory_map import Snapshot
from capture.recorder import torch_bindings
from capture.recorder.torch_bindings import Bindings
from capture.recorder.torch_names import Binding, Owners, named_tensors

torch: Any = importlib.import_module("torch")
ROOT = Path(__file__).resolve().parents[2]


def on_cpu(tensor: Any) -> tuple[int, int] | None:
    """Stand for memory of a device with that of the host."""
    storage = tensor.untyped_storage()
    return (storage.data_ptr(), storage.nbytes()) if storage.nbytes() else None


@pytest.fixture(autouse=True)
def _host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_bindings, "storage_of", on_cpu)
    monkeypatch.setattr(
        torch_bindings, "is_emptied", lambda tensor: not tensor.untyped_storage().nbytes()
    )


class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))


class Work:
    """A model, its optimizer with state, and a tensor of an object."""

    def __init__(self) -> None:
        self.net = Net()
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.batch = torch.randn(2, 4)
        # Made by hand: the step of an optimizer would import torch's compiler.
        for parameter in self.net.parameters():
            parameter.grad = torch.zeros_like(parameter)
            state = {"step": torch.zeros(()), "exp_avg": torch.zeros_like(parameter)}
            self.optimizer.state[parameter] = state
        self.kept: list[Any] = []

    def names(self) -> dict[str, tuple[Binding, Any]]:
        # As at a capture: the frames of the code that captures are looked at.
        mine = {id(self.batch), id(self.net.scale)}
        mine |= {id(tensor) for tensor in self.net.parameters()}
        mine |= {id(tensor.grad) for tensor in self.net.parameters()}
        for state in self.optimizer.state.values():
            mine |= {id(tensor) for tensor in state.values()}
        found: dict[str, tuple[Binding, Any]] = {}
        for binding, tensor in named_tensors(Owners(), sys._getframe(0)):
            if id(tensor) in mine:
                found.setdefault(binding.name, (binding, tensor))
        return found


def test_names_are_module_paths_and_variables() -> None:
    names = Work().names()
    assert {
        "Net: first.weight",
        "Net: scale (buffer)",
        "gradient of Net: first.bias",
        "Adam: exp_avg of Net: first.weight",
        "Work.batch",
    } <= set(names)


def test_what_was_made_since_the_collector_was_asked_is_named_where_it_is_used() -> None:
    owners = Owners()
    owners.find()
    model = Net()
    optimizer = torch.optim.SGD(model.parameters())
    optimizer.state[model.first.weight] = {"momentum_buffer": torch.zeros(4, 4)}
    names = [binding.name for binding, _ in named_tensors(owners, sys._getframe(0))]
    assert names.count("Net: first.weight") == 1
    assert "SGD: momentum_buffer of Net: first.weight" in names


def test_no_snapshot_imports_the_compiler() -> None:
    script = """
import sys, torch
from capture.recorder.torch_allocator import compiler_left_out
with compiler_left_out():
    print(hasattr(torch, "_inductor"), "torch._inductor" in sys.modules)
print("_inductor" in torch._lazy_modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["False", "False", "True"]


def assign(work: Work) -> None:
    state = {name: value.clone() for name, value in work.net.state_dict().items()}
    work.kept.append(work.net.state_dict())
    work.net.load_state_dict(state, assign=True)


def give_data(work: Work) -> None:
    work.net.first.weight.data = torch.zeros(4, 4)


def replace_buffer(work: Work) -> None:
    work.kept.append(work.net.scale)
    work.net.scale = torch.zeros(4)


def load_optimizer(work: Work) -> None:
    state = work.optimizer.state_dict()
    copied = {
        place: {name: value.clone() for name, value in entry.items()}
        for place, entry in state["state"].items()
    }
    work.optimizer.load_state_dict({**state, "state": copied})


def next_batch(work: Work) -> None:
    work.batch = torch.randn(2, 4)


def drop_gradients(work: Work) -> None:
    for parameter in work.net.parameters():
        parameter.grad = None


def empty_storage(work: Work) -> None:
    work.net.first.weight.untyped_storage().resize_(0)


def in_place(work: Work) -> None:
    work.net.load_state_dict({name: value + 1 for name, value in work.net.state_dict().items()})
    work.batch.normal_()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (assign, {"Net: first.weight", "Net: first.bias", "Net: scale (buffer)"}),
        (give_data, {"Net: first.weight"}),
        (replace_buffer, {"Net: scale (buffer)"}),
        (load_optimizer, {"Adam: exp_avg of Net: first.weight"}),
        (next_batch, {"Work.batch"}),
        (drop_gradients, set()),
        (empty_storage, set()),
        (in_place, set()),
    ],
)
def test_a_name_that_leads_elsewhere_is_told(
    change: Callable[[Work], None], expected: set[str]
) -> None:
    work = Work()
    bindings = Bindings()
    old = {}
    watched = []
    for name, (binding, tensor) in work.names().items():
        place = on_cpu(tensor)
        assert place is not None
        old[name] = place[0]
        watched.append((binding, *place))
    del binding, tensor
    bindings.watch(watched, 100)
    bindings.look([], 200)
    change(work)
    bindings.look([], 300)
    found = bindings.add_to(Tables(Snapshot()), {})
    assert expected <= set(found.name)
    assert bool(found.name) == bool(expected)
    for name, address, seen, noticed in zip(
        found.name, found.address, found.seen_us, found.noticed_us, strict=True
    ):
        assert (address, seen, noticed) == (old[name], 200, 300)


def test_nothing_is_kept_alive() -> None:
    work = Work()
    bindings = Bindings()
    bindings.watch([(binding, 1, 1) for binding, _ in work.names().values()], 100)
    import gc
    import weakref

    net = weakref.ref(work.net)
    del work
    gc.collect()
    assert net() is None
    bindings.look([], 200)
    assert bindings.add_to(Tables(Snapshot()), {}).name == []
