"""What would have to be set in an executable, node by node, for it to do another graph's work.

Source: CUDA Driver API 13, "Graph Management": the ``cuGraphExec*NodeSetParams`` calls and
``cuGraphNodeSetEnabled``. No call adds a node, changes a dependency or a launch attribute. Nodes in
bodies are set by their own handles, as a driver of CUDA 13.0 takes it, those of conditional nodes
too; for a child graph ``cuGraphExecChildGraphNodeSetParams`` sets all of it at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from ..nodes.kernel import KernelPayload
from .alignment import Alignment
from .diff import GraphDiff
from .fields import COMPILED
from .update_rules import broken_rules

CALLS = {
    "kernel": "cuGraphExecKernelNodeSetParams",
    "memcpy": "cuGraphExecMemcpyNodeSetParams",
    "memset": "cuGraphExecMemsetNodeSetParams",
    "host": "cuGraphExecHostNodeSetParams",
    "event_record": "cuGraphExecEventRecordNodeSetEvent",
    "wait_event": "cuGraphExecEventWaitNodeSetEvent",
    "batch_mem_op": "cuGraphExecBatchMemOpNodeSetParams",
    "external_semaphore_signal": "cuGraphExecExternalSemaphoresSignalNodeSetParams",
    "external_semaphore_wait": "cuGraphExecExternalSemaphoresWaitNodeSetParams",
}
"""The call for each type of node."""

DISABLE = "cuGraphNodeSetEnabled"
CAN_BE_DISABLED = frozenset({"kernel", "memcpy", "memset"})
"""Types for which :data:`DISABLE` is documented."""

UNSETTABLE = ("cluster", "cooperative", "priority", "attributes")
"""Fields of kernels that are launch attributes."""

ADDRESSES = "addresses"


class Setting(msgspec.Struct, kw_only=True, frozen=True):
    """Nodes that one call sets alike.

    Attributes
    ----------
    call : str
        Of the driver.
    fields : tuple of str
        What differs.
    nodes : list of str
        Paths in the graph that the executable was made of.
    """

    call: str
    fields: tuple[str, ...]
    nodes: list[str]


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """All of it.

    Attributes
    ----------
    settings : list of Setting
        The most nodes first.
    obstacles : list of str
        Why only a new instantiate helps; empty when the settings are all.
    """

    settings: list[Setting]
    obstacles: list[str]
    one_process: bool = False


def plan(diff: GraphDiff, one_process: bool = False) -> Plan:
    """Say what to set in an executable of the graph before.

    Parameters
    ----------
    diff : GraphDiff
        With its graphs.
    one_process : bool
        Both graphs are of one process: then addresses and handles can be compared.

    Notes
    -----
    O(nodes and argument bytes).
    """
    groups: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    obstacles: Counter[str] = Counter()
    fields = {
        change.before: tuple(item.field for item in change.fields)
        for change in diff.changes
        if change.before is not None and change.after is not None
    }
    for level in diff.levels:
        for path, position, partner in _pairs(level):
            type_ = level.before.topology.types[position]
            payloads = level.before.payloads[position], level.after.payloads[partner]
            wanted, why = _wanted(type_, payloads, fields.get(path, ()), one_process)
            obstacles.update(why)
            if not wanted:
                continue
            call = CALLS.get(type_)
            if call is None:
                obstacles[f"no call sets the parameters of {type_} nodes"] += 1
            else:
                groups[call, wanted].append(path)
    for change in diff.changes:
        if change.kind == "removed" and change.before is not None:
            if change.type in CAN_BE_DISABLED:
                groups[DISABLE, ("disabled",)].append(change.before)
            else:
                obstacles[f"{change.type} nodes cannot be disabled"] += 1
    obstacles.update(_structure(diff))
    found = [
        Setting(call=call, fields=names, nodes=nodes)
        for (call, names), nodes in groups.items()
        if nodes
    ]
    found.sort(key=lambda item: (-len(item.nodes), item.call, item.fields))
    listed = [
        text if count == 1 else f"{text} ({count:,} times)" for text, count in obstacles.items()
    ]
    return Plan(settings=found, obstacles=listed, one_process=one_process)


def _pairs(level: Alignment) -> Iterator[tuple[str, int, int]]:
    prefix = f"{level.path_before}/" if level.path_before else ""
    for position, partner in enumerate(level.partner):
        if partner >= 0:
            yield f"{prefix}{position}", position, partner


def _structure(diff: GraphDiff) -> Iterator[str]:
    counts = diff.counts
    if counts.added:
        nodes = "node is" if counts.added == 1 else "nodes are"
        yield f"{counts.added:,} {nodes} new, and an executable gets no nodes"
    if counts.edges_rewired and not counts.removed:
        edges = "dependency" if counts.edges_rewired == 1 else "dependencies"
        yield f"{counts.edges_rewired:,} {edges} differ, and no call sets them"


def _wanted(
    type_: str, payloads: tuple[Any, Any], fields: tuple[str, ...], one_process: bool
) -> tuple[tuple[str, ...], list[str]]:
    """Return what is to be set of a pair, and why that is not possible."""
    before, after = payloads
    why = [
        f"{words} in {_a(type_)} node"
        for rule, words in broken_rules(type_, before, after)
        if rule not in ("kernel_cooperative", "kernel_device_updatable")
    ]
    names: dict[str, None] = {}
    for name in fields:
        head = name.partition(".")[0]
        if type_ == "kernel" and head in UNSETTABLE:
            why.append(f"no call sets {head} of a kernel node, a launch attribute")
        elif type_ == "kernel" and head in COMPILED:
            names["kernel"] = None
        else:
            names[head] = None
    if one_process and not names and _elsewhere(before, after):
        names[ADDRESSES if type_ not in ("event_record", "wait_event") else "event"] = None
    return tuple(sorted(names)), why


def _elsewhere(before: Any, after: Any) -> bool:
    """Say whether nodes that do the same do it to other memory, or with other objects."""
    if isinstance(before, KernelPayload) and isinstance(after, KernelPayload):
        return before.arguments != after.arguments
    return type(before) is type(after) and before is not None and bool(before != after)


def _a(type_: str) -> str:
    return f"{'an' if type_[0] in 'aeiou' else 'a'} {type_}"


def instead(found: Plan, in_common: bool) -> list[str]:
    """Return sentences: what to set node by node, or why only a new instantiate helps."""
    if not in_common:
        return ["Only a new instantiate helps: the graphs have next to nothing in common."]
    if found.obstacles:
        return [f"Only a new instantiate helps: {'; '.join(found.obstacles)}."]
    texts = []
    if found.settings:
        texts.append(f"Node by node it can be brought there: {summary(found.settings)}.")
    else:
        texts.append("Nothing has to be set: the nodes do the same, made in another order.")
    if any(item.call == DISABLE for item in found.settings):
        texts.append(
            "Nodes that are disabled still take their turn: check that dependencies through them "
            "are meant."
        )
    if not found.one_process:
        texts.append("Addresses are of two processes: which have to be set as well is not known.")
    return texts


def summary(settings: list[Setting]) -> str:
    """Return which calls are to be made, and on how many nodes."""
    nodes: Counter[str] = Counter()
    for item in settings:
        nodes[item.call] += len(item.nodes)
    return ", ".join(
        f"{call} of {count:,} node{'' if count == 1 else 's'}" for call, count in nodes.items()
    )
