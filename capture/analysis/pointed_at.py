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


def by_start(places: Iterable[Place]) -> dict[int, Place]:
    """Return the first place of each start, in order; what leads nowhere is left out.

    A part of a segment that is no block has its address negated: the first block begins there too.
    """
    found: dict[int, Place] = {}
    for place in places:
        if place[0] != "unresolved":
            found.setdefault(_key(place), place)
    return found


def _key(place: Place) -> int:
    return -place[1] if place[0] == "gap" else place[1]


def _blocks_of_nodes(pointers: Iterable[Pointer]) -> dict[int, int]:
    """Return how many distinct places each position points into; none is left out."""
    held: dict[int, set[int]] = {}
    last = ""
    starts: set[int] = set()
    for word, place in pointers:
        if place[0] == "unresolved":
            continue
        node = word[0]
        if node is not last:  # words of one node come one after another
            last = node
            starts = held.setdefault(position_of(node), set())
        starts.add(place[1])
    return {position: len(starts) for position, starts in held.items()}


def run(subject: Subject, rows: int = 1000) -> Result:
    """Return every block that nodes point into, with the first and last of them.

    Notes
    -----
    O(words log blocks).
    """
    memory = subject.memory
    assert memory is not None
    pointers, places = subject.pointers, subject.places
    blocks = by_start(places.values())
    guesses = sum([word[7] for word, _ in pointers])
    nowhere = {place[0] for place in places.values() if place[0] == "unresolved"}
    unresolved = sum(place[0] == "unresolved" for _, place in pointers) if nowhere else 0
    result = Result(
        columns=COLUMNS,
        node_values={**_blocks_of_nodes(pointers)},
        node_name="blocks it points into",
        figures={
            "pointers": Quantity(len(pointers), Unit.COUNT),
            "resolved": Quantity(len(pointers) - unresolved, Unit.COUNT),
            "blocks": Quantity(len(blocks), Unit.COUNT),
            "guesses": Quantity(guesses, Unit.COUNT),
            "unresolved": Quantity(unresolved, Unit.COUNT),
            "bytes": Quantity(sum(place.size_bytes for place in blocks.values()), Unit.BYTES),
        },
        summary="{resolved} of {pointers} addresses lead into {blocks} blocks of {bytes} together.",
    )
    for share in shares(memory, blocks.values()):
        result.figures[share.kind.replace(" ", "_").replace(",", "")] = Quantity(
            share.size_bytes, Unit.BYTES
        )
    largest = sorted(blocks, key=lambda start: -blocks[start].size_bytes)[:rows]
    wanted = set(largest)
    chosen = {
        at: _key(place)
        for at, place in places.items()
        if place[0] != "unresolved" and _key(place) in wanted
    }
    nodes: dict[int, dict[str, None]] = {start: {} for start in largest}
    for word, place in pointers:
        if id(place) in chosen:
            nodes[chosen[id(place)]][word[0]] = None
    for start in largest:
        place, of = blocks[start], list(nodes[start])
        row: tuple[Cell, ...] = (
            f"0x{place.start:x}",
            place.name,
            place.size_bytes,
            where(place, memory.pool),
            absolute(subject, of[0]),
            absolute(subject, of[-1]),
            len(of),
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
