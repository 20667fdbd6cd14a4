"""Memory that changes from one look to the next, against copies on the device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from ...driver.replay_protocol import ReplayDriver
from ...errors import DriverError
from ...writes import GRAIN_BYTES
from .saved_state import SPARE_BYTES, Region, fitting

PIECE_BYTES = 8 << 20
"""What is compared at once on the host."""

Chunks = Callable[[int, int, int], list[int]]
"""``chunks(here, there, size_bytes)`` returns the numbers of chunks of :data:`GRAIN_BYTES` that
differ, of which the last may be shorter."""


class HostCompare:
    """Compares on the host, through one page of pinned memory.

    Parameters
    ----------
    driver : ReplayDriver
    """

    def __init__(self, driver: ReplayDriver) -> None:
        self._driver = driver
        self._page = driver.allocate_host(2 * PIECE_BYTES)

    def read(self, address: int, size_bytes: int, half: int = 0) -> bytes:
        """Return at most a piece of memory; waits for the device."""
        at = self._page + half * PIECE_BYTES
        self._driver.copy(at, address, size_bytes, 0)
        self._driver.synchronize(0)
        return ctypes.string_at(at, size_bytes)

    def __call__(self, here: int, there: int, size_bytes: int) -> list[int]:
        """Return the numbers of chunks that differ."""
        found: list[int] = []
        for at in range(0, size_bytes, PIECE_BYTES):
            size = min(PIECE_BYTES, size_bytes - at)
            one, other = self.read(here + at, size), self.read(there + at, size, 1)
            if one == other:
                continue
            first = at // GRAIN_BYTES
            found += [
                first + number
                for number, start in enumerate(range(0, size, GRAIN_BYTES))
                if one[start : start + GRAIN_BYTES] != other[start : start + GRAIN_BYTES]
            ]
        return found

    def close(self) -> None:
        """Give the page back."""
        with suppress(DriverError):
            self._driver.free_host(self._page)


class WatchedMemory:
    """Copies of regions, against which what is there is compared.

    Parameters
    ----------
    driver : ReplayDriver
    regions : list of Region
    host : HostCompare
    chunks : callable, optional
        Compares faster than the host does.

    Attributes
    ----------
    regions : list of Region
        Those that the device has room to copy.
    left_out : list of Region
    """

    def __init__(
        self,
        driver: ReplayDriver,
        regions: list[Region],
        host: HostCompare,
        chunks: Chunks | None = None,
    ) -> None:
        self._driver = driver
        self._host = host
        self._chunks = chunks or host
        free, _ = driver.memory_info()
        self.regions = fitting(regions, max(0, free - SPARE_BYTES))
        self.left_out = sorted(set(regions) - set(self.regions))
        self._copies: dict[Region, int] = {}
        self._copy = 0
        size = sum(region.size_bytes for region in self.regions)
        if size:
            at = self._copy = driver.allocate(size)
            for region in self.regions:
                self._copies[region] = at
                at += region.size_bytes
        self.take()

    def take(self) -> None:
        """Copy all regions as they are now."""
        for region, there in self._copies.items():
            self._driver.copy(there, region.start, region.size_bytes, 0)
        self._driver.synchronize(0)

    def changed(self, regions: Iterable[Region]) -> list[Region]:
        """Return ranges of some regions that changed since they were last looked at."""
        found: list[Region] = []
        for region in regions:
            there = self._copies.get(region)
            if there is None:
                continue
            for first, end in _runs(self._chunks(region.start, there, region.size_bytes)):
                start, stop = first * GRAIN_BYTES, min(end * GRAIN_BYTES, region.size_bytes)
                found.append(self._trimmed(region.start, there, start, stop))
                self._driver.copy(there + start, region.start + start, stop - start, 0)
        if found:
            self._driver.synchronize(0)
        return found

    def _trimmed(self, here: int, there: int, start: int, stop: int) -> Region:
        """Leave out bytes at both ends that are as they were."""
        first = min(start + GRAIN_BYTES, stop)
        low = start + self._differs(here + start, there + start, first - start)[0]
        last = max(start, (stop - 1) // GRAIN_BYTES * GRAIN_BYTES)
        high = last + self._differs(here + last, there + last, stop - last)[1]
        return Region(here + low, high - low)

    def _differs(self, here: int, there: int, size_bytes: int) -> tuple[int, int]:
        """Return the first byte that differs and the end of the last."""
        one, other = self._host.read(here, size_bytes), self._host.read(there, size_bytes, 1)
        differ = [at for at in range(size_bytes) if one[at] != other[at]]
        return (differ[0], differ[-1] + 1) if differ else (0, size_bytes)

    def close(self) -> None:
        """Free the copies."""
        copy, self._copy = self._copy, 0
        self._copies = {}
        if copy:
            with suppress(DriverError):
                self._driver.free(copy)


def _runs(chunks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of numbers that follow one another.

    Examples
    --------
    >>> list(_runs([1, 2, 5]))
    [(1, 3), (5, 6)]
    """
    first = end = -1
    for number in chunks:
        if number != end:
            if end >= 0:
                yield first, end
            first = number
        end = number + 1
    if end >= 0:
        yield first, end
