"""How many replays are traced: what the user asks for, and what the records of a process allow."""

from __future__ import annotations

import os

from .timeline import TIMINGS

DEFAULT_REPLAYS = 20
MOST_REPLAYS = 1000
RECORDS_PER_PLAN = 200_000
"""Larger graphs are traced for fewer replays, at least 3."""
MAX_RECORDS = 1_000_000
"""Records of one process, 40 bytes each; past it no further executable is traced."""
FEWEST_REPLAYS = 3


def traced_replays() -> int:
    """Return how many replays of each executable the environment asks to trace.

    What is no number there counts as if nothing were.
    """
    text = os.environ.get(TIMINGS, "").strip()
    if not (text.isascii() and text.isdigit()):
        return DEFAULT_REPLAYS
    return min(int(text[-9:]) if len(text) < 10 else MOST_REPLAYS, MOST_REPLAYS)


class TraceBudget:
    """Records of one process: those that plans may bring, and those that came.

    Parameters
    ----------
    replays : int
        Of each executable that are to be traced.
    """

    def __init__(self, replays: int) -> None:
        self.replays = replays
        self._planned = 0
        self._came = 0

    def plan(self, nodes: int) -> int:
        """Return how many replays of an executable are traced; 0 when all records are planned."""
        limit = min(max(FEWEST_REPLAYS, RECORDS_PER_PLAN // max(1, nodes)), self.replays)
        if self._planned + limit * nodes > MAX_RECORDS:
            return 0
        self._planned += limit * nodes
        return limit

    @property
    def exceeded(self) -> bool:
        """Whether more came than were to be planned, as loops leave them."""
        return self._came > MAX_RECORDS

    def take(self) -> bool:
        """Count a record that came; whether it is kept."""
        if self.exceeded:
            return False
        self._came += 1
        return True
