"""What it costs to lay two sequences of keys side by side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Relations = list[tuple[Ints, Ints]]
"""Weaker keys of both sides: a pair that has any of them in common costs less than another one."""
Runs = list[tuple[int, int, int]]
"""Places on both sides, and how many keys are equal from there on."""
Pairs = list[tuple[int, int]]

GAP = 2
"""Cost of a key that only one side has."""
RELATED = 1
"""Cost of a pair whose keys differ and are related."""
UNRELATED = 3
"""Cost of any other pair: less than a gap on each side, more than one."""
