"""What every node of a graph points at: words of kernels, ends of copies, memsets. Pure."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..arguments import signature
from ..memory_map import STATES, Memory, MemoryMap
from ..model import Graph, Kernel
from .addresses import END, LOWEST

_SCALARS = frozenset(
    (
        *("bool", "char", "signed char", "unsigned char", "short", "unsigned short"),
        *("int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long"),
        *("float", "double", "__half", "c10::Half", "c10::BFloat16"),
    )
)


class Word(NamedTuple):
    """A number of a node that is, or may be, an address."""

    node: str
    """Path."""
    address: int
    role: str
    """``"argument"``, ``"source"``, ``"destination"``, ``"operation"`` or ``"allocation"``."""
    argument: int = -1
    """Index of the kernel's parameter; -1 where there is none."""
    offset_bytes: int = 0
    """In the kernel's argument buffer."""
    size_bytes: int | None = None
    """How many bytes the node touches from there on; ``None`` where that is not known."""
    writes: bool | None = None
    """Whether it is written; ``None`` where that is not known."""
    guess: bool = False
    """Whether it may be a number that only looks like an address."""
    memory_type: str = ""
    """What a memcpy says of the end."""


class Place(NamedTuple):
    """Where an address lies."""

    kind: str
    """``"block"`` (torch's allocator), ``"graph"`` (a mem_alloc node of the graph), ``"outside"``
    (memory that CUDA knows), ``"gap"`` (in a segment, in no block), ``"host"`` (a memcpy's end that
    CUDA does not know: pageable) or ``"unresolved"``.
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
        at = self._names.find(address)
        names = self.memory.names
        return names.name[at] if at >= 0 and names is not None else ""

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
            return Place(
                "block",
                blocks.address[at],
                blocks.size_bytes[at],
                at,
                STATES[blocks.state[at]],
                memory.pools[memory.segments.pool[segment]],
                self.name_at(address),
                blocks.stack[at] if blocks.stack else -1,
            )
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
            return Place(
                "outside",
                ranges.address[at],
                ranges.size_bytes[at],
                at,
                ranges.kind[at],
                name=self.name_at(address),
            )
        if memory_type == "host" and self._asked:
            return Place("host", address, state="pageable")
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


def words(graph: Graph) -> Iterator[Word]:
    """Yield every word of a graph that may be an address, in creation order, bodies included.

    Of kernel arguments, words at multiples of 8 bytes that lie where CUDA places memory, except
    those of a parameter that the kernel's own signature declares to be a number. What else the
    signature does not declare to be a pointer is a guess.
    """
    known: dict[int, tuple[Kernel, list[tuple[int, int, int, bool]] | None]] = {}
    for path, level in graph.walk():
        prefix = f"{path}/" if path else ""
        types = level.topology.types
        for position, payload in enumerate(level.payloads):
            if payload is None:
                continue
            node = f"{prefix}{position}"
            if types[position] == "kernel":
                arguments = getattr(payload, "arguments", None)
                if arguments:
                    yield from _of_kernel(node, arguments, payload.kernel, known)
            else:
                yield from _of_other(node, types[position], payload)


def _of_kernel(
    node: str,
    arguments: bytes,
    kernel: Kernel | None,
    known: dict[int, tuple[Kernel, list[tuple[int, int, int, bool]] | None]],
) -> Iterator[Word]:
    found = struct.unpack_from(f"<{len(arguments) // 8}Q", arguments)
    layout = None
    if kernel is not None:
        entry = known.get(id(kernel))
        if entry is None:
            entry = known[id(kernel)] = kernel, _layout(kernel)
        layout = entry[1]
    for index, address in enumerate(found):
        if not LOWEST <= address < END:
            continue
        offset = 8 * index
        parameter, guess = -1, True
        for place, start, end, meaning in layout or ():
            if start <= offset < end:
                parameter, guess = place, not meaning
                break
        else:
            yield Word(node, address, "argument", -1, offset, guess=True)
            continue
        if parameter >= 0:
            yield Word(node, address, "argument", parameter, offset, guess=guess)


def _layout(kernel: Kernel) -> list[tuple[int, int, int, bool]]:
    """Return (index, first byte, end, whether it is a pointer); numbers have index -1."""
    parameters = kernel.parameters or []
    declared = signature(kernel.name)
    if declared is None or len(declared) != len(parameters):
        declared = [""] * len(parameters)
    found = []
    for index, ((offset, size), type_) in enumerate(zip(parameters, declared, strict=True)):
        plain = type_.removesuffix(" const").removeprefix("const ").strip()
        is_number = plain in _SCALARS
        found.append((-1 if is_number else index, offset, offset + size, plain.endswith("*")))
    return found


def _of_other(node: str, type_: str, payload: Any) -> Iterator[Word]:
    if type_ == "memcpy":
        size = extent(payload)
        for name, writes in (("source", False), ("destination", True)):
            end = getattr(payload, name, None)
            address = getattr(end, "address", None)
            if isinstance(address, int) and address and end is not None:
                yield Word(
                    node,
                    address + _start_in(end),
                    name,
                    size_bytes=size,
                    writes=writes,
                    memory_type=end.memory_type,
                )
    elif type_ == "memset":
        if payload.address:
            yield Word(
                node, payload.address, "destination", size_bytes=filled(payload), writes=True
            )
    elif type_ == "mem_alloc":
        if payload.address:
            yield Word(node, payload.address, "allocation", size_bytes=payload.size_bytes)
    else:
        for operation in getattr(payload, "operations", None) or ():
            address = operation.get("address")
            if isinstance(address, int) and LOWEST <= address < END:
                yield Word(node, address, "operation")


def _start_in(end: Any) -> int:
    pitch, height = end.pitch_bytes or 0, end.height or 0
    return int(end.x_bytes or 0) + pitch * (int(end.y or 0) + height * int(end.z or 0))


def extent(payload: Any) -> int | None:
    """Return how many bytes a memcpy moves, if they lie side by side; else ``None``."""
    width, height, depth = payload.width_bytes, payload.height, payload.depth
    if width is None:
        return None
    return int(width) if (height or 1) == 1 and (depth or 1) == 1 else None


def filled(payload: Any) -> int | None:
    """Return how many bytes a memset writes, if they lie side by side; else ``None``."""
    if payload.width is None or payload.element_bytes is None:
        return None
    row = int(payload.width) * int(payload.element_bytes)
    height = int(payload.height or 1)
    if height == 1 or payload.pitch_bytes == row:
        return row * height
    return None


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
    known: dict[tuple[int, str], Place] = {}
    found = []
    for word in words(graph):
        key = word.address, word.memory_type
        place = known.get(key)
        if place is None:
            place = known[key] = memories.find(*key)
        found.append(Pointer(word, place))
    return found
