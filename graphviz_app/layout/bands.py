"""Bands: the rows of a long picture folded into columns that fill a screen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pack import Placement

CELL_WIDTH = 184.0
"""Width of a lane in the units in which one screen pixel is 1.0 at full size."""
CELL_HEIGHT = 36.0
"""Height of a row in the same units."""
BAND_GAP = 0.3
"""Space between two bands, in lanes."""
FULL_SIZE_HEIGHT = 700.0
"""A picture that fits into this height at full size is not folded further."""
BETTER = 1.02
"""How much larger a picture must show before more bands are worth it."""
MANY_ROWS = 5000
"""From this many rows on, fewer numbers of bands are tried."""
SLACK = 0.15
"""Share of a band's height by which a cut may move to where fewer edges cross."""


@dataclass(frozen=True)
class Fold:
    """A way to cut the rows into bands.

    Attributes
    ----------
    cuts
        First row of each band, and the number of rows at the end, shape ``(bands + 1,)``.
    size
        Width and height of the picture, in lanes and rows.
    scale
        How large the picture shows in the reference view, 1.0 being full size.
    """

    cuts: NDArray[np.int64]
    size: tuple[float, float]
    scale: float


def crossings(
    rows: int, source_row: NDArray[np.int64], target_row: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the edges that cross each boundary above a row, shape ``(rows + 1,)``."""
    change = np.bincount(source_row + 1, minlength=rows + 2) - np.bincount(
        target_row + 1, minlength=rows + 2
    )
    return np.cumsum(change)[: rows + 1]


def _cut(bands: int, rows: int, crossing: NDArray[np.int64], step: float) -> NDArray[np.int64]:
    """Cut near every ``step`` rows, where the fewest edges cross."""
    cuts = [0]
    for k in range(1, bands):
        ideal = k * step
        reach = max(1, int(step * SLACK))
        low = max(cuts[-1] + 1, round(ideal) - reach)
        high = min(rows - 1, round(ideal) + reach)
        if low > high:
            continue
        window = np.arange(low, high + 1)
        cost = crossing[low : high + 1] * (4.0 * rows) + np.abs(window - ideal)
        cuts.append(int(window[np.argmin(cost)]))
    return np.array([*cuts, rows], dtype=np.int64)


def _widths(
    cuts: NDArray[np.int64], placement: Placement, lanes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each node's band and the lanes used per band."""
    band_of_row = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    band = band_of_row[placement.row]
    used = np.zeros((len(cuts) - 1) * lanes, dtype=bool)
    used[band * lanes + placement.lane] = True
    return band, used.reshape(-1, lanes).sum(axis=1)


def fold(placement: Placement, crossing: NDArray[np.int64], aspect: float, period: int = 0) -> Fold:
    """Choose the number of bands that shows the picture largest in a view of this aspect.

    Parameters
    ----------
    placement
        The unwrapped picture.
    crossing
        Edges over each row boundary, from `crossings`.
    aspect
        Width over height of the view.
    period
        Rows after which the picture repeats, 0 if it does not: bands of whole periods put equal
        parts side by side.
    """
    rows, lanes = placement.rows, int(placement.lane.max()) + 1

    def attempt(bands: int) -> Fold:
        step = rows / bands
        if period and step >= period:
            step = period * round(step / period)
            bands = -(-rows // int(step))
        cuts = _cut(bands, rows, crossing, step)
        _, used = _widths(cuts, placement, lanes)
        width = float(used.sum()) + BAND_GAP * (len(used) - 1)
        height = float(np.diff(cuts).max())
        scale = min(
            1.0,
            FULL_SIZE_HEIGHT * aspect / (width * CELL_WIDTH),
            FULL_SIZE_HEIGHT / (height * CELL_HEIGHT),
        )
        return Fold(cuts, (width, height), scale)

    def ideal_bands(lanes_per_band: float) -> float:
        return float((aspect * rows * CELL_HEIGHT / (lanes_per_band * CELL_WIDTH)) ** 0.5)

    best = attempt(1)
    # A band is as wide as its widest row, which depends on the cuts: approach it from a guess.
    ideal = ideal_bands(best.size[0])
    for _ in range(3):
        guess = attempt(min(rows, max(1, round(ideal))))
        best = guess if guess.scale > best.scale * BETTER else best
        ideal = ideal_bands(guess.size[0] / (len(guess.cuts) - 1))
    factors = (0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4) if rows < MANY_ROWS else (0.85, 1.0, 1.15)
    for bands in sorted({min(rows, max(1, round(ideal * f))) for f in factors}):
        other = attempt(bands)
        best = other if other.scale > best.scale * BETTER else best
    return best


def columns(
    cuts: NDArray[np.int64], placement: Placement
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Drop the lanes a band does not use.

    Returns
    -------
    tuple
        Per node: band and column counted over all bands. Per band: lanes used. Per column: its
        place, in lanes from the left.
    """
    lanes = int(placement.lane.max()) + 1
    band, used = _widths(cuts, placement, lanes)
    _, column = np.unique(band * lanes + placement.lane, return_inverse=True)
    band_of_column = np.repeat(np.arange(len(used)), used)
    place = np.arange(len(band_of_column)) + BAND_GAP * band_of_column
    return band, column.reshape(-1).astype(np.int64), used, place
