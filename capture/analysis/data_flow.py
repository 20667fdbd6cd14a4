"""Which node wrote what each node reads, through bytes."""

from __future__ import annotations

from collections import Counter

from ..memory.flow import Flow
from ..model import EvidenceKind
from .base import (
    Analysis,
    Cell,
    Column,
    Quantity,
    Result,
    Unit,
    rows_argument,
)
from .schedule import CYCLE
from .subject import Subject

COLUMNS = [
    Column("writer", Unit.NODE),
    Column("writer name", Unit.TEXT),
    Column("reader", Unit.NODE),
    Column("reader name", Unit.TEXT),
    Column("address", Unit.TEXT),
    Column("known", Unit.TEXT),
]
KINDS = ("exact", "measured", "inferred", "possible")
INFERRED = (
    "Exact between copies and memsets. Of kernels it is known where their arguments point; "
    "'inferred' takes reading and writing from signatures, parameter names and torch's own "
    "conventions, and 'possible' is what may be so where these do not tell."
)
NO_HISTORY = (
    "Without memory history, memory that several tensors had in turn looks like one: record with "
    "--memory-stacks to tell them apart."
)


def run(subject: Subject, rows: int = 1000) -> Result:
    """Return pairs of nodes of which one reads what the other wrote last.

    Notes
    -----
    Linear in the addresses of the nodes, see :mod:`capture.memory.flow`.
    """
    cells = subject.cells
    if cells is None:
        return Result.absent(CYCLE)
    flows = subject.flows
    counts = Counter([flow[3] for flow in flows])
    read = Counter([flow[1] for flow in flows])
    result = Result(
        columns=COLUMNS,
        node_values=dict(read),
        node_name="nodes whose data it reads",
        figures={
            "flows": Quantity(len(flows), Unit.COUNT),
            "readers": Quantity(len(read), Unit.COUNT),
            **{kind: Quantity(counts[kind], Unit.COUNT) for kind in KINDS},
        },
        summary=(
            "{readers} nodes read what others wrote before them, in {flows} pairs: {exact} exact, "
            "{measured} measured, {inferred} inferred, {possible} possible."
        ),
        notes=[INFERRED],
    )
    result.rows = [_row(subject, flow) for flow in flows[:rows]]
    memory = subject.memory
    if memory is None or memory.events is None or not memory.events.nodes_before:
        result.notes.append(NO_HISTORY)
    if not cells.whole:
        result.notes.append("Where many ranges overlap, only those that begin alike were joined.")
    return result


def _row(subject: Subject, flow: Flow) -> tuple[Cell, ...]:
    return (
        subject.node_path(flow.writer),
        subject.label(flow.writer),
        subject.node_path(flow.reader),
        subject.label(flow.reader),
        f"0x{flow.address:x}",
        flow.how,
    )


ANALYSIS = Analysis(
    name="data_flow",
    title="Data flow",
    description="Which node wrote what each node reads.",
    run=run,
    needs=(EvidenceKind.MEMORY,),
    uses=(EvidenceKind.WRITES,),
    arguments=(rows_argument("pairs"),),
)
