"""Finding: output of a graph that another graph of its pool writes over before it is read."""

from __future__ import annotations

from ..memory.directions import READ
from ..memory.pointers import Pointer
from ..memory_map import Memory
from ..model import Recording
from .base import (
    Analysis,
    Cell,
    Column,
    Quantity,
    Result,
    Scope,
    Severity,
    Unit,
    rows_argument,
)
from .later import (
    add_blindness,
    laters,
    memories,
    without_memory,
)
from .pointed_at import allocated_at
from .pointing import (
    Pointing,
    Touching,
    pointing,
    surest,
)
from .pool_order import Output, Overwriting, overwritings, sharing
from .replayed import Replays
from .workspaces import sizes_of

COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("node", Unit.NODE),
    Column("kernel", Unit.TEXT),
    Column("block", Unit.TEXT),
    Column("name", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("overwritten by graph", Unit.TEXT),
    Column("its node", Unit.TEXT),
    Column("read by", Unit.TEXT),
    Column("times", Unit.COUNT),
    Column("confidence", Unit.TEXT),
    Column("allocated at", Unit.TEXT),
]
MAX_WORDS = 2_000_000
"""About how many addresses are held at once: no more graphs are opened then."""
WORDS_OF_NODE = 8
NOBODY = "nothing could in between"
WHY = (
    "Graphs of one pool reuse each other's temporaries: an output stays whole only until a graph "
    "that was captured earlier is replayed. Replay in the order of the captures, copy an output "
    "out before the next replay, or give graphs that are replayed in another order pools of their "
    "own."
)
SURE = (
    "Certain: the other graph points into these bytes, where only its own temporaries lie, and "
    "either a third graph was replayed on them afterwards, or the output was written over after "
    "every replay of its graph before anything could be launched to read it. Likely: the address "
    "may be a number, the third graph may write before it reads, or it was not followed whether "
    "the output was still alive, or there was hardly time to read it: a first replay takes longer "
    "to begin. Whether anybody wanted the output is not known."
)
READS = (
    "Reads by work outside graphs are not recorded: an output that was written over some time "
    "after a replay of its graph counts as read."
)


def run(recording: Recording, rows: int = 1000) -> Result:
    """Look for outputs that were written over, in the order in which graphs were replayed.

    Notes
    -----
    Linear in graphs and replays, and in pairs of an output and a graph that may write over it.
    Only graphs of such pairs are opened.
    """
    result = Result(columns=COLUMNS)
    found = laters(recording, result.notes)
    replays = Replays(recording)
    by_process: dict[int, list[tuple[str, Memory]]] = {}
    for key, memory in memories(recording, result.notes):
        by_process.setdefault(recording.graphs[key].process or 0, []).append((key, memory))
    if not by_process:
        return without_memory(recording, result.notes)
    pairs = left_out = held_words = 0
    opened: dict[str, Pointing | None] = {}
    for process, held in by_process.items():
        later = found.get(process)
        if later is None:
            continue
        shared = sharing(held, later, sizes_of(later))
        pairs += sum(map(len, shared.over.values()))
        left_out += shared.left_out
        followed = later.after is not None and later.after.how == "history"
        memory_of = dict(held)
        told: set[Output] = set()
        for item in overwritings(shared, replays.runs.get(process, [])):
            if item.output in told:
                continue  # one pair of graphs is enough, and theirs is the most frequent one
            wanted = (item.output.graph, item.by, *((item.read_by,) if item.read_by else ()))
            for key in wanted:
                if key not in opened and held_words < MAX_WORDS:
                    opened[key] = pointing(recording, key, memory_of[key], result.notes)
                    held_words += recording.graphs[key].node_count * WORDS_OF_NODE
            row = _row(recording, item, memory_of, opened, followed)
            if row is not None:
                told.add(item.output)
                result.rows.append(row)
    certain = sum(row[10] == "certain" for row in result.rows)
    result.rows.sort(key=lambda row: (row[10] != "certain", row[8] == NOBODY))
    result.figures = {
        "outputs": Quantity(len({(row[0], row[3]) for row in result.rows}), Unit.COUNT),
        "graphs": Quantity(len({row[0] for row in result.rows}), Unit.COUNT),
        "certain": Quantity(certain, Unit.COUNT),
        "pairs": Quantity(pairs, Unit.COUNT),
        "left_out": Quantity(left_out, Unit.COUNT),
    }
    damaged, result.notes = result.notes, []
    if result.rows:
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        result.summary = (
            "{outputs} outputs of {graphs} graphs were written over by another graph of their pool "
            "before they were read."
        )
        result.notes += [WHY, SURE]
    else:
        result.summary = (
            "No output was seen to be written over by another graph of its pool before it was read."
        )
    if pairs:
        result.notes.append(READS)
    if left_out:
        result.notes.append("{left_out} outputs were left out: too many graphs share their pool.")
    if not replays.known:
        result.notes.append(
            "The recording has no start time: replays cannot be put in order with frees."
        )
    result.notes += damaged
    if result.rows:
        add_blindness(result, found, recording.metadata.started_unix_ns)
    del result.rows[rows:]
    return result


def _inside(held: Pointing, address: int, size: int) -> list[Pointer]:
    """Return pointers into a range."""
    return [
        pointer
        for pointers in held.by_start.values()
        for pointer in pointers
        if address <= pointer.word.address < address + size
    ]


def _reads(held: Pointing, output: Output) -> bool:
    """Say whether the first node that points at an output is known to read it, and only that."""
    found = Touching(held).at(output.address, output.size_bytes)
    return bool(found) and not found[0].guess and found[0].may == READ


def _row(
    recording: Recording,
    item: Overwriting,
    memory_of: dict[str, Memory],
    opened: dict[str, Pointing | None],
    followed: bool,
) -> tuple[Cell, ...] | None:
    """Return the row of an output, or nothing where the other graph does not point into it."""
    output, memory = item.output, memory_of[item.output.graph]
    own, other = opened.get(output.graph), opened.get(item.by)
    if own is None or other is None:
        return None
    over = _inside(other, output.address, output.size_bytes)
    written = own.by_start.get(output.address, [])
    if not over or not written:
        return None
    first = surest(over)
    last = Touching(own).writer(output.address, output.size_bytes) or written[0].word.node
    reader, sure = NOBODY, not first.word.guess and followed and item.sure
    if item.read_by:
        third = opened.get(item.read_by)
        reading = third.by_start.get(output.address, []) if third is not None else []
        if third is None or not reading:
            return None
        read = surest(reading)
        sure = not first.word.guess and _reads(third, output)
        name = recording.graphs[item.read_by].name
        reader = f"{name}, node {read.word.node} ({third.name_of(read.word.node)})"
    blocks = memory.blocks
    assert blocks is not None
    names = {pointer.place.name for pointer in written if pointer.place.name}
    return (
        output.graph,
        last,
        own.name_of(last),
        f"0x{output.address:x}",
        min(names, default=""),
        output.size_bytes,
        recording.graphs[item.by].name,
        f"{first.word.node} ({other.name_of(first.word.node)})",
        reader,
        item.times,
        "certain" if sure else "likely",
        allocated_at(memory, blocks.stack[output.block] if blocks.stack else -1),
    )


ANALYSIS = Analysis(
    name="overwritten_outputs",
    title="Outputs overwritten in a shared pool",
    description="Which outputs another graph of the pool writes over before they are read.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(rows_argument(),),
    finding=True,
)
