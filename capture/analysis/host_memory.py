"""Finding: a copy from or to host memory that CUDA does not know, so pageable."""

from __future__ import annotations

from ..model import EvidenceKind
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .pointed_at import absolute, position_of
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("end", Unit.TEXT),
    Column("address", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("confidence", Unit.TEXT),
]
WHY = (
    "Each replay copies from or to that very address: once the script frees or moves the memory, "
    "it copies garbage or writes over something else. Copies of pageable memory are also staged, "
    "and slower. Keep a pinned tensor (pin_memory=True) alive and fill it before each replay."
)


def run(subject: Subject) -> Result:
    """Find memcpys with an end in pageable host memory."""
    memory = subject.memory
    assert memory is not None
    result = Result(columns=COLUMNS, mark_name="copying pageable memory")
    marks: set[int] = set()
    copies = 0
    for word, place in subject.pointers:
        if word.role not in ("source", "destination") or not word.memory_type:
            continue
        copies += 1
        if place.kind != "host":
            continue
        position = position_of(word.node)
        marks.add(position)
        row: tuple[Cell, ...] = (
            absolute(subject, word.node),
            subject.label(position),
            word.role,
            f"0x{word.address:x}",
            word.size_bytes,
            "certain",
        )
        result.rows.append(row)
    result.node_marks = sorted(marks)
    result.figures = {
        "nodes": Quantity(len(marks), Unit.COUNT),
        "ends": Quantity(copies, Unit.COUNT),
    }
    if result.rows:
        result.severity = Severity.WARNING
        result.summary = "{nodes} memcpys copy from or to pageable host memory."
        result.notes.append(WHY)
    elif not memory.asked_ranges and copies:
        return Result.absent("CUDA could not be asked which host memory is pinned")
    else:
        result.summary = "No memcpy copies from or to pageable host memory."
    return result


ANALYSIS = Analysis(
    name="host_memory",
    title="Pageable memory in copies",
    description="Which copies use host memory that is not pinned, and that nobody keeps.",
    run=run,
    needs=(EvidenceKind.MEMORY,),
    finding=True,
)
