"""What every result that rests on timings has to say about them."""

from __future__ import annotations

from .base import Quantity, Result, Unit
from .subject import Subject


def add_timing_caveats(result: Result, subject: Subject) -> None:
    """Add coverage, the cost of tracing and what is uncertain, as notes with figures."""
    timings = subject.timings
    if timings is None:
        return
    durations = subject.durations
    timed = sum(duration is not None for duration in durations)
    result.figures["timed_nodes"] = Quantity(timed, Unit.COUNT)
    result.figures["nodes"] = Quantity(len(durations), Unit.COUNT)
    note = "{timed_nodes} of {nodes} nodes are timed"
    if timed < len(durations):
        note += "; the others count as taking no time"
        paths = (subject.node_path(at) for at, found in enumerate(durations) if found is None)
        reasons = {timings.missing[path] for path in paths if path in timings.missing}
        if reasons:
            shown = sorted(reasons)
            note += f" ({'; '.join(shown[:3])}{'; …' if len(shown) > 3 else ''})"
    result.notes.append(f"{note}.")
    ratio = timings.tracing_ratio
    if ratio is None:
        result.notes.append("How much tracing stretched the replay was not measured.")
    else:
        result.figures["tracing_ratio"] = Quantity(ratio, Unit.RATIO)
        result.notes.append(
            "Tracing stretched the replay to {tracing_ratio} times its length; all times here "
            "include that. The untraced replays are of the same process: CUPTI stays in it, and "
            "launching a graph takes the CPU longer there than in a process without it."
        )
    if timings.joined_by == "order":
        result.notes.append("Timings were joined to nodes by their order only.")
    if timings.dropped_records:
        result.figures["dropped_records"] = Quantity(timings.dropped_records, Unit.COUNT)
        result.notes.append("CUPTI lost {dropped_records} records.")
    if _loops_cut_short(subject):
        result.notes.append(
            "Nodes in loops ran several times, and only their first run in the sample replay is "
            "known: the loops took longer than shown."
        )


def add_sample_caveats(result: Result, subject: Subject) -> None:
    """Say which replay starts and ends are from."""
    if subject.starts_from == "medians":
        result.notes.append(
            "Starts are medians over replays, since no single replay was kept: nodes may seem to "
            "overlap that never did."
        )


def _loops_cut_short(subject: Subject) -> bool:
    counts = subject.column("count")
    replays = len(subject.timings.makespan_ns) if subject.timings is not None else 0
    if not counts or not replays or subject.column("sample_end_ns"):
        return False
    return max(counts) > replays
