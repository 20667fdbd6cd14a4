"""How a launch fills the device: blocks, waves, theoretical occupancy."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model import Gpu

WARP = 32
"""Threads that are scheduled together, on every device so far."""


class LaunchShape(NamedTuple):
    """A launch on a device.

    Attributes
    ----------
    blocks : int
        Of the whole grid.
    threads : int
        Per block.
    resident : int
        Blocks that one multiprocessor holds at a time.
    waves : float
        Grid blocks over what the device holds at a time.
    tail : float
        Share of the block slots that stay empty in the last wave, over all waves.
    occupancy : float or None
        Resident warps over the most a multiprocessor holds, if the device tells that.
    """

    blocks: int
    threads: int
    resident: int
    waves: float
    tail: float
    occupancy: float | None


def launch_shape(payload: Any, gpu: Gpu | None) -> LaunchShape | None:
    """Describe a kernel node's launch, or return ``None`` where something needed is unknown.

    Notes
    -----
    ``resident`` is the driver's ``cuOccupancyMaxActiveBlocksPerMultiprocessor``. Clusters and what
    else runs at the same time are not taken into account.
    """
    grid, block = getattr(payload, "grid", None), getattr(payload, "block", None)
    resident = getattr(payload, "max_blocks_per_multiprocessor", None)
    if not grid or not block or not resident or gpu is None or not gpu.multiprocessors:
        return None
    blocks = grid[0] * grid[1] * grid[2]
    threads = block[0] * block[1] * block[2]
    if blocks <= 0 or threads <= 0:
        return None
    slots = gpu.multiprocessors * resident
    rounds = -(-blocks // slots)
    warps = -(-threads // WARP)
    most = (gpu.max_threads_per_multiprocessor or 0) // WARP
    return LaunchShape(
        blocks,
        threads,
        resident,
        blocks / slots,
        (rounds * slots - blocks) / (rounds * slots),
        min(1.0, resident * warps / most) if most else None,
    )
