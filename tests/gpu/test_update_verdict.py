"""What is predicted of ``cuGraphExecUpdate`` against the driver's own answer, pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from capture.compare import update_verdict
from capture.driver.cuda_bindings import CudaDriver
from capture.extract import extract
from capture.model import Graph
from tests.gpu.real_world import RealWorld
from tests.helpers.declared import (
    Declared,
    child_graph,
    conditional,
    graph,
    host,
    kernel,
    memcpy,
    memcpy_from_host,
    memory_pair,
    memset,
)
from tests.workloads.chains import checked

Pair = tuple[Graph, Graph]


def changed(node: Declared, **fields: Any) -> Declared:
    return node._replace(payload=msgspec.structs.replace(node.payload, **fields))


def one(node: Declared) -> Graph:
    return graph([node], [])


def empties(count: int, edges: list[tuple[int, int]]) -> Graph:
    return graph([Declared("empty")] * count, edges)


def fill(world: RealWorld, **fields: Any) -> Declared:
    flat = {"height": 1, "pitch_bytes": 0, "element_bytes": 4, **fields}
    return changed(memset(world), **flat)


def copy_to_host(world: RealWorld) -> Declared:
    node = memcpy(world)
    end = msgspec.structs.replace(
        node.payload.destination, memory_type="host", address=world.host_buffer
    )
    return changed(node, kind="DtoH", destination=end)


def kernel_named(world: RealWorld, name: str) -> Declared:
    found = world.driver.function(int(world.function_named(name)), 0).kernel
    return changed(kernel(world), kernel=found, arguments=b"")


PAIRS: dict[str, Callable[[RealWorld], Pair]] = {
    "kernel, equal": lambda w: (one(kernel(w)), one(kernel(w))),
    "kernel, other argument": lambda w: (one(kernel(w)), one(kernel(w, index=4))),
    "kernel, other grid": lambda w: (one(kernel(w)), one(kernel(w, grid=(7, 1, 1)))),
    "kernel, other block": lambda w: (one(kernel(w)), one(kernel(w, block=(64, 1, 1)))),
    "kernel, other function": lambda w: (one(kernel(w)), one(kernel_named(w, "nothing"))),
    "more nodes": lambda w: (empties(2, [(0, 1)]), empties(3, [(0, 1), (1, 2)])),
    "fewer nodes": lambda w: (empties(3, [(0, 1), (1, 2)]), empties(2, [(0, 1)])),
    "empty graphs": lambda w: (graph([], []), graph([], [])),
    "more exit nodes": lambda w: (empties(3, [(0, 1), (1, 2)]), empties(3, [(0, 1), (0, 2)])),
    "fewer exit nodes": lambda w: (empties(3, [(0, 1), (0, 2)]), empties(3, [(0, 1), (1, 2)])),
    "another dependency": lambda w: (
        empties(4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
        empties(4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]),
    ),
    "other type": lambda w: (one(kernel(w)), one(fill(w))),
    "types in another order": lambda w: (
        graph([kernel(w), fill(w)], []),
        graph([fill(w), kernel(w)], []),
    ),
    "memset, other value": lambda w: (one(fill(w)), one(fill(w, value=9))),
    "memset, other width": lambda w: (one(fill(w)), one(fill(w, width=64))),
    "memset of two dimensions, other value": lambda w: (
        one(memset(w)),
        one(changed(memset(w), value=9)),
    ),
    "memset of two dimensions, other height": lambda w: (
        one(memset(w)),
        one(changed(memset(w), height=2)),
    ),
    "memset of two dimensions, other width": lambda w: (
        one(memset(w)),
        one(changed(memset(w), width=8)),
    ),
    "memset becomes two-dimensional": lambda w: (one(fill(w)), one(memset(w))),
    "memcpy, other width": lambda w: (one(memcpy(w)), one(changed(memcpy(w), width_bytes=64))),
    "memcpy, other memory type": lambda w: (one(memcpy(w)), one(copy_to_host(w))),
    "memcpy of several dimensions, equal": lambda w: (
        one(memcpy_from_host(w)),
        one(memcpy_from_host(w)),
    ),
    "memcpy of several dimensions, other width": lambda w: (
        one(memcpy_from_host(w)),
        one(changed(memcpy_from_host(w), width_bytes=memcpy_from_host(w).payload.width_bytes // 2)),
    ),
    "host, other data": lambda w: (one(host(w)), one(changed(host(w), user_data_address=0x99))),
    "child graph, equal": lambda w: (one(child_graph(w)), one(child_graph(w))),
    "child graph, more nodes": lambda w: (
        one(child_graph(w)),
        one(Declared("child_graph", None, (("child", empties(4, [])),))),
    ),
    "if, equal": lambda w: (
        one(conditional("if", ("if",))(w)),
        one(conditional("if", ("if",))(w)),
    ),
    "if becomes while": lambda w: (
        one(conditional("if", ("if",))(w)),
        one(conditional("while", ("while",))(w)),
    ),
    "allocation and free": lambda w: (memory_pair(w), memory_pair(w)),
}


@pytest.fixture(scope="module")
def world(gpu: CudaDriver) -> RealWorld:
    return RealWorld()


@pytest.mark.parametrize("name", PAIRS)
def test_the_driver_answers_what_was_predicted(world: RealWorld, name: str) -> None:
    cuda = world.cuda
    handles = [world.build(item) for item in PAIRS[name](world)]
    before, after = (extract(world.driver, handle).graph for handle in handles)
    predicted = update_verdict(before, after)
    executable = checked(cuda.cuGraphInstantiate(cuda.CUgraph(handles[0]), 0))
    _, info = cuda.cuGraphExecUpdate(executable, cuda.CUgraph(handles[1]))
    name_of_result = cuda.CUgraphExecUpdateResult(info.result).name
    answer = name_of_result.removeprefix("CU_GRAPH_EXEC_UPDATE_").removeprefix("ERROR_")
    checked(cuda.cuGraphExecDestroy(executable))
    assert (name, predicted.result) == (name, answer)
