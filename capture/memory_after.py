"""What happened after captures to memory that graphs point into. Evidence of a process.

Part of a :class:`~capture.memory_map.Snapshot`. Times are Unix time in microseconds; stacks are
places in the snapshot's own table, -1 where nothing is known.
"""

from __future__ import annotations

import msgspec

FREE_COLUMNS = (
    "device",
    "address",
    "size_bytes",
    "freed_us",
    "stack",
    "after_us",
    "reused_us",
    "reused_stack",
    "returned_us",
)
REBIND_COLUMNS = (
    "name",
    "kind",
    "address",
    "size_bytes",
    "new_address",
    "new_us",
    "seen_us",
    "noticed_us",
    "stack",
)


class Frees(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Blocks that were freed after a capture whose graph points into them, in order of notice."""

    device: list[int] = []
    address: list[int] = []
    size_bytes: list[int] = []
    freed_us: list[int] = []
    """When; where no history told, when it was noticed."""
    stack: list[int] = []
    """What freed it."""
    after_us: list[int] = []
    """When it was last known to be allocated; equal to `freed_us` where the history told."""
    reused_us: list[int] = []
    """When this memory was handed out again; 0 if that was not seen."""
    reused_stack: list[int] = []
    """To whom."""
    returned_us: list[int] = []
    """When it was noticed to be given back to the driver; 0 if that was not seen."""


class Rebinds(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Named tensors that got other storage after a capture whose graph points into the old one."""

    name: list[str] = []
    """As in :class:`~capture.memory_map.Names`."""
    kind: list[str] = []
    """``"parameter"``, ``"buffer"``, ``"gradient"``, ``"state"`` or ``"variable"``."""
    address: list[int] = []
    """Of the old storage."""
    size_bytes: list[int] = []
    new_address: list[int] = []
    """0 for storage that is on no CUDA device."""
    new_us: list[int] = []
    """When the new storage was allocated; 0 if that was not seen."""
    seen_us: list[int] = []
    """When the old storage was last seen there."""
    noticed_us: list[int] = []
    stack: list[int] = []
    """What allocated the new storage."""


class Blind(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A time in which frees were not seen."""

    from_us: int
    until_us: int
    reason: str


class After(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was seen of a process between its captures and its end.

    Attributes
    ----------
    from_us, until_us : int or None
        From the first capture to the last look.
    how : str
        ``"history"`` where torch's memory history was read, ``"looks"`` where blocks were only
        compared at captures and at the end.
    blind : list of Blind
        Within that time. A block freed and handed out again in it may have gone unnoticed.
    workspace_bytes : list of int
        Sizes that cuBLAS's and cuBLASLt's workspaces have in this process.
    """

    from_us: int | None = None
    until_us: int | None = None
    how: str = ""
    blind: list[Blind] = []
    workspace_bytes: list[int] = []
