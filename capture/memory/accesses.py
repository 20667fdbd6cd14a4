"""What each node of a graph touches: which bytes, in which direction, and how that is known. Pure.

Where an allocation is known to have lived between two nodes (memory history), a pointer reaches to
its end; else to the end of its block, or, in a block that is free after the capture and may have
held many tensors in turn, no further than its own address.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..memory_map import Events, Memory
from ..model import Graph, Kernel
from ..nodes.kernel import KernelPayload
from ..writes import Writes
from .access import NO_LIFE, Access
from .access_groups import Accesses, joined
from .addresses import Block, BlockMap
from .directions import BOTH, INPUT, OUTPUT, READ, UNKNOWN, WRITE, Direction, Directions
from .lifetimes import lifetimes
from .plain_accesses import MANY, plain_accesses
from .pointers import Pointer

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def accesses(
    graph: Graph,
    pointers: Iterable[Pointer],
    memory: Memory | None = None,
    writes: Writes | None = None,
    names: Mapping[int, tuple[str, ...]] | None = None,
) -> Accesses:
    """Return what the nodes of one level touch.

    Parameters
    ----------
    graph : Graph
    pointers : iterable of Pointer
        Of :func:`~capture.memory.pointers.resolve`, in creation order.
    memory : Memory, optional
        Its history tells allocations apart that lay at one address in turn.
    writes : Writes, optional
        What was measured.
    names : mapping of int to tuple of str, optional
        Names of the parameters of the kernel of a position, where a compiler told them.

    Notes
    -----
    O(words + log of the allocations for each, where there is a history).
    """
    held = pointers if isinstance(pointers, list) else list(pointers)
    kernels = _Kernels(graph, names or {})
    measured = _Measured(writes)
    groups: dict[int, list[Access]] = defaultdict(list)
    if len(held) < MANY or measured.any:
        for _, key, access in _closely(held, range(len(held)), kernels, memory, measured):
            groups[key].append(access)
        return Accesses(list(groups.values()))
    own = memory.pool if memory is not None else None
    return joined(
        *plain_accesses(graph, held, own, names or {}, kernels.ways),
        lambda others: _closely(held, others, kernels, memory, measured),
        len(held),
    )


def _closely(
    pointers: Sequence[Pointer],
    numbers: Iterable[int],
    kernels: _Kernels,
    memory: Memory | None,
    measured: _Measured,
) -> Iterator[tuple[int, int, Access]]:
    """Yield accesses of some of the pointers, in their order, with the group that each is in."""
    lives = _Lives(memory.events if memory is not None else None)
    history = lives.known
    own = memory.pool if memory is not None else None
    told = measured.any
    first: dict[int, int] = {}
    last, position, may_not_run = "", -1, False
    ways: Directions | None = None
    outputs_first: Collection[int] = ()
    simple: Mapping[int, Direction] | None = None
    make: Any = tuple.__new__
    met: set[int] = set()
    """Parameters of the node of which a pointer was met."""
    for number in numbers:
        word, place = pointers[number]
        node, address, role, argument, offset, size, writing, guess, _ = word
        kind = place[0]
        if kind == "unresolved" and guess:
            continue
        if node is not last:
            last = node
            position, ways, may_not_run = kernels.of(node)
            if ways is not None:
                outputs_first, simple = ways.outputs_first, ways.simple
            else:
                outputs_first, simple = (), None
            if met:
                met = set()
            if history:
                lives.advance(position)
        life = NO_LIFE
        if size is not None:
            end = address + size
            does = WRITE if writing or role == "allocation" else READ
            may, how = does, "exact"
        else:
            if kind == "block":
                end = place[1] + place[2] if place[4] != "free" else address + 1
                if history and place[5] == own:
                    end, life = lives.find(address) or (end, NO_LIFE)
            elif kind == "outside" or kind == "graph":
                end = place[1] + place[2]
            else:
                end = address + 1
            if writing is not None:
                does = may = WRITE if writing else READ
                how = "declared"  # of rows that lie apart only the direction is known
            elif outputs_first and argument in outputs_first and not guess:
                does, may, how = OUTPUT if argument not in met else INPUT
                met.add(argument)
            elif simple is not None:
                does, may, how = simple.get(argument, UNKNOWN)
            elif ways is not None:
                does, may, how = ways.of(argument, offset)
            else:
                does, may, how = UNKNOWN
            if life >= 0 and first.setdefault(life, position) == position and not does:
                does, how = WRITE, "first"
        if may_not_run:
            does = 0
        key = -place[1] if kind == "gap" else -1 if kind == "unresolved" else place[1]
        access: Access = make(Access, (position, address, end, does, may, how, guess, life))
        if told and how != "exact":
            for one in measured.of(node, access):
                yield number, key, one
        else:
            yield number, key, access


class _Kernels:
    """Finds what the kernel of a node does with its arguments."""

    def __init__(self, graph: Graph, names: Mapping[int, tuple[str, ...]]) -> None:
        self._graph = graph
        self._payloads = graph.payloads
        self._names = names
        self._known: dict[tuple[int, tuple[str, ...]], tuple[Kernel, Directions]] = {}

    def of(self, node: str) -> tuple[int, Directions | None, bool]:
        """Return the position that stands for a node, its directions, and if it may not run."""
        if "/" not in node:
            position = int(node)
            payload = self._payloads[position]
            kernel = payload.kernel if type(payload) is KernelPayload else None
            if kernel is None:
                return position, None, False
            found = self._known.get((id(kernel), ())) if not self._names else None
            if found is not None:
                return position, found[1], False
            return position, self.ways(kernel, self._names.get(position, ())), False
        position = int(node.partition("/")[0])
        body, _, tail = node.rpartition("/")
        kernel = getattr(self._graph.at(body).payloads[int(tail)], "kernel", None)
        ways = self.ways(kernel, ()) if kernel is not None else None
        return position, ways, self._graph.topology.types[position] == "conditional"

    def ways(self, kernel: Kernel, names: tuple[str, ...]) -> Directions:
        """Return what a kernel does with its arguments."""
        key = id(kernel), names
        entry = self._known.get(key)
        if entry is None:
            entry = self._known[key] = kernel, Directions(kernel, names)
        return entry[1]


class _Lives:
    """Allocations of the history as nodes go by.

    An allocation is found until another one lies where it was: when exactly it was freed among the
    nodes of one operator is not known.
    """

    def __init__(self, events: Events | None) -> None:
        known = events is not None and bool(events.nodes_before)
        self._next = (
            sorted(
                (item.first, number, item.address, item.size_bytes)
                for number, item in enumerate(lifetimes(events))
            )
            if known and events is not None
            else []
        )
        self.known = bool(self._next)
        self._at = 0
        self._starts: list[int] = []
        self._held: list[tuple[int, int]] = []
        """End and number, by start."""

    def advance(self, position: int) -> None:
        """Place all that was allocated before a node was made."""
        while self._at < len(self._next) and self._next[self._at][0] <= position:
            _, number, start, size = self._next[self._at]
            self._at += 1
            low = bisect_right(self._starts, start) - 1
            if low < 0 or self._held[low][0] <= start:
                low += 1
            high = bisect_left(self._starts, start + max(1, size))
            self._starts[low:high] = [start]
            self._held[low:high] = [(start + size, number)]

    def find(self, address: int) -> tuple[int, int] | None:
        """Return (end, number) of the allocation that an address lies in."""
        at = bisect_right(self._starts, address) - 1
        return self._held[at] if at >= 0 and address < self._held[at][0] else None


class _Measured:
    """What running a clone node by node told."""

    def __init__(self, writes: Writes | None) -> None:
        told = writes if writes is not None and not writes.refused else None
        self._ranges = told.of_node() if told is not None else {}
        self._ran = set(told.ran) if told is not None else set()
        watched = told.watched if told is not None else None
        self._watched = BlockMap(
            map(Block, watched.address, watched.size_bytes) if watched is not None else ()
        )
        self.any = bool(self._ran or self._ranges)

    def of(self, node: str, access: Access) -> list[Access]:
        """Return the accesses that stand for an inferred one."""
        position, start, end, does, may, _, guess, life = access
        changed = [
            (begin, begin + size)
            for begin, size in self._ranges.get(node, ())
            if begin < max(end, start + 1) and start < begin + size
        ]
        if changed:
            found = [
                Access(position, begin, stop, WRITE, BOTH, "measured", False, life)
                for begin, stop in changed
            ]
            if may & READ:
                found.append(access._replace(does=does & READ, may=READ))
            return found
        if node not in self._ran or self._watched.find(start) is None:
            return [access]
        # Bytes that are written with their own values do not change: it may write all the same.
        return [
            Access(position, start, end, does & READ or may & READ, may, "measured", guess, life)
        ]


def direction_text(access: Access) -> str:
    """Say in words what a node does with memory.

    Examples
    --------
    >>> direction_text(Access(0, 64, 72, READ, READ, "declared", False))
    'reads'
    """
    if access.does == BOTH:
        return "reads and writes"
    if access.does == WRITE:
        return "writes" if access.may == WRITE else "writes, and may read"
    if access.does == READ:
        return "reads" if access.may == READ else "reads, and may write"
    return (
        "may read and write"
        if access.may == BOTH
        else "may read"
        if access.may == READ
        else ("may write")
    )


__all__ = ["Access", "Accesses", "Direction", "accesses", "direction_text"]
