"""Which modules take the time."""

from __future__ import annotations

from ..model import EvidenceKind
from .base import Analysis, Cell, Column, Result, Unit, rows_argument
from .module_memory import Held, held_by_module
from .module_tree import ModuleRow, module_tree
from .origin_notes import share
from .origin_ranking import TOP, ranking
from .origin_totals import Costs
from .subject import Subject

COLUMNS = [
    Column("module", Unit.TEXT),
    Column("class", Unit.TEXT),
    Column("nodes", Unit.COUNT),
    Column("time", Unit.NS),
    Column("share of node time", Unit.RATIO),
    Column("share of the critical path", Unit.RATIO),
    Column("own time", Unit.NS),
    Column("forward", Unit.NS),
    Column("backward", Unit.NS),
    Column("moved", Unit.BYTES),
    Column("allocated", Unit.BYTES),
    Column("holds", Unit.BYTES),
]


def run(subject: Subject, rows: int = 1000) -> Result:
    """Add up nodes and times by module, each with the modules inside it.

    Notes
    -----
    O(nodes + edges + modules * depth).
    """
    index = subject.origin_index
    if index is None:
        return Result.absent(subject.lacks(EvidenceKind.ORIGINS))
    costs = Costs.of(subject)
    found = module_tree(index, costs)
    held = held_by_module(index, subject.memory)
    named = [row for row in found if row.module >= 0]
    if not named:
        why = index.origins.missing.get("module", "no node belongs to an `nn.Module`")
        return Result.absent(f"the nodes have no modules: {why}")
    inside = sum(row.total.nodes for row in named if row.parent < 0)
    ranked = sorted(
        (row for row in named if row.own.nodes),
        key=lambda row: (-row.own.time_ns, -row.own.nodes, row.path),
    )
    return ranking(
        subject,
        costs,
        COLUMNS,
        [_row(row, costs, held.get(row.module)) for row in found[:rows]],
        origin="module",
        named="module",
        counts=(len(named), min(inside, index.count)),
        summary="{modules} modules launched {module_nodes} of {all_nodes} nodes; "
        "most by themselves",
        top=[(_title(row), row.own) for row in ranked[:TOP]],
        left_out=len(found) > rows,
    )


def _title(row: ModuleRow) -> str:
    if row.path.isdecimal() and row.class_name:
        # A number alone would be read as one of the figures around it.
        return f"{row.path} ({row.class_name.rpartition('.')[2]})"
    return row.path or row.name


def _row(row: ModuleRow, costs: Costs, held: Held | None) -> tuple[Cell, ...]:
    total = row.total
    timed = total.timed > 0
    return (
        row.path or row.name,
        row.class_name,
        total.nodes,
        total.shown_ns,
        share(total.shown_ns, costs.total_ns),
        share(total.path_ns if timed else None, costs.path_ns),
        row.own.shown_ns,
        total.phase_ns[1] if timed else None,
        total.phase_ns[2] if timed else None,
        total.moved_bytes or None,
        total.allocated_bytes or None,
        held.total_bytes if held is not None else None,
    )


ANALYSIS = Analysis(
    name="by_module",
    title="Time by module",
    description="Which modules of the model launched the nodes, and what they take.",
    run=run,
    uses=(EvidenceKind.ORIGINS, EvidenceKind.TIMINGS),
    arguments=(rows_argument(),),
)
