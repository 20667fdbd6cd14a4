"""What torch's allocator held at one moment, for those who follow memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from .memory_fate import Fate


class Look:
    """Blocks in use by device and address, and segments.

    Parameters
    ----------
    segments : iterable of dict
        As torch gives them, all of them.
    """

    def __init__(self, segments: Iterable[Mapping[str, Any]]) -> None:
        self.blocks: dict[tuple[int, int], Mapping[str, Any]] = {}
        self.spans: set[tuple[tuple[int, int], int]] = set()
        self._keys: list[tuple[int, int]] = []
        self._starts: list[tuple[tuple[int, int], int]] = []
        for segment in segments:
            device, address = segment.get("device", 0), segment["address"]
            self.spans.add(((device, address), address + segment["total_size"]))
            for block in segment.get("blocks", ()):
                if "address" in block:
                    address = block["address"]
                if block.get("state") != "inactive":
                    self.blocks[device, address] = block
                address += block["size"]
        self.sizes = {key: int(block["size"]) for key, block in self.blocks.items()}

    def block_in(self, fate: Fate) -> Mapping[str, Any] | None:
        """Return a block that lies where a freed one was."""
        if not self._keys:
            self._keys = sorted(self.blocks)
        at = bisect_right(self._keys, (fate.device, fate.address))
        # The block before may reach into it.
        for key in self._keys[max(0, at - 1) : at + 1]:
            inside = key[1] < fate.address + fate.size_bytes
            if key[0] == fate.device and inside and key[1] + self.sizes[key] > fate.address:
                return self.blocks[key]
        return None

    def holds(self, device: int, address: int) -> bool:
        """Say whether an address lies in a segment."""
        if not self._starts:
            self._starts = sorted(self.spans)
        at = bisect_right(self._starts, ((device, address), 1 << 64)) - 1
        if at < 0:
            return False
        (of, _), end = self._starts[at]
        return of == device and address < end

    def forget_blocks(self) -> None:
        """Keep sizes and segments alone, for the next look."""
        self.blocks, self._keys, self._starts = {}, [], []
