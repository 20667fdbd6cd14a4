"""NaN, and results other than eager's, found over the fake driver in memory of the host.

Nodes are memsets of four bytes each; operators are torch's own on the CPU.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from capture.locate_request import Answer, LocateRequest, read
from capture.model import Graph
from capture.nodes.memset import MemsetPayload
from capture.recorder.own import torch_against_eager
from capture.recorder.own.locator import Locator
from capture.recorder.own.node_steps import NodeSteps
from capture.recorder.own.target import Target
from capture.recorder.own.torch_against_eager import AgainstEager
from capture.recorder.own.torch_op_log import OperatorLog, Row, TensorAt
from capture.recorder.own.torch_tensors_at import Values
from capture.recorder.own.torch_values import find, loose_rows
from capture.recorder.own.waiting import Waiting
from tests.helpers.declared import Declared, graph
from tests.recorder.own.conftest import Bench

torch: Any = importlib.import_module("torch")

COUNT = 4


class Case:
    """A chain of memsets, each the one node of an operator that gives a tensor of floats."""

    def __init__(self, bench: Bench, folder: Path, step: str, values: list[float]) -> None:
        self.bench = bench
        self.answers = folder / "answers.jsonl"
        self.places = [
            TensorAt(bench.memory + 64 * at, torch.float32, (COUNT,), (1,), 4 * COUNT)
            for at in range(len(values))
        ]
        nodes = [
            memset(place.address, value) for place, value in zip(self.places, values, strict=True)
        ]
        built = graph(nodes, [(at, at + 1) for at in range(len(nodes) - 1)])
        self.locator = Locator(LocateRequest(step=step, answers=str(self.answers)))
        self.target = target_of(bench, built)
        self.waiting = Waiting(bench.driver, 0, 1.0)
        self.values = Values("cpu")

    def log(self, rows: list[Row]) -> None:
        self.target.log = SimpleNamespace(rows=rows)

    def outcome(self) -> Answer:
        answers, _ = read(self.answers)
        (found,) = (one for one in answers if one.event == "outcome")
        return found


def memset(address: int, value: float) -> Declared:
    word = struct.unpack("<I", struct.pack("<f", value))[0]
    payload = MemsetPayload(
        address=address, pitch_bytes=0, value=word, element_bytes=4, width=COUNT, height=1
    )
    return Declared("memset", payload)


def target_of(bench: Bench, built: Graph) -> Target:
    capture: Any = SimpleNamespace(key="a")
    target = Target(capture, built)
    target.clone = bench.driver.clone(bench.world.build(built))
    target.nodes = bench.driver.nodes(target.clone)
    target.steps = NodeSteps(bench.driver, built, target.clone, target.nodes)
    return target


NAN, INF = float("nan"), float("inf")


def row(at: int, inputs: list[TensorAt], outputs: list[TensorAt], end: int = -1) -> Row:
    return Row(f"aten.op{at}.default", at, at + 1 if end < 0 else end, inputs, outputs, False)


def test_the_first_operator_that_gives_nan(bench: Bench, tmp_path: Path) -> None:
    case = Case(bench, tmp_path, "values", [1.0, INF, NAN, NAN])
    one, two, three, four = case.places
    case.log([row(0, [], [one]), row(1, [one], [two]), row(2, [two], [three]), row(3, [], [four])])
    find(case.locator, case.waiting, case.target, case.values)
    found = case.outcome()
    assert (found.what, found.node) == ("nan", 2)
    assert found.found["operator"] == "aten.op2.default"
    assert "4 NaN" in found.detail
    assert "4 Inf" in str(found.found["first_inf"])
    assert (found.found["sure"], found.found["inputs"]) == (True, [])


def test_nan_that_came_from_outside_is_no_nodes(bench: Bench, tmp_path: Path) -> None:
    case = Case(bench, tmp_path, "values", [1.0, NAN])
    outside = TensorAt(bench.memory + 2048, torch.float32, (COUNT,), (1,), 4 * COUNT)
    ctypes.memset(outside.address, 0xFF, 4 * COUNT)
    view = Row("aten.t.default", 0, 0, [outside], [outside], False)
    case.log([view, row(0, [], [case.places[0]]), row(1, [outside], [case.places[1]])])
    find(case.locator, case.waiting, case.target, case.values)
    found = case.outcome()
    assert (found.node, found.found["sure"]) == (1, False)
    assert "4 NaN" in str(found.found["inputs"])


def test_of_an_operator_with_several_nodes_it_is_one_of_these(bench: Bench, tmp_path: Path) -> None:
    case = Case(bench, tmp_path, "values", [NAN, 1.0])
    case.log([row(0, [], case.places, end=2)])
    find(case.locator, case.waiting, case.target, case.values)
    found = case.outcome()
    assert (found.node, found.found["nodes"], found.found["sure"]) == (1, [0, 1], False)


def test_no_nan_is_said_with_what_was_not_looked_at(bench: Bench, tmp_path: Path) -> None:
    case = Case(bench, tmp_path, "values", [1.0, 2.0])
    case.log([row(0, [], case.places[:1])])
    find(case.locator, case.waiting, case.target, case.values)
    found = case.outcome()
    assert found.what == "clean"
    assert "1 nodes were launched by no operator" in str(found.found["notes"])


class Eager(Case):
    """Compared with a function, whose operators are logged as if they had been captured."""

    def __init__(
        self, bench: Bench, folder: Path, values: list[float], call: Callable[[], Any]
    ) -> None:
        super().__init__(bench, folder, "eager", values)
        captured = OperatorLog(device="cpu")
        captured.start()
        call()
        captured.stop()
        assert len(captured.rows) == len(values)
        placed = enumerate(zip(captured.rows, self.places, strict=True))
        self.log([one._replace(first=at, end=at + 1, outputs=[to]) for at, (one, to) in placed])
        self.target.call = call

    def compare(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch_against_eager, "memory_segments", list)
        AgainstEager(self.locator, self.values)(self.waiting, self.target)


def constants(*values: float) -> Callable[[], None]:
    def call() -> None:
        for value in values:
            torch.full((COUNT,), value)

    return call


def test_the_first_operator_that_gives_other_values_than_eager(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Eager(bench, tmp_path, [1.0, 2.5, 9.0], constants(1.0, 2.0, 3.0))
    before = ctypes.string_at(bench.memory, 256)
    case.compare(monkeypatch)
    found = case.outcome()
    assert (found.what, found.node) == ("eager", 1)
    assert "4 of 4 elements differ" in found.detail
    assert "difference is 0.5" in found.detail
    assert found.found["sure"] is True
    assert ctypes.string_at(bench.memory, 256) != before


def test_equal_values_leave_the_replay_as_it_would_have_been(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Eager(bench, tmp_path, [1.0, 2.0], constants(1.0, 2.0 + 1e-7))
    case.compare(monkeypatch)
    assert not any(one.event == "outcome" for one in read(case.answers)[0])
    assert ctypes.c_float.from_address(case.places[1].address).value == 2.0


def test_an_input_that_has_moved_is_named(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = [torch.full((COUNT,), value) for value in (1.0, 2.0)]
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        torch.neg(weights[len(calls) - 1])

    case = Eager(bench, tmp_path, [-1.0], call)
    case.compare(monkeypatch)
    found = case.outcome()
    assert found.found["operator"] == "aten.neg.default"
    moved = str(found.found["moved"])
    assert f"reads {weights[0].data_ptr():#x}" in moved
    assert f"now reads {weights[1].data_ptr():#x}" in moved


def test_random_numbers_are_taken_from_eager(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call() -> None:
        torch.rand(COUNT)
        torch.full((COUNT,), 3.0)

    case = Eager(bench, tmp_path, [7.0, 2.0], call)
    case.compare(monkeypatch)
    found = case.outcome()
    assert found.node == 1
    assert "draws random numbers" in str(found.found["notes"])
    assert 0 <= ctypes.c_float.from_address(case.places[0].address).value < 1


def test_a_function_that_calls_others_is_told_from_one_that_gives_others(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        torch.full((COUNT,), 1.0)
        (torch.full if len(calls) == 1 else torch.full_like)(
            *([(COUNT,)] if len(calls) == 1 else [torch.ones(COUNT)]), 2.0
        )

    case = Eager(bench, tmp_path, [1.0, 2.0], call)
    case.compare(monkeypatch)
    found = case.outcome()
    assert (found.node, found.found["sure"]) == (1, False)
    assert "now it calls aten.ones" in found.detail


def test_without_a_function_it_says_how_to_name_one(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Eager(bench, tmp_path, [1.0], constants(1.0))
    case.target.call = None
    with pytest.raises(Exception, match="--eager"):
        case.compare(monkeypatch)


def test_nodes_without_an_operator_are_looked_at_by_the_tensors_they_point_at(
    bench: Bench, tmp_path: Path
) -> None:
    """As kernels of compiled code, whose tensors are allocated and whose launches are not seen."""
    case = Case(bench, tmp_path, "values", [1.0, NAN, 1.0])
    made = [Row("empty_strided_cuda", at, at, [], [case.places[at]], False) for at in (0, 1)]
    assert [(one.first, one.outputs) for one in loose_rows(case.target.graph, made)] == [
        (0, [case.places[0]]),
        (1, [case.places[1]]),
    ]
    case.log(made)
    find(case.locator, case.waiting, case.target, case.values)
    found = case.outcome()
    assert (found.what, found.node, found.found["sure"]) == ("nan", 1, True)


def test_what_a_graph_allocates_holds_nothing_yet(bench: Bench, tmp_path: Path) -> None:
    """A buffer that compiled code hands to an operator as ``out`` is no input from outside."""
    case = Case(bench, tmp_path, "values", [1.0, NAN])
    one, two = case.places
    ctypes.memset(two.address, 0xFF, 4 * COUNT)
    rows = [
        Row("empty_strided_cuda", 0, 0, [], [two], False),
        row(0, [], [one]),
        Row("aten.mm.out", 1, 2, [one, one, two], [two], False),
    ]
    case.log(rows)
    find(case.locator, case.waiting, case.target, case.values)
    found = case.outcome()
    assert (found.node, found.found["sure"], found.found["inputs"]) == (1, True, [])
