"""What the dependencies predict when nodes take no time, but their edges stay."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import LookupFailed
from ..model import EvidenceKind
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Unit
from .caveats import add_timing_caveats
from .gains import gains_if_free
from .gaps import learn_gaps
from .schedule import (
    CYCLE,
    durations_or_zero,
    schedule,
)
from .subject import NO_TIMINGS, Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("duration", Unit.NS),
    Column("predicted gain", Unit.NS),
    Column("share of the predicted makespan", Unit.RATIO),
]


def predict_without(subject: Subject, positions: Iterable[int], gaps: bool = False) -> int:
    """Predict the makespan in nanoseconds when some nodes take no time.

    Parameters
    ----------
    subject : Subject
        With timings.
    positions : iterable of int
        The nodes to make free; none of them predicts the makespan as it is.
    gaps : bool
        Whether to count the median gap of each class of edges, learned from the traced replay.

    Raises
    ------
    LookupFailed
        There are no timings, no such node, no gaps to learn, or no order because of a cycle.

    Notes
    -----
    O(nodes + edges).
    """
    if subject.edges is None:
        raise LookupFailed(CYCLE)
    if not subject.is_timed:
        raise LookupFailed(subject.lacks(EvidenceKind.TIMINGS) or NO_TIMINGS)
    durations = durations_or_zero(subject)
    for position in positions:
        durations[subject.graph.node(position).position] = 0
    if not gaps:
        return schedule(subject.edges, durations).length
    learned = learn_gaps(subject)
    if learned is None:
        raise LookupFailed("no gaps can be learned: no starts of connected nodes are known")
    return schedule(subject.edges, durations, learned.per_edge, learned.root_ns).length


def run(subject: Subject, nodes: list[int] | None = None, rows: int = 200) -> Result:
    """Predict the gain of making nodes free: those given, together, or each node alone.

    Notes
    -----
    O(nodes + edges) for nodes that are given; for each alone O(nodes + edges + p log p), p being
    the nodes of the critical path.
    """
    if subject.edges is None:
        return Result.absent(CYCLE)
    durations = durations_or_zero(subject)
    found = schedule(subject.edges, durations)
    result = Result(node_unit=Unit.NS, node_name="predicted gain if the node took no time")
    result.figures["predicted"] = Quantity(found.length, Unit.NS)
    if nodes:
        _together(result, subject, nodes, found.length)
    else:
        gains = gains_if_free(subject.edges, durations, found)
        result.columns = COLUMNS
        result.node_values = {node: gains.get(node, 0) for node in range(len(durations))}
        ranked = sorted(gains, key=lambda node: (-gains[node], node))
        result.rows = [_row(subject, node, gains[node], found.length) for node in ranked[:rows]]
        result.figures["gaining"] = Quantity(sum(map(bool, gains.values())), Unit.COUNT)
        if ranked:
            result.figures |= {
                "best": Quantity(subject.label(ranked[0]), Unit.TEXT),
                "best_node": Quantity(subject.node_path(ranked[0]), Unit.NODE),
                "best_gain": Quantity(gains[ranked[0]], Unit.NS),
            }
            result.summary = (
                "Of all nodes {best} ({best_node}) would gain most if it took no time: {best_gain} "
                "of {predicted}; {gaining} nodes would gain anything."
            )
        else:
            result.summary = "The graph is empty."
        if len(ranked) > len(result.rows):
            result.notes.append("Only nodes of the critical path gain; the table shows the first.")
    result.notes.append(
        "This is what durations and edges predict; nodes that run at the same time slow each other "
        "down, so the gain may be larger; nothing of it was measured."
    )
    add_timing_caveats(result, subject)
    return result


def _together(result: Result, subject: Subject, nodes: list[int], before: int) -> None:
    for node in nodes:
        subject.graph.node(node)
    after = predict_without(subject, nodes)
    durations = subject.durations
    result.columns = COLUMNS[:3]
    for node in nodes:
        row: tuple[Cell, ...] = (subject.node_path(node), subject.label(node), durations[node])
        result.rows.append(row)
    result.node_marks, result.mark_name = sorted(set(nodes)), "taking no time"
    result.figures |= {
        "free": Quantity(len(result.node_marks), Unit.COUNT),
        "without": Quantity(after, Unit.NS),
        "gain": Quantity(before - after, Unit.NS),
        "gain_share": Quantity((before - after) / before if before else 0.0, Unit.RATIO),
    }
    result.summary = (
        "Without {free} nodes the makespan is predicted to be {without} instead of {predicted}: a "
        "gain of {gain} ({gain_share})."
    )
    learned = learn_gaps(subject)
    if learned is None:
        return
    result.figures["predicted_with_gaps"] = Quantity(
        predict_without(subject, (), gaps=True), Unit.NS
    )
    result.figures["without_with_gaps"] = Quantity(
        predict_without(subject, nodes, gaps=True), Unit.NS
    )
    result.notes.append(
        "With the gaps of the traced replay: {without_with_gaps} instead of {predicted_with_gaps}."
    )


def _row(subject: Subject, node: int, gain: int, length: int) -> tuple[Cell, ...]:
    return (
        subject.node_path(node),
        subject.label(node),
        subject.durations[node],
        gain,
        gain / length if length else None,
    )


ANALYSIS = Analysis(
    name="what_if",
    title="What if",
    description="What the makespan is predicted to be when nodes take no time.",
    run=run,
    needs=(EvidenceKind.TIMINGS,),
    arguments=(
        Argument(
            "nodes",
            ArgumentKind.NODES,
            None,
            "nodes to make free together; without it each node is made free alone",
        ),
        Argument(
            "rows", ArgumentKind.INTEGER, 200, "most nodes in the table", Unit.COUNT, minimum=0
        ),
    ),
)
