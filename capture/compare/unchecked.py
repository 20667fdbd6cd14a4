"""What decides on an update as well, and is not in recordings or not in the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..model import Graph
from ..nodes.kernel import KernelPayload

DECIDING = {
    "kernel": "cooperative",
    "memcpy": "source",
    "memset": "width",
    "conditional": "kind",
}
"""A field of each type without which its rules cannot be checked."""


class Unchecked:
    """Collects it from pairs of nodes."""

    def __init__(self) -> None:
        self._types: set[str] = set()
        self._attributes: Counter[str] = Counter()
        self._unread = self._resized = self._joins = self._priorities = 0

    def level(self, before: Graph, after: Graph) -> None:
        """Take note of two graphs or bodies."""
        self._types |= {*before.topology.types, *after.topology.types}
        dependencies = Counter(after.topology.target)
        self._joins += sum(count > 1 for count in dependencies.values())

    def pair(self, type_: str, before: Any, after: Any, priority_known: bool) -> None:
        """Take note of two nodes of one type."""
        self._unread += type_ in DECIDING and any(
            getattr(payload, DECIDING[type_], None) in (None, "") for payload in (before, after)
        )
        self._attributes.update(_other_attributes(before, after))
        self._resized += type_ == "mem_alloc" and _resized(before, after)
        self._priorities += not priority_known and other_priority(before, after)

    def sentences(self) -> Iterator[str]:
        """Yield parts of sentences."""
        if self._joins:
            yield (
                f"the order in which the dependencies of {self._joins:,} nodes were made: "
                f"recordings keep them in the order of nodes, the driver pairs them in that of "
                f"making"
            )
        if self._resized:
            yield (
                f"{self._resized:,} allocations have another size; the documentation does not say "
                f"whether that may change, and a driver of CUDA 13.0 took it"
            )
        if self._unread:
            yield f"the parameters of {self._unread:,} nodes, which were not read in full"
        if "kernel" in self._types:
            yield (
                "whether functions belong to the same context, and use dynamic parallelism or "
                "launch graphs from the device: recordings do not tell"
            )
        if self._types & {"memcpy", "memset"}:
            yield "whether operands of copies and memsets were allocated in the same contexts"
        if self._priorities:
            yield (
                f"the priority of {self._priorities:,} kernels differs, which is refused when "
                f"the executable was instantiated to use node priorities"
            )
        for name, count in self._attributes.items():
            yield (
                f"the launch attribute {name} of {count:,} kernels differs; the documentation "
                f"does not say which attributes may change, and a driver of CUDA 13.0 took all "
                f"that were tried"
            )


def other_priority(before: Any, after: Any) -> bool:
    """Say whether two kernels have different priorities."""
    if not isinstance(before, KernelPayload) or not isinstance(after, KernelPayload):
        return False
    return None not in (before.priority, after.priority) and before.priority != after.priority


def _other_attributes(before: Any, after: Any) -> Iterator[str]:
    if not isinstance(before, KernelPayload) or not isinstance(after, KernelPayload):
        return
    if before.cluster != after.cluster:
        yield "cluster"
    for name in {*before.attributes, *after.attributes}:
        if before.attributes.get(name) != after.attributes.get(name):
            yield name


def _resized(before: Any, after: Any) -> bool:
    one, other = getattr(before, "size_bytes", None), getattr(after, "size_bytes", None)
    return None not in (one, other) and one != other
