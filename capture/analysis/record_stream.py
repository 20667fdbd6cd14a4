"""Finding: ``Tensor.record_stream`` during a capture, which keeps memory from being used again."""

from __future__ import annotations

from ..memory_map import STATES, Memory
from ..model import EvidenceKind, Place
from ..noticed import RECORD_STREAM, noticed_in
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .subject import Subject

COLUMNS = [
    Column("called at", Unit.TEXT),
    Column("stream", Unit.TEXT),
    Column("times", Unit.COUNT),
    Column("size", Unit.BYTES),
    Column("confidence", Unit.TEXT),
]
WHY = (
    "An allocator cannot ask, while a capture goes on, whether another stream is done with memory. "
    "So what was recorded for another stream and is freed in the capture is not used again in it: "
    "the graph's pool grows by as much, and every replay needs that memory. Keep the tensor until "
    "the other stream has joined (wait_stream) instead; torch 2.9 and newer can look at the graph "
    "itself, with graph_capture_record_stream_reuse:True in PYTORCH_CUDA_ALLOC_CONF."
)
HELD = "{held} of the graph's pool was freed in the capture and still waited for another stream."
_WAITING = STATES.index("awaiting_free")


def waiting_bytes(memory: Memory | None) -> int | None:
    """Return what waited for another stream in the graph's pool after the capture, if known."""
    if memory is None or memory.blocks is None or memory.segments is None or memory.pool is None:
        return None
    blocks, segments = memory.blocks, memory.segments
    return sum(
        size
        for segment, size, state in zip(
            blocks.segment, blocks.size_bytes, blocks.state, strict=True
        )
        if state == _WAITING and memory.pools[segments.pool[segment]] == memory.pool
    )


def line_of(place: Place | None) -> str:
    """Return a place as text."""
    return f"{place.file}:{place.line} {place.function}".rstrip() if place is not None else ""


def run(subject: Subject) -> Result:
    """List the calls that the recorder noticed, and what the pool holds because of them."""
    if subject.path:
        return Result.absent("only whole graphs are looked at, not bodies")
    held = waiting_bytes(subject.memory)
    noticed = noticed_in(subject.info)
    unknown = (
        noticed.unknown(RECORD_STREAM)
        if noticed is not None
        else "calls inside the capture were not recorded: record the graph while it is captured"
    )
    if unknown and not held:
        return Result.absent(unknown)
    calls = noticed.record_streams if noticed is not None else []
    result = Result(
        columns=COLUMNS,
        figures={
            "calls": Quantity(sum(call.times for call in calls), Unit.COUNT),
            "held": Quantity(held, Unit.BYTES),
        },
    )
    for call in calls:
        row: tuple[Cell, ...] = (
            line_of(call.place),
            call.stream,
            call.times,
            call.size_bytes,
            "certain",
        )
        result.rows.append(row)
    if not calls and not held:
        result.summary = "Tensor.record_stream was not called in the capture."
        return result
    result.severity = Severity.NOTICE
    result.summary = (
        "Tensor.record_stream was called in the capture: {calls} times."
        if calls
        else "Memory that was freed in the capture still waited for another stream: {held}."
    )
    result.notes.append(WHY)
    if held and calls:
        result.notes.append(HELD)
    result.notes.append("Calls from C++ alone, such as those of collectives, are not seen.")
    return result


ANALYSIS = Analysis(
    name="record_stream",
    title="record_stream during the capture",
    description="Whether memory was recorded for another stream inside the capture, and where.",
    run=run,
    uses=(EvidenceKind.MEMORY,),
    finding=True,
)
