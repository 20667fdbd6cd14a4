"""Which lines of source take the time."""

from __future__ import annotations

from ..model import EvidenceKind
from ..origin_index import Line
from .base import Analysis, Cell, Column, Result, Unit, rows_argument
from .origin_notes import share
from .origin_ranking import TOP, ranking
from .origin_totals import Costs, everything
from .source_lines import LineRow, source_lines
from .subject import Subject

COLUMNS = [
    Column("line", Unit.TEXT),
    Column("function", Unit.TEXT),
    Column("nodes", Unit.COUNT),
    Column("time", Unit.NS),
    Column("share of node time", Unit.RATIO),
    Column("backward nodes", Unit.COUNT),
    Column("backward", Unit.NS),
    Column("time with what it calls", Unit.NS),
    Column("shared nodes", Unit.COUNT),
    Column("moved", Unit.BYTES),
    Column("allocated", Unit.BYTES),
]


def run(subject: Subject, rows: int = 1000) -> Result:
    """Charge nodes and times to the lines that launched them, those of a backward pass apart.

    Notes
    -----
    O(nodes + edges + stacks * depth), and sorting the lines.
    """
    index = subject.origin_index
    if index is None:
        return Result.absent(subject.lacks(EvidenceKind.ORIGINS))
    costs = Costs.of(subject)
    found = source_lines(index, costs)
    named = [row for row in found.rows if row.own_nodes]
    if not named:
        missing = index.origins.missing
        why = missing.get("stack") or "no stack holds a line of the user's"
        return Result.absent(f"the nodes have no source lines: {why}")
    ranked = sorted(
        named, key=lambda row: (-row.own_ns, -row.own_nodes, row.line.file, row.line.line)
    )
    return ranking(
        subject,
        costs,
        COLUMNS,
        [_row(row, costs) for row in ranked[:rows]],
        origin="stack",
        named="line",
        counts=(len(named), index.count - found.without.nodes),
        summary="{lines} lines launched {line_nodes} of {all_nodes} nodes, the backward pass "
        "charged to the forward line; most",
        top=[
            (place_of(row.line), everything((row.launched, row.backward))) for row in ranked[:TOP]
        ],
        left_out=len(ranked) > rows,
    )


def place_of(line: Line) -> str:
    """Return a line's file name and number.

    Examples
    --------
    >>> place_of(Line("/home/me/train.py", 12, "step", "user"))
    'train.py:12'
    """
    return f"{line.file.replace(chr(92), '/').rpartition('/')[2]}:{line.line}"


def _row(row: LineRow, costs: Costs) -> tuple[Cell, ...]:
    moved = row.launched.moved_bytes + row.backward.moved_bytes
    return (
        f"{row.line.file}:{row.line.line}",
        row.line.function,
        row.launched.nodes,
        row.launched.shown_ns,
        share(row.own_ns if row.launched.timed + row.backward.timed else None, costs.total_ns),
        row.backward.nodes or None,
        row.backward.shown_ns,
        row.inclusive.shown_ns,
        row.launched.shared + row.backward.shared or None,
        moved or None,
        row.launched.allocated_bytes + row.backward.allocated_bytes or None,
    )


ANALYSIS = Analysis(
    name="by_source",
    title="Time by source line",
    description="Which lines of the source launched the nodes, and what they take.",
    run=run,
    uses=(EvidenceKind.ORIGINS, EvidenceKind.TIMINGS),
    arguments=(rows_argument(),),
)
