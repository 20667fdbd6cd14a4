"""Memory that replays may write: saved before, restored between and after."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ...driver.replay_protocol import ReplayDriver
from ...errors import GraphLensError
from ...memory.addresses import BlockMap

SPARE_BYTES = 1 << 30
"""Device memory that is left alone: executables and the script's libraries need some."""
MOST_HOST_BYTES = 32 << 30
TABLE_BYTES = 1 << 20
"""Blocks up to this size are searched for addresses: kernels may be given tables of them."""
ALL_TABLES_BYTES = 16 << 20
MOST_FOREIGN_BYTES = 8 << 30
"""Of one allocation outside torch's allocator; larger ones are somebody's pool."""
COMPARED_BYTES = 1 << 20
SMALL_BYTES = 2 << 20
"""torch puts tensors below 1 MiB into segments of this size."""


class TooLargeError(GraphLensError):
    """Neither device nor host has room for what would have to be saved."""


class Region(NamedTuple):
    """Memory to save."""

    start: int
    size_bytes: int


class Plan(NamedTuple):
    """What is saved, and what cannot be."""

    regions: list[Region]
    notes: list[str]

    @property
    def size_bytes(self) -> int:
        """Bytes of all regions."""
        return sum(region.size_bytes for region in self.regions)


def plan(driver: ReplayDriver, addresses: Iterable[int], blocks: BlockMap) -> Plan:
    """Return the memory that a graph may write: all that any address in it points into.

    What a kernel writes is not known, so whole blocks of torch's allocator count, and whole
    allocations of others. Tables of addresses in small blocks are followed one step.
    """
    wanted = {Region(*block) for block in map(blocks.find, addresses) if block is not None}
    outside = [address for address in addresses if blocks.find(address) is None]
    foreign, notes = _foreign(driver, outside)
    wanted |= foreign
    wanted |= _tables(driver, wanted, blocks)
    return Plan(sorted(wanted), notes)


def _foreign(driver: ReplayDriver, addresses: Iterable[int]) -> tuple[set[Region], list[str]]:
    regions: set[Region] = set()
    unsaved: dict[str, int] = {}
    for address in addresses:
        found = driver.range_of(address)
        if found is None:
            continue  # no address at all
        if found.kind not in ("device", "host") or not found.size_bytes:
            unsaved[f"{found.kind} memory"] = unsaved.get(f"{found.kind} memory", 0) + 1
        elif found.size_bytes > MOST_FOREIGN_BYTES:
            what = f"an allocation of {found.size_bytes >> 20} MiB outside torch's allocator"
            unsaved[what] = unsaved.get(what, 0) + 1
        else:
            regions.add(Region(found.start, found.size_bytes))
    notes = [f"not saved: {what}, {count} addresses" for what, count in sorted(unsaved.items())]
    return regions, notes


