"""Figures that analyses take from a stored benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from ..benchmarks import Benchmark
from ..distributions import differs, summarise

NO_BENCHMARK = "nothing was benchmarked: measure replays of our own with `cglens bench`"
NO_BODY = "a body is not replayed by itself: look at the graph that holds it"


def why_no_benchmark(benchmark: Benchmark | None, path: str, reason: str) -> str:
    """Return why a graph, or the body at a path, has no benchmark; empty where it has one."""
    if benchmark is not None:
        return benchmark.refused
    return NO_BODY if path else reason or NO_BENCHMARK


class EagerAgainstGraph(NamedTuple):
    """One call of a function and one replay of its graph, medians in nanoseconds.

    Attributes
    ----------
    eager_ns : int
        From the start of an eager call until the device is done.
    graph_ns : int
        Launch and replay after each other: at most what a replay takes until the device is done,
        since the two overlap.
    spread_ns : int
        The largest interquartile range of the three.
    """

    eager_ns: int
    graph_ns: int
    spread_ns: int

    @property
    def gain_ns(self) -> int:
        """What a replay takes less; negative where it takes longer."""
        return self.eager_ns - self.graph_ns

    @property
    def is_more_than_noise(self) -> bool:
        """Whether the gain is more than twice the spread."""
        return differs(self.gain_ns, self.spread_ns)


def eager_against_graph(benchmark: Benchmark) -> EagerAgainstGraph | None:
    """Return eager against graph, or ``None`` where either was not measured."""
    eager = summarise(benchmark.eager.call_ns) if benchmark.eager is not None else None
    launch, replay = summarise(benchmark.launch_cpu_ns), summarise(benchmark.replay_ns)
    if eager is None or launch is None or replay is None:
        return None
    return EagerAgainstGraph(
        eager.median, launch.median + replay.median, max(eager.iqr, launch.iqr, replay.iqr)
    )


def median_ns(samples: Sequence[int]) -> int | None:
    """Return the median of samples, ``None`` without any."""
    found = summarise(samples)
    return None if found is None else found.median


def replays_to_pay(benchmark: Benchmark) -> int | None:
    """Return after how many replays capture, instantiate and upload are paid by faster calls.

    ``None`` where one of the times is missing, or a call gains nothing beyond the noise.
    """
    compared = eager_against_graph(benchmark)
    capture, instantiate = median_ns(benchmark.capture_ns), median_ns(benchmark.instantiate_ns)
    if compared is None or capture is None or instantiate is None:
        return None
    if compared.gain_ns <= 0 or not compared.is_more_than_noise:
        return None
    cost = capture + instantiate + (median_ns(benchmark.upload_ns) or 0)
    return ceil(cost / compared.gain_ns)
