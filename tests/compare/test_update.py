"""The rules of ``cuGraphExecUpdate``, one pair of graphs each, without a driver."""

from __future__ import annotations

from typing import Any

import pytest

import capture
from capture.compare import UpdateVerdict, update_verdict
from capture.compare.update_rules import RULES
from capture.model import Body, Graph, GraphInfo
from capture.nodes.batch_mem_op import BatchMemOpPayload
from capture.nodes.conditional import ConditionalPayload
from capture.nodes.external_semaphore_signal import ExternalSemaphorePayload
from capture.nodes.mem_alloc import MemAllocPayload
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.nodes.memset import MemsetPayload
from tests.compare.graphs import chain, conditional, graph, kernels, launch


def one(type_: str, payload: Any) -> Graph:
    return graph([type_], [], payloads=[payload])


def copy(source: str = "device", width: int = 64, height: int = 1) -> MemcpyPayload:
    return MemcpyPayload(
        kind="", source=MemcpyEnd(memory_type=source), width_bytes=width, height=height, depth=1
    )


def fill(width: int = 8, height: int = 1, value: int = 0) -> MemsetPayload:
    return MemsetPayload(
        value=value, element_bytes=4, width=width, height=height, pitch_bytes=4 * width
    )


EMPTY = kernels("")
BROKEN = {
    "node_count": (kernels("abc"), kernels("ab")),
    "exit_nodes": (
        graph(["kernel"] * 3, [(0, 1), (1, 2)]),
        graph(["kernel"] * 3, [(0, 1), (0, 2)]),
    ),
    "node_type": (graph(["kernel", "memset"], [(0, 1)]), graph(["kernel", "memcpy"], [(0, 1)])),
    "dependency_count": (
        graph(["kernel"] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
        graph(["kernel"] * 4, [(0, 1), (1, 2), (0, 2), (2, 3)]),
    ),
    "dependency_order": (
        graph(["kernel"] * 4, [(0, 2), (1, 2), (0, 3), (1, 3)]),
        graph(["kernel"] * 4, [(0, 2), (1, 2), (1, 3), (0, 3)]),
    ),
    "bodies": (
        graph(
            ["child_graph"], [], bodies=[Body(node=0, index=0, role="child", graph=kernels("a"))]
        ),
        graph(["child_graph"], []),
    ),
    "kernel_cooperative": (
        chain([launch("a", cooperative=False)]),
        chain([launch("a", cooperative=True)]),
    ),
    "kernel_device_updatable": (
        chain([launch("a")]),
        chain([launch("a", attributes={"device_updatable_kernel_node": 1})]),
    ),
    "memory_operations": (
        one("batch_mem_op", BatchMemOpPayload(operations=[{"operation": "write_value_32"}])),
        one("batch_mem_op", BatchMemOpPayload(operations=[{"operation": "write_value_64"}])),
    ),
    "memory_type": (one("memcpy", copy("device")), one("memcpy", copy("host"))),
    "memcpy_dimensions": (one("memcpy", copy(height=2)), one("memcpy", copy(width=32, height=2))),
    "memset_dimensions": (one("memset", fill(height=2)), one("memset", fill(width=4, height=2))),
    "semaphore_count": (
        one("external_semaphore_wait", ExternalSemaphorePayload(semaphore_handles=[1])),
        one("external_semaphore_wait", ExternalSemaphorePayload(semaphore_handles=[1, 2])),
    ),
    "conditional_parameters": (
        one("conditional", ConditionalPayload(kind="if", body_count=1)),
        one("conditional", ConditionalPayload(kind="while", body_count=1)),
    ),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_each_rule_stands_against_its_pair_and_against_no_equal_one(rule: str) -> None:
    before, after = BROKEN[rule]
    verdict = update_verdict(before, after)
    assert not verdict.possible
    assert verdict.violations[0].rule == rule
    assert verdict.result == RULES[rule].result
    if rule != "kernel_device_updatable":
        for same in (before, after):
            assert update_verdict(same, same).possible


def test_ports_of_a_dependency_stand_against_it() -> None:
    one_, other = (graph(["kernel", "kernel"], [(0, 1)]) for _ in range(2))
    other.topology.from_port = [1]
    assert update_verdict(one_, other).violations[0].rule == "edge_data"


def test_another_priority_stands_against_it_where_the_executable_uses_priorities() -> None:
    one_, other = (chain([launch("a", priority=priority)]) for priority in (0, -2))
    assert update_verdict(one_, other, flags=9).result == "ATTRIBUTES_CHANGED"
    assert update_verdict(one_, other, flags=0).possible
    unknown = update_verdict(one_, other)
    assert unknown.possible
    assert any("priority" in words for words in unknown.unchecked)


def test_another_device_stands_against_it() -> None:
    first, second = (GraphInfo(key="a", name="a", device=device) for device in (0, 1))
    verdict = update_verdict(kernels("a"), kernels("a"), first, second)
    assert [item.rule for item in verdict.violations] == ["kernel_context"]
    verdict = update_verdict(one("memset", fill()), one("memset", fill()), first, second)
    assert verdict.result == "PARAMETERS_CHANGED"


def test_every_rule_has_a_pair() -> None:
    assert set(RULES) == {
        *BROKEN,
        "edge_data",
        "kernel_context",
        "kernel_priority",
        "memory_device",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (kernels("abc", grid=8), kernels("abc", grid=32)),
        (one("memset", fill()), one("memset", fill(width=16, value=3))),
        (one("memset", fill(height=2)), one("memset", fill(height=2, value=3))),
        (one("memcpy", copy()), one("memcpy", copy(width=32))),
        (kernels(""), kernels("")),
    ],
)
def test_what_may_change(before: Graph, after: Graph) -> None:
    assert update_verdict(before, after).possible


def test_an_allocation_of_another_size_is_not_decided() -> None:
    small, large = (one("mem_alloc", MemAllocPayload(size_bytes=size)) for size in (1, 2))
    verdict = update_verdict(small, large)
    assert verdict.possible
    assert any("allocations" in words for words in verdict.unchecked)


def test_another_kernel_is_taken_and_told() -> None:
    verdict = update_verdict(kernels("abc"), kernels("axc"))
    assert verdict.possible
    assert [(swap.before, swap.name_after) for swap in verdict.swaps] == [("1", "x_kernel")]


def test_a_rule_broken_inside_a_body_names_its_path() -> None:
    before = conditional(chain([launch("a", cooperative=False)]))
    after = conditional(chain([launch("a", cooperative=True)]))
    (violation,) = update_verdict(before, after).violations
    assert (violation.rule, violation.before, violation.after) == (
        "kernel_cooperative",
        "0/0/0",
        "0/0/0",
    )


def verdict_of(before: Graph, after: Graph, *, one_process: bool = True) -> UpdateVerdict:
    diff = capture.compare(before, after)
    return update_verdict(before, after, diff=diff, one_process=one_process)


def sets(verdict: UpdateVerdict) -> list[tuple[str, tuple[str, ...], list[str]]]:
    return [(item.call, item.fields, item.nodes) for item in verdict.settings]


def test_nodes_made_in_another_order_need_no_setting() -> None:
    before = graph(["memset", "kernel"], [], payloads=[fill(), launch("a_kernel")])
    after = graph(["kernel", "memset"], [], payloads=[launch("a_kernel"), fill()])
    verdict = verdict_of(before, after)
    assert verdict.result == "NODE_TYPE_CHANGED"
    assert not verdict.settings
    assert not verdict.obstacles
    assert "Nothing has to be set" in verdict.instead[0]


def test_what_is_to_be_set_is_told_node_by_node() -> None:
    before = graph(["memset", "kernel", "kernel"], [(0, 1)])
    before.payloads = [fill(), launch("a_kernel"), launch("b_kernel")]
    after = graph(["kernel", "memset", "kernel"], [(1, 2)])
    after.payloads = [launch("b_kernel", grid=9), fill(value=7), launch("a_kernel")]
    verdict = verdict_of(before, after)
    assert verdict.result == "TOPOLOGY_CHANGED"
    assert sets(verdict) == [
        ("cuGraphExecKernelNodeSetParams", ("grid",), ["2"]),
        ("cuGraphExecMemsetNodeSetParams", ("value",), ["0"]),
    ]
    assert verdict.instead[0].startswith("Node by node it can be brought there: cuGraphExecKernel")


def test_addresses_are_set_where_both_graphs_are_of_one_process() -> None:
    before, after = kernels("ab"), kernels("ab")
    arguments = bytearray(after.payloads[1].arguments or b"")
    arguments[:8] = (0x7F0000001000).to_bytes(8, "little")
    after.payloads[1].arguments = bytes(arguments)
    assert verdict_of(before, after, one_process=False).settings == []
    assert [item[2] for item in sets(verdict_of(before, after))] == [["1"]]


def test_removed_kernels_can_be_disabled() -> None:
    verdict = verdict_of(kernels("abcd"), kernels("abd"))
    assert sets(verdict) == [("cuGraphNodeSetEnabled", ("disabled",), ["2"])]
    assert any("disabled" in text for text in verdict.instead)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (kernels("ab"), kernels("abc"), "1 node is new"),
        (
            chain([launch("a", cooperative=False)]),
            chain([launch("a", cooperative=True)]),
            "cooperative of a kernel node",
        ),
        (one("memcpy", copy("device")), one("memcpy", copy("host")), "source is device before"),
        (
            one("conditional", ConditionalPayload(kind="if", body_count=1)),
            one("conditional", ConditionalPayload(kind="while", body_count=1)),
            "conditional",
        ),
        (
            graph(["host", "memset"], [(0, 1)], payloads=[None, fill()]),
            graph(["memset"], [], payloads=[fill()]),
            "host nodes cannot be disabled",
        ),
    ],
)
def test_why_only_a_new_instantiate_helps(before: Graph, after: Graph, why: str) -> None:
    verdict = verdict_of(before, after)
    (text,) = verdict.instead
    assert text.startswith("Only a new instantiate helps")
    assert why in text


def test_nodes_in_bodies_are_set_by_their_own_path() -> None:
    before, after = (conditional(chain([launch("a_kernel", scalar=s)])) for s in (1, 2))
    assert [item[2] for item in sets(verdict_of(before, after))] == [["0/0/0"]]


def test_the_order_of_dependencies_is_told_as_unchecked() -> None:
    joined, plain = graph(["kernel"] * 3, [(0, 2), (1, 2)]), kernels("ab")
    assert any("order in which" in words for words in update_verdict(joined, joined).unchecked)
    assert not any("order in which" in words for words in update_verdict(plain, plain).unchecked)
