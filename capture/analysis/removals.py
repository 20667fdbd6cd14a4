"""Replays without some nodes: what was measured, beside what the DAG predicts."""

from __future__ import annotations

from ..distributions import summarise
from ..errors import LookupFailed
from ..model import EvidenceKind
from .base import Analysis, Cell, Column, Quantity, Result, Unit
from .measured_gain import gain_of, position_of
from .prediction import GAP_NS, LEARNED_FROM, predict_makespan
from .subject import Subject

COLUMNS = [
    Column("without", Unit.TEXT),
    Column("nodes", Unit.COUNT),
    Column("replay with all", Unit.NS),
    Column("replay without", Unit.NS),
    Column("measured gain", Unit.NS),
    Column("spread", Unit.NS),
    Column("predicted gain", Unit.NS),
    Column("predicted over measured", Unit.RATIO),
    Column("not measured because", Unit.TEXT),
]


def run(subject: Subject) -> Result:
    """Set the measured gain of every stored removal beside the predicted one.

    Notes
    -----
    O(nodes + edges) for each removal.
    """
    removals = subject.benchmark.removals if subject.benchmark is not None else []
    if not removals:
        return Result.absent(
            subject.lacks(EvidenceKind.BENCHMARKS)
            or "no replay without nodes was measured: ask for it with `cglens whatif`"
        )
    result = Result(columns=COLUMNS)
    whole = predict_makespan(subject) if subject.is_timed and subject.edges is not None else None
    measured = noise = 0
    best: tuple[int, str] = (0, "")
    for removal in removals:
        gain = gain_of(removal)
        predicted = None
        positions = [position_of(subject, path) for path in removal.nodes]
        if whole is not None and removal.nodes and None not in positions:
            try:
                predicted = whole - predict_makespan(
                    subject, [position for position in positions if position is not None]
                )
            except LookupFailed:  # nodes of another graph, in a file that somebody changed
                predicted = None
        without = summarise(removal.without_ns)
        told = gain is not None and gain.is_more_than_noise
        row: tuple[Cell, ...] = (
            removal.asked,
            len(removal.nodes),
            gain.with_ns if gain is not None else None,
            without.median if without is not None else None,
            gain.gain_ns if gain is not None else None,
            gain.spread_ns if gain is not None else None,
            predicted,
            gain.ratio_of(predicted) if gain is not None else None,
            removal.reason or None,
        )
        result.rows.append(row)
        if gain is not None:
            measured += 1
            noise += not told
            if told and gain.gain_ns > best[0]:
                best = gain.gain_ns, removal.asked
    result.figures |= {
        "removals": Quantity(len(removals), Unit.COUNT),
        "measured": Quantity(measured, Unit.COUNT),
        "noise": Quantity(noise, Unit.COUNT),
        "gap": Quantity(GAP_NS, Unit.NS),
        "learned_from": Quantity(LEARNED_FROM, Unit.TEXT),
    }
    result.summary = "{measured} of {removals} choices of nodes were measured by leaving them out"
    if best[1]:
        result.figures["best"] = Quantity(best[1], Unit.TEXT)
        result.figures["best_gain"] = Quantity(best[0], Unit.NS)
        result.summary += "; most is gained without {best}: {best_gain}."
    else:
        result.summary += "; none gains more than the noise."
    if noise:
        result.notes.append("{noise} of them differ by no more than twice the spread: noise.")
    if whole is None:
        result.notes.append("Nothing is predicted: no node of this graph was timed.")
    else:
        result.notes.append(
            "Predicted from traced durations, edges and {gap} between nodes ({learned_from})."
        )
    return result


ANALYSIS = Analysis(
    name="removals",
    title="Measured without nodes",
    description="What replays gain when nodes are left out, beside what the DAG predicts.",
    run=run,
    needs=(EvidenceKind.BENCHMARKS,),
    uses=(EvidenceKind.TIMINGS,),
)
