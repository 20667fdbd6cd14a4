"""Repeats along the longest lane: layers of a network that look alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .pack import Placement

MIN_REPEATS = 4
MIN_MATCH = 0.9
"""Share of rows that must equal the row one period later."""
MOST_TRIED = 16
"""Shifts that are checked exactly, the most promising first."""


def repeat_period(placement: Placement, kind: NDArray[np.int64]) -> int:
    """Find the rows after which the picture repeats, 0 if it does not.

    Parameters
    ----------
    placement
        The unwrapped picture.
    kind
        Equal numbers for nodes that are alike, shape ``(n,)``.

    Notes
    -----
    A row is described by its nodes' kinds and lanes. The smallest shift that leaves nearly all
    rows equal is the period; a shift that a constant sequence would also pass is refused.
    """
    rows = placement.rows
    if rows < 2 * MIN_REPEATS:
        return 0
    mixed = (kind + 1) * 0x9E3779B97F4A7C1 + placement.lane * 0xC2B2AE3D27D4EB
    sign = np.zeros(rows, dtype=np.uint64)
    np.add.at(sign, placement.row, mixed.astype(np.uint64))
    values, code = np.unique(sign, return_inverse=True)
    if len(values) == 1:
        return 0
    code = code.reshape(-1)
    length = 1 << (2 * rows - 1).bit_length()
    # Equal rows per shift, as a correlation of random signs: exact counting would be quadratic.
    rng = np.random.default_rng(0)
    same = np.zeros(rows)
    for _ in range(4):
        signs = rng.choice((-1.0, 1.0), len(values))[code]
        spectrum = np.fft.rfft(signs, length)
        same += np.fft.irfft(spectrum * spectrum.conj(), length)[:rows]
    overlap = rows - np.arange(rows)
    score = same / (4 * overlap)
    longest = rows // MIN_REPEATS

    def matches(shift: int) -> bool:
        return float(np.mean(code[shift:] == code[:-shift])) >= MIN_MATCH

    for shift in np.argsort(-score[: longest + 1], kind="stable")[:MOST_TRIED].tolist():
        if shift >= 2 and matches(shift):
            divisors = [d for d in range(2, shift + 1) if shift % d == 0]
            return next(d for d in divisors if matches(d))
    return 0
