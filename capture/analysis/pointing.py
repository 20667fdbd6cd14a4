"""Where the nodes of a graph point, for analyses that open one graph after another."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from ..errors import GraphLensError
from ..memory.accesses import Access, accesses
from ..memory.directions import WRITE
from ..memory.pointers import Pointer, resolve
from ..memory_map import Memory
from ..model import Graph, Recording
from .labels import label_of


class Touching:
    """Which nodes of a graph touch a range of memory, and what they do there.

    Parameters
    ----------
    held : Pointing
    """

    def __init__(self, held: Pointing) -> None:
        groups = accesses(held.graph, held.pointers, held.memory).groups
        self._held = sorted((access for group in groups for access in group), key=_start)
        self._starts = [access.start for access in self._held]

    def at(self, address: int, size_bytes: int) -> list[Access]:
        """Return what points into a range, in creation order."""
        first = bisect_left(self._starts, address)
        last = bisect_left(self._starts, address + size_bytes)
        return sorted(self._held[first:last], key=_node)

    def writer(self, address: int, size_bytes: int) -> str:
        """Return the last node known to write into a range, or the first to point there."""
        found = self.at(address, size_bytes)
        known = [item for item in found if item.does & WRITE and not item.guess]
        chosen = known[-1:] or found[:1]
        return str(chosen[0].node) if chosen else ""


def _start(access: Access) -> int:
    return access.start


def _node(access: Access) -> int:
    return access.node


class Pointing(NamedTuple):
    """Where the nodes of a graph point."""

    graph: Graph
    by_start: dict[int, list[Pointer]]
    """By the first address of the block, or of the range outside torch's allocator."""
    pointers: list[Pointer]
    """All, in creation order."""
    memory: Memory

    def name_of(self, path: str) -> str:
        """Return the short name of a node."""
        body, _, position = path.rpartition("/")
        return label_of(self.graph.at(body) if body else self.graph, int(position))

    def payload_of(self, path: str) -> Any:
        """Return the parameters of a node."""
        body, _, position = path.rpartition("/")
        return (self.graph.at(body) if body else self.graph).payloads[int(position)]


def pointing(
    recording: Recording, key: str, memory: Memory, problems: list[str]
) -> Pointing | None:
    """Return where a graph points; the graph is not kept.

    What cannot be read is told in `problems`.
    """
    loaded = recording.is_loaded(key)
    try:
        graph = recording.graph(key)
    except GraphLensError as error:
        problems.append(f"The nodes of {key} cannot be read: {error}.")
        return None
    if not loaded:
        recording.forget(key)
    found: dict[int, list[Pointer]] = {}
    pointers = resolve(graph, memory)
    for pointer in pointers:
        if pointer.place.kind in ("block", "outside"):
            found.setdefault(pointer.place.start, []).append(pointer)
    return Pointing(graph, found, pointers, memory)


def surest(pointers: list[Pointer]) -> Pointer:
    """Return the pointer that is surest to be one, the first of equals."""
    return min(pointers, key=lambda pointer: pointer.word.guess)
