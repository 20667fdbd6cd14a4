"""Tables of this process's own snapshot say what the tables of any snapshot say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from capture.memory.live_snapshot import add_live_events, add_live_segments, add_live_sums
from capture.memory.restricted_pickle import loads
from capture.memory.torch_snapshot import Tables, add_events, add_segments, add_sums
from capture.memory_map import Snapshot
from tests.helpers.synthetic_memory import BASE, OWN, segment

FILE = Path(__file__).parents[1] / "data" / "memory" / "train_step_snapshot.pickle"


def real() -> dict[str, Any]:
    found = loads(FILE.read_bytes())
    assert isinstance(found, dict)
    # Such as another stream makes; torch counts its bytes among the requested ones.
    block = found["segments"][0]["blocks"][0]
    block["state"] = "active_pending_free"
    found["segments"][0]["allocated_size"] -= block["size"]
    del found["device_traces"][0][0]["frames"]  # as of some events
    return found


def old() -> dict[str, Any]:
    """Return what an older torch tells: no sums, no addresses of blocks."""
    blocks = [(512, "active_allocated"), (512, "inactive")]
    return {
        "segments": [segment(BASE, blocks, OWN), segment(BASE - (1 << 30), blocks)],
        "device_traces": [[{"action": "alloc", "addr": BASE, "time_us": 9}]],
    }


@pytest.mark.parametrize("snapshot", [real(), old()], ids=["real", "old"])
def test_both_ways_make_the_same_tables(snapshot: dict[str, Any]) -> None:
    segments, traces = snapshot["segments"], snapshot["device_traces"]
    found, expected = Snapshot(), Snapshot()

    def wanted(item: Any) -> bool:
        return bool(item["address"] != segments[-1]["address"])

    tables = Tables(found)
    add_live_segments(tables, segments, wanted)
    add_live_sums(tables, segments, 0)
    first_us = min((event["time_us"] for trace in traces for event in trace), default=0)
    seen = add_live_events(tables, traces, first_us + 1)

    def inside(at_us: int, device: int, address: int) -> bool:
        spans = zip(found.segments.address, found.segments.size_bytes, strict=True)  # type: ignore[union-attr]
        return at_us > first_us and any(at <= address < at + size for at, size in spans)

    tables = Tables(expected)
    add_segments(tables, segments, wanted)
    add_sums(tables, segments, 0)
    add_events(tables, traces, inside)
    assert seen == sum(map(len, traces))
    assert found.blocks is not None
    assert len(found.blocks.address) > 1
    assert msgspec.to_builtins(found) == msgspec.to_builtins(expected)
