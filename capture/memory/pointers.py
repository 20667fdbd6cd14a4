"""Where the addresses of a graph's nodes lead: blocks, pools, memory outside. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

from ..memory_map import PAGEABLE, STATES, Memory, MemoryMap
from ..model import Graph
from .word_columns import all_words
from .words import Word

_make: Any = tuple.__new__


class Place(NamedTuple):
    """Where an address lies."""

    kind: str
    """``"block"`` (torch's allocator), ``"graph"`` (a mem_alloc node of the graph), ``"outside"``
    (memory that CUDA knows), ``"gap"`` (in a segment, in no block), ``"host"`` (pageable: of a
    memcpy what CUDA does not know, of others what is the process's own) or ``"unresolved"``.
    """
    start: int = 0
    size_bytes: int = 0
    number: int = -1
    """Of the block, or of the range outside."""
    state: str = ""
    """Of a block, see :data:`~capture.memory_map.STATES`; of a range its kind."""
    pool: tuple[int, int] | None = None
    name: str = ""
    """Of the tensor that is stored there, where one is known."""
    stack: int = -1
    owner: str = ""
    """Path of the mem_alloc node."""


class Pointer(NamedTuple):
    """A word and where it leads."""

    word: Word
    place: Place


def distinct_places(pointers: Iterable[Pointer]) -> dict[int, Place]:
    """Return the places that pointers lead to by their identity, in the order of the first ones.

    One object stands for all pointers of one address, but for host memory in copies.
    """
    places = [pointer[1] for pointer in pointers]
    return dict(zip(map(id, places), places, strict=True))


class Memories:
    """Finds the place of an address.

    Parameters
    ----------
    memory : MemoryMap
    graph : Graph, optional
        Its mem_alloc nodes are places too.

    Notes
    -----
    Building sorts; finding is logarithmic.
    """

    def __init__(self, memory: MemoryMap, graph: Graph | None = None) -> None:
        self.memory = memory
        blocks, segments, names = memory.blocks, memory.segments, memory.names
        self._blocks = _Spans(
            list(zip(blocks.address, blocks.size_bytes, strict=True)) if blocks else []
        )
        self._segments = _Spans(
            list(zip(segments.address, segments.size_bytes, strict=True)) if segments else []
        )
        self._names = _Spans(
            list(zip(names.address, names.size_bytes, strict=True)) if names else []
        )
        ranges = memory.ranges if isinstance(memory, Memory) else None
        self._ranges = _Spans(
            list(zip(ranges.address, ranges.size_bytes, strict=True)) if ranges else []
        )
        self._asked = isinstance(memory, Memory) and memory.asked_ranges
        self._allocations: list[tuple[int, int, str]] = []
        for path, level in graph.walk() if graph is not None else ():
            for position, payload in enumerate(level.payloads):
                if level.topology.types[position] != "mem_alloc" or payload is None:
                    continue
                address, size = payload.address, payload.size_bytes
                if address and size:
                    node = f"{path}/{position}" if path else str(position)
                    self._allocations.append((address, size, node))
        self._allocated = _Spans([(start, size) for start, size, _ in self._allocations])

    def name_at(self, address: int) -> str:
        """Return the name of the tensor whose storage an address lies in, or empty text."""
        names = self.memory.names
        if names is None:
            return ""
        at = self._names.find(address)
        return names.name[at] if at >= 0 else ""

    def find(self, address: int, memory_type: str = "") -> Place:
        """Return where an address lies.

        Parameters
        ----------
        address : int
        memory_type : str
            What a memcpy says of it.
        """
        memory = self.memory
        at = self._blocks.find(address)
        if at >= 0 and memory.blocks is not None and memory.segments is not None:
            blocks = memory.blocks
            segment = blocks.segment[at]
            # Half a microsecond less than by its own constructor.
            found: Place = _make(
                Place,
                (
                    "block",
                    blocks.address[at],
                    blocks.size_bytes[at],
                    at,
                    STATES[blocks.state[at]],
                    memory.pools[memory.segments.pool[segment]],
                    self.name_at(address),
                    blocks.stack[at] if blocks.stack else -1,
                    "",
                ),
            )
            return found
        at = self._allocated.find(address)
        if at >= 0:
            start, size, node = self._allocations[at]
            return Place("graph", start, size, owner=node)
        at = self._segments.find(address)
        if at >= 0 and memory.segments is not None:
            segments = memory.segments
            return Place(
                "gap",
                segments.address[at],
                segments.size_bytes[at],
                pool=memory.pools[segments.pool[at]],
            )
        at = self._ranges.find(address)
        if at >= 0 and isinstance(memory, Memory) and memory.ranges is not None:
            ranges = memory.ranges
            if ranges.kind[at] == PAGEABLE:
                return Place("host", address, state=PAGEABLE)
            return Place(
                "outside",
                ranges.address[at],
                ranges.size_bytes[at],
                at,
                ranges.kind[at],
                name=self.name_at(address),
            )
        if memory_type == "host" and self._asked:
            return Place("host", address, state=PAGEABLE)
        return Place("unresolved")


class _Spans:
    """Ranges that do not overlap, found by an address inside them; given in any order."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        order = sorted(range(len(spans)), key=spans.__getitem__)
        self._places = order
        self._starts = [spans[place][0] for place in order]
        self._ends = [spans[place][0] + max(1, spans[place][1]) for place in order]

    def find(self, address: int) -> int:
        at = bisect_right(self._starts, address) - 1
        return self._places[at] if at >= 0 and address < self._ends[at] else -1


_LEFT_OVER = Place("unresolved")
"""Of guessed words that lie in ordinary host memory: structures are filled on the host's stack."""


def resolve(graph: Graph, memory: MemoryMap) -> list[Pointer]:
    """Return every word of a graph with where it leads.

    Parameters
    ----------
    graph : Graph
    memory : MemoryMap
        As it was when the graph's capture had ended.

    Notes
    -----
    O(words log blocks).
    """
    memories = Memories(memory, graph)
    found = all_words(graph)
    addresses = [word[1] for word in found]
    known = {address: memories.find(address) for address in dict.fromkeys(addresses)}
    places = [known[address] for address in addresses]
    on_host = any(place[0] == "host" for place in known.values())
    for at, word in enumerate(found):
        if word[8] == "host":
            places[at] = memories.find(word[1], "host")
        elif on_host and word[7] and places[at][0] == "host":
            places[at] = _LEFT_OVER
    return list(map(_make, repeat(Pointer), zip(found, places, strict=True)))
