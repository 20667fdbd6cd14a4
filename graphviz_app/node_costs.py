"""What nodes cost without a tracer: isolated and marginal, as facts and sentences."""

from __future__ import annotations

from capture.benchmarks import NodeCosts
from capture.distributions import differs

from . import format as text
from .facts import Fact, Section


def node_cost(costs: NodeCosts, place: int) -> tuple[int | None, int | None]:
    """Return isolated and marginal cost of one row in nanoseconds; ``None`` if not taken."""
    isolated = costs.isolated_ns[place] if place < len(costs.isolated_ns) else -1
    marginal = costs.marginal_ns[place] if place < len(costs.marginal_ns) else -1
    return isolated if isolated >= 0 else None, marginal if marginal != -1 else None


def node_costs_text(costs: NodeCosts) -> str:
    """Return what isolated and marginal costs are, and from where on they count."""
    chain = f" of {text.count_text(costs.repetitions)}" if costs.repetitions else ""
    return (
        f"Isolated: the node's work in a graph of its own, in a chain{chain}. Marginal: replays "
        f"with the node less replays without it; below the spread of "
        f"{text.duration_text(costs.spread_ns)} it is noise."
    )


def node_section(costs: NodeCosts | None, path: str) -> Section | None:
    """Return what one node costs without a tracer; ``None`` where nobody measured it."""
    if costs is None:
        return None
    if path not in costs.node:
        reason = costs.reasons.get(path)
        return Section("Without a tracer", absent=f"{reason.rstrip('.')}.") if reason else None
    isolated, marginal = node_cost(costs, costs.node.index(path))
    facts = []
    for words, value, hint in (
        ("isolated", isolated, "its work in a graph of its own, in a chain"),
        ("marginal", marginal, "replays with it less replays without it"),
    ):
        if value is not None:
            noise = words == "marginal" and not differs(value, costs.spread_ns)
            shown = text.duration_text(value) + (", noise" if noise else "")
            facts.append(Fact(words, shown, text.exact_duration_text(value), hint))
    reason = costs.reasons.get(path, "")
    if not facts:
        return Section(
            "Without a tracer", absent=f"{(reason or 'no value was taken').rstrip('.')}."
        )
    return Section("Without a tracer", facts, source=node_costs_text(costs))


def node_reasons(costs: NodeCosts) -> list[tuple[str, int]]:
    """Return why nodes have no value, with their number."""
    found: dict[str, int] = {}
    for reason in costs.reasons.values():
        found[reason.rstrip(".")] = found.get(reason.rstrip("."), 0) + 1
    return list(found.items())
