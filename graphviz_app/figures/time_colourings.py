"""Colours by time: how long nodes took, and how near they are to the critical path.

Scales are read by their lightness, which every eye sees, and run the other way on a dark ground.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..format import duration_text
from ..node_times import NodeTimes
from .scene import Colouring, LegendEntry

TIME_SCALE = (
    ("#F1E8D3", "#33283E"),
    ("#E8CFAE", "#4E3355"),
    ("#DEB08D", "#763F68"),
    ("#D08C75", "#A34F6C"),
    ("#BA6566", "#CE6A66"),
    ("#99415E", "#EC9469"),
    ("#6B2352", "#FBC97F"),
)
"""From short to long, on a light and on a dark ground; after CARTO's BrwnYl and magma."""
SLACK_SCALE = (
    ("#5B8DB8", "#6C9DC6"),
    ("#8DB0CE", "#527A9B"),
    ("#B9CFE1", "#3D5970"),
    ("#DCE6EF", "#2C3D4C"),
)
"""From little slack to much."""
ON_PATH = ("#C2410C", "#FF9A5C")
NOT_TIMED = ("#BFC4CB", "#5A626C")
MOST_BINS = len(TIME_SCALE)
_STEPS = ((1, 2, 5), (1, 3), (1,))


def bounds(values: NDArray[np.float64], most: int = MOST_BINS) -> list[int]:
    """Return the limits of bins that hold all values, at readable numbers on a log scale.

    Parameters
    ----------
    values : array of float, shape ``(n,)``
        Nanoseconds, without NaN. What is below one counts as one.
    most : int
        Most bins; the highest takes all that is above when even decades are too many.

    Returns
    -------
    list of int
        One more than there are bins; empty without values.

    Examples
    --------
    >>> bounds(np.array([1200.0, 4800.0, 61_000.0]))
    [1000, 2000, 5000, 10000, 20000, 50000, 100000]
    """
    if not len(values):
        return []
    low, high = max(float(values.min()), 1.0), max(float(values.max()), 1.0)
    limits: list[int] = []
    for steps in _STEPS:
        marks = [
            factor * 10**power
            for power in range(int(np.log10(low)), int(np.log10(high)) + 2)
            for factor in steps
        ]
        first = max(place for place, mark in enumerate(marks) if mark <= low)
        last = min(place for place, mark in enumerate(marks) if mark > high)
        limits = marks[first : last + 1]
        if len(limits) - 1 <= most:
            break
    return [limits[0], *limits[len(limits) - most :]] if len(limits) - 1 > most else limits


def bin_of(values: NDArray[np.float64], limits: Sequence[int]) -> NDArray[np.int64]:
    """Return the bin of each value; NaN goes to the first."""
    inner = np.array(limits[1:-1], np.float64)
    return np.searchsorted(inner, np.nan_to_num(values), side="right").astype(np.int64)


def _spread(scale: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """Take `count` colours of a scale, its ends included; a single one is the loudest."""
    if count == 1:
        return [scale[-1]]
    return [scale[round(i * (len(scale) - 1) / (count - 1))] for i in range(count)]


def by_time(times: NodeTimes) -> Colouring:
    """Colour each node by its duration; nodes that were not timed are grey and say so."""
    timed = ~np.isnan(times.duration_ns)
    limits = bounds(times.duration_ns[timed])
    bins = max(len(limits) - 1, 0)
    index = bin_of(times.duration_ns, limits) if bins else np.zeros(len(timed), np.int64)
    index[~timed] = bins
    counts = np.bincount(index, minlength=bins + 1)
    legend = [
        LegendEntry(
            f"{duration_text(low)} to {duration_text(high)}", light, int(counts[place]), dark
        )
        for place, (low, high, (light, dark)) in enumerate(
            zip(limits, limits[1:], _spread(TIME_SCALE, bins) if bins else [], strict=False)
        )
    ]
    if counts[bins]:
        legend.append(LegendEntry("not timed", NOT_TIMED[0], int(counts[bins]), NOT_TIMED[1]))
    return Colouring("time", "Time", index, legend, strong=True)


def path_edges(
    times: NodeTimes, source: NDArray[np.int32], target: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Say which edges join one node of the critical path to the next, shape ``(e,)``."""
    after = np.full(len(times.duration_ns), -1, np.int64)
    after[times.path[:-1]] = times.path[1:]
    return np.asarray(after[source] == target, np.bool_)


def by_path(times: NodeTimes, source: NDArray[np.int32], target: NDArray[np.int32]) -> Colouring:
    """Colour the critical path loud, and all else by its slack: the more, the quieter."""
    on_path = times.on_path
    timed = ~np.isnan(times.duration_ns)
    rest = timed & ~on_path & ~np.isnan(times.slack_ns)
    limits = bounds(times.slack_ns[rest], len(SLACK_SCALE))
    bins = max(len(limits) - 1, 0)
    index = np.full(len(timed), bins + 1, np.int64)
    index[rest] = bin_of(times.slack_ns[rest], limits) + 1 if bins else 0
    index[on_path] = 0
    counts = np.bincount(index, minlength=bins + 2)
    legend = [LegendEntry("on the critical path", ON_PATH[0], int(counts[0]), ON_PATH[1])]
    if bins:
        colours = _spread(SLACK_SCALE, bins) if bins > 1 else [SLACK_SCALE[0]]
        for place in range(bins):
            low, high = limits[place], limits[place + 1]
            # The first bin also holds what has next to no slack, in a tie with the path.
            name = (
                f"slack under {duration_text(high)}"
                if place == 0
                else f"slack {duration_text(low)} to {duration_text(high)}"
            )
            light, dark = colours[place]
            legend.append(LegendEntry(name, light, int(counts[place + 1]), dark))
    if counts[bins + 1]:
        entry = LegendEntry("not timed", NOT_TIMED[0], int(counts[bins + 1]), NOT_TIMED[1])
        legend.append(entry)
    edges = path_edges(times, source, target)
    return Colouring("path", "Critical path", index, legend, strong=True, loud_edges=edges)
