"""What memory the nodes of a graph point at, block by block. Words and rows that findings share."""

from __future__ import annotations

from collections.abc import Iterable

from ..memory.pointers import Place, Pointer
from ..memory.sums import shares
from ..memory_map import MemoryMap
from ..model import EvidenceKind
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Unit
from .subject import Subject

COLUMNS = [
    Column("block", Unit.TEXT),
    Column("name", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("where", Unit.TEXT),
    Column("first node", Unit.NODE),
    Column("last node", Unit.NODE),
    Column("nodes", Unit.COUNT),
    Column("allocated at", Unit.TEXT),
]


def where(place: Place, own: tuple[int, int] | None) -> str:
    """Say in words where an address lies.

    Examples
    --------
    >>> where(Place("block", state="free", pool=(1, 0)), (1, 0))
    "graph's pool, free after the capture"
    """
    if place.kind == "block":
        pool = (
            "graph's pool"
            if place.pool == own
            else "common pool"
            if place.pool == (0, 0)
            else f"pool {place.pool}"
        )
        after = "free after the capture" if place.pool == own else "free"
        state = {"free": after, "awaiting_free": "waiting to be freed"}
        return f"{pool}, {state.get(place.state, place.state)}"
    return {
        "graph": f"allocated by node {place.owner}",
        "gap": "segment without a block there",
        "outside": f"outside torch: {place.state}",
        "host": "host memory that CUDA does not know",
    }.get(place.kind, "unknown")


def argument_of(pointer: Pointer) -> str:
    """Say in words which of a node's numbers a pointer is."""
    word = pointer.word
    if word.role != "argument":
        return word.role
    if word.argument < 0:
        return f"argument byte {word.offset_bytes}"
    return f"argument {word.argument}, byte {word.offset_bytes}"


def allocated_at(memory: MemoryMap, stack: int) -> str:
    """Return the line that allocated a block: the innermost one outside of torch's own files."""
    if not 0 <= stack < len(memory.stacks):
        return ""
    frames = [memory.frames[place] for place in memory.stacks[stack]]
    own = (frame for frame in frames if "site-packages" not in frame.file)
    chosen = next(own, frames[0] if frames else None)
    return f"{chosen.file}:{chosen.line} {chosen.function}" if chosen else ""


def position_of(path: str) -> int:
    """Return the position, on the level looked at, of a node or of what holds it."""
    return int(path.partition("/")[0])


def absolute(subject: Subject, path: str) -> str:
    """Return a node's path in the captured graph."""
    return f"{subject.path}/{path}" if subject.path else path


def by_place(pointers: Iterable[Pointer]) -> dict[int, list[Pointer]]:
    """Return pointers by the first address of the place they lead to, unresolved ones left out.

    A part of a segment that is no block has its address negated: the first block begins there too.
    """
    found: dict[int, list[Pointer]] = {}
    for pointer in pointers:
        place = pointer[1]
        kind = place[0]
        if kind == "unresolved":
            continue
        start = -place[1] if kind == "gap" else place[1]
        held = found.get(start)
        if held is None:
            found[start] = [pointer]
        else:
            held.append(pointer)
    return found


def run(subject: Subject, rows: int = 1000) -> Result:
    """Return every block that nodes point into, with the first and last of them.

    Notes
    -----
    O(words log blocks).
    """
    memory = subject.memory
    assert memory is not None
    pointers = subject.pointers
    places = by_place(pointers)
    guesses = unresolved = 0
    for word, place in pointers:
        guesses += word[7]
        unresolved += place[0] == "unresolved"
    distinct = {
        node: len({item[1][1] for item in held})
        for node, held in (
            subject.pointers_at.items()
            if not unresolved
            else (
                (node, [item for item in held if item[1][0] != "unresolved"])
                for node, held in subject.pointers_at.items()
            )
        )
    }
    result = Result(
        columns=COLUMNS,
        node_values={node: number for node, number in distinct.items() if number},
        node_name="blocks it points into",
        figures={
            "pointers": Quantity(len(pointers), Unit.COUNT),
            "resolved": Quantity(len(pointers) - unresolved, Unit.COUNT),
            "blocks": Quantity(len(places), Unit.COUNT),
            "guesses": Quantity(guesses, Unit.COUNT),
            "unresolved": Quantity(unresolved, Unit.COUNT),
            "bytes": Quantity(
                sum(held[0].place.size_bytes for held in places.values()), Unit.BYTES
            ),
        },
        summary="{resolved} of {pointers} addresses lead into {blocks} blocks of {bytes} together.",
    )
    for share in shares(memory, (held[0] for held in places.values())):
        result.figures[share.kind.replace(" ", "_").replace(",", "")] = Quantity(
            share.size_bytes, Unit.BYTES
        )
    ordered = sorted(places.values(), key=lambda held: -held[0].place.size_bytes)
    for held in ordered[:rows]:
        place = held[0].place
        nodes = {pointer.word.node for pointer in held}
        row: tuple[Cell, ...] = (
            f"0x{place.start:x}",
            place.name,
            place.size_bytes,
            where(place, memory.pool),
            absolute(subject, held[0].word.node),
            absolute(subject, held[-1].word.node),
            len(nodes),
            allocated_at(memory, place.stack),
        )
        result.rows.append(row)
    result.notes.append(
        "{guesses} of the addresses are words of arguments whose type is not known: a number may "
        "look like an address. {unresolved} lead nowhere that is known."
    )
    result.notes.extend(memory.notes)
    return result


ANALYSIS = Analysis(
    name="pointed_at",
    title="Memory that nodes point at",
    description="Which blocks of memory the graph's nodes hold addresses of, and who owns them.",
    run=run,
    needs=(EvidenceKind.MEMORY,),
    arguments=(
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most blocks in the table, the largest first",
            Unit.COUNT,
            minimum=0,
        ),
    ),
)
