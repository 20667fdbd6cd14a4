"""Hooks on torch's own class: what they keep, and that they go away."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from capture.errors import DriverError
from capture.recorder.journal import MemoryJournal
from capture.recorder.session import Session
from capture.recorder.sink import Sink
from capture.recorder.torch_hooks import TorchHooks
from tests.helpers.fake_driver import FakeDriver

METHODS = ("capture_begin", "capture_end", "instantiate", "replay", "reset")


@pytest.fixture
def session() -> Session:
    made = Session(FakeDriver)
    made.add(Sink(MemoryJournal()))
    return made


@pytest.fixture
def hooked(session: Session) -> Iterator[Any]:
    hooks = TorchHooks(session, torch.cuda.graphs)
    before = {name: vars(torch.cuda.CUDAGraph).get(name) for name in METHODS}
    hooks.install()
    yield torch.cuda.CUDAGraph
    hooks.remove()
    assert {name: vars(torch.cuda.CUDAGraph).get(name) for name in METHODS} == before


def test_signatures_names_and_docstrings_are_torchs(hooked: Any) -> None:
    for name in METHODS:
        hook = vars(hooked)[name]
        assert hook.__wrapped__.__module__ == "torch.cuda.graphs"
        assert inspect.signature(hook) == inspect.signature(hook.__wrapped__)
        assert hook.__doc__ == hook.__wrapped__.__doc__


class Bare:
    """A class with the methods of torch's, to see what hooks pass on."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def capture_begin(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append(("begin", args, kwargs))
        return "begun"

    def capture_end(self) -> None:
        raise LookupError("mine")

    def replay(self, *args: Any) -> Any:
        return args

    def reset(self) -> None:
        raise KeyboardInterrupt


class Module:
    CUDAGraph = Bare


def test_arguments_results_and_exceptions_pass_through(session: Session) -> None:
    hooks = TorchHooks(session, Module)  # type: ignore[arg-type]
    hooks.install()
    graph = Bare()
    try:
        # Reading torch's stream fails on this machine, or finds no capture: nobody is told.
        assert graph.capture_begin((0, 1), capture_error_mode="relaxed") == "begun"
        assert graph.calls == [("begin", ((0, 1),), {"capture_error_mode": "relaxed"})]
        with pytest.raises(LookupError, match="mine"):
            graph.capture_end()
        assert graph.replay(1, 2) == (1, 2)
        with pytest.raises(KeyboardInterrupt):
            graph.reset()
    finally:
        hooks.remove()
    assert "instantiate" not in vars(Bare)


def test_a_hook_that_fails_becomes_a_warning(session: Session) -> None:
    class Broken:
        def replay(self) -> str:
            return "replayed"

    def fail(*_: object) -> None:
        raise DriverError("cuGraphGetNodes", 999, "CUDA_ERROR_UNKNOWN")

    session.replayed = fail  # type: ignore[method-assign]
    hooks = TorchHooks(session, type("M", (), {"CUDAGraph": Broken}))  # type: ignore[arg-type]
    hooks.install()
    assert Broken().replay() == "replayed"
    journal = session.sinks[0].journal
    assert isinstance(journal, MemoryJournal)
    assert b"CUDA_ERROR_UNKNOWN" in journal.open().read()


def test_what_somebody_else_patched_on_top_stays(session: Session) -> None:
    class Graph:
        def replay(self) -> str:
            return "own"

    hooks = TorchHooks(session, type("M", (), {"CUDAGraph": Graph}))  # type: ignore[arg-type]
    hooks.install()
    ours = Graph.replay

    def theirs(self: Graph) -> str:
        return "theirs " + ours(self)

    Graph.replay = theirs  # type: ignore[method-assign]
    hooks.remove()
    session.remove(session.sinks[0])
    assert Graph().replay() == "theirs own"
