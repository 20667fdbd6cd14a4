"""What nodes would gain if they took no time: predicted by the DAG, and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capture.analysis import Result, Subject
from capture.analysis.measured_gain import MeasuredGain, gain_of
from capture.analysis.what_if import predict_without
from capture.benchmarks import Benchmark, Removal
from capture.distributions import differs
from capture.errors import LookupFailed

from . import format as text


@dataclass(frozen=True)
class Gain:
    """What making some nodes free gains.

    Attributes
    ----------
    asked : str
        The selection.
    nodes : int
        Nodes that are free.
    name : str
        Of the node, where it is only one.
    predicted_ns : int or None
        From durations, edges and the gap from one node to the next.
    baseline_ns, measured_ns : int or None
        Median replay with all nodes, and by how much it shrinks without them; may be negative.
    spread_ns : float
        The larger interquartile range of the two.
    samples : int
        Replays of each.
    left : dict of str to str
        Nodes of the selection that could not be left out, and why.
    reason : str
        Why nothing was measured.
    source : str
        Which recording it was measured in; empty for the one that is looked at.
    """

    asked: str
    nodes: int
    predicted_ns: int | None = None
    baseline_ns: int | None = None
    measured_ns: int | None = None
    spread_ns: int = 0
    samples: int = 0
    left: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    source: str = ""
    name: str = ""

    @property
    def is_noise(self) -> bool:
        """Whether what was measured is within twice the spread."""
        return self.measured_ns is not None and not differs(self.measured_ns, self.spread_ns)

    @property
    def error(self) -> float | None:
        """Predicted over measured, less one; ``None`` where nothing was gained beyond the noise."""
        if self.measured_ns is None:
            return None
        ratio = MeasuredGain(self.measured_ns, self.spread_ns).ratio_of(self.predicted_ns)
        return None if ratio is None else ratio - 1

    @property
    def share(self) -> float | None:
        """Measured gain over the replay with all nodes."""
        if self.measured_ns is None or not self.baseline_ns:
            return None
        return self.measured_ns / self.baseline_ns


def positions(paths: Sequence[str], count: int) -> list[int] | None:
    """Return the positions of nodes on the outermost level; ``None`` if one is in a body."""
    found = []
    for path in paths:
        if not path.isdecimal() or len(path) > 9 or int(path) >= count:
            return None
        found.append(int(path))
    return found


def predicted(subject: Subject, nodes: Sequence[int], each: Result | None = None) -> int | None:
    """Return the predicted gain of making nodes free together; ``None`` when it cannot be told.

    Parameters
    ----------
    subject : Subject
    nodes : sequence of int
    each : Result, optional
        Of the analysis ``what_if`` without nodes: what each alone gains, which saves a schedule.
    """
    if each is not None and len(nodes) == 1 and nodes[0] in each.node_values:
        return round(each.node_values[nodes[0]])
    try:
        return predict_without(subject, ()) - predict_without(subject, nodes)
    except LookupFailed:
        return None


def measured(
    removal: Removal, subject: Subject | None = None, each: Result | None = None, source: str = ""
) -> Gain:
    """Return what one removal found, beside its prediction where there are timings."""
    found = gain_of(removal)
    guess, name = None, ""
    places = None if subject is None else positions(removal.nodes, len(subject.graph))
    if subject is not None and places:
        guess = predicted(subject, places, each) if subject.is_timed else None
        name = subject.label(places[0]) if len(places) == 1 else ""
    return Gain(
        asked=removal.asked,
        nodes=len(removal.nodes),
        predicted_ns=guess,
        baseline_ns=None if found is None else found.with_ns,
        measured_ns=None if found is None else found.gain_ns,
        spread_ns=0 if found is None else found.spread_ns,
        samples=min(len(removal.with_ns), len(removal.without_ns)),
        left=removal.left,
        reason=removal.reason or ("" if found is not None else "no replay was timed"),
        source=source,
        name=name,
    )


def gains(
    benchmark: Benchmark, subject: Subject | None = None, each: Result | None = None
) -> list[Gain]:
    """Return what every stored removal found, the largest measured gain first."""
    found = [measured(removal, subject, each) for removal in benchmark.removals]
    return ranked(found)


def ranked(found: Sequence[Gain]) -> list[Gain]:
    """Return gains, the largest measured first and those that were not measured last."""
    return sorted(
        found,
        key=lambda gain: (gain.measured_ns is None, -(gain.measured_ns or gain.predicted_ns or 0)),
    )


def gain_text(gain: Gain) -> str:
    """Return the measured gain with its spread."""
    if gain.measured_ns is None:
        return text.ABSENT
    return text.spread_text(gain.measured_ns, gain.spread_ns)


def error_text(gain: Gain) -> str:
    """Return by how much the prediction is off what was measured."""
    if gain.is_noise:
        return "noise"
    return text.ABSENT if gain.error is None else f"{100 * gain.error:+.0f} %"


def left_text(gain: Gain) -> str:
    """Return which nodes of the selection stayed, and why."""
    if not gain.left:
        return ""
    reasons: dict[str, list[str]] = {}
    for path, why in gain.left.items():
        reasons.setdefault(why, []).append(path)
    said = []
    for why, paths in reasons.items():
        some = ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")
        count = text.counted(len(paths), "node")
        said.append(f"{count} ({some}) could not be disabled: {why.rstrip('.')}")
    return "; ".join(said)
