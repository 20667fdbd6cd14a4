"""Finding: a node points into memory that is free, or nobody's, when the capture has ended."""

from __future__ import annotations

from bisect import bisect_right

from ..memory.pointers import Place, Pointer
from ..memory_map import ACTIONS, Memory
from ..model import EvidenceKind
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .pointed_at import absolute, allocated_at, argument_of, position_of
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("argument", Unit.TEXT),
    Column("address", Unit.TEXT),
    Column("what is there", Unit.TEXT),
    Column("block size", Unit.BYTES),
    Column("offset", Unit.BYTES),
    Column("confidence", Unit.TEXT),
    Column("allocated at", Unit.TEXT),
    Column("freed at", Unit.TEXT),
]
_FREED = ACTIONS.index("free_requested")
WHY = (
    "A replay reads or writes whatever lies at these addresses then: memory that was free when the "
    "capture ended may belong to another tensor by then, and no error tells. Keep a reference to "
    "what a graph uses for as long as it is replayed, or copy new data into the same tensors."
)
GUESS = (
    "Likely: the kernel's signature is not known and its arguments may hold leftovers that it "
    "never reads, or it is an address that the kernel may only compute with, such as the end of "
    "another block."
)


def fault(pointer: Pointer, own: tuple[int, int] | None, asked: bool) -> str:
    """Say what is wrong with where a pointer leads; empty for nothing.

    What is free in the graph's own pool is where a graph keeps what lives only in a replay.
    """
    word, place = pointer
    if word.role == "allocation":
        return ""
    if place.kind == "block" and place.state == "free" and place.pool != own:
        return "a free block"
    if word.guess:
        return ""
    if place.kind == "gap":
        return "memory given back to the driver"
    if place.kind == "unresolved" and asked and word.memory_type != "host":
        return "no memory that CUDA knows"
    return ""


def _may_be_stale(place: Place, own: tuple[int, int] | None) -> bool:
    """Say whether a pointer to a place may be a fault; most may not."""
    if place.kind == "block":
        return place.state == "free" and place.pool != own
    return place.kind in ("gap", "unresolved")


def _ends(pointers: list[Pointer]) -> set[int]:
    """Return where the blocks end that a node points into: ends of ranges are arguments too."""
    return {place.start + place.size_bytes for _, place in pointers if place.kind == "block"}


class _Frees:
    """What was freed in the capture, as far as the history of memory tells."""

    def __init__(self, memory: Memory) -> None:
        last: dict[int, tuple[int, int]] = {}
        events = memory.events
        if events is not None and events.stack:
            for at, action in enumerate(events.action):
                if action == _FREED:
                    last[events.address[at]] = events.size_bytes[at], events.stack[at]
        self._memory = memory
        self._found = last
        self._starts = sorted(last)

    def line_of(self, address: int) -> str:
        """Return the line that freed what held an address last; empty where it is not known."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return ""
        size, stack = self._found[self._starts[at]]
        inside = address < self._starts[at] + size
        return allocated_at(self._memory, stack) if inside else ""


def run(subject: Subject) -> Result:
    """Find addresses of free or unknown memory.

    Notes
    -----
    O(words log blocks), and O(events) of the capture's history.
    """
    memory = subject.memory
    assert memory is not None
    result = Result(columns=COLUMNS, mark_name="pointing at memory that is free")
    frees: _Frees | None = None
    marks: set[int] = set()
    certain = 0
    own, asked = memory.pool, memory.asked_ranges
    places = {at for at, place in subject.places.items() if _may_be_stale(place, own)}
    for pointer in subject.pointers if places else ():
        what = fault(pointer, own, asked) if id(pointer[1]) in places else ""
        if not what:
            continue
        word, place = pointer
        position = position_of(word.node)
        marks.add(position)
        frees = frees or _Frees(memory)
        # Kernels take addresses that they only compute with; copies and memsets use theirs.
        sure = word.role != "argument" or (
            not word.guess
            and place.kind == "block"
            and word.address not in _ends(subject.pointers_at[position])
        )
        certain += sure
        known = place.kind == "block"
        row: tuple[Cell, ...] = (
            absolute(subject, word.node),
            subject.label(position),
            argument_of(pointer),
            f"0x{word.address:x}",
            what,
            place.size_bytes if known else None,
            word.address - place.start if known else None,
            "certain" if sure else "likely",
            allocated_at(memory, place.stack),
            frees.line_of(word.address),
        )
        result.rows.append(row)
    result.rows.sort(key=lambda row: row[7] != "certain")
    result.node_marks = sorted(marks)
    result.figures = {
        "nodes": Quantity(len(marks), Unit.COUNT),
        "addresses": Quantity(len(result.rows), Unit.COUNT),
        "certain": Quantity(certain, Unit.COUNT),
    }
    if not result.rows:
        result.summary = "No node points at memory that was free when the capture had ended."
    else:
        result.summary = (
            f"{{nodes}} node{'s hold' if len(marks) != 1 else ' holds'} {{addresses}} "
            f"address{'es' if len(result.rows) != 1 else ''} of memory that was free, or nobody's, "
            f"when the capture had ended; certain to be addresses: {{certain}}."
        )
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        result.notes.append(WHY)
        if certain < len(result.rows):
            result.notes.append(GUESS)
    result.notes.append("What was freed after the capture is not looked at here.")
    return result


ANALYSIS = Analysis(
    name="stale_pointers",
    title="Addresses of freed memory",
    description="Which nodes point into memory that was free when the capture had ended.",
    run=run,
    needs=(EvidenceKind.MEMORY,),
    finding=True,
)
