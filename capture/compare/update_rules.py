"""Which changes of a node's parameters ``cuGraphExecUpdate`` is documented to take.

Source: CUDA Driver API 13, "Graph Management", ``cuGraphExecUpdate`` and the
``cuGraphExec*NodeSetParams`` calls. Of each rule :data:`RULES` has the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..nodes.batch_mem_op import BatchMemOpPayload
from ..nodes.conditional import ConditionalPayload
from ..nodes.external_semaphore_signal import ExternalSemaphorePayload
from ..nodes.kernel import KernelPayload
from ..nodes.memcpy import MemcpyPayload
from ..nodes.memset import MemsetPayload


class Rule(NamedTuple):
    """One rule of the documentation."""

    words: str
    result: str
    """What the driver answers, a ``CUgraphExecUpdateResult`` without its prefix."""
    documented: bool = True
    """False for what is concluded from a neighbouring call's documentation."""


RULES = {
    "node_count": Rule(
        "both graphs need the same number of nodes on each level", "TOPOLOGY_CHANGED"
    ),
    "exit_nodes": Rule("both graphs need the same nodes without successors", "TOPOLOGY_CHANGED"),
    "node_type": Rule("paired nodes need the same type", "NODE_TYPE_CHANGED"),
    "dependency_count": Rule(
        "paired nodes need the same number of dependencies", "TOPOLOGY_CHANGED"
    ),
    "dependency_order": Rule("dependencies need to be made in the same order", "TOPOLOGY_CHANGED"),
    "edge_data": Rule("dependencies need the same ports and type", "TOPOLOGY_CHANGED"),
    "bodies": Rule("paired nodes need the same number of bodies", "TOPOLOGY_CHANGED"),
    "kernel_context": Rule(
        "the context that owns a kernel's function cannot change",
        "UNSUPPORTED_FUNCTION_CHANGE",
    ),
    "kernel_cooperative": Rule(
        "a cooperative launch cannot become one that is not, nor the other way",
        "ATTRIBUTES_CHANGED",
    ),
    "kernel_device_updatable": Rule(
        "neither graph may have device-updatable kernel nodes", "NOT_SUPPORTED"
    ),
    "kernel_priority": Rule(
        "the priority of a kernel cannot change when the executable uses node priorities",
        "ATTRIBUTES_CHANGED",
    ),
    "memory_type": Rule(
        "the memory type of a copy's source and destination cannot change",
        "PARAMETERS_CHANGED",
    ),
    "memcpy_dimensions": Rule(
        "copies of more than one dimension cannot change",
        "PARAMETERS_CHANGED",
        documented=False,
    ),
    "memory_device": Rule(
        "the device on which a copy's or memset's memory lies cannot change", "PARAMETERS_CHANGED"
    ),
    "memset_dimensions": Rule(
        "of a memset of two dimensions only address and value can change",
        "PARAMETERS_CHANGED",
    ),
    "memory_operations": Rule(
        "the number and the kinds of a batch's memory operations cannot change",
        "PARAMETERS_CHANGED",
        documented=False,
    ),
    "semaphore_count": Rule(
        "the number of external semaphores cannot change", "PARAMETERS_CHANGED"
    ),
    "conditional_parameters": Rule(
        "the parameters of a conditional node cannot change", "NOT_SUPPORTED"
    ),
}

Broken = Iterator[tuple[str, str]]


def broken_rules(type_: str, before: Any, after: Any) -> Broken:
    """Yield (rule, words) for each rule that a pair's parameters break.

    Parameters
    ----------
    type_ : str
        Node type of both.
    before, after : object
        Payloads; where one was not read, nothing is said.
    """
    check = _CHECKS.get(type_)
    if check is not None and before is not None and type(before) is type(after):
        yield from check(before, after)


def _kernel(before: KernelPayload, after: KernelPayload) -> Broken:
    if _both(before.cooperative, after.cooperative) and before.cooperative != after.cooperative:
        words = ("without", "with")
        yield (
            "kernel_cooperative",
            f"launched {words[bool(before.cooperative)]} the cooperative attribute before, "
            f"{words[bool(after.cooperative)]} it after",
        )
    for side, payload in (("before", before), ("after", after)):
        if any("device_updatable" in name for name in payload.attributes):
            yield "kernel_device_updatable", f"device-updatable {side}"


def _memcpy(before: MemcpyPayload, after: MemcpyPayload) -> Broken:
    for name in ("source", "destination"):
        one, other = getattr(before, name), getattr(after, name)
        if one is not None and other is not None and one.memory_type != other.memory_type:
            yield (
                "memory_type",
                f"its {name} is {one.memory_type} before, {other.memory_type} after",
            )
    flat = all((item.height or 1) <= 1 and (item.depth or 1) <= 1 for item in (before, after))
    if not flat and before != after:
        yield "memcpy_dimensions", f"{_extent(before)} before, {_extent(after)} after"


def _extent(copy: MemcpyPayload) -> str:
    return f"{copy.width_bytes} x {copy.height} x {copy.depth}"


def _memset(before: MemsetPayload, after: MemsetPayload) -> Broken:
    if max(before.height or 1, after.height or 1) <= 1:
        return
    for name in ("width", "height", "pitch_bytes", "element_bytes"):
        one, other = getattr(before, name), getattr(after, name)
        if _both(one, other) and one != other:
            yield "memset_dimensions", f"{name} is {one} before, {other} after"


def _operations(before: BatchMemOpPayload, after: BatchMemOpPayload) -> Broken:
    one, other = (
        [str(item.get("operation", "")) for item in payload.operations]
        for payload in (before, after)
    )
    if len(one) != len(other):
        yield "memory_operations", f"{len(one)} operations before, {len(other)} after"
    elif one != other:
        words = next(f"{a} before, {b} after" for a, b in zip(one, other, strict=True) if a != b)
        yield "memory_operations", words


def _semaphores(before: ExternalSemaphorePayload, after: ExternalSemaphorePayload) -> Broken:
    one, other = len(before.semaphore_handles), len(after.semaphore_handles)
    if one != other:
        yield "semaphore_count", f"{one} semaphores before, {other} after"


def _conditional(before: ConditionalPayload, after: ConditionalPayload) -> Broken:
    if before.kind != after.kind:
        yield "conditional_parameters", f"{before.kind!r} before, {after.kind!r} after"
    elif _both(before.body_count, after.body_count) and before.body_count != after.body_count:
        yield (
            "conditional_parameters",
            f"{before.body_count} bodies before, {after.body_count} after",
        )


def _both(one: Any, other: Any) -> bool:
    return one is not None and other is not None


_CHECKS: dict[str, Callable[[Any, Any], Broken]] = {
    "kernel": _kernel,
    "memcpy": _memcpy,
    "memset": _memset,
    "batch_mem_op": _operations,
    "external_semaphore_signal": _semaphores,
    "external_semaphore_wait": _semaphores,
    "conditional": _conditional,
}
