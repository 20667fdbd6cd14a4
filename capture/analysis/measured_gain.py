"""What replays gain without some of their nodes, from stored measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..benchmarks import NodeCosts, Removal
from ..distributions import differs, summarise
from .subject import Subject

_NOT_TAKEN = -1


class MeasuredGain(NamedTuple):
    """A replay with all nodes less a replay without some, of medians, in nanoseconds.

    Attributes
    ----------
    gain_ns : int
        Negative where the replay takes longer without them.
    spread_ns : int
        The larger interquartile range of the two.
    with_ns : int or None
        The replay with all nodes.
    """

    gain_ns: int
    spread_ns: int
    with_ns: int | None = None

    @property
    def is_more_than_noise(self) -> bool:
        """Whether it is more than twice the spread."""
        return differs(self.gain_ns, self.spread_ns)

    def ratio_of(self, predicted_ns: float | None) -> float | None:
        """Return a prediction over this gain.

        ``None`` without a prediction, and where nothing was gained beyond the noise: a replay that
        took longer without nodes ran on something else than they would have written.
        """
        if predicted_ns is None or self.gain_ns <= 0 or not self.is_more_than_noise:
            return None
        return predicted_ns / self.gain_ns


def gain_of(removal: Removal) -> MeasuredGain | None:
    """Return what a removal gained, or ``None`` when nothing was measured."""
    whole, without = summarise(removal.with_ns), summarise(removal.without_ns)
    if whole is None or without is None:
        return None
    return MeasuredGain(whole.median - without.median, max(whole.iqr, without.iqr), whole.median)


def marginal_gain(costs: NodeCosts, row: int) -> MeasuredGain | None:
    """Return what a replay gains without the node of a row, or ``None`` if it was not taken."""
    if row >= len(costs.marginal_ns) or costs.marginal_ns[row] == _NOT_TAKEN:
        return None
    return MeasuredGain(costs.marginal_ns[row], costs.spread_ns)


def position_of(subject: Subject, path: str) -> int | None:
    """Return a node's position in the subject's graph, or ``None`` when it is elsewhere."""
    prefix = f"{subject.path}/" if subject.path else ""
    name = path[len(prefix) :] if path.startswith(prefix) else ""
    if not name.isdecimal() or len(name) > 9 or int(name) >= len(subject.graph):
        return None
    return int(name)


def measured_gains(subject: Subject) -> dict[int, MeasuredGain]:
    """Return the gains of single nodes by position: marginal costs, and removals of one node.

    O(nodes).
    """
    if subject.benchmark is None:
        return {}
    found: dict[int, MeasuredGain] = {}
    costs = subject.benchmark.nodes
    for row, path in enumerate(costs.node) if costs is not None else ():
        position = position_of(subject, path)
        gain = marginal_gain(costs, row) if costs is not None else None
        if position is not None and gain is not None:
            found[position] = gain
    for removal in subject.benchmark.removals:
        if len(removal.nodes) == 1:
            position, gain = position_of(subject, removal.nodes[0]), gain_of(removal)
            if position is not None and gain is not None:
                found[position] = gain
    return found


def removal_of(subject: Subject, positions: Sequence[int]) -> MeasuredGain | None:
    """Return what was measured without just these nodes, or ``None`` when nobody did."""
    wanted = {subject.node_path(position) for position in positions}
    for removal in reversed(subject.benchmark.removals) if subject.benchmark is not None else ():
        if set(removal.nodes) == wanted:
            gain = gain_of(removal)
            if gain is not None:
                return gain
    return measured_gains(subject).get(positions[0]) if len(wanted) == 1 else None
