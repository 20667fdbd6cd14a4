"""Calls of one driver function over many nodes.

What Python adds to a call of a few tens of nanoseconds decides what reading costs. Three habits
keep it small. A C function without declared argument types takes ``c_void_p`` objects as they
are, which is nearly twice as fast as turning integers into pointers, so the objects of nodes and
of output memory are made once and used for every call. One ``map`` runs the function over a
block. And a block is small enough that what its calls read and write stays in the processor's
cache until it is unpacked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

BLOCK = 256
"""Nodes of one block; the driver's own structure of a node has about 2 KB."""

_KEPT_POINTERS = 4_096

Pointer = ctypes.c_void_p


class Pointers(dict[int, ctypes.c_void_p]):
    """Handles as ``c_void_p``, made when first asked for; a bounded number is kept."""

    def __missing__(self, handle: int) -> ctypes.c_void_p:
        if len(self) >= _KEPT_POINTERS:
            self.clear()
        made = self[handle] = Pointer(handle)
        return made


class Slots:
    """Output memory for one block: a part of `size` bytes for each node."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._buffer = ctypes.create_string_buffer(BLOCK * size)
        base = self._address = ctypes.addressof(self._buffer)
        self.outputs = [Pointer(base + at) for at in range(0, BLOCK * size, size)]

    def fill(self, word: int = 0) -> None:
        """Set every byte to 0, or every eight bytes to a number."""
        if word:
            data = word.to_bytes(8, "little") * (BLOCK * self._size // 8)
            ctypes.memmove(self._address, data, len(data))
        else:
            ctypes.memset(self._address, 0, BLOCK * self._size)

    def read(self, count: int) -> bytes:
        """Return the parts of the first nodes."""
        return ctypes.string_at(self._address, count * self._size)


class Many:
    """Runs driver functions over many nodes; safe to use from several threads."""

    def __init__(self) -> None:
        self._pointers = Pointers()
        self._free: dict[int, list[Slots]] = {}

    def forget(self) -> None:
        """Drop what is kept about the nodes of a graph."""
        self._pointers.clear()

    def blocks(self, nodes: Sequence[int]) -> Iterator[list[ctypes.c_void_p]]:
        """Cut handles into blocks of pointers."""
        get = self._pointers.__getitem__
        for start in range(0, len(nodes), BLOCK):
            yield list(map(get, nodes[start : start + BLOCK]))

    def take(self, size: int) -> Slots:
        """Return output memory that nobody else uses until it is given back."""
        try:
            return self._free[size].pop()
        except (KeyError, IndexError):
            return Slots(size)

    def give(self, slots: Slots, size: int) -> None:
        """Give output memory back."""
        self._free.setdefault(size, []).append(slots)

    def each(
        self, function: Callable[..., int], nodes: Sequence[int], size: int, *between: int
    ) -> tuple[bytes, list[int]]:
        """Call ``function(node, *between, output)`` for every node.

        Parameters
        ----------
        function : callable
            Without declared argument types; `between` are passed as C ints.
        size : int
            Bytes of one output.

        Returns
        -------
        outputs : bytes
            ``len(nodes) * size`` of them; a node's part is 0 where its call wrote nothing.
        results : list of int
        """
        slots = self.take(size)
        parts: list[bytes] = []
        results: list[int] = []
        constants = [repeat(ctypes.c_int(value)) for value in between]
        for block in self.blocks(nodes):
            slots.fill()
            results += map(function, block, *constants, slots.outputs)
            parts.append(slots.read(len(block)))
        self.give(slots, size)
        return b"".join(parts), results
