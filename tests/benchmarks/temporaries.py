"""Memory that operators allocate for themselves, by torch's memory history."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf

from capture.memory.lifetimes import lifetimes
from capture.memory_map import Memory
from tests.benchmarks.tensor_log import Call

SLACK_US = 2
"""torch's memory history and Python do not read the same clock."""


class Temporaries:
    """Memory that calls allocated for themselves.

    Parameters
    ----------
    memory : Memory
    calls : sequence of Call
    with_workspaces : set of int
        Ids of the calls of libraries that keep workspaces.
    """

    def __init__(self, memory: Memory, calls: Sequence[Call], with_workspaces: set[int]) -> None:
        ordered = sorted(calls, key=lambda call: call.begun_us)
        begins = [call.begun_us for call in ordered]
        self._of: dict[int, list[tuple[int, int]]] = {}
        self._kept: list[tuple[int, int, int, float]] = []
        """Workspaces: start, end, and from when to when they were held."""
        events = memory.events
        for item in lifetimes(events) if events is not None else ():
            assert events is not None
            at_us = events.at_us[item.allocated]
            last = bisect_right(begins, at_us + SLACK_US)
            # The calls of autograd's threads and the script's follow each other.
            for call in ordered[max(0, last - 2) : last]:
                if at_us <= call.ended_us + SLACK_US:
                    span = item.address, item.address + item.size_bytes
                    self._of.setdefault(id(call), []).append(span)
                    given = any(span[0] <= r.start < span[1] for r in call.ranges)
                    if id(call) in with_workspaces and not given:
                        end_us = events.at_us[item.freed] if item.freed is not None else inf
                        self._kept.append((*span, at_us, end_us))

    def of(self, call: Call) -> Sequence[tuple[int, int]]:
        """Return start and end of each memory that a call allocated."""
        return self._of.get(id(call), ())

    def hold_workspace(self, call: Call, address: int) -> bool:
        """Say whether an address lies in a workspace that was held when a call was made."""
        return any(
            start <= address < end
            and from_us <= call.ended_us + SLACK_US
            and call.begun_us <= to_us
            for start, end, from_us, to_us in self._kept
        )
