"""Finding: a graph without nodes."""

from __future__ import annotations

from collections import Counter

from .base import Analysis, Column, Quantity, Result, Severity, Unit
from .subject import Subject

WHY = (
    "Work that was launched on another stream, or on the default stream, is not captured: capture "
    "on the stream on which the work runs. What a function computed once and remembered is not "
    "captured either."
)


def run(subject: Subject) -> Result:
    """Say whether the graph holds any node.

    Notes
    -----
    ``torch.compile`` captures an empty graph of its own when it begins, to hold its memory pool:
    that is no fault. The recorder notes of it that the framework made it for itself.
    """
    info = subject.info
    if subject.path:
        return Result.absent("only whole graphs are looked at, not bodies")
    result = Result(
        figures={"nodes": Quantity(len(subject.graph), Unit.COUNT)},
        columns=[Column("type", Unit.TEXT), Column("nodes", Unit.COUNT)],
        rows=sorted(Counter(subject.graph.topology.types).items()),
    )
    if len(subject.graph):
        result.summary = "The graph holds {nodes} nodes."
    elif info is not None and info.extra.get("framework_internal") is True:
        result.summary = "The graph is empty: the compiler made it to hold its memory pool."
    else:
        result.summary = "The graph is empty: replaying it does nothing."
        result.notes.append(WHY)
        result.severity = Severity.WARNING
    return result


ANALYSIS = Analysis(
    name="empty_graph",
    title="Empty graphs",
    description="Whether the graph holds any node at all.",
    run=run,
    finding=True,
)
