"""Samples of a measurement summed up, and whether two measurements differ at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """What a list of samples comes to, in the samples' unit, rounded to whole numbers.

    Attributes
    ----------
    count : int
    minimum, median, p95, maximum : int
    iqr : int
        Interquartile range: the width of the middle half. The spread of the measurement.
    """

    count: int
    minimum: int
    median: int
    p95: int
    maximum: int
    iqr: int


def summarise(samples: Sequence[float]) -> Summary | None:
    """Sum up samples; ``None`` when there are none.

    Quantiles are interpolated between neighbours, as numpy's default does.

    Examples
    --------
    >>> summarise([30, 10, 20, 40])
    Summary(count=4, minimum=10, median=25, p95=38, maximum=40, iqr=15)
    >>> summarise([7])
    Summary(count=1, minimum=7, median=7, p95=7, maximum=7, iqr=0)
    """
    if not samples:
        return None
    ordered = sorted(samples)
    return Summary(
        count=len(ordered),
        minimum=round(ordered[0]),
        median=round(quantile(ordered, 0.5)),
        p95=round(quantile(ordered, 0.95)),
        maximum=round(ordered[-1]),
        iqr=round(quantile(ordered, 0.75) - quantile(ordered, 0.25)),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which a share of ascending samples lies.

    Raises
    ------
    ValueError
        There are no samples, or the share is not between 0 and 1.
    """
    if not ordered or not 0 <= share <= 1:
        raise ValueError(f"no {share} quantile of {len(ordered)} samples")
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def differs(difference: float, spread: float) -> bool:
    """Say whether a difference of two medians is more than the measurements' noise.

    It is when it is larger than twice the spread, the larger interquartile range of the two.

    Examples
    --------
    >>> differs(-21, 10), differs(20, 10)
    (True, False)
    """
    return abs(difference) > 2 * spread
