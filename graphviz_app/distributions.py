"""Samples of one quantity summed up: median, 95th percentile, spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capture.distributions import quantile

P95_SAMPLES = 20
"""With fewer samples the 95th percentile would be the largest one."""


@dataclass(frozen=True)
class Distribution:
    """Samples of one quantity, in the order in which they were taken.

    Attributes
    ----------
    name : str
        For people, such as ``"replay, warm L2"``.
    samples_ns : tuple of int
        At least one.
    clock : str
        Whose time it is: ``"CPU"`` or ``"GPU"``.
    meaning : str
        What was timed, for the hover text.
    """

    name: str
    samples_ns: tuple[int, ...]
    clock: str = ""
    meaning: str = ""

    @property
    def count(self) -> int:
        """Samples."""
        return len(self.samples_ns)

    @property
    def median_ns(self) -> float:
        """Half of the samples are shorter."""
        return quantile(sorted(self.samples_ns), 0.5)

    @property
    def p95_ns(self) -> float | None:
        """95th percentile; ``None`` with fewer than :data:`P95_SAMPLES` samples."""
        if self.count < P95_SAMPLES:
            return None
        return quantile(sorted(self.samples_ns), 0.95)

    @property
    def spread_ns(self) -> float | None:
        """Interquartile range; ``None`` of one sample."""
        if self.count < 2:
            return None
        ordered = sorted(self.samples_ns)
        return quantile(ordered, 0.75) - quantile(ordered, 0.25)


def median_of(samples_ns: Sequence[int]) -> float | None:
    """Return the median, or ``None`` without samples."""
    return quantile(sorted(samples_ns), 0.5) if samples_ns else None
