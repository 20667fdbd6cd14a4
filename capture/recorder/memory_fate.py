"""What became of a block that was freed after a capture."""

from __future__ import annotations

from typing import Any


class Fate:
    """A block that was freed after a capture, and what came then."""

    __slots__ = (
        "address",
        "after_us",
        "device",
        "frames",
        "freed_us",
        "returned_us",
        "reused_frames",
        "reused_us",
        "size_bytes",
    )

    def __init__(
        self, device: int, address: int, size_bytes: int, freed_us: int, after_us: int, frames: Any
    ) -> None:
        self.device, self.address, self.size_bytes = device, address, size_bytes
        self.freed_us, self.after_us, self.frames = freed_us, after_us, frames
        self.reused_us, self.reused_frames = 0, None
        self.returned_us = 0
