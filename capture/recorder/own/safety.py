"""Which graphs may be replayed by us at all. Pure."""

from __future__ import annotations

import re

from ...model import Graph
from ...names import demangle
from ...nodes import node_types

COLLECTIVE = re.compile(
    r"nccl|nvshmem|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device_reduce"
    r"|multimem|symm_?mem|mscclpp|deep_?ep",
    re.IGNORECASE,
)
"""Names of kernels that wait for other processes or other devices."""

RANDOM = re.compile(r"philox|dropout|curand|distribution_|random_|bernoulli|rand_like", re.I)

_REFUSED = {
    "host": "a replay of ours would call the script's own function again",
    "mem_alloc": "the driver does not clone graphs with memory nodes",
    "mem_free": "the driver does not clone graphs with memory nodes",
    "conditional": "the driver does not clone graphs with conditional nodes, and whether a loop "
    "ends depends on data",
    "external_semaphore_signal": "whoever waits for the semaphore would be woken",
    "external_semaphore_wait": "nobody may signal the semaphore any more",
    "event_record": "the event belongs to the script, which may have destroyed it",
    "wait_event": "the event belongs to the script, which may have destroyed it",
    "batch_mem_op": "what it waits for may never be written any more",
}
_HARMLESS = {"kernel", "memcpy", "memset", "empty", "child_graph"}


def refusal(graph: Graph) -> str:
    """Say why a graph is not replayed by us; empty text when it may be.

    Parameters
    ----------
    graph : Graph
        With its bodies.

    Examples
    --------
    >>> from ...model import Topology
    >>> refusal(Graph(topology=Topology(types=["memset", "host"]), payloads=[None, None]))
    "node 1 is a host node: a replay of ours would call the script's own function again"
    """
    if not len(graph):
        return "it has no nodes"
    for path, level in graph.walk():
        for position, type_ in enumerate(level.topology.types):
            if type_ in _HARMLESS and type_ != "kernel":
                continue
            where = f"node {path}/{position}" if path else f"node {position}"
            if type_ in _REFUSED:
                if type_ == "batch_mem_op" and not _waits(level.payloads[position]):
                    continue
                article = "an" if type_[0] in "aeiou" else "a"
                return f"{where} is {article} {type_} node: {_REFUSED[type_]}"
            if type_ not in _HARMLESS:
                known = "" if type_ in node_types() else ", unknown to this version"
                return f"{where} is of type {type_}{known}: what a replay would do is not known"
            name = _name(level.payloads[position])
            if COLLECTIVE.search(name):
                return (
                    f"{where} is a collective ({name[:80]}): it waits for other processes or "
                    f"devices, and would wait for ever"
                )
    return ""


_NEVER_IN_PLACE = ("mem_alloc", "mem_free", "conditional")


def cannot_run_in_place(graph: Graph) -> str:
    """Say why no part of a graph is run where the script would replay it; empty when it may be.

    What would harm a replay after the script, such as a host node or somebody's event, is as the
    script wants it at that moment.
    """
    if not len(graph):
        return "it has no nodes"
    for path, level in graph.walk():
        for position, type_ in enumerate(level.topology.types):
            where = f"node {path}/{position}" if path else f"node {position}"
            if type_ in _NEVER_IN_PLACE:
                return f"{where} is a {type_} node: {_REFUSED[type_]}"
            if type_ not in node_types():
                return f"{where} is of type {type_}, unknown to this version"
            name = _name(level.payloads[position]) if type_ == "kernel" else ""
            if COLLECTIVE.search(name):
                return (
                    f"{where} is a collective ({name[:80]}): it waits for other processes, which "
                    f"replay their own graph as a whole"
                )
    return ""


def _waits(payload: object) -> bool:
    operations = getattr(payload, "operations", None)
    if operations is None:
        return True  # it could not be read
    return any("wait" in str(item.get("operation", "wait")) for item in operations)


def _name(payload: object) -> str:
    kernel = getattr(payload, "kernel", None)
    return str(getattr(kernel, "name", "") or "")


def notes_of(graph: Graph) -> list[str]:
    """Return what a reader has to know of replays of this graph."""
    notes = []
    names = {_name(payload) for _, level in graph.walk() for payload in level.payloads}
    if any(RANDOM.search(demangle(name)) for name in names if name):
        notes.append(
            "it draws random numbers: replays of ours do not advance torch's generator, so each "
            "draws the same ones"
        )
    if graph.bodies:
        notes.append(
            "nodes inside child graphs are not measured by themselves; a child graph is left out "
            "as a whole"
        )
    return notes
