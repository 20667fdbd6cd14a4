"""What every result that rests on origins has to say about them."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import EvidenceKind
from .base import Quantity, Result, Unit
from .caveats import add_timing_caveats
from .origin_totals import Costs, Totals
from .subject import Subject


def share(part: float | None, whole: float | None) -> float | None:
    """Return a share, or ``None`` when either is not known."""
    return None if part is None or not whole else part / whole


def add_shares(result: Result, top: Sequence[tuple[str, Totals]], costs: Costs) -> str:
    """Add the figures of what comes first, and return the words with them."""
    words = []
    for number, (name, totals) in enumerate(top):
        result.figures[f"top_{number}"] = Quantity(name, Unit.TEXT)
        if costs.total_ns:
            result.figures[f"top_time_{number}"] = Quantity(totals.time_ns, Unit.NS)
            part = Quantity(totals.time_ns / costs.total_ns, Unit.RATIO)
            result.figures[f"top_share_{number}"] = part
            words.append(f"{{top_{number}}} {{top_time_{number}}} ({{top_share_{number}}})")
        else:
            result.figures[f"top_nodes_{number}"] = Quantity(totals.nodes, Unit.COUNT)
            words.append(f"{{top_{number}}} {{top_nodes_{number}}} nodes")
    return ", ".join(words)


def add_origin_notes(result: Result, subject: Subject, column: str) -> None:
    """Add what shares are shares of, what is shared, and how origins and times were got."""
    index = subject.origin_index
    if index is None:
        return
    figures = result.figures
    if subject.is_timed:
        result.notes.append(
            "Times are sums over nodes, also of those that ran at the same time; shares are of "
            "the sum over all nodes."
        )
    else:
        reason = subject.lacks(EvidenceKind.TIMINGS) or "no node was timed"
        figures["no_times"] = Quantity(reason, Unit.TEXT)
        result.notes.append("Only counts, no times: {no_times}.")
    fused = sum(kernel >= 0 for kernel in index.column("compiled"))
    if fused:
        figures["fused_nodes"] = Quantity(fused, Unit.COUNT)
        result.notes.append(
            "Nodes of kernels that a compiler fused: {fused_nodes}. Each is charged in full to "
            "every line, module and operator in it, so that these add up to more than the whole."
        )
    if subject.graph.bodies or subject.path:
        result.notes.append("What is inside a body has the origin of the node that holds it.")
    if column in index.origins.missing:
        figures["missing"] = Quantity(index.origins.missing[column], Unit.TEXT)
        result.notes.append("Not known of every node: {missing}.")
    if index.origins.how:
        figures["how"] = Quantity("; ".join(index.origins.how), Unit.TEXT)
        result.notes.append("Origins come from {how}.")
    add_timing_caveats(result, subject)
