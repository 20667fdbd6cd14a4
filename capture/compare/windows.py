"""How long two sequences are equal from any two places on, without walking along them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


class Windows:
    """Hashes of all windows of 1, 2, 4, ... keys of both sequences, one after the other."""

    def __init__(self, before: Ints, after: Ints) -> None:
        self.shift = len(before) + 1
        ends = np.array([-1, -2], dtype=np.int64)
        keys = np.concatenate([before, ends[:1], after, ends[1:]])
        level = _scrambled(keys.astype(np.uint64))
        self.levels: list[Words] = [level]
        for power in range(max(min(len(before), len(after)).bit_length() - 1, 0)):
            later = np.zeros_like(level)
            later[: -(1 << power)] = level[1 << power :]
            level = _scrambled(level + np.uint64(0x9E3779B97F4A7C15) * (later + np.uint64(power)))
            self.levels.append(level)

    def run_lengths(self, before: Ints, after: Ints) -> Ints:
        """Return how many keys are equal from each pair of positions on."""
        here, there = before.copy(), after + self.shift
        failed = np.full(len(here), len(self.levels), dtype=np.int64)
        going = np.arange(len(here))
        for power, level in enumerate(self.levels):
            same = level[here[going]] == level[there[going]]
            failed[going[~same]] = power
            going = going[same]
            if not len(going):
                break
            here[going] += 1 << power
            there[going] += 1 << power
        for power in range(int(failed.max(initial=0)) - 1, -1, -1):
            level = self.levels[power]
            open_ = np.flatnonzero(failed > power)
            same = open_[level[here[open_]] == level[there[open_]]]
            here[same] += 1 << power
            there[same] += 1 << power
        return here - before


def _scrambled(words: Words) -> Words:
    """Spread 64 bits evenly (the finaliser of SplitMix64)."""
    mixed = words.copy()
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
