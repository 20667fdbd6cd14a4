"""What a benchmark says: its distributions, eager against graph, when it has paid for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from capture.analysis.stored_benchmark import eager_against_graph, replays_to_pay
from capture.benchmarks import SPLIT, Benchmark, Eager
from capture.distributions import differs
from capture.model import EvidenceKind, GraphInfo, Recording

from . import format as text
from .distributions import Distribution, median_of

QUANTITIES = (
    ("capture_ns", "capture", "CPU", "from begin to end of a capture"),
    ("instantiate_ns", "instantiate", "CPU", "cuGraphInstantiate of a clone"),
    ("upload_ns", "upload", "CPU", "cuGraphUpload, until the device is done"),
    ("first_launch_ns", "first launch", "CPU", "the call that launches a fresh executable"),
    ("launch_cpu_ns", "launch", "CPU", "the call that launches a replay, the device being idle"),
    ("replay_ns", "replay, warm L2", "GPU", "a replay right after another, between two events"),
    (
        "cold_replay_ns",
        "replay, cold L2",
        "GPU",
        "a replay after other memory, twice the L2's size, was written",
    ),
)
"""Fields of a benchmark that are samples, in the order in which they happen."""
RECORD_IT = "cglens bench"
ONLY_REMOVALS = "Only replays without some nodes were measured of this graph: they stand on"


def distributions(benchmark: Benchmark) -> list[Distribution]:
    """Return every quantity that was measured, in the order in which they happen."""
    found = []
    for name, words, clock, meaning in QUANTITIES:
        samples = getattr(benchmark, name)
        if samples:
            found.append(Distribution(words, tuple(samples), clock, meaning))
    return found


def eager_distributions(eager: Eager) -> list[Distribution]:
    """Return what was measured of calls without a graph."""
    found = []
    for samples, words, clock, meaning in (
        (eager.call_ns, "eager call", "CPU", "from its start until the device is done"),
        (eager.cpu_ns, "eager call returns", "CPU", "from its start until it returns"),
        (eager.gpu_ns, "eager call on the device", "GPU", "between two events around the call"),
    ):
        if samples:
            found.append(Distribution(words, tuple(samples), clock, meaning))
    return found


@dataclass(frozen=True)
class Comparison:
    """One call of the function, without and with a graph; ``None`` where it was not measured.

    Attributes
    ----------
    eager_cpu_ns, launch_cpu_ns : float or None
        How long the CPU is busy with a call, and with the launch of a replay.
    eager_call_ns, graph_call_ns : float or None
        Until the device is done. A graph's is launch and replay after each other, which is more
        than it takes where they overlap.
    eager_gpu_ns, replay_ns : float or None
        On the device.
    split_ns : dict of str to float
        `eager_cpu_ns` by where it goes, outermost first.
    profiled_ratio : float or None
        Profiled over unprofiled call, from which the split's shares are.
    busy_share : float or None
        Of the eager call, in which the device ran anything.
    noise_ns : float
        The largest spread of what the calls are made of.
    """

    eager_cpu_ns: float | None = None
    launch_cpu_ns: float | None = None
    eager_call_ns: float | None = None
    graph_call_ns: float | None = None
    eager_gpu_ns: float | None = None
    replay_ns: float | None = None
    split_ns: dict[str, float] = field(default_factory=dict)
    profiled_ratio: float | None = None
    busy_share: float | None = None
    noise_ns: float = 0.0

    @property
    def cpu_removed(self) -> float | None:
        """Share of the CPU time that a graph removes."""
        return _removed(self.eager_cpu_ns, self.launch_cpu_ns)

    @property
    def gain_ns(self) -> float | None:
        """What a call gains at least; ``None`` where either is not known."""
        if self.eager_call_ns is None or self.graph_call_ns is None:
            return None
        return self.eager_call_ns - self.graph_call_ns


def _removed(eager_ns: float | None, graph_ns: float | None) -> float | None:
    return None if not eager_ns or graph_ns is None else 1 - graph_ns / eager_ns


def compare(benchmark: Benchmark) -> Comparison | None:
    """Return eager against graph, or ``None`` without eager calls."""
    eager = benchmark.eager
    if eager is None or not (eager.call_ns or eager.cpu_ns or eager.gpu_ns):
        return None
    launch, replay = median_of(benchmark.launch_cpu_ns), median_of(benchmark.replay_ns)
    cpu, call = median_of(eager.cpu_ns), median_of(eager.call_ns)
    pair = eager_against_graph(benchmark)
    shares = {name: eager.share[name] for name in SPLIT if name in eager.share}
    profiled = eager.profiled_cpu_ns
    return Comparison(
        eager_cpu_ns=cpu,
        launch_cpu_ns=launch,
        eager_call_ns=call,
        graph_call_ns=None if pair is None else pair.graph_ns,
        eager_gpu_ns=median_of(eager.gpu_ns),
        replay_ns=replay,
        split_ns={} if cpu is None else {name: share * cpu for name, share in shares.items()},
        profiled_ratio=profiled / cpu if profiled and cpu else None,
        busy_share=eager.busy_ns / call if eager.busy_ns is not None and call else None,
        noise_ns=0 if pair is None else pair.spread_ns,
    )


def comparison_sentences(benchmark: Benchmark) -> list[str]:
    """Return eager against graph in words; why not, where it was not measured."""
    found = compare(benchmark)
    if found is None:
        reason = benchmark.eager.reason if benchmark.eager is not None else ""
        why = reason or "only a function that the recorder captures itself can be called eagerly"
        return [f"Eager calls were not measured: {why.rstrip('.')}."]
    said = []
    if found.eager_cpu_ns is not None and found.launch_cpu_ns is not None:
        removed = found.cpu_removed or 0.0
        cpu, launch = (
            text.duration_text(found.eager_cpu_ns),
            text.duration_text(found.launch_cpu_ns),
        )
        said.append(
            f"An eager call keeps the CPU busy for {cpu}, the launch of a replay for {launch}: "
            + (
                f"the graph removes {text.share_text(removed, 1)} of it."
                if removed > 0
                else "the graph removes nothing of it."
            )
        )
    gain = found.gain_ns
    if gain is not None:
        calls = (
            f"Until the device is done, an eager call takes "
            f"{text.duration_text(found.eager_call_ns)} and a replay with its launch at most "
            f"{text.duration_text(found.graph_call_ns)}"
        )
        if not differs(gain, found.noise_ns):
            said.append(f"{calls}: no difference beyond twice the spread.")
        elif gain > 0:
            assert found.eager_call_ns is not None
            assert found.graph_call_ns
            factor = text.factor_text(found.eager_call_ns / found.graph_call_ns)
            said.append(f"{calls}: a factor of {factor}.")
        else:
            said.append(f"{calls}: the graph is no faster.")
    if found.busy_share is not None:
        said.append(
            f"In an eager call the device is busy for {text.share_text(found.busy_share, 1)} of "
            f"the time."
        )
    if found.profiled_ratio is not None and found.split_ns:
        said.append(
            f"The split is from one profiled call, which took "
            f"{text.factor_text(found.profiled_ratio)} as long as one that was not profiled; its "
            f"shares are applied to the median."
        )
    elif found.eager_cpu_ns is not None and not found.split_ns:
        reason = benchmark.eager.reason if benchmark.eager is not None else ""
        said.append(f"The CPU time is not split: {(reason or 'no call was profiled').rstrip('.')}.")
    return said


@dataclass(frozen=True)
class Payback:
    """After how many replays a graph has paid for itself.

    Attributes
    ----------
    replays : int or None
        ``None`` when it never does, or it is not known.
    sentence : str
    """

    replays: int | None
    sentence: str


def payback(benchmark: Benchmark) -> Payback:
    """Return after how many replays capture, instantiate and upload are paid by faster calls."""
    costs = {
        name: median_of(getattr(benchmark, f"{name}_ns"))
        for name in ("capture", "instantiate", "upload")
    }
    found = compare(benchmark)
    gain = found.gain_ns if found is not None else None
    if gain is None or found is None:
        return Payback(
            None, "When the graph has paid for itself is not known: eager calls were not measured."
        )
    unknown = [name for name in ("capture", "instantiate") if costs[name] is None]
    if unknown:
        missing = " and ".join(unknown)
        return Payback(
            None, f"When the graph has paid for itself is not known: {missing} was not measured."
        )
    replays = replays_to_pay(benchmark)
    if replays is None and differs(gain, found.noise_ns):
        return Payback(None, "The graph does not pay for itself: it makes no call faster.")
    if replays is None:
        return Payback(
            None,
            "When the graph has paid for itself cannot be told: what a call gains is within twice "
            "the spread of the measurements.",
        )
    cost = sum(value for value in costs.values() if value is not None)
    parts = ", ".join(
        f"{name} {text.duration_text(value)}" for name, value in costs.items() if value is not None
    )
    return Payback(
        replays,
        f"The graph has paid for itself after {text.counted(replays, 'replay')}: it costs "
        f"{text.duration_text(cost)} ({parts}), and each replay gains {text.duration_text(gain)} "
        f"or more.",
    )


def notes(benchmark: Benchmark) -> list[str]:
    """Return what a reader has to know of the figures, as sentences."""
    return [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in benchmark.notes if note]


def absent_reason(info: GraphInfo) -> str:
    """Return why a graph has no benchmark, as a sentence."""
    entry = info.evidence.get(EvidenceKind.BENCHMARKS)
    reason = entry.reason if entry is not None and not entry.present else ""
    return f"No benchmark: {(reason or 'nothing was measured when this was recorded').rstrip('.')}."


def command(recording: Recording, name: str = RECORD_IT, options: Sequence[str] = ()) -> str:
    """Return the command that measures the recorded workload, for a shell.

    Parameters
    ----------
    recording : Recording
    name : str
        ``"cglens bench"`` or ``"cglens whatif"``.
    options : sequence of str
        What stands before the workload.
    """
    import shlex

    words = [*name.split(), *options]
    typed = recording.metadata.command
    known = bool(typed) and (typed[0] == "-m" or typed[0].endswith(".py") or ":" in typed[0])
    if not known or recording.metadata.source not in ("", "recorded"):
        return f"{shlex.join(words)} SCRIPT"
    return shlex.join([*words, *typed])
