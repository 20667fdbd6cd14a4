"""The longest path: which nodes decide how long a replay takes."""

from __future__ import annotations

from ..model import EvidenceKind
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Unit
from .caveats import add_timing_caveats
from .gaps import Gaps, learn_gaps
from .prediction import GAP_NS, LAUNCH_NS, LEARNED_FROM, predict_replay
from .schedule import (
    CYCLE,
    Schedule,
    durations_or_zero,
    path_to_last,
    schedule,
    slack,
)
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("duration", Unit.NS),
    Column("earliest start", Unit.NS),
    Column("share of the path", Unit.RATIO),
]


def run(subject: Subject, rows: int = 1000, gaps: bool = True) -> Result:
    """Find the longest path by durations, slack, and the makespans that they predict.

    Notes
    -----
    O(nodes + edges), plus sorting the path when it is longer than `rows`, plus sorting the edges
    when they are stored in no topological order.
    """
    edges = subject.edges
    if edges is None:
        return Result.absent(CYCLE)
    durations = durations_or_zero(subject)
    found = schedule(edges, durations)
    path = path_to_last(found)
    result = Result(
        columns=COLUMNS,
        rows=_rows(subject, found, durations, path, rows),
        node_values=dict(enumerate(slack(edges, durations, found))),
        node_unit=Unit.NS,
        node_name="slack",
        node_marks=path,
        mark_name="on the critical path",
    )
    figures = result.figures
    figures["path_nodes"] = Quantity(len(path), Unit.COUNT)
    figures["predicted"] = Quantity(found.length, Unit.NS)
    longest = max(path, key=durations.__getitem__, default=-1)
    if longest < 0 or not found.length:
        result.summary = "The critical path of {path_nodes} nodes takes no time."
    else:
        figures["longest"] = Quantity(subject.label(longest), Unit.TEXT)
        figures["longest_node"] = Quantity(subject.node_path(longest), Unit.NODE)
        figures["longest_duration"] = Quantity(durations[longest], Unit.NS)
        result.summary = (
            "The critical path has {path_nodes} nodes and takes {predicted}; its longest node is "
            "{longest} ({longest_node}) with {longest_duration}."
        )
    if len(path) > len(result.rows):
        figures["rows"] = Quantity(len(result.rows), Unit.COUNT)
        result.notes.append("The table shows the {rows} longest of the path's {path_nodes} nodes.")
    learned = learn_gaps(subject) if gaps else None
    if learned is not None:
        _with_gaps(result, learned, schedule(edges, durations, learned.per_edge, learned.root_ns))
    elif gaps:
        result.notes.append(
            "The makespan with gaps is not predicted: no starts of connected nodes are known."
        )
    _compare(result, subject)
    add_timing_caveats(result, subject)
    return result


def _rows(
    subject: Subject, found: Schedule, durations: list[int], path: list[int], limit: int
) -> list[tuple[Cell, ...]]:
    shown = path
    if len(path) > limit:
        longest = sorted(path, key=durations.__getitem__, reverse=True)[:limit]
        chosen = set(longest)
        shown = [node for node in path if node in chosen]
    measured = subject.durations
    return [
        (
            subject.node_path(node),
            subject.label(node),
            measured[node],
            found.start[node],
            durations[node] / found.length if found.length else None,
        )
        for node in shown
    ]


def _with_gaps(result: Result, learned: Gaps, found: Schedule) -> None:
    result.figures["predicted_with_gaps"] = Quantity(found.length, Unit.NS)
    shown = learned.classes[:5]
    for number, item in enumerate(shown):
        result.figures[f"gap_{number}_edges"] = Quantity(item.name, Unit.TEXT)
        result.figures[f"gap_{number}"] = Quantity(item.median_ns, Unit.NS)
    listed = ", ".join(f"{{gap_{number}}} ({{gap_{number}_edges}})" for number in range(len(shown)))
    result.notes.append(
        "With the median gap of each class of edges, learned from one traced replay, the makespan "
        f"is {{predicted_with_gaps}}; gaps: {listed}{', …' if len(learned.classes) > 5 else ''}."
    )


def _compare(result: Result, subject: Subject) -> None:
    """Set both predictions beside what was measured."""
    figures = result.figures
    for name, value in (("measured", subject.makespan_ns), ("untraced", subject.untraced_ns)):
        if not value:
            continue
        figures[name] = Quantity(value, Unit.NS)
        for prediction in ("predicted", "predicted_with_gaps"):
            if prediction in figures:
                guess = figures[prediction].value
                assert isinstance(guess, int)
                figures[f"{prediction}_over_{name}"] = Quantity(guess / value, Unit.RATIO)
    if "measured" in figures:
        result.notes.append(
            "Durations and edges alone predict {predicted}, {predicted_over_measured} of the "
            "traced replay's measured {measured}."
        )
    if "untraced" in figures:
        replay = predict_replay(subject)
        figures["gap"], figures["launch"] = Quantity(GAP_NS, Unit.NS), Quantity(LAUNCH_NS, Unit.NS)
        figures["learned_from"] = Quantity(LEARNED_FROM, Unit.TEXT)
        figures["predicted_replay"] = Quantity(replay, Unit.NS)
        figures["predicted_replay_over_untraced"] = Quantity(
            replay / (subject.untraced_ns or 1), Unit.RATIO
        )
        result.notes.append(
            "An untraced replay took {untraced}, {predicted_over_untraced} of which the path "
            "explains. With {gap} from a node to the next and {launch} for the launch "
            "({learned_from}) it is predicted to take {predicted_replay}: "
            "{predicted_replay_over_untraced} times what it took."
        )


ANALYSIS = Analysis(
    name="critical_path",
    title="Critical path",
    description="Which nodes decide how long a replay takes, and how much slack the others have.",
    run=run,
    needs=(EvidenceKind.TIMINGS,),
    arguments=(
        Argument(
            "rows",
            ArgumentKind.INTEGER,
            1000,
            "most nodes of the path in the table; the longest are shown",
            Unit.COUNT,
            minimum=0,
        ),
        Argument(
            "gaps",
            ArgumentKind.FLAG,
            True,
            "also predict the makespan with the gaps between nodes of the traced replay",
        ),
    ),
)
