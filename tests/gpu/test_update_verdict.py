"""What is predicted of ``cuGraphExecUpdate`` against the driver's own answer, pair by pair."""

from __future__ import annotations

import ctypes
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
    "kernel becomes cooperative": lambda w: (one(kernel(w)), one(kernel(w))),
}
UNDOCUMENTED: dict[str, Callable[[RealWorld], Pair]] = {
    "kernel, other cluster": lambda w: (
        one(kernel(w, grid=(4, 1, 1))),
        one(kernel(w, grid=(4, 1, 1))),
    ),
    "kernel, other priority": lambda w: (one(kernel(w)), one(kernel(w))),
    "allocation, other size": lambda w: (memory_pair(w), larger(memory_pair(w))),
    "dependencies made in another order": lambda w: (
        empties(4, [(0, 2), (1, 2), (0, 3)]),
        reordered(empties(4, [(0, 2), (1, 2), (0, 3)])),
    ),
}
"""Pairs of which the documentation says nothing, or recordings do not tell enough."""


class ResultInfo(ctypes.Structure):
    """``CUgraphExecUpdateResultInfo``; cuda.bindings gives none when an update is refused."""

    _fields_ = (
        ("result", ctypes.c_int),
        ("error_node", ctypes.c_void_p),
        ("error_from_node", ctypes.c_void_p),
    )


def larger(built: Graph) -> Graph:
    built.payloads[0].size_bytes *= 4
    return built


def reordered(built: Graph) -> Graph:
    topology = built.topology
    topology.source[:2] = topology.source[1], topology.source[0]
    return built


def set_attribute(world: RealWorld, handle: int, name: str) -> None:
    """Give the only node of a graph the launch attribute that a pair is named after."""
    cuda, ids = world.cuda, world.cuda.CUlaunchAttributeID
    value = cuda.CUkernelNodeAttrValue()
    if name.endswith("cooperative"):
        attribute, value.cooperative = ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1
    elif name.endswith("priority"):
        attribute, value.priority = ids.CU_LAUNCH_ATTRIBUTE_PRIORITY, -2
    elif name.endswith("cluster"):
        attribute = ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = 2, 1, 1
    else:
        return
    node = cuda.CUgraphNode(world.driver.nodes(handle)[0])
    checked(cuda.cuGraphKernelNodeSetAttribute(node, attribute, value))


def answers(world: RealWorld, name: str, made: Pair) -> tuple[str, str]:
    """Return what is predicted, and what the driver says."""
    cuda = world.cuda
    handles = [world.build(item) for item in made]
    set_attribute(world, handles[1], name)
    before, after = (extract(world.driver, handle).graph for handle in handles)
    predicted = update_verdict(before, after)
    executable = checked(cuda.cuGraphInstantiate(cuda.CUgraph(handles[0]), 0))
    info = ResultInfo()
    update = ctypes.CDLL("libcuda.so.1").cuGraphExecUpdate_v2
    update(ctypes.c_void_p(int(executable)), ctypes.c_void_p(handles[1]), ctypes.byref(info))
    checked(cuda.cuGraphExecDestroy(executable))
    full = cuda.CUgraphExecUpdateResult(info.result).name
    return predicted.result, full.removeprefix("CU_GRAPH_EXEC_UPDATE_").removeprefix("ERROR_")


@pytest.fixture(scope="module")
def world(gpu: CudaDriver) -> RealWorld:
    return RealWorld()


@pytest.mark.parametrize("name", PAIRS)
def test_the_driver_answers_what_was_predicted(world: RealWorld, name: str) -> None:
    predicted, answer = answers(world, name, PAIRS[name](world))
    assert (predicted == "SUCCESS") == (answer == "SUCCESS"), (predicted, answer)
    if predicted != answer:
        pytest.xfail(f"{name}: predicted {predicted}, the driver answered {answer}")


@pytest.mark.parametrize("name", UNDOCUMENTED)
def test_what_the_driver_answers_where_the_documentation_is_silent(
    world: RealWorld, name: str
) -> None:
    predicted, answer = answers(world, name, UNDOCUMENTED[name](world))
    if (predicted == "SUCCESS") != (answer == "SUCCESS"):
        pytest.xfail(f"{name}: predicted {predicted}, the driver answered {answer}")
