from __future__ import annotations

import pytest

from capture.model import Graph, Kernel
from capture.nodes.batch_mem_op import BatchMemOpPayload
from capture.nodes.kernel import KernelPayload
from capture.recorder.own.safety import notes_of, refusal
from tests.driver.test_contract import FakeWorld
from tests.helpers import declared
from tests.helpers.declared import NODES, Declared, graph

WORLD = FakeWorld(node_params=False)
HARMLESS = {
    "kernel",
    "kernel_wide",
    "memcpy",
    "memcpy_from_host",
    "memset",
    "child_graph",
    "empty",
}


def named(*names: str) -> Graph:
    nodes = [Declared("kernel", KernelPayload(kernel=Kernel(name=name))) for name in names]
    return graph(nodes, [])


@pytest.mark.parametrize("name", NODES)
def test_every_type_is_decided(name: str) -> None:
    built = graph([NODES["kernel"](WORLD), NODES[name](WORLD)], [(0, 1)])
    found = refusal(built)
    assert (found == "") == (name in HARMLESS)
    if found:
        assert "node 1" in found
        assert built.topology.types[1] in found


def test_there_is_nothing_to_measure_in_an_empty_graph() -> None:
    assert "no nodes" in refusal(graph([], []))


def test_memory_nodes_are_refused() -> None:
    assert "mem_alloc" in refusal(declared.memory_pair(WORLD))


def test_a_host_node_inside_a_child_graph_is_found() -> None:
    inner = graph([Declared("empty"), NODES["host"](WORLD)], [])
    outer = graph([Declared("empty"), Declared("child_graph", None, (("child", inner),))], [])
    assert refusal(outer).startswith("node 1/0/1 is a host node")


def test_operations_on_memory_that_only_write_are_harmless() -> None:
    write = {"operation": "write_value_32", "address": 1, "value": 1, "flags": 0}
    wait = {**write, "operation": "wait_value_32"}
    assert (
        refusal(graph([Declared("batch_mem_op", BatchMemOpPayload(operations=[write]))], [])) == ""
    )
    assert refusal(graph([Declared("batch_mem_op", BatchMemOpPayload(operations=[wait]))], []))
    assert refusal(graph([Declared("batch_mem_op", None)], []))


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
        "_ZN7nvshmem10some_put_kE",
        "void vllm::cross_device_reduce_1stage<float>",
        "one_shot_all_reduce_kernel",
    ],
)
def test_collectives_are_refused(name: str) -> None:
    found = refusal(named("gemm", name))
    assert "node 1 is a collective" in found


def test_an_unknown_type_is_refused() -> None:
    assert "type_17" in refusal(graph([Declared("type_17", {})], []))


def test_random_numbers_are_noted() -> None:
    assert notes_of(named("gemm", "reduce_kernel")) == []
    (note,) = notes_of(named("at::native::fused_dropout_kernel_vec<float>"))
    assert "random" in note
