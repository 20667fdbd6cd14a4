"""What nodes cost without a tracer, beside their traced durations."""

from __future__ import annotations

from statistics import median

from ..model import EvidenceKind
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Unit
from .measured_gain import marginal_gain, position_of
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("traced duration", Unit.NS),
    Column("isolated", Unit.NS),
    Column("marginal", Unit.NS),
    Column("isolated over traced", Unit.RATIO),
    Column("not measured because", Unit.TEXT),
]


def run(subject: Subject, rows: int = 1000) -> Result:
    """Set isolated and marginal cost of every node beside its traced duration.

    Isolated: the node's work in a graph of its own, in a chain. Marginal: a replay with the node
    less a replay without it, so a node beside a longer one has none.

    Notes
    -----
    O(nodes log nodes).
    """
    costs = subject.benchmark.nodes if subject.benchmark is not None else None
    if costs is None or not costs.node:
        return Result.absent(
            subject.lacks(EvidenceKind.BENCHMARKS)
            or "no node was measured by itself: ask for it with `cglens bench --nodes`"
        )
    durations = subject.durations
    found: list[tuple[int, tuple[Cell, ...]]] = []
    ratios: list[float] = []
    above = measured = 0
    values: dict[int, int | float] = {}
    for row, path in enumerate(costs.node):
        position = position_of(subject, path)
        if position is None:
            continue
        traced = durations[position]
        isolated = costs.isolated_ns[row] if row < len(costs.isolated_ns) else -1
        gain = marginal_gain(costs, row)
        ratio = isolated / traced if isolated >= 0 and traced else None
        if ratio is not None:
            ratios.append(ratio)
        measured += gain is not None or isolated >= 0
        above += gain is not None and gain.gain_ns > 0 and gain.is_more_than_noise
        if gain is not None:
            values[position] = gain.gain_ns
        cells: tuple[Cell, ...] = (
            path,
            subject.label(position),
            traced,
            isolated if isolated >= 0 else None,
            gain.gain_ns if gain is not None else None,
            ratio,
            costs.reasons.get(path),
        )
        largest = max(gain.gain_ns if gain is not None else -1, isolated, traced or -1)
        found.append((-largest, cells))
    if not measured:
        reasons = sorted(set(costs.reasons.values()))
        return Result.absent(f"no node was measured: {'; '.join(reasons[:3]) or 'unknown why'}")
    found.sort(key=lambda item: item[0])
    result = Result(
        columns=COLUMNS,
        rows=[cells for _, cells in found[:rows]],
        node_values=values,
        node_unit=Unit.NS,
        node_name="marginal cost",
        summary="{measured} of {nodes} nodes were measured by themselves; {above} cost a replay "
        "more than its noise.",
    )
    result.figures |= {
        "measured": Quantity(measured, Unit.COUNT),
        "nodes": Quantity(len(subject.graph), Unit.COUNT),
        "above": Quantity(above, Unit.COUNT),
        "spread": Quantity(costs.spread_ns, Unit.NS),
    }
    if costs.repetitions:
        result.figures["repetitions"] = Quantity(costs.repetitions, Unit.COUNT)
        result.notes.append(
            "Isolated is the node's work in a graph of its own, {repetitions} times in a chain."
        )
    result.notes.append(
        "Marginal is a replay with the node less a replay without it; below twice {spread} it is "
        "noise, and a node that runs beside a longer one has none."
    )
    if ratios:
        result.figures["isolated_over_traced"] = Quantity(median(ratios), Unit.RATIO)
        result.notes.append(
            "Half of the isolated times are below {isolated_over_traced} times the traced ones."
        )
    if len(found) > rows:
        result.notes.append("The table shows the longest.")
    return result


ANALYSIS = Analysis(
    name="node_costs",
    title="Costs of nodes",
    description="What each node costs by itself and in the replay, measured without a tracer.",
    run=run,
    needs=(EvidenceKind.BENCHMARKS,),
    uses=(EvidenceKind.TIMINGS,),
    arguments=(
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most nodes in the table; the longest are shown",
            Unit.COUNT,
            minimum=0,
        ),
    ),
)
