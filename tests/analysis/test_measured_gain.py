"""A prediction is set against what was gained, and against nothing else."""

from __future__ import annotations

import pytest

from capture.analysis.measured_gain import MeasuredGain


@pytest.mark.parametrize(
    ("gain", "ratio"),
    [
        (MeasuredGain(1000, 50), 1.2),
        (MeasuredGain(90, 50), None),  # within twice the spread
        (MeasuredGain(-1000, 50), None),  # longer without the node: no gain to compare with
    ],
)
def test_only_a_gain_beyond_the_noise_has_a_ratio(gain: MeasuredGain, ratio: float | None) -> None:
    assert gain.ratio_of(1200) == ratio
    assert gain.ratio_of(None) is None
