"""Calls of one driver function over many nodes.

What Python adds to a call of a few tens of nanoseconds decides what reading costs. One ``map``
runs a C function over a block of nodes, each call writes into its own part of one buffer, and the
block is small enough that all of that stays in the processor's cache until it is unpacked.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

BLOCK = 256
"""Nodes of one block; the driver's own structure of a node has about 2 KB."""


class Slots:
    """Output memory for one block: `size` bytes, all 0, for each of up to `count` nodes."""

    def __init__(self, size: int, count: int) -> None:
        self._size = size
        self._bytes = min(BLOCK, count) * size
        # No ctypes array: each length would be a class of its own, left to the garbage collector.
        self._buffer = array("B", bytes(max(1, self._bytes)))
        base = self._address = self._buffer.buffer_info()[0]
        self.outputs = range(base, base + self._bytes, size)
        """Address of each part."""

    def fill(self, word: int = 0) -> None:
        """Set every byte to 0, or every eight bytes to a number."""
        if word:
            data = word.to_bytes(8, "little") * (self._bytes // 8)
            ctypes.memmove(self._address, data, len(data))
        else:
            ctypes.memset(self._address, 0, self._bytes)

    def read(self, count: int) -> bytes:
        """Return the parts of the first nodes."""
        return ctypes.string_at(self._address, count * self._size)


def blocks(nodes: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut the nodes of a graph into blocks."""
    for start in range(0, len(nodes), BLOCK):
        yield nodes[start : start + BLOCK]


def each(
    function: Callable[..., int], nodes: Sequence[int], size: int, *between: int
) -> tuple[bytes, list[int]]:
    """Call ``function(node, *between, output)`` for every node.

    Parameters
    ----------
    function : callable
    nodes : sequence of int
    size : int
        Bytes of one output.
    *between : int
        Passed as C ints.

    Returns
    -------
    outputs : bytes
        ``len(nodes) * size`` of them; a node's part is 0 where its call wrote nothing.
    results : list of int
    """
    slots = Slots(size, len(nodes))
    parts: list[bytes] = []
    results: list[int] = []
    # ctypes takes an object of the declared type faster than a number.
    constants = [repeat(ctypes.c_int(value)) for value in between]
    for block in blocks(nodes):
        if parts:
            slots.fill()
        results += map(function, block, *constants, slots.outputs)
        parts.append(slots.read(len(block)))
    return b"".join(parts), results
