"""Which operators take the time."""

from __future__ import annotations

from ..model import EvidenceKind
from .base import Analysis, Cell, Column, Result, Unit
from .operator_calls import NO_OPERATOR, OperatorRow, operator_calls
from .origin_notes import share
from .origin_ranking import TOP, ranking
from .origin_totals import Costs
from .subject import Subject

COLUMNS = [
    Column("operator", Unit.TEXT),
    Column("nodes", Unit.COUNT),
    Column("time", Unit.NS),
    Column("share of node time", Unit.RATIO),
    Column("share of the critical path", Unit.RATIO),
    Column("forward", Unit.NS),
    Column("backward", Unit.NS),
    Column("inputs", Unit.COUNT),
    Column("modules", Unit.COUNT),
    Column("moved", Unit.BYTES),
    Column("allocated", Unit.BYTES),
]


def run(subject: Subject) -> Result:
    """Add up nodes and times by operator.

    Notes
    -----
    O(nodes + edges).
    """
    index = subject.origin_index
    if index is None:
        return Result.absent(subject.lacks(EvidenceKind.ORIGINS))
    costs = Costs.of(subject)
    found = operator_calls(index, costs)
    named = [row for row in found if row.name]
    if not named:
        why = index.origins.missing.get("operator", "none was running when they were launched")
        return Result.absent(f"the nodes have no operators: {why}")
    without = sum(row.total.nodes for row in found if not row.name)
    return ranking(
        subject,
        costs,
        COLUMNS,
        [_row(row, costs) for row in found],
        origin="operator",
        named="operator",
        counts=(len(named), index.count - without),
        summary="{operators} operators launched {operator_nodes} of {all_nodes} nodes; most",
        top=[(row.name, row.total) for row in named[:TOP]],
    )


def _row(row: OperatorRow, costs: Costs) -> tuple[Cell, ...]:
    total = row.total
    timed = total.timed > 0
    return (
        row.name or NO_OPERATOR,
        total.nodes,
        total.shown_ns,
        share(total.shown_ns, costs.total_ns),
        share(total.path_ns if timed else None, costs.path_ns),
        total.phase_ns[1] if timed else None,
        total.phase_ns[2] if timed else None,
        len(row.inputs) or None,
        len(row.modules) or None,
        total.moved_bytes or None,
        total.allocated_bytes or None,
    )


ANALYSIS = Analysis(
    name="by_operator",
    title="Time by operator",
    description="Which operators launched the nodes, and what they take.",
    run=run,
    uses=(EvidenceKind.ORIGINS, EvidenceKind.TIMINGS),
)
