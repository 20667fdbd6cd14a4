"""What the dependencies predict when nodes take no time, but their edges stay."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import LookupFailed
from ..model import EvidenceKind
from .base import (
    Analysis,
    Argument,
    ArgumentKind,
    Cell,
    Column,
    Quantity,
    Result,
    Unit,
    rows_argument,
)
from .caveats import add_timing_caveats
from .gains import gains_if_free
from .gaps import learn_gaps
from .measured_gain import measured_gains, removal_of
from .prediction import GAP_NS, LAUNCH_NS, LEARNED_FROM, predict_makespan, spaced
from .schedule import CYCLE, durations_or_zero, schedule
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("duration", Unit.NS),
    Column("predicted gain", Unit.NS),
    Column("share of the predicted makespan", Unit.RATIO),
]
MEASURED_COLUMNS = [
    Column("measured gain", Unit.NS),
    Column("predicted over measured", Unit.RATIO),
]


def predict_without(
    subject: Subject, positions: Iterable[int], gaps: bool = False, gap_ns: int = GAP_NS
) -> int:
    """Predict the makespan in nanoseconds when some nodes take no time.

    Parameters
    ----------
    subject : Subject
        With timings.
    positions : iterable of int
        The nodes to make free; none of them predicts the makespan as it is.
    gaps : bool
        Whether to count the median gap of each class of edges, learned from the traced replay of
        this graph, and not `gap_ns`.
    gap_ns : int
        Between the end of a node and the start of the next; see :mod:`.prediction`.

    Raises
    ------
    LookupFailed
        There are no timings, no such node, no gaps to learn, or no order because of a cycle.

    Notes
    -----
    O(nodes + edges).
    """
    if not gaps:
        return predict_makespan(subject, positions, gap_ns)
    free = list(positions)
    predict_makespan(subject, free, 0)  # says what is missing
    assert subject.edges is not None
    durations = durations_or_zero(subject)
    for position in free:
        durations[position] = 0
    learned = learn_gaps(subject)
    if learned is None:
        raise LookupFailed("no gaps can be learned: no starts of connected nodes are known")
    return schedule(subject.edges, durations, learned.per_edge, learned.root_ns).length


def run(
    subject: Subject, nodes: list[int] | None = None, rows: int = 200, gap_ns: int = GAP_NS
) -> Result:
    """Predict the gain of making nodes free: those given, together, or each node alone.

    What was measured without the same nodes stands beside it.

    Notes
    -----
    O(nodes + edges) for nodes that are given; for each alone O(nodes + edges + p log p), p being
    the nodes of the critical path.
    """
    if subject.edges is None:
        return Result.absent(CYCLE)
    work = durations_or_zero(subject)
    timed = [duration is not None for duration in subject.durations]
    durations = spaced(subject.edges, work, timed, gap_ns)
    found = schedule(subject.edges, durations)
    result = Result(node_unit=Unit.NS, node_name="predicted gain if the node took no time")
    result.figures["predicted"] = Quantity(found.length, Unit.NS)
    if nodes:
        _together(result, subject, nodes, found.length, gap_ns)
    else:
        gains = gains_if_free(subject.edges, durations, found, work)
        _each(result, subject, gains, rows)
    _how(result, subject, found.length, gap_ns)
    add_timing_caveats(result, subject)
    return result


def _each(result: Result, subject: Subject, gains: dict[int, int], rows: int) -> None:
    measured = measured_gains(subject)
    length = result.figures["predicted"].value
    assert isinstance(length, int)
    result.columns = [*COLUMNS, *MEASURED_COLUMNS] if measured else COLUMNS
    result.node_values = {node: gains.get(node, 0) for node in range(len(subject.graph))}
    ranked = sorted(gains, key=lambda node: (-gains[node], node))
    for node in ranked[:rows]:
        row = _row(subject, node, gains[node], length)
        if measured:
            gain = measured.get(node)
            row += (None, None) if gain is None else (gain.gain_ns, gain.ratio_of(gains[node]))
        result.rows.append(row)
    result.figures["gaining"] = Quantity(sum(map(bool, gains.values())), Unit.COUNT)
    if not ranked:
        result.summary = "The graph is empty."
        return
    result.figures |= {
        "best": Quantity(subject.label(ranked[0]), Unit.TEXT),
        "best_node": Quantity(subject.node_path(ranked[0]), Unit.NODE),
        "best_gain": Quantity(gains[ranked[0]], Unit.NS),
    }
    result.summary = (
        "Of all nodes {best} ({best_node}) would gain most if it took no time: {best_gain} "
        "of {predicted}; {gaining} nodes would gain anything."
    )
    if len(ranked) > len(result.rows):
        result.notes.append("Only nodes of the critical path gain; the table shows the first.")
    if measured:
        result.figures["measured_nodes"] = Quantity(len(measured), Unit.COUNT)
        result.notes.append(
            "Of {measured_nodes} nodes it was measured what a replay takes without them; none "
            "has a ratio that gained nothing beyond twice the spread of the replays."
        )


def _together(result: Result, subject: Subject, nodes: list[int], before: int, gap_ns: int) -> None:
    for node in nodes:
        subject.graph.node(node)
    after = predict_without(subject, nodes, gap_ns=gap_ns)
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
    _beside(result, subject, nodes, before - after)
    if learn_gaps(subject) is None:
        return
    for name, free in (("predicted_with_gaps", []), ("without_with_gaps", nodes)):
        result.figures[name] = Quantity(predict_without(subject, free, gaps=True), Unit.NS)
    result.notes.append(
        "With the gaps of the traced replay: {without_with_gaps} instead of {predicted_with_gaps}."
    )


def _beside(result: Result, subject: Subject, nodes: list[int], predicted: int) -> None:
    """Set what was measured without the same nodes beside the prediction."""
    found = removal_of(subject, nodes)
    if found is None:
        return
    result.figures |= {
        "measured_gain": Quantity(found.gain_ns, Unit.NS),
        "measured_spread": Quantity(found.spread_ns, Unit.NS),
        "measured_replay": Quantity(found.with_ns, Unit.NS),
    }
    ratio = found.ratio_of(predicted)
    if ratio is not None:
        result.figures["predicted_over_measured"] = Quantity(ratio, Unit.RATIO)
        result.summary += (
            " Measured by leaving them out: {measured_gain} of {measured_replay}, so the "
            "prediction is {predicted_over_measured} times what was measured."
        )
    else:
        result.summary += (
            " Measured by leaving them out: no gain beyond the noise ({measured_gain}, with a "
            "spread of {measured_spread})."
        )


def _how(result: Result, subject: Subject, length: int, gap_ns: int) -> None:
    """Say what the prediction rests on, and how far it is from a measured replay."""
    result.figures |= {
        "gap": Quantity(gap_ns, Unit.NS),
        "learned_from": Quantity(LEARNED_FROM, Unit.TEXT),
    }
    note = "Predictions count {gap} from the end of a node to the start of the next"
    result.notes.append(f"{note} ({{learned_from}})." if gap_ns == GAP_NS else f"{note}.")
    if subject.untraced_ns:
        result.figures |= {
            "untraced": Quantity(subject.untraced_ns, Unit.NS),
            "predicted_replay": Quantity(length + LAUNCH_NS, Unit.NS),
            "launch": Quantity(LAUNCH_NS, Unit.NS),
            "predicted_over_untraced": Quantity(
                (length + LAUNCH_NS) / subject.untraced_ns, Unit.RATIO
            ),
        }
        result.notes.append(
            "With {launch} for its launch the replay is predicted to take {predicted_replay}: "
            "{predicted_over_untraced} times the {untraced} that an untraced replay took."
        )
    result.notes.append(
        "This is what durations and edges predict; nodes that run at the same time slow each other "
        "down, so the gain may be larger."
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
    uses=(EvidenceKind.BENCHMARKS,),
    arguments=(
        Argument(
            "nodes",
            ArgumentKind.NODES,
            None,
            "nodes to make free together; without it each node is made free alone",
        ),
        rows_argument("nodes", default=200),
        Argument(
            "gap_ns",
            ArgumentKind.INTEGER,
            GAP_NS,
            "time from the end of a node to the start of the next, as on an NVIDIA H200",
            Unit.NS,
            minimum=0,
        ),
    ),
)
