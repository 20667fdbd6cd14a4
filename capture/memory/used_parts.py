"""Structures of which a launch uses a part: the rest keeps what was in memory before. Pure."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from .addresses import END, LOWEST

Slot = tuple[int, bool] | None
"""Parameter and whether it is a guess, of a word of eight bytes; ``None`` for a number."""

_LISTS = re.compile(r"(\w*TensorList\w*Metadata|FusedOptimizerTensorListMetadata)<(?:.*, )?(\d)>\Z")
_MOST_TENSORS = (110, 64, 48, 36, 30)
_MOST_WITH_SCALARS = (96, 64, 48, 36, 30)
_BLOCKS = 320
_CAT = re.compile(
    r"CatArrInputTensorMetadata<.*, (unsigned int|unsigned long|int|long), (\d+), (\d+)>\Z"
)
_CAT_DIMENSIONS = 4
_SCRATCH_AT = (376, 328)
_FOUR_WORDS = struct.Struct("<4Q").unpack_from


class UsedPart(Protocol):
    """What tells which words a launch uses."""

    def of_launch(
        self, slots: list[Slot], arguments: bytes, grid: Sequence[int] | None
    ) -> list[Slot]:
        """Return a slot for every word, given those that hold for every launch."""


class TensorLists(NamedTuple):
    """A structure of torch's that holds addresses of lists of tensors, as many as blocks name."""

    parameter: int
    offset: int
    depth: int
    most: int
    """Tensors in a list."""
    steps_at: int
    """First byte of the addresses of an optimizer's steps; 0 where there are none."""
    blocks_at: int
    """First byte of the numbers of the tensors that blocks work on."""

    def of_launch(
        self, slots: list[Slot], arguments: bytes, grid: Sequence[int] | None
    ) -> list[Slot]:
        """Return slots in which the words that the blocks use are addresses."""
        if not grid:
            return slots
        used = arguments[self.blocks_at : self.blocks_at + min(grid[0], _BLOCKS)]
        tensors = min(max(used, default=-1) + 1, self.most)
        first = self.offset // 8
        starts = [first + list_ * self.most for list_ in range(self.depth)]
        if self.steps_at:
            starts.append(self.steps_at // 8)
        return _with(slots, starts, tensors, (self.parameter, False))


class CatInputs(NamedTuple):
    """The structure of torch's concatenation: an address for each row of blocks."""

    parameter: int
    offset: int
    most: int

    def of_launch(
        self, slots: list[Slot], arguments: bytes, grid: Sequence[int] | None
    ) -> list[Slot]:
        """Return slots in which the first words are addresses."""
        if not grid or len(grid) < 2:
            return slots
        used = min(grid[1], self.most)
        return _with(slots, [self.offset // 8], used, (self.parameter, False))


class Scratch(NamedTuple):
    """The workspace in the parameters of the ``xmma`` kernels of cuBLAS and cuDNN.

    Three addresses stand there: of partial sums, and of two arrays of counters, the first of which
    has as many bytes as the word between the first two addresses says. In every launch seen the
    third less the second address is that number. Where it is 0 and all three are the same, the
    launch has no workspace: the address is the end of the library's buffer and more (32 bytes past
    it), and nothing is read or written there.
    """

    def of_launch(
        self, slots: list[Slot], arguments: bytes, grid: Sequence[int] | None
    ) -> list[Slot]:
        """Return slots in which an empty workspace is no address."""
        for begin in _SCRATCH_AT:
            if begin + 32 > len(arguments):
                continue
            sums, counted, counters, more = _FOUR_WORDS(arguments, begin)
            if sums == counters == more and LOWEST <= sums < END and not counted & 0xFFFFFFFF:
                return _with(slots, [begin // 8], 4, None)
        return slots


def _with(slots: list[Slot], starts: Iterable[int], count: int, slot: Slot) -> list[Slot]:
    """Return slots with as many others from each start on."""
    found = list(slots)
    for start in starts:
        stop = min(start + count, len(found))
        found[start:stop] = [slot] * (stop - start)
    return found


def part_of(type_: str, index: int, offset: int, size: int) -> TensorLists | CatInputs | None:
    """Return what tells the words in use of a parameter, if its type and size are known.

    Parameters
    ----------
    type_ : str
        As the kernel's signature declares it.
    index, offset, size : int
        Of the parameter.
    """
    lists = _LISTS.search(type_)
    if lists is not None:
        return _lists(lists[1], int(lists[2]), index, offset, size)
    cat = _CAT.search(type_)
    if cat is None or offset % 8:
        return None
    number = 8 if "long" in cat[1] else 4
    most, strides = int(cat[2]), int(cat[3])
    known = (8 + 3 * number + 1) * most
    known = -(-known // number) * number + 2 * number * _CAT_DIMENSIONS * strides
    return CatInputs(index, offset, most) if size == -(-known // 8) * 8 else None


def scratch_of(kernel: str) -> Scratch | None:
    """Return what tells an empty workspace, of the kernels that have one in their parameters."""
    return Scratch() if "xmma" in kernel else None


def _lists(name: str, depth: int, index: int, offset: int, size: int) -> TensorLists | None:
    """Return how a structure of that name and size is laid out, if it is one that is known."""
    if not 1 <= depth <= len(_MOST_TENSORS) or offset % 8:
        return None
    for most in dict.fromkeys((_MOST_TENSORS[depth - 1], _MOST_WITH_SCALARS[depth - 1])):
        steps_at = 0
        at = 8 * most * (depth + 1)
        tail = 5 * _BLOCKS
        if name.startswith("FusedOptimizer"):
            steps_at = at
            at += 8 * _MOST_WITH_SCALARS[depth - 1]
            tail += 4
        elif "Scalar" in name:
            rest = size - at - tail
            scalar = rest // most
            if scalar not in (2, 4, 8, 16) or rest - scalar * most > 8:
                continue
            at += scalar * most
        else:
            tail += 4
        if -(-(at + tail) // 8) * 8 == -(-size // 8) * 8:
            start = offset + steps_at if steps_at else 0
            return TensorLists(index, offset, depth, most, start, offset + at)
    return None
