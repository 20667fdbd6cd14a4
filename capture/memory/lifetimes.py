"""How long memory lives: allocations of a history, and memory nodes inside a graph. Pure."""

from __future__ import annotations

from typing import NamedTuple

from ..memory_map import ACTIONS, Events

_ALLOC, _REQUESTED, _COMPLETED = (
    ACTIONS.index(name) for name in ("alloc", "free_requested", "free_completed")
)


class Lifetime(NamedTuple):
    """One allocation of torch's memory history."""

    address: int
    size_bytes: int
    allocated: int
    """Index of the event."""
    freed: int | None
    """Index of the event that asked for it to be freed; ``None`` if none did."""
    stack: int
    first: int = -1
    """Nodes that had been made before it was allocated; -1 where that is not known."""
    last: int = -1
    """Nodes that had been made before it was freed; -1 where it was not, or is not known."""


def lifetimes(events: Events) -> list[Lifetime]:
    """Pair allocations with what freed them, in order of allocation.

    Notes
    -----
    What was allocated before the history began, and only freed in it, is left out.
    """
    found: list[Lifetime] = []
    open_: dict[tuple[int, int], int] = {}
    before = events.nodes_before
    devices = events.device or [0] * len(events.action)
    for number, (action, device, address) in enumerate(
        zip(events.action, devices, events.address, strict=True)
    ):
        key = device, address
        if action == _ALLOC:
            open_[key] = len(found)
            stack = events.stack[number] if events.stack else -1
            first = before[number] if before else -1
            size = events.size_bytes[number]
            found.append(Lifetime(address, size, number, None, stack, first))
        elif action in (_REQUESTED, _COMPLETED) and key in open_:
            place = open_.pop(key)
            last = before[number] if before else -1
            found[place] = found[place]._replace(freed=number, last=last)
    return found


def peak(events: Events) -> tuple[int, int]:
    """Return the most bytes that a history's own allocations held at once, and at which event."""
    current = most = 0
    at = -1
    ends: dict[int, int] = {}
    starts = {}
    for item in lifetimes(events):
        starts[item.allocated] = item.size_bytes
        if item.freed is not None:
            ends[item.freed] = ends.get(item.freed, 0) + item.size_bytes
    for number in range(len(events.action)):
        current += starts.get(number, 0) - ends.get(number, 0)
        if current > most:
            most, at = current, number
    return most, at


def bytes_by_node(events: Events, count: int) -> list[int]:
    """Return the most bytes of a history's own allocations that lived while each node was made.

    Parameters
    ----------
    events : Events
        With `nodes_before`.
    count : int
        Nodes.

    Returns
    -------
    list of int
        One value per node; empty where events are not placed between nodes.

    Notes
    -----
    O(events + nodes). What was allocated before the history began is not in it.
    """
    if not events.nodes_before or not count:
        return []
    change = [0] * len(events.action)
    for item in lifetimes(events):
        change[item.allocated] += item.size_bytes
        if item.freed is not None:
            change[item.freed] -= item.size_bytes
    found = [0] * count
    current = reached = 0
    for before, step in zip(events.nodes_before, change, strict=True):
        at = min(max(before, reached), count - 1)
        if at > reached:
            found[reached + 1 : at + 1] = [current] * (at - reached)
            reached = at
        current += step
        found[at] = max(found[at], current)
    found[reached + 1 :] = [current] * (count - 1 - reached)
    return found


def allocated_by_node(events: Events, count: int) -> dict[int, int]:
    """Return the bytes that a history allocated just before each node was made, by position.

    Parameters
    ----------
    events : Events
        With `nodes_before`.
    count : int
        Nodes; what was allocated after the last one is nobody's.

    Returns
    -------
    dict of int to int
        Positions without allocations are left out; empty where events are not placed between nodes.

    Notes
    -----
    O(events). An operator allocates before it launches, so that the bytes of its outputs and
    temporaries are those of its first node. Bytes that are freed and allocated again count again.
    """
    found: dict[int, int] = {}
    for action, size, before in zip(
        events.action, events.size_bytes, events.nodes_before, strict=False
    ):
        if action == _ALLOC and 0 <= before < count:
            found[before] = found.get(before, 0) + size
    return found
