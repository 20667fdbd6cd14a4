"""What evidence of memory says of itself, and where its events lie among nodes."""

from __future__ import annotations

from bisect import bisect_right

from ..memory_map import Memory, MemoryMap
from .open_capture import OpenCapture


def place_events(memory: Memory, capture: OpenCapture) -> None:
    """Place events between nodes, by the times at which operators had made theirs."""
    events, extraction, noted = memory.events, capture.extraction, capture.origins
    if events is None or extraction is None:
        return
    handles = next((nodes for path, nodes in extraction.handles if not path), [])
    clock_ = noted.clock(handles) if noted is not None else []
    if not clock_:
        memory.notes.append(
            "Allocations of the capture are not placed between its nodes: that takes the times "
            "of its operators, which were not recorded."
        )
        return
    times = [at_us for at_us, _ in clock_]
    made = [0, *(nodes for _, nodes in clock_)]
    events.nodes_before = [made[bisect_right(times, at_us)] for at_us in events.at_us]


def add_notes(memory: MemoryMap) -> None:
    """Say what is missing of stacks, and what segments are like."""
    if memory.history == "off":
        memory.notes.append(
            "No stacks of allocations: torch's memory history was off. Record with "
            "--memory-stacks, or call torch.cuda.memory._record_memory_history() at the start."
        )
    elif memory.blocks is not None:
        # Blocks of an unused pool have no stack either: only allocated ones tell.
        without = sum(
            stack < 0 and state == 0
            for stack, state in zip(memory.blocks.stack, memory.blocks.state, strict=True)
        )
        if without:
            memory.notes.append(
                f"{without} allocated blocks have no stack: they were allocated before memory "
                f"history was on, or by C++ alone."
            )
    if memory.segments is not None and any(memory.segments.expandable):
        memory.notes.append(
            "Segments are expandable: parts of one may be given back to the driver while it stays."
        )
