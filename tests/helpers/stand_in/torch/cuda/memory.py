"""An allocator whose segments and history a script writes down itself."""

from __future__ import annotations

import os
from typing import Any

segments: list[dict[str, Any]] = []
history: dict[str, Any] = {}
events: list[dict[str, Any]] = []


def get_allocator_backend() -> str:
    return os.environ.get("ALLOCATOR", "native")


def memory_stats_as_nested_dict(device: int) -> dict[str, Any]:
    blocks = [block for segment in segments for block in segment["blocks"]]
    reserved = sum(segment["total_size"] for segment in segments)
    used = sum(block["size"] for block in blocks if block["state"] == "active_allocated")
    return {
        "reserved_bytes": {"all": {"current": reserved, "peak": reserved}},
        "allocated_bytes": {"all": {"current": used, "peak": used}},
    }


def _record_memory_history(
    enabled: str | None = "all",
    stacks: str = "all",
    max_entries: int = 1,
    clear_history: bool = False,
) -> None:
    history.clear()
    if enabled:
        history.update(enabled=enabled, stacks=stacks, max_entries=max_entries)
    if clear_history:
        events.clear()


def segment(
    address: int, sizes: dict[int, str], pool: tuple[int, int] = (0, 0), **more: Any
) -> dict[str, Any]:
    """Return a segment as torch describes it, of blocks of the given sizes and states."""
    blocks, at = [], address
    for size, state in sizes.items():
        blocks.append(
            {"address": at, "size": size, "requested_size": size, "state": state, "frames": []}
        )
        at += size
    return {
        "device": 0,
        "address": address,
        "total_size": at - address,
        "stream": 0,
        "segment_type": "small",
        "segment_pool_id": pool,
        "is_expandable": False,
        "blocks": blocks,
        **more,
    }
