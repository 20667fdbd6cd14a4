"""Whether two runs differ in addresses only: each address of one has one of the other.

Where a recording does not tell what memory a process had, an address is recognised by its size:
CUDA places memory of 64-bit processes high in user space. Words of structures that are no addresses
rarely reach there, since their upper half would have to be a number above 28,671.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..memory_map import Memory
from ..model import Kernel

Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

LOWEST = 0x7000_0000_0000
HIGHEST = 0x7FFF_FFFF_FFFF
GRANULE = 21
"""Bits of an address inside the 2 MiB that CUDA maps at a time."""
MOST_WORDS = 1 << 22
"""Words that are laid out at a time."""


class Relocation:
    """Pairs of addresses, and which of them follow one rule.

    Addresses are told in pairs, before and after; :meth:`settle` then decides. A pair is only
    relocated when each of its addresses is mostly paired with the other, or when it lies as far
    from its partner as most of what shares its 2 MiB.
    """

    def __init__(self) -> None:
        self._votes: Counter[tuple[int, int]] = Counter()
        self._accepted: set[tuple[int, int]] = set()
        self._distances: dict[int, int] = {}
        self.moved = 0
        """Distinct addresses that are others now and follow the rule."""
        self.kept = 0
        """Distinct addresses that are the same."""

    def tell(self, before: int, after: int, times: int = 1) -> None:
        """Note that an address stands where another one stood."""
        self._votes[before, after] += times

    def settle(self) -> None:
        """Decide which pairs follow the rule. O(pairs)."""
        best: dict[int, tuple[int, int]] = {}
        back: dict[int, tuple[int, int]] = {}
        for (old, new), times in self._votes.items():
            best[old] = max(best.get(old, (0, 0)), (times, new))
            back[new] = max(back.get(new, (0, 0)), (times, old))
        regions: dict[int, dict[int, int]] = {}
        for old, (times, new) in best.items():
            if back[new][1] == old:
                self._accepted.add((old, new))
                region = regions.setdefault(old >> GRANULE, {})
                region[new - old] = region.get(new - old, 0) + times
                self.moved += old != new
                self.kept += old == new
        self._distances = {
            region: max(distances, key=distances.__getitem__)
            for region, distances in regions.items()
        }

    def explains(self, before: int, after: int) -> bool:
        """Say whether two words are one address, relocated."""
        if before == after or (before, after) in self._accepted:
            return True
        return self._distances.get(before >> GRANULE) == after - before


def is_address(value: int) -> bool:
    """Say whether a word lies where CUDA places memory."""
    return LOWEST <= value <= HIGHEST


class Spans:
    """Memory that a process had, as far as a recording tells.

    Parameters
    ----------
    memory : Memory
    """

    def __init__(self, memory: Memory) -> None:
        spans = [
            (address, address + size)
            for table in (memory.segments, memory.ranges)
            if table is not None
            for address, size in zip(table.address, table.size_bytes, strict=True)
            if address > 0 and size > 0 and address + size < 1 << 63
        ]
        spans.sort()
        self._starts = np.array([start for start, _ in spans], dtype=np.uint64)
        self._ends = np.array([end for _, end in spans], dtype=np.uint64)

    def hold(self, words: Words) -> Flags:
        """Say which words are addresses inside."""
        if not len(self._starts):
            return np.zeros(words.shape, dtype=bool)
        at = np.searchsorted(self._starts, words, side="right") - 1
        inside: Flags = (at >= 0) & (words < self._ends[np.maximum(at, 0)])
        return inside


class Arguments:
    """Argument buffers of paired launches of one kernel, word by word.

    Parameters
    ----------
    pairs : sequence of (bytes, bytes)
        All of one length.
    kernel : Kernel or None
        Whose layout says which words are too small to hold an address.
    spans : (Spans, Spans), optional
        Memory before and after: words inside are addresses, however small.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[bytes, bytes]],
        kernel: Kernel | None,
        spans: tuple[Spans, Spans] | None = None,
    ) -> None:
        size = len(pairs[0][0])
        self.words = (size + 7) // 8
        fill = bytes(8 * self.words - size)
        self.before = self._laid_out([one for one, _ in pairs], fill)
        self.after = self._laid_out([other for _, other in pairs], fill)
        wide = _wide_words(kernel, self.words)
        high = (
            (self.before >= LOWEST)
            & (self.before <= HIGHEST)
            & (self.after >= LOWEST)
            & (self.after <= HIGHEST)
        )
        if spans is not None:
            high |= spans[0].hold(self.before) & spans[1].hold(self.after)
        self.addresses: Flags = high & wide

    def _laid_out(self, buffers: Sequence[bytes], fill: bytes) -> Words:
        joined = b"".join(part for data in buffers for part in (data, fill))
        return np.frombuffer(joined, dtype="<u8").reshape(len(buffers), self.words)

    def tell(self, relocation: Relocation) -> None:
        """Tell all pairs of addresses."""
        pairs = np.stack([self.before[self.addresses], self.after[self.addresses]], axis=1)
        if not len(pairs):
            return
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        pairs = pairs[order]
        firsts = np.flatnonzero(np.r_[True, (pairs[1:] != pairs[:-1]).any(axis=1)])
        times = np.diff(np.r_[firsts, len(pairs)])
        for (old, new), count in zip(pairs[firsts].tolist(), times.tolist(), strict=True):
            relocation.tell(old, new, count)

    def differing(self, explains: Callable[[int, int], bool]) -> dict[int, list[int]]:
        """Return the words of each pair that differ and are no relocated address, by row."""
        rows, columns = np.nonzero(self.before != self.after)
        found: dict[int, list[int]] = {}
        for row, column, old, new, address in zip(
            rows.tolist(),
            columns.tolist(),
            self.before[rows, columns].tolist(),
            self.after[rows, columns].tolist(),
            self.addresses[rows, columns].tolist(),
            strict=True,
        ):
            if not (address and explains(old, new)):
                found.setdefault(row, []).append(column)
        return found


def _wide_words(kernel: Kernel | None, words: int) -> Flags:
    """Say which words lie in a parameter of at least 8 bytes; all, where that is not known."""
    if kernel is None or not kernel.parameters:
        return np.ones(words, dtype=bool)
    wide = np.zeros(words, dtype=bool)
    end = 0
    for offset, size in kernel.parameters:
        end = max(end, offset + size)
        if size >= 8:
            wide[(offset + 7) // 8 : (offset + size) // 8] = True
    # A packed buffer may be longer than what the driver tells of.
    wide[(end + 7) // 8 :] = True
    return wide
