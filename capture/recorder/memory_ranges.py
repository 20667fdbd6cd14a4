"""Memory outside torch's allocator that a graph's addresses lie in: what CUDA says of it."""

from __future__ import annotations

from typing import Any

from ..driver.records import RELAXED
from ..memory_map import PAGEABLE, Memory, Ranges
from .host_maps import HOST_MAPS, PAGE_BYTES

MAX_ASKED = 2_000
"""Addresses that CUDA is asked about, per graph."""


def relaxed(driver: Any, call: Any, *arguments: Any) -> Any:
    """Call the driver whatever other threads capture."""
    mode = driver.exchange_capture_mode(RELAXED)
    try:
        return call(*arguments)
    finally:
        driver.exchange_capture_mode(mode)


def add_ranges(
    driver: Any, memory: Memory, ordered: list[int], segments: list[dict[str, Any]]
) -> None:
    """Ask CUDA about the addresses that lie outside torch's segments; never raises.

    Parameters
    ----------
    driver : ReplayDriver
    memory : Memory
        Gets the ranges, and notes on what could not be asked.
    ordered : list of int
        Sorted numbers that may be addresses.
    segments : list of dict
        All that torch's allocator holds.
    """
    spans = sorted((s["address"], s["address"] + s["total_size"]) for s in segments)
    outside, at = [], 0
    for address in ordered:
        while at < len(spans) and spans[at][1] <= address:
            at += 1
        if at == len(spans) or address < spans[at][0]:
            outside.append(address)
    ranges = Ranges()

    def ask() -> None:
        end = 0
        for address in outside[:MAX_ASKED]:
            if address < end:
                continue
            found = driver.range_of(address)
            if found is not None:
                ranges.address.append(found.start)
                ranges.size_bytes.append(found.size_bytes)
                ranges.kind.append(found.kind)
                end = max(end, found.start + found.size_bytes)
            elif HOST_MAPS.hold(address):
                start = max(end, address // PAGE_BYTES * PAGE_BYTES)
                end = address // PAGE_BYTES * PAGE_BYTES + PAGE_BYTES
                ranges.address.append(start)
                ranges.size_bytes.append(end - start)
                ranges.kind.append(PAGEABLE)

    try:
        relaxed(driver, ask)
        memory.asked_ranges = len(outside) <= MAX_ASKED
    except Exception as error:
        memory.notes.append(
            f"CUDA could not be asked about memory outside torch: {type(error).__name__}: {error}"
        )
    if ranges.address:
        memory.ranges = ranges
    if len(outside) > MAX_ASKED:
        memory.notes.append(
            f"CUDA was asked about the first {MAX_ASKED} of {len(outside)} numbers that may be "
            f"addresses outside torch's memory."
        )
