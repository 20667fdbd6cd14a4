"""Which nodes an executable's update would pair, as ``cuGraphExecUpdate`` is documented to do it.

The driver compares no names: it starts from the nodes without successors, in the order in which
they became that, and follows the dependencies of each pair in the order in which they were made.
(CUDA Driver API, ``cuGraphExecUpdate``; CUDA C++ Programming Guide, "Whole Graph Update".) A
recording has creation order and the order of edges, which is taken for both.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model import Topology

Dependency = tuple[int, tuple[int, int, int]]
"""Position of a predecessor, and ports and type of the edge."""


class Mismatch(NamedTuple):
    """Why a pair cannot be made."""

    rule: str
    before: int | None
    after: int | None
    words: str


class UpdatePairs(NamedTuple):
    """Pairs of positions, and what stood against others."""

    pairs: list[tuple[int, int]]
    mismatches: list[Mismatch]


def update_pairs(before: Topology, after: Topology) -> UpdatePairs:
    """Pair the nodes of one level. O(nodes + edges).

    Goes on after a mismatch where it can, so that all of them are told; the driver stops at the
    first.
    """
    counts = len(before.types), len(after.types)
    if counts[0] != counts[1]:
        words = f"{counts[0]:,} nodes before, {counts[1]:,} after"
        return UpdatePairs([], [Mismatch("node_count", None, None, words)])
    left, right = _dependencies(before), _dependencies(after)
    sinks = _sinks(before), _sinks(after)
    found: list[Mismatch] = []
    if len(sinks[0]) != len(sinks[1]):
        words = f"{len(sinks[0]):,} nodes without successors before, {len(sinks[1]):,} after"
        at = sinks[1][-1] if len(sinks[1]) > len(sinks[0]) else None
        return UpdatePairs([], [Mismatch("exit_nodes", None, at, words)])
    partner: dict[int, int] = {}
    origin: dict[int, int] = {}
    pending = list(zip(reversed(sinks[0]), reversed(sinks[1]), strict=True))
    for one, other in pending:
        partner[one], origin[other] = other, one
    while pending:
        one, other = pending.pop()
        if before.types[one] != after.types[other]:
            words = f"a {before.types[one]} node before, a {after.types[other]} node after"
            found.append(Mismatch("node_type", one, other, words))
        first, second = left[one], right[other]
        if len(first) != len(second):
            words = f"{len(first):,} dependencies before, {len(second):,} after"
            found.append(Mismatch("dependency_count", one, other, words))
            continue
        for (here, form), (there, other_form) in zip(first, second, strict=True):
            if form != other_form:
                words = "a dependency has other ports or another type"
                found.append(Mismatch("edge_data", one, other, words))
            if here not in partner and there not in origin:
                partner[here], origin[there] = there, here
                pending.append((here, there))
            elif partner.get(here) != there:
                words = f"its dependency on node {there} does not match that on node {here} before"
                found.append(Mismatch("dependency_order", one, other, words))
    return UpdatePairs(sorted(partner.items()), found)


def _dependencies(topology: Topology) -> list[list[Dependency]]:
    found: list[list[Dependency]] = [[] for _ in topology.types]
    nothing = [0] * len(topology.source)
    for source, target, *form in zip(
        topology.source,
        topology.target,
        topology.from_port or nothing,
        topology.to_port or nothing,
        topology.edge_type or nothing,
        strict=True,
    ):
        found[target].append((source, (form[0], form[1], form[2])))
    return found


def _sinks(topology: Topology) -> list[int]:
    inner = set(topology.source)
    return [node for node in range(len(topology.types)) if node not in inner]
