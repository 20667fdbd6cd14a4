"""The stacks behind a finding: who allocated, freed and took over the memory that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from capture.analysis.later import Later, captured_us, device_of, laters
from capture.errors import GraphLensError
from capture.memory.pointers import Memories
from capture.memory_map import Memory, MemoryMap, StackFrame
from capture.model import Recording

ADDRESS = re.compile(r"0x[0-9a-f]{6,16}")
"""A cell of a finding that is an address, as a whole."""
ALLOCATED, FREED, REUSED = "allocated", "freed", "handed out again"


class Stack(NamedTuple):
    """One stack of torch's memory history."""

    what: str
    """``"allocated"``, ``"freed"`` or ``"handed out again"``."""
    address: str
    """Of the finding; it lies in the block that the stack is of."""
    frames: tuple[StackFrame, ...]
    """Innermost first."""


class FindingStacks:
    """Looks up the stacks of addresses in the memory of a recording's graphs.

    Parameters
    ----------
    recording : Recording
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._last: tuple[str, Memory | None, Memories | None] = ("", None, None)

    @cached_property
    def _laters(self) -> dict[int, Later]:
        return laters(self._recording, [])

    def of(self, graph: str, cells: Iterable[str]) -> list[Stack]:
        """Return the stacks of the addresses among some cells; those not known are left out.

        Parameters
        ----------
        graph : str
            Key of the graph that points there.
        cells : iterable of str
        """
        addresses = dict.fromkeys(cell for cell in cells if ADDRESS.fullmatch(cell))
        if not addresses or graph not in self._recording.graphs:
            return []
        memory, places = self._memory(graph)
        if memory is None or places is None:
            return []
        try:
            later = self._laters.get(self._recording.graphs[graph].process or 0)
        except GraphLensError:
            later = None
        found: list[Stack] = []
        for address in addresses:
            place = places.find(int(address, 16))
            stacks: list[tuple[str, MemoryMap, int]] = [(ALLOCATED, memory, place.stack)]
            if later is not None and later.snapshot.frees is not None and place.kind == "block":
                frees = later.snapshot.frees
                fate = later.fate(place.start, device_of(memory, place.number), captured_us(memory))
                if fate is not None and fate.row >= 0:
                    stacks += [
                        (FREED, later.snapshot, frees.stack[fate.row]),
                        (REUSED, later.snapshot, frees.reused_stack[fate.row]),
                    ]
            for what, table, stack in stacks:
                if 0 <= stack < len(table.stacks):
                    frames = tuple(table.frames[at] for at in table.stacks[stack])
                    found.append(Stack(what, address, frames))
        return [item for item in found if item.frames]

    def _memory(self, graph: str) -> tuple[Memory | None, Memories | None]:
        if self._last[0] != graph:
            try:
                memory = self._recording.memory(graph)
            except GraphLensError:
                memory = None
            self._last = graph, memory, Memories(memory) if memory is not None else None
        return self._last[1:]