def _tables(driver: ReplayDriver, regions: Iterable[Region], blocks: BlockMap) -> set[Region]:
    low, end = blocks.span
    found: set[Region] = set()
    left = ALL_TABLES_BYTES
    for region in sorted(regions, key=lambda item: item.size_bytes):
        if region.size_bytes > min(TABLE_BYTES, left):
            break
        left -= region.size_bytes
        words = array("Q")
        data = read(driver, region.start, region.size_bytes)
        words.frombytes(data[: len(data) // 8 * 8])
        for word in words:
            if low <= word < end:
                block = blocks.find(word)
                if block is not None:
                    found.add(Region(*block))
    return found


def fitting(regions: Iterable[Region], room_bytes: int) -> list[Region]:
    """Return the regions that fit, the smallest first: the largest are weights as a rule.

    Examples
    --------
    >>> fitting([Region(100, 8), Region(300, 2), Region(200, 4)], 7)
    [Region(start=200, size_bytes=4), Region(start=300, size_bytes=2)]
    """
    found = []
    for region in sorted(regions, key=lambda item: item.size_bytes):
        if region.size_bytes > room_bytes:
            break
        room_bytes -= region.size_bytes
        found.append(region)
    return sorted(found)


def read(driver: ReplayDriver, start: int, size_bytes: int) -> bytes:
    """Return bytes of device or pinned memory; waits for the device."""
    page = driver.allocate_host(size_bytes)
    try:
        driver.copy(page, start, size_bytes, 0)
        driver.synchronize(0)
        return ctypes.string_at(page, size_bytes)
    finally:
        driver.free_host(page)


class SavedState:
    """A copy of some regions, on the device if it has room, else in pinned memory.

    Parameters
    ----------
    driver : ReplayDriver
    regions : list of Region
    host_bytes : int
        What the host may give.
    partly : bool
        Leave the largest regions out where there is no room for all.
    temporaries : set of (int, int)
        Regions whose contents matter only within a replay.

    Raises
    ------
    TooLargeError
        There is no room.
    """

    def __init__(
        self,
        driver: ReplayDriver,
        regions: list[Region],
        host_bytes: int = MOST_HOST_BYTES,
        *,
        partly: bool = False,
        temporaries: Collection[tuple[int, int]] = (),
    ) -> None:
        self._driver = driver
        self._temporaries = frozenset(Region(*item) for item in temporaries)
        self.on_host = False
        self.left_out: list[Region] = []
        self._copy = 0
        free, _ = driver.memory_info()
        device_bytes = max(0, free - SPARE_BYTES)
        room = max(device_bytes, host_bytes)
        self.regions = fitting(regions, room)
        self.size_bytes = sum(region.size_bytes for region in self.regions)
        if len(self.regions) < len(regions):
            self.left_out = sorted(set(regions) - set(self.regions))
            if not partly:
                whole = sum(region.size_bytes for region in regions)
                raise TooLargeError(
                    f"its nodes point into {whole >> 20:,} MiB of memory that would have to be "
                    f"saved; the device has {device_bytes >> 20:,} MiB to spare and the host "
                    f"{host_bytes >> 20:,} MiB: measure it in a process that holds less, or allow "
                    f"replays to change memory with --unsaved"
                )
        if not self.size_bytes:
            return
        self.on_host = self.size_bytes > device_bytes
        give = driver.allocate_host if self.on_host else driver.allocate
        self._copy = give(self.size_bytes)
        for there, region in self._places():
            driver.copy(there, region.start, region.size_bytes, 0)
        driver.synchronize(0)

    def _places(self) -> Iterator[tuple[int, Region]]:
        at = self._copy
        for region in self.regions:
            yield at, region
            at += region.size_bytes

    def restore(self, stream: int, *, blank: bool = False) -> None:
        """Put everything back, in the order of a stream.

        Parameters
        ----------
        stream : int
        blank : bool
            Fill temporaries with zeros instead. Where a node is left out, others read what it
            would have written: a zero is an index inside any table, what an earlier replay left
            there may not be.
        """
        for there, region in self._places():
            if blank and region in self._temporaries:
                self._driver.fill(region.start, region.size_bytes, 0, stream)
            else:
                self._driver.copy(region.start, there, region.size_bytes, stream)

    def small_temporaries(self) -> list[Region]:
        """Return temporaries that are no larger than what tables of indices are.

        Neighbours of one allocation are joined; no memset may reach from one into another.
        """
        found: list[Region] = []
        for region in self.regions:
            if region not in self._temporaries or region.size_bytes > SMALL_BYTES:
                continue
            if found and self._continues(found[-1], region):
                region = Region(found[-1].start, found.pop().size_bytes + region.size_bytes)
            found.append(region)
        return found

    def _continues(self, region: Region, after: Region) -> bool:
        buffer_of = self._driver.buffer_of
        return region.start + region.size_bytes == after.start and buffer_of(
            region.start
        ) == buffer_of(after.start)

    def differing(self, stream: int, most_bytes: int = COMPARED_BYTES) -> tuple[int, int]:
        """Compare memory with the copy, from the smallest region on.

        Returns
        -------
        compared_bytes, differing_regions : int
        """
        self._driver.synchronize(stream)
        compared = wrong = 0
        for there, region in sorted(self._places(), key=lambda item: item[1].size_bytes):
            if compared + region.size_bytes > most_bytes:
                break
            compared += region.size_bytes
            size = region.size_bytes
            if read(self._driver, there, size) != read(self._driver, region.start, size):
                wrong += 1
        return compared, wrong

    def close(self) -> None:
        """Free the copy."""
        copy, self._copy = self._copy, 0
        self.regions = []
        if copy and self.on_host:
            self._driver.free_host(copy)
        elif copy:
            self._driver.free(copy)


def host_bytes(path: str = "/proc/meminfo") -> int:
    """Return how much memory the host may give: half of what is available, at most 32 GiB."""
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return min(MOST_HOST_BYTES, int(line.split()[1]) * 1024 // 2)
    except (OSError, ValueError, IndexError):
        pass
    return 1 << 30
