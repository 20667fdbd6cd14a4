"""Chains of small kernels, which one fused kernel could replace."""

from __future__ import annotations

from itertools import pairwise

from ..model import EvidenceKind
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Severity, Unit
from .caveats import add_sample_caveats, add_timing_caveats
from .schedule import CYCLE
from .subject import Subject

NOTICE_SHARE = 0.05
COLUMNS = [
    Column("first node", Unit.NODE),
    Column("last node", Unit.NODE),
    Column("first name", Unit.TEXT),
    Column("kernels", Unit.COUNT),
    Column("kernel time", Unit.NS),
    Column("from start to end", Unit.NS),
    Column("gaps inside", Unit.NS),
]


def find_chains(subject: Subject, threshold_ns: int) -> list[list[int]]:
    """Return maximal runs of small kernels, each the only successor of the one before.

    Parameters
    ----------
    subject : Subject
        Its edges form no cycle.
    threshold_ns : int
        A kernel is small when its duration is below this.

    Notes
    -----
    O(nodes + edges).
    """
    types, durations = subject.graph.topology.types, subject.durations
    small = [
        type_ == "kernel" and duration is not None and duration < threshold_ns
        for type_, duration in zip(types, durations, strict=True)
    ]
    count = len(types)
    leaving, entering = [0] * count, [0] * count
    topology = subject.graph.topology
    for source, target in zip(topology.source, topology.target, strict=True):
        leaving[source] += 1
        entering[target] += 1
    following: dict[int, int] = {}
    inside: set[int] = set()
    for source, target in zip(topology.source, topology.target, strict=True):
        if leaving[source] == 1 and entering[target] == 1 and small[source] and small[target]:
            following[source] = target
            inside.add(target)
    chains = []
    for node in following:
        if node in inside:
            continue
        chain = [node]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        chains.append(chain)
    return chains


def run(
    subject: Subject, threshold_ns: int = 5000, minimum_length: int = 3, rows: int = 1000
) -> Result:
    """Find chains of small kernels and what fusing each would remove at least.

    The estimate is the gaps between the chain's kernels in the sample replay. What a fused kernel
    saves in memory traffic, ramp-up and tail is not in it.

    Notes
    -----
    O(nodes + edges), and sorting the chains.
    """
    if subject.order is None:
        return Result.absent(CYCLE)
    starts, ends, durations = subject.starts, subject.ends, subject.durations
    found: list[tuple[int, int, int | None, int | None, list[int]]] = []
    for chain in find_chains(subject, threshold_ns):
        if len(chain) < minimum_length:
            continue
        time = sum(durations[node] or 0 for node in chain)
        span = gaps = None
        if all(starts[node] >= 0 for node in chain):
            span = ends[chain[-1]] - starts[chain[0]]
            gaps = sum(max(0, starts[after] - ends[before]) for before, after in pairwise(chain))
        found.append((-(gaps or 0), -time, span, gaps, chain))
    found.sort(key=lambda item: (item[0], item[1], item[4][0]))
    kernels = sum(len(item[4]) for item in found)
    result = Result(
        columns=COLUMNS,
        node_marks=sorted(node for item in found for node in item[4]),
        mark_name="in a chain of small kernels",
        node_values={node: len(item[4]) for item in found for node in item[4]},
        node_name="kernels in the chain",
    )
    for _, time, span, gaps, chain in found[:rows]:
        row: tuple[Cell, ...] = (
            subject.node_path(chain[0]),
            subject.node_path(chain[-1]),
            subject.label(chain[0]),
            len(chain),
            -time,
            span,
            gaps,
        )
        result.rows.append(row)
    removed = sum(item[3] or 0 for item in found)
    result.figures |= {
        "chains": Quantity(len(found), Unit.COUNT),
        "kernels": Quantity(kernels, Unit.COUNT),
        "kernel_time": Quantity(-sum(item[1] for item in found), Unit.NS),
        "threshold": Quantity(threshold_ns, Unit.NS),
        "minimum_length": Quantity(minimum_length, Unit.COUNT),
    }
    if not found:
        result.summary = (
            "No chain of {minimum_length} or more kernels, each shorter than {threshold}."
        )
    else:
        result.summary = (
            "{kernels} kernels shorter than {threshold} stand in {chains} chains and take "
            "{kernel_time}"
        )
        if any(item[3] is not None for item in found):
            result.figures["removed"] = Quantity(removed, Unit.NS)
            result.summary += "; fusing each chain would remove about {removed} between them."
            result.notes.append(
                "The estimate is the sum of the gaps between the kernels of a chain in the traced "
                "replay; memory traffic that a fused kernel saves is not in it, and a gap on a "
                "branch with slack shortens nothing."
            )
            makespan = subject.makespan_ns
            if makespan:
                result.figures["removed_share"] = Quantity(removed / makespan, Unit.RATIO)
                if removed / makespan >= NOTICE_SHARE:
                    result.severity = Severity.NOTICE
        else:
            result.summary += "."
            result.notes.append(
                "What fusing them would remove is not estimated: no starts of nodes are known."
            )
    if len(found) > len(result.rows):
        result.figures["rows"] = Quantity(len(result.rows), Unit.COUNT)
        result.notes.append("The table shows {rows} of {chains} chains.")
    add_timing_caveats(result, subject)
    add_sample_caveats(result, subject)
    return result


ANALYSIS = Analysis(
    name="small_kernel_chains",
    title="Chains of small kernels",
    description="Which runs of small kernels one fused kernel could replace.",
    run=run,
    needs=(EvidenceKind.TIMINGS,),
    arguments=(
        Argument(
            "threshold_ns",
            ArgumentKind.INTEGER,
            5000,
            "a kernel is small when it is shorter than this",
            Unit.NS,
            minimum=0,
        ),
        Argument(
            "minimum_length",
            ArgumentKind.INTEGER,
            3,
            "fewest kernels of a chain",
            Unit.COUNT,
            minimum=2,
        ),
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most chains in the table; those that would gain most are shown",
            Unit.COUNT,
            minimum=0,
        ),
    ),
)
