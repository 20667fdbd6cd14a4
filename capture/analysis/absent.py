"""Why a graph has no evidence of a kind, where its recording gives no reason of its own."""

from __future__ import annotations

NO_MEMORY = "memory was not looked at: record with `cglens record --memory`"
NO_TIMINGS = "no node of this graph was timed: record with `cglens record --timings`"
NO_WRITES = (
    "what nodes write was not measured: record with `cglens record --writes`, which replays graphs"
)
