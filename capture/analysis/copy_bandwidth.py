"""Bytes that copies and memsets move, over their time."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model import EvidenceKind, Gpu
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Unit
from .caveats import add_timing_caveats
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("size", Unit.BYTES),
    Column("duration", Unit.NS),
    Column("bandwidth", Unit.BYTES_PER_SECOND),
    Column("share of the device's bandwidth", Unit.RATIO),
]


class Move(NamedTuple):
    """One node's work.

    Attributes
    ----------
    size_bytes : int
        As the node's fields say; counted once however many nodes of the executable do it.
    device_bytes : int or None
        Read from and written to device memory: twice the size within it, once for a memset,
        ``None`` where the other end is the host, whose link decides.
    """

    size_bytes: int
    device_bytes: int | None


def move_of(type_: str, payload: Any) -> Move | None:
    """Return what a memcpy or memset node moves, or ``None`` where its fields do not say."""
    if type_ == "memcpy":
        width = getattr(payload, "width_bytes", None)
        if width is None:
            return None
        size = width * max(payload.height or 1, 1) * max(payload.depth or 1, 1)
        return Move(size, 2 * size if payload.kind == "DtoD" else None)
    if type_ == "memset":
        width, element = getattr(payload, "width", None), getattr(payload, "element_bytes", None)
        if width is None or element is None:
            return None
        size = width * element * max(payload.height or 1, 1)
        return Move(size, size)
    return None


def device_bandwidth(gpu: Gpu | None) -> float | None:
    """Return the peak of the device's memory in bytes per second, if the recording has it.

    From ``memory_bandwidth_bytes_per_second``, or from ``memory_clock_khz`` and
    ``memory_bus_width_bits`` (two transfers a clock, as in CUDA's deviceQuery), in ``Gpu.extra``.
    """
    extra = gpu.extra if gpu is not None else {}
    peak = extra.get("memory_bandwidth_bytes_per_second")
    clock, bus = extra.get("memory_clock_khz"), extra.get("memory_bus_width_bits")
    if isinstance(peak, int | float) and peak > 0:
        return float(peak)
    if isinstance(clock, int | float) and isinstance(bus, int | float) and clock > 0 and bus > 0:
        return 2.0 * clock * 1000 * bus / 8
    return None


def run(subject: Subject, rows: int = 1000) -> Result:
    """Set the bytes of every memcpy and memset against its time and the device's bandwidth.

    Notes
    -----
    O(nodes), and sorting the copies by duration. A node that the executable holds as two runs from
    the first one's start to the last one's end.
    """
    peak = device_bandwidth(subject.gpu)
    durations = subject.durations
    moves: list[tuple[int, int, Move]] = []
    copies = unread = untimed = doubled = 0
    for node in subject.graph.nodes():
        if node.type not in ("memcpy", "memset"):
            continue
        copies += 1
        move, duration = move_of(node.type, node.payload), durations[node.position]
        unread += move is None
        untimed += duration is None
        doubled += len(subject.rows_of(node.position)) > 1
        if move is not None and duration:
            moves.append((duration, node.position, move))
    if not copies:
        return Result.absent("the graph has no memcpy or memset nodes")
    if not moves:
        return Result.absent(
            f"of {copies} memcpy and memset nodes {untimed} were not timed and {unread} have no "
            f"known size: a bandwidth needs both, and a time above zero"
        )
    moves.sort(key=lambda move: (-move[0], move[1]))
    result = Result(columns=COLUMNS, node_unit=Unit.BYTES_PER_SECOND, node_name="bandwidth")
    total_bytes = total_ns = 0
    for duration, position, move in moves:
        bandwidth = move.size_bytes * 1e9 / duration
        result.node_values[position] = bandwidth
        total_bytes += move.size_bytes
        total_ns += duration
        if len(result.rows) < rows:
            result.rows.append(_row(subject, position, duration, move, peak))
    result.figures |= {
        "copies": Quantity(copies, Unit.COUNT),
        "measured": Quantity(len(moves), Unit.COUNT),
        "size": Quantity(total_bytes, Unit.BYTES),
        "time": Quantity(total_ns, Unit.NS),
        "bandwidth": Quantity(total_bytes * 1e9 / total_ns, Unit.BYTES_PER_SECOND),
    }
    result.summary = (
        "{measured} memcpy and memset nodes move {size} in {time} of node time: {bandwidth}."
    )
    if peak is None:
        result.notes.append("The device's memory bandwidth is not in the recording.")
    else:
        result.figures["device_bandwidth"] = Quantity(peak, Unit.BYTES_PER_SECOND)
        result.notes.append(
            "The device's memory moves {device_bandwidth} at most; a copy within it counts twice, "
            "read and written. More than that is the cache's work. Copies from and to the host "
            "have no share: their link decides."
        )
    if len(moves) < copies:
        result.notes.append(
            "Of {copies} memcpy and memset nodes, {measured} have a known size and a time above "
            "zero."
        )
    if doubled:
        result.figures["doubled"] = Quantity(doubled, Unit.COUNT)
        result.notes.append(
            "{doubled} of them are several nodes in the executable; their bytes count once."
        )
    if len(moves) > len(result.rows):
        result.figures["rows"] = Quantity(len(result.rows), Unit.COUNT)
        result.notes.append("The table shows the {rows} that take longest.")
    add_timing_caveats(result, subject)
    return result


def _row(
    subject: Subject, position: int, duration: int, move: Move, peak: float | None
) -> tuple[Cell, ...]:
    share = None
    if peak is not None and move.device_bytes is not None:
        share = move.device_bytes * 1e9 / duration / peak
    return (
        subject.node_path(position),
        subject.label(position),
        move.size_bytes,
        duration,
        move.size_bytes * 1e9 / duration,
        share,
    )


ANALYSIS = Analysis(
    name="copy_bandwidth",
    title="Copy bandwidth",
    description="How fast memcpy and memset nodes move bytes, against the device's memory.",
    run=run,
    needs=(EvidenceKind.TIMINGS, EvidenceKind.PARAMETERS),
    arguments=(
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most nodes in the table; those that take longest are shown",
            Unit.COUNT,
            minimum=0,
        ),
    ),
)
