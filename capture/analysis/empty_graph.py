"""Finding: a graph without nodes, or with only one."""

from __future__ import annotations

from collections import Counter

from .base import Analysis, Column, Quantity, Result, Severity, Unit
from .subject import Subject

WORK = frozenset(("kernel", "memcpy", "memset", "host"))


def run(subject: Subject) -> Result:
    """Say whether the graph holds any work, and whether that is worth a graph.

    Notes
    -----
    ``torch.compile`` captures an empty graph of its own when it begins, to hold its memory pool:
    that is no fault. The recorder notes of it that the framework made it for itself.
    """
    graph = subject.graph
    info = subject.info
    count = len(graph)
    result = Result(
        figures={"nodes": Quantity(count, Unit.COUNT)},
        columns=[Column("type", Unit.TEXT), Column("nodes", Unit.COUNT)],
        rows=sorted(Counter(graph.topology.types).items()),
    )
    if subject.path:
        return Result.absent("only whole graphs are looked at, not bodies")
    if count == 0:
        if info is not None and info.extra.get("framework_internal") is True:
            result.summary = "The graph is empty: the compiler made it to hold its memory pool."
            return result
        result.summary = "The graph is empty: replaying it does nothing."
        result.notes.append(
            "Work that was launched on another stream, or on the default stream, is not captured; "
            "capture on the stream on which the work runs."
        )
        result.severity = Severity.WARNING
    elif count == 1 and not graph.bodies and graph.topology.types[0] in WORK:
        result.summary = "The graph holds one node: its launch costs no less than the node's own."
        result.notes.append(
            "A graph saves launches when it holds many; capture more of the work in one graph."
        )
        result.node_marks, result.mark_name = [0], "alone in its graph"
        result.severity = Severity.NOTICE
    else:
        result.summary = "The graph holds {nodes} nodes."
    return result


ANALYSIS = Analysis(
    name="empty_graph",
    title="Empty and one-node graphs",
    description="Whether the graph holds work, and more than one piece of it.",
    run=run,
    finding=True,
)
