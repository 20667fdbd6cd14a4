"""The rules of ``cuGraphExecUpdate``, one pair of graphs each, without a driver."""

from __future__ import annotations

from typing import Any

import pytest

import capture
from capture.compare import update_verdict
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
    pair = [chain([launch("a", priority=priority)]) for priority in (0, -2)]
    assert update_verdict(*pair, flags=9).result == "ATTRIBUTES_CHANGED"
    assert update_verdict(*pair, flags=0).possible
    unknown = update_verdict(*pair)
    assert unknown.possible
    assert any("priority" in words for words in unknown.unchecked)


def test_another_device_stands_against_it() -> None:
    infos = [GraphInfo(key="a", name="a", device=device) for device in (0, 1)]
    verdict = update_verdict(kernels("a"), kernels("a"), *infos)
    assert [item.rule for item in verdict.violations] == ["kernel_context"]


def test_every_rule_has_a_pair() -> None:
    assert set(RULES) == {*BROKEN, "edge_data", "kernel_context", "kernel_priority"}


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
    sizes = [one("mem_alloc", MemAllocPayload(size_bytes=size)) for size in (1, 2)]
    verdict = update_verdict(*sizes)
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


def test_nodes_made_in_another_order_can_be_set_one_by_one() -> None:
    before = graph(["memset", "kernel"], [], payloads=[fill(), launch("a_kernel")])
    after = graph(["kernel", "memset"], [], payloads=[launch("a_kernel"), fill()])
    diff = capture.compare(before, after)
    verdict = update_verdict(before, after, diff=diff)
    assert verdict.result == "NODE_TYPE_CHANGED"
    assert any("cuGraphExecNodeSetParams" in text for text in verdict.instead)


def test_removed_kernels_can_be_disabled() -> None:
    before, after = kernels("abcd"), kernels("abd")
    verdict = update_verdict(before, after, diff=capture.compare(before, after))
    assert any("cuGraphNodeSetEnabled" in text for text in verdict.instead)
