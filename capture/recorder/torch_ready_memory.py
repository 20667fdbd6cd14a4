"""Stand-ins for what ``torch.cuda`` tells of memory: nothing is allocated, and nothing is kept."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from itertools import count
from typing import Any

_ids = count(1)


class MemPool:
    """Stand-in for ``torch.cuda.MemPool``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.id = (0, next(_ids))
        self.allocator = None
        self.is_symmetric = False

    def use_count(self) -> int:
        """Return 1: it is used by nothing else."""
        return 1

    def snapshot(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Return no segment."""
        return []


class CUDAPluggableAllocator:
    """Stand-in for ``torch.cuda.CUDAPluggableAllocator``: its library is not loaded."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def allocator(self) -> None:
        """Return nothing to allocate with."""


@contextlib.contextmanager
def _entered(*args: Any, **kwargs: Any) -> Any:
    yield


ZEROS = (
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_cached",
    "max_memory_cached",
    "memory_usage",
    "device_memory_used",
    "caching_allocator_alloc",
)
NOTHING = (
    "reset_peak_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_accumulated_memory_stats",
    "reset_peak_host_memory_stats",
    "reset_accumulated_host_memory_stats",
    "set_per_process_memory_fraction",
    "caching_allocator_delete",
    "caching_allocator_enable",
    "change_current_allocator",
    "_record_memory_history",
    "_dump_snapshot",
    "_set_allocator_settings",
)
STATISTICS = (
    "memory_stats",
    "memory_stats_as_nested_dict",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
)


def names() -> dict[str, Any]:
    """Return the stand-ins by their names in ``torch.cuda`` and ``torch.cuda.memory``."""
    return {
        **dict.fromkeys(ZEROS, lambda *args, **kwargs: 0),
        **dict.fromkeys(NOTHING, lambda *args, **kwargs: None),
        # Scripts ask for counters by name: each is 0.
        **dict.fromkeys(STATISTICS, lambda device=None: defaultdict(int)),
        "memory_summary": lambda *args, **kwargs: "",
        "memory_snapshot": lambda *args, **kwargs: [],
        "_snapshot": lambda *args, **kwargs: {"segments": [], "device_traces": [[]]},
        "list_gpu_processes": lambda device=None: "",
        "get_per_process_memory_fraction": lambda device=None: 1.0,
        "get_allocator_backend": lambda: "native",
        "MemPool": MemPool,
        "CUDAPluggableAllocator": CUDAPluggableAllocator,
        "use_mem_pool": _entered,
        "caching_allocator_disabled": _entered,
    }
