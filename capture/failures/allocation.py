"""Memory got or given back through calls that wait for the device."""

from __future__ import annotations

from .base import NO, STREAM_API, FailureKind, Match, certain, likely
from .error_codes import UNSUPPORTED
from .facts import Facts

NAMES = (
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cudaMallocHost",
    "cudaMallocManaged",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "pin_memory",
    "empty_cache",
)


def matches(facts: Facts) -> Match:
    """Look for an allocating call in the user's line or in torch's message."""
    if facts.elsewhere or "cpu tensor is pinned" in facts.message:
        return NO
    refused = facts.code == UNSUPPORTED
    for name in NAMES:
        if refused and name in facts.call:
            return certain(f"`{facts.call}` allocates or frees, which CUDA refused")
        if name in facts.first.message and name != "pin_memory":
            return likely(f"the message names {name}")
    if refused and facts.inside("cuda/memory.py:"):
        return likely(f"`{facts.call}` is torch's management of memory")
    return NO


KIND = FailureKind(
    name="allocation",
    title="Allocation inside the capture",
    meaning=(
        "`cudaMalloc`, `cudaFree` and their kin for host memory may wait for the device, so in "
        "the mode `global` CUDA refuses them while anything is captured."
    ),
    advice=(
        "Allocate, pin and free before the capture begins, and keep the memory as long as the "
        "graph lives. `torch.empty(..., device='cuda')` inside a capture is fine: torch takes it "
        "from the graph's own pool.",
        "Libraries that allocate for themselves need a warm-up run of the same shapes on a side "
        "stream before the capture.",
        "Where the calls cannot be moved, `capture_error_mode='thread_local'` or `'relaxed'` lets "
        "them pass; with `relaxed` nothing guards you against memory that is gone at the replay.",
    ),
    documentation=STREAM_API,
    matches=matches,
)
