"""Bytes of torch's memory pools before and after a capture, beside torch's own counters."""

from __future__ import annotations

from ..memory.sums import against_torch, pool_sums, step
from ..model import EvidenceKind
from .base import Analysis, Cell, Column, Quantity, Result, Unit
from .subject import Subject

COLUMNS = [
    Column("when", Unit.TEXT),
    Column("device", Unit.COUNT),
    Column("pool", Unit.TEXT),
    Column("segments", Unit.COUNT),
    Column("reserved", Unit.BYTES),
    Column("allocated", Unit.BYTES),
    Column("requested", Unit.BYTES),
    Column("free", Unit.BYTES),
    Column("fragmented", Unit.RATIO),
]


def run(subject: Subject) -> Result:
    """Return sums of every pool at every mark.

    Notes
    -----
    Linear in pools and marks.
    """
    memory = subject.memory
    assert memory is not None
    rows = pool_sums(memory)
    result = Result(columns=COLUMNS)
    for row in rows:
        own = " (the graph's)" if row.pool == memory.pool else ""
        name = "common" if row.pool == (0, 0) else f"{row.pool[0]}, {row.pool[1]}"
        cells: tuple[Cell, ...] = (
            memory.marks[row.mark].name,
            row.device,
            f"{name}{own}",
            row.segments,
            row.reserved_bytes,
            row.allocated_bytes,
            row.requested_bytes,
            row.free_bytes,
            row.fragmentation,
        )
        result.rows.append(cells)
    found = step(memory)
    differing = [row for row in against_torch(memory) if row.torch_bytes != row.summed_bytes]
    if found is None:
        return Result.absent("memory was looked at only once")
    result.figures = {
        "added": Quantity(found.added_bytes, Unit.BYTES),
        "before": Quantity(found.before_bytes, Unit.BYTES),
        "pool": Quantity(found.pool_after_bytes, Unit.BYTES),
        "pool_before": Quantity(found.pool_before_bytes, Unit.BYTES),
        "kept": Quantity(found.kept_bytes, Unit.BYTES),
        "compared": Quantity(len(against_torch(memory)), Unit.COUNT),
    }
    result.summary = (
        "The capture took {added} more from the driver, beside {before} that were reserved before; "
        "its pool holds {pool}, of which {kept} stay allocated."
    )
    if found.pool_before_bytes:
        result.notes.append(
            "Other graphs had reserved {pool_before} of this pool before, which this one could "
            "use again."
        )
    if differing:
        worst = max(differing, key=lambda row: abs(row.torch_bytes - row.summed_bytes))
        result.figures["torch"] = Quantity(worst.torch_bytes, Unit.BYTES)
        result.figures["summed"] = Quantity(worst.summed_bytes, Unit.BYTES)
        result.notes.append(
            f"torch counts {{torch}} {worst.what} {memory.marks[worst.mark].name}, segments and "
            f"blocks add up to {{summed}}: another thread may have allocated in between."
        )
    elif memory.counters:
        result.notes.append("All {compared} sums equal torch's own counters to the byte.")
    return result


ANALYSIS = Analysis(
    name="pools",
    title="Memory pools",
    description="What the capture reserved, what it could reuse, and what stays allocated.",
    run=run,
    needs=(EvidenceKind.MEMORY,),
)
