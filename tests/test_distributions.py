"""Summaries of samples agree with numpy; a difference counts from twice the spread on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.distributions import Summary, differs, quantile, summarise


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=40))
def test_quantiles_are_numpys(samples: list[int]) -> None:
    found = summarise(samples)
    assert found is not None
    low, middle, high, p95 = np.quantile(samples, [0.25, 0.5, 0.75, 0.95])
    assert (found.count, found.minimum, found.maximum) == (
        len(samples),
        min(samples),
        max(samples),
    )
    assert found.median == pytest.approx(middle, abs=1)
    assert found.p95 == pytest.approx(p95, abs=1)
    assert found.iqr == pytest.approx(high - low, abs=1)


def test_nothing_and_one() -> None:
    assert summarise([]) is None
    assert summarise([5]) == Summary(1, 5, 5, 5, 5, 0)
    with pytest.raises(ValueError, match="no"):
        quantile([], 0.5)


def test_differences() -> None:
    assert differs(3, 1)
    assert differs(-3, 1)
    assert not differs(2, 1)
    assert not differs(0, 0)
    assert differs(1, 0)
