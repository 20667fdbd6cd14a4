"""Large graphs are looked at by arrays: that says what is said of small ones."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from capture.analysis import Subject, run_analysis
from capture.memory import accesses as accesses_module
from capture.memory import word_columns
from capture.memory.torch_snapshot import Tables, add_segments
from capture.memory.words import words
from capture.memory_map import Events, Memory
from capture.model import Body, Graph, Kernel
from capture.nodes.kernel import KernelPayload
from tests.helpers import synthetic_memory as made

COUNT = 400
NAMES = (
    made.SCALE,
    "nvjet_tst_64x8",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
    "St5arrayIPcLm1EEEEviT0_T1_",
)
ANALYSES = (
    *("pointed_at", "data_flow", "edges_without_data", "unordered_writes", "stale_pointers"),
    "host_memory",
)


def memory(random_: random.Random, history: bool) -> Memory:
    """Return blocks of all states in the common pool and in the graph's own."""
    found = made.memory()
    states = ["active_allocated", "active_allocated", "inactive", "active_pending_free"]
    add_segments(
        Tables(found),
        [
            made.segment(
                made.BASE + (number << 22),
                [(512, random_.choice(states)) for _ in range(20)],
                made.OWN if number % 3 == 0 else (0, 0),
            )
            for number in range(5)
        ],
    )
    found.events = None
    if history:
        places = [made.BASE + 512 * random_.randrange(20) for _ in range(60)]
        found.events = Events(
            action=[random_.choice([0, 0, 1]) for _ in places],
            device=[0] * len(places),
            address=places,
            size_bytes=[random_.choice([128, 512]) for _ in places],
            stream=[0] * len(places),
            at_us=list(range(len(places))),
            stack=[-1] * len(places),
            nodes_before=[6 * at for at in range(len(places))],
        )
    return found


def graph(random_: random.Random, lanes: int, backwards: bool) -> Graph:
    """Return chains whose kernels, copies and memsets share blocks, bytes and neighbours."""
    kernels = [Kernel(name=name, parameters=[(0, 8), (8, 8), (16, 8)]) for name in NAMES]

    def address() -> int:
        block = made.BASE + (random_.randrange(5) << 22) + 512 * random_.randrange(22)
        return random_.choice([block, block, block + 64, made.PINNED + 8, 0x7ABC00000000, 7])

    payloads: list[Any] = []
    for number in range(COUNT):
        if number % 7 == 0:
            payloads.append(made.copy(address(), address(), random_.choice([64, 512, 900])))
        elif number % 11 == 0:
            payloads.append(made.fill(address(), 128))
        else:
            data = struct.pack("<QQQ", address(), address(), address())
            payloads.append(
                KernelPayload(
                    kernel=random_.choice(kernels), arguments=data, grid=(1, 1, 1), block=(1, 1, 1)
                )
            )
    edges = [(number, number + lanes) for number in range(COUNT - lanes)]
    if backwards:
        edges = [(COUNT - 1 - one, COUNT - 1 - other) for one, other in edges]
    return made.graph(payloads, edges)


def told(found: Graph, memory: Memory) -> list[Any]:
    subject = Subject(found, memory=memory)
    cells = subject.cells
    assert cells is not None
    assert subject.pointers
    assert subject.flows
    return [
        subject.pointers,
        subject.accesses.groups,
        subject.accesses.seen,
        list(cells.held),
        cells.whole,
        subject.flows,
        *(run_analysis(name, subject) for name in ANALYSES),
    ]


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize(("lanes", "backwards"), [(1, False), (3, False), (3, True)])
def test_arrays_say_what_loops_say(
    lanes: int, backwards: bool, history: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = random.Random(lanes)
    found, known = graph(random_, lanes, backwards), memory(random_, history)
    expected = told(found, known)
    assert not any(result.absent_reason for result in expected[6:])
    monkeypatch.setattr(word_columns, "MANY", 0)
    monkeypatch.setattr(accesses_module, "MANY", 0)
    assert told(found, known) == expected


def test_what_bodies_touch_is_in_the_place_of_the_node_that_holds_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner = made.graph([made.fill(made.BASE, 64)])
    copies = [made.copy(made.BASE, made.BASE + 4096, 64) for _ in range(3)]
    outer = made.graph(copies, [(0, 1), (1, 2)])
    outer.bodies.append(Body(node=1, index=0, role="child", graph=inner))
    subject = Subject(outer, memory=made.memory())
    expected = [(flow.writer, flow.reader) for flow in subject.flows]
    assert (1, 2) in expected
    assert (1, 0) not in expected
    assert run_analysis("edges_without_data", subject).absent_reason == ""
    monkeypatch.setattr(word_columns, "MANY", 0)
    monkeypatch.setattr(accesses_module, "MANY", 0)
    assert word_columns.all_words(outer) == list(words(outer))
    again = Subject(outer, memory=made.memory())
    assert [(flow.writer, flow.reader) for flow in again.flows] == expected
