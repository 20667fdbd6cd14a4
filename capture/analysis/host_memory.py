"""Finding: a copy from or to host memory that is pageable, or that nobody keeps."""

from __future__ import annotations

from ..memory.pointers import Pointer
from ..model import EvidenceKind
from ..noticed import HOST_OWNERS, HostOwner, noticed_in
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .pointed_at import absolute, position_of
from .record_stream import line_of
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("end", Unit.TEXT),
    Column("what", Unit.TEXT),
    Column("address", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("owner", Unit.TEXT),
    Column("freed at", Unit.TEXT),
    Column("confidence", Unit.TEXT),
]
PAGEABLE = "pageable memory"
FREED, REUSED = "pinned memory, freed", "pinned memory, freed before a replay"
UNOWNED = "pinned memory that no tensor owned after the capture"
WHY = (
    "Each replay copies from or to that very address: once the script frees or moves the memory, "
    "it copies garbage or writes over something else."
)
SLOW = (
    "Copies of pageable memory are also staged, and slower. Keep a pinned tensor "
    "(pin_memory=True) alive and fill it before each replay."
)
GONE = (
    "A graph does not keep the tensors that it copies. Pinned memory that is freed goes to the "
    "next pinned tensor of its size: keep the tensor for as long as the graph, and fill it with "
    "copy_() instead of making another."
)
INSIDE = (
    "Pinned memory that was allocated inside the capture is kept for the graph by newer versions "
    "of torch, and memory that was not pinned by torch has no tensor."
)


class _Owners:
    """Who keeps pinned memory, as far as the recorder noticed."""

    def __init__(self, subject: Subject) -> None:
        noticed = noticed_in(subject.info)
        found = noticed.owners if noticed is not None else []
        self.known = noticed is not None and not noticed.unknown(HOST_OWNERS)
        self._owners = [item for item in found if item.kind == "memory"]

    def of(self, address: int) -> HostOwner | None:
        """Return the owner of an address, one that is still there before one that is gone."""
        fit = [
            item
            for item in self._owners
            if item.address <= address < item.address + max(1, item.size_bytes)
        ]
        return min(fit, key=lambda item: (item.gone, not item.owner), default=None)


def _fault(pointer: Pointer, owners: _Owners) -> tuple[str, HostOwner | None, str]:
    """Return what is wrong with an end of a copy, its owner and the confidence; or nothing."""
    word, place = pointer
    if place.kind == "host":
        return PAGEABLE, None, "certain"
    if place.kind != "outside" or place.state != "host":
        return "", None, ""
    owner = owners.of(word.address)
    if owner is None:
        return "", None, ""
    if owner.gone:
        return (REUSED, owner, "certain") if owner.replays_after else (FREED, owner, "likely")
    return ("", None, "") if owner.owner else (UNOWNED, owner, "may")


def run(subject: Subject) -> Result:
    """Find memcpys with an end in host memory that is pageable, was freed, or has no owner."""
    memory = subject.memory
    assert memory is not None
    result = Result(columns=COLUMNS, mark_name="copying host memory that nobody keeps")
    owners = _Owners(subject)
    marks: set[int] = set()
    copies = unknown = 0
    for pointer in subject.pointers:
        word, place = pointer
        if not word[8] or word.role not in ("source", "destination"):  # of copies alone
            continue
        copies += 1
        what, owner, sure = _fault(pointer, owners)
        if not what:
            pinned = place.kind == "outside" and place.state == "host"
            unknown += pinned and owners.of(word.address) is None
            continue
        position = position_of(word.node)
        marks.add(position)
        row: tuple[Cell, ...] = (
            absolute(subject, word.node),
            subject.label(position),
            word.role,
            what,
            f"0x{word.address:x}",
            word.size_bytes,
            owner.owner if owner is not None else "",
            line_of(owner.gone_at) if owner is not None else "",
            sure,
        )
        result.rows.append(row)
    result.node_marks = sorted(marks)
    result.figures = {
        "nodes": Quantity(len(marks), Unit.COUNT),
        "ends": Quantity(copies, Unit.COUNT),
        "unknown": Quantity(unknown, Unit.COUNT),
    }
    kinds = {row[3] for row in result.rows}
    if result.rows:
        certain = any(row[-1] == "certain" for row in result.rows)
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        if kinds == {PAGEABLE}:
            result.summary = "{nodes} memcpys copy from or to pageable host memory."
        else:
            result.summary = "{nodes} memcpys copy from or to host memory that nobody keeps."
        result.notes.append(WHY)
        result.notes += [SLOW] if PAGEABLE in kinds else []
        result.notes += [GONE] if kinds - {PAGEABLE} else []
        result.notes += [INSIDE] if UNOWNED in kinds else []
    elif not memory.asked_ranges and copies:
        return Result.absent("CUDA could not be asked which host memory is pinned")
    else:
        result.summary = "No memcpy copies from or to host memory that is pageable or freed."
    if unknown:
        result.notes.append(
            "Who keeps the pinned memory of {unknown} ends is not known: their owners are looked "
            "for only while a capture is recorded, and among tensors."
        )
    return result


ANALYSIS = Analysis(
    name="host_memory",
    title="Host memory in copies",
    description="Which copies use host memory that is pageable, was freed, or has no owner.",
    run=run,
    needs=(EvidenceKind.MEMORY,),
    finding=True,
)
