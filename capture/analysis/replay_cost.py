"""What it costs to make, launch and replay a graph, from replays of our own."""

from __future__ import annotations

from ..distributions import summarise
from ..model import EvidenceKind
from .base import Analysis, Column, Quantity, Result, Unit
from .disturbed import add_conditions
from .stored_benchmark import eager_against_graph, replays_to_pay
from .subject import Subject

QUANTITIES = (
    ("capture", "capture_ns", "capture"),
    ("instantiate", "instantiate_ns", "instantiate"),
    ("upload", "upload_ns", "upload"),
    ("first_launch", "first_launch_ns", "first launch"),
    ("launch", "launch_cpu_ns", "launch, on the CPU"),
    ("replay", "replay_ns", "replay, warm L2"),
    ("cold_replay", "cold_replay_ns", "replay, cold L2"),
)
"""Name of the figure, field of the benchmark, words; in the order in which they happen."""
EAGER = (
    ("eager", "call_ns", "eager call, until the device is done"),
    ("eager_cpu", "cpu_ns", "eager call, on the CPU"),
    ("eager_gpu", "gpu_ns", "eager call, between two events"),
)
COLUMNS = [
    Column("quantity", Unit.TEXT),
    Column("samples", Unit.COUNT),
    Column("shortest", Unit.NS),
    Column("median", Unit.NS),
    Column("95th percentile", Unit.NS),
    Column("spread", Unit.NS),
]


def run(subject: Subject) -> Result:
    """Sum up the samples of every quantity that was measured. O(samples)."""
    benchmark = subject.benchmark
    if benchmark is None or benchmark.refused:
        return Result.absent(subject.lacks(EvidenceKind.BENCHMARKS))
    result = Result(columns=COLUMNS)
    listed = [(name, words, getattr(benchmark, field)) for name, field, words in QUANTITIES]
    if benchmark.eager is not None:
        listed += [(name, words, getattr(benchmark.eager, field)) for name, field, words in EAGER]
    for name, words, samples in listed:
        found = summarise(samples)
        if found is None:
            continue
        result.rows.append((words, found.count, found.minimum, found.median, found.p95, found.iqr))
        result.figures[name] = Quantity(found.median, Unit.NS)
        result.figures[f"{name}_spread"] = Quantity(found.iqr, Unit.NS)
    if not result.rows:
        return Result.absent(
            "the benchmark holds no times of whole replays: measure them with `cglens bench`"
        )
    if {"replay", "launch"} <= set(result.figures):
        result.summary = "A replay takes {replay} of the device and its launch {launch} of the CPU."
    else:
        first, median = result.rows[0][0], result.rows[0][3]
        result.figures["first_quantity"] = Quantity(first, Unit.TEXT)
        result.figures["first_median"] = Quantity(median, Unit.NS)
        result.summary = "Of its replays only some was measured: {first_quantity} {first_median}."
    _more(result, subject)
    if benchmark.executable_bytes is not None:
        result.figures["executable_bytes"] = Quantity(benchmark.executable_bytes, Unit.BYTES)
        result.notes.append("The executable takes {executable_bytes} of the device's memory.")
    result.notes += [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in benchmark.notes]
    add_conditions(result, benchmark.conditions)
    return result


def _more(result: Result, subject: Subject) -> None:
    """Add what the figures mean for each other."""
    benchmark = subject.benchmark
    assert benchmark is not None
    warm, cold = summarise(benchmark.replay_ns), summarise(benchmark.cold_replay_ns)
    if warm is not None and cold is not None and warm.median:
        result.figures["cold_over_warm"] = Quantity(cold.median / warm.median, Unit.RATIO)
        result.notes.append(
            "After other memory was written through the L2, a replay takes {cold_over_warm} times "
            "as long."
        )
    compared = eager_against_graph(benchmark)
    if compared is None:
        return
    replays = replays_to_pay(benchmark)
    if replays is not None:
        result.figures["replays_to_pay"] = Quantity(replays, Unit.COUNT)
        result.notes.append(
            "After {replays_to_pay} replays the graph has paid for its capture, instantiate and "
            "upload: each gains what an eager call takes more."
        )
    elif compared.gain_ns <= 0 or not compared.is_more_than_noise:
        result.notes.append(
            "The graph never pays for itself: a replay gains nothing beyond the noise."
        )
    else:
        result.notes.append(
            "After how many replays the graph has paid for itself is not known: capture or "
            "instantiate was not timed."
        )


ANALYSIS = Analysis(
    name="replay_cost",
    title="Cost of a replay",
    description="What capture, instantiate, upload, launch and replay take, as distributions.",
    run=run,
    needs=(EvidenceKind.BENCHMARKS,),
)
