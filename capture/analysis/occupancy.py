"""How kernels fill the device: waves of blocks, their tail, theoretical occupancy."""

from __future__ import annotations

from typing import Any

from ..model import EvidenceKind
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Severity, Unit
from .caveats import add_timing_caveats
from .launch_shape import LaunchShape, launch_shape
from .subject import Subject

COLUMNS = [
    Column("name", Unit.TEXT),
    Column("nodes", Unit.COUNT),
    Column("first node", Unit.NODE),
    Column("blocks", Unit.COUNT),
    Column("threads per block", Unit.COUNT),
    Column("resident blocks per multiprocessor", Unit.COUNT),
    Column("waves", Unit.RATIO),
    Column("tail", Unit.RATIO),
    Column("theoretical occupancy", Unit.RATIO),
    Column("time", Unit.NS),
]


def run(subject: Subject, tail: float = 0.25, rows: int = 1000) -> Result:
    """Group kernel nodes by launch and describe how each fills the device.

    A launch stands out when `tail` of its block slots or more stay empty, that is when its last
    wave is badly filled, or when it does not fill the device once.

    Notes
    -----
    O(nodes). Bodies are subjects of their own.
    """
    gpu = subject.gpu
    if gpu is None or not gpu.multiprocessors:
        return Result.absent(
            "the device is not known: occupancy needs its number of multiprocessors, which "
            "`cglens record` stores and a DOT file does not have"
        )
    shapes: dict[int, LaunchShape] = {}
    groups: dict[Any, list[int]] = {}
    kernels = clusters = 0
    for node in subject.graph.nodes():
        if node.type != "kernel":
            continue
        kernels += 1
        shape = launch_shape(node.payload, gpu)
        if shape is None:
            continue
        shapes[node.position] = shape
        payload = node.payload
        clusters += bool(payload.cluster)
        name = payload.kernel.name if payload.kernel is not None else ""
        key = (name, payload.grid, payload.block, payload.dynamic_shared_bytes, shape.resident)
        groups.setdefault(key, []).append(node.position)
    if not kernels:
        return Result.absent("the graph has no kernel nodes")
    if not shapes:
        return Result.absent(
            "no kernel's resident blocks per multiprocessor are known: the driver that read the "
            "graph tells them, a DOT or JSON file may not hold them"
        )
    durations = subject.durations
    result = Result(
        columns=COLUMNS,
        node_values={at: shape.waves for at, shape in shapes.items()},
        node_unit=Unit.RATIO,
        node_name="waves",
        node_marks=[at for at, shape in shapes.items() if shape.tail >= tail],
        mark_name="leaving block slots empty",
    )
    ranked = sorted(
        groups.values(), key=lambda found: (-sum(durations[at] or 0 for at in found), found[0])
    )
    for found in ranked[:rows]:
        result.rows.append(_row(subject, found, shapes[found[0]]))
    marked = len(result.node_marks)
    below = sum(shape.waves < 1 for shape in shapes.values())
    result.figures |= {
        "kernels": Quantity(kernels, Unit.COUNT),
        "described": Quantity(len(shapes), Unit.COUNT),
        "launches": Quantity(len(groups), Unit.COUNT),
        "with_tail": Quantity(marked, Unit.COUNT),
        "below_one_wave": Quantity(below, Unit.COUNT),
        "tail": Quantity(tail, Unit.RATIO),
    }
    result.summary = (
        "{with_tail} of {described} kernels leave at least {tail} of the device's block slots "
        "empty; {below_one_wave} have too few blocks to fill it once."
    )
    if marked * 2 > len(shapes):
        result.severity = Severity.NOTICE
    if len(shapes) < kernels:
        result.notes.append(
            "{described} of {kernels} kernels are described; for the others grid, block or "
            "resident blocks are not known."
        )
    if clusters:
        result.figures["clusters"] = Quantity(clusters, Unit.COUNT)
        result.notes.append(
            "{clusters} kernels launch clusters, of which fewer may fit than of single blocks."
        )
    if len(groups) > len(result.rows):
        result.figures["rows"] = Quantity(len(result.rows), Unit.COUNT)
        result.notes.append("The table shows {rows} of {launches} launches.")
    result.notes.append(
        "Occupancy is the theoretical one; what runs at the same time is not taken into account."
    )
    if subject.is_timed:
        add_timing_caveats(result, subject)
    return result


def _row(subject: Subject, found: list[int], shape: LaunchShape) -> tuple[Cell, ...]:
    times = [time for at in found if (time := subject.durations[at]) is not None]
    return (
        subject.label(found[0]),
        len(found),
        subject.node_path(found[0]),
        shape.blocks,
        shape.threads,
        shape.resident,
        shape.waves,
        shape.tail,
        shape.occupancy,
        sum(times) if times else None,
    )


ANALYSIS = Analysis(
    name="occupancy",
    title="Occupancy and waves",
    description="How well each kernel's blocks fill the device.",
    run=run,
    needs=(EvidenceKind.PARAMETERS,),
    uses=(EvidenceKind.TIMINGS,),
    arguments=(
        Argument(
            "tail",
            ArgumentKind.NUMBER,
            0.25,
            "share of empty block slots from which a launch stands out",
            Unit.RATIO,
            minimum=0,
        ),
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most launches in the table; those that take longest are shown",
            Unit.COUNT,
            minimum=0,
        ),
    ),
)
