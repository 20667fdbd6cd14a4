"""Kernels that do the same work on other shapes, by total time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

from ..model import EvidenceKind
from ..names import family
from .base import Analysis, Cell, Column, Quantity, Result, Unit
from .caveats import add_timing_caveats
from .subject import Subject

UNNAMED = "kernel without a name"
TIMED_COLUMNS = [
    Column("family", Unit.TEXT),
    Column("total time", Unit.NS),
    Column("share of kernel time", Unit.RATIO),
    Column("nodes", Unit.COUNT),
    Column("timed nodes", Unit.COUNT),
    Column("shortest", Unit.NS),
    Column("median", Unit.NS),
    Column("longest", Unit.NS),
    Column("longest node", Unit.NODE),
]
COUNT_COLUMNS = [
    Column("family", Unit.TEXT),
    Column("nodes", Unit.COUNT),
    Column("share of kernels", Unit.RATIO),
    Column("first node", Unit.NODE),
]


@dataclass
class Family:
    """What is known about the kernels of one family."""

    nodes: int = 0
    first: str = ""
    total_ns: float = 0.0
    durations: list[int] = field(default_factory=list)
    longest: tuple[int, str] = (-1, "")


def families(subject: Subject) -> dict[str, Family]:
    """Collect every kernel node, those of bodies included, by family.

    Notes
    -----
    O(nodes). The total of a family counts a node in a loop as often as it ran in a replay.
    """
    medians = subject.column("median_ns") or subject.column("sample_duration_ns")
    counts = subject.column("count")
    replays = len(subject.timings.makespan_ns) if subject.timings is not None else 0
    rows: defaultdict[str, list[int]] = defaultdict(list)
    if medians and subject.timings is not None:
        for row, name in enumerate(subject.timings.node):
            if medians[row] >= 0:
                rows[name].append(row)
    found: defaultdict[str, Family] = defaultdict(Family)
    for path, graph in subject.graph.walk(subject.path):
        prefix = f"{path}/" if path else ""
        for node in graph.nodes():
            if node.type != "kernel":
                continue
            kernel = getattr(node.payload, "kernel", None)
            group = found[family(kernel.name) if kernel is not None else UNNAMED]
            group.nodes += 1
            name = f"{prefix}{node.position}"
            group.first = group.first or name
            for row in rows.get(name, ()):
                runs = counts[row] / replays if counts and replays else 1.0
                group.total_ns += medians[row] * runs
                group.durations.append(medians[row])
                group.longest = max(group.longest, (medians[row], name))
    return dict(found)


def run(subject: Subject) -> Result:
    """Rank kernel families by the time that they take in a replay."""
    found = families(subject)
    kernels = sum(group.nodes for group in found.values())
    if not kernels:
        return Result.absent("the graph has no kernel nodes")
    result = Result()
    result.figures |= {
        "kernels": Quantity(kernels, Unit.COUNT),
        "families": Quantity(len(found), Unit.COUNT),
    }
    total = sum(group.total_ns for group in found.values())
    if not any(group.durations for group in found.values()):
        _count(result, found, kernels)
        reason = subject.lacks(EvidenceKind.TIMINGS) or "no kernel was timed"
        result.figures["reason"] = Quantity(reason, Unit.TEXT)
        result.notes.append("Only counts, no times: {reason}.")
        return result
    ranked = sorted(found.items(), key=lambda item: (-item[1].total_ns, item[0]))
    rows: list[tuple[Cell, ...]] = []
    for name, group in ranked:
        timed = bool(group.durations)
        rows.append(
            (
                name,
                round(group.total_ns) if timed else None,
                group.total_ns / total if timed and total else None,
                group.nodes,
                len(group.durations),
                min(group.durations, default=None),
                round(median(group.durations)) if timed else None,
                max(group.durations, default=None),
                group.longest[1] or None,
            )
        )
    result.columns, result.rows = TIMED_COLUMNS, rows
    top, group = ranked[0]
    result.figures |= {
        "top": Quantity(top, Unit.TEXT),
        "top_time": Quantity(round(group.total_ns), Unit.NS),
        "top_share": Quantity(group.total_ns / total if total else 0.0, Unit.RATIO),
        "kernel_time": Quantity(round(total), Unit.NS),
    }
    result.summary = (
        "{families} families of {kernels} kernels take {kernel_time}; {top} takes {top_time} "
        "({top_share})."
    )
    durations, types = subject.durations, subject.graph.topology.types
    result.node_values = {
        position: duration
        for position, duration in enumerate(durations)
        if duration is not None and types[position] == "kernel"
    }
    result.node_unit, result.node_name = Unit.NS, "duration of the kernel"
    result.notes.append(
        "Kernel time adds up what ran at the same time; it may be longer than the replay."
    )
    add_timing_caveats(result, subject)
    return result


def _count(result: Result, found: dict[str, Family], kernels: int) -> None:
    ranked = sorted(found.items(), key=lambda item: (-item[1].nodes, item[0]))
    result.columns = COUNT_COLUMNS
    result.rows = [
        (name, group.nodes, group.nodes / kernels, group.first) for name, group in ranked
    ]
    result.figures["top"] = Quantity(ranked[0][0], Unit.TEXT)
    result.figures["top_nodes"] = Quantity(ranked[0][1].nodes, Unit.COUNT)
    result.summary = "{families} families of {kernels} kernels; {top} has {top_nodes} nodes."


ANALYSIS = Analysis(
    name="kernel_families",
    title="Kernel families",
    description="Which kinds of kernels take the time.",
    run=run,
    uses=(EvidenceKind.TIMINGS, EvidenceKind.PARAMETERS),
)
