"""Where arguments of kernels hold addresses: by declared types, and in structures of torch's own.

Structures are copied whole, with what was in their memory before: entries that are not used, and
padding. Of torch's element-wise kernels over strides, and of those that take lists of tensors,
it is known which bytes are addresses; sizes are checked, so that another version of such a
structure is an unknown one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..arguments import signature
from ..model import Kernel
from ..names import demangle

Slot = tuple[int, bool] | None
"""Parameter and whether it is a guess, of a word of eight bytes; ``None`` for a number."""
UNKNOWN: Slot = (-1, True)
"""Of a word in no parameter that is known."""

_SIZES = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char"), (1,)),
    **dict.fromkeys(("short", "unsigned short", "__half", "c10::Half", "c10::BFloat16"), (2,)),
    **dict.fromkeys(("int", "unsigned int", "float"), (4,)),
    **dict.fromkeys(("long", "unsigned long"), (4, 8)),
    **dict.fromkeys(("long long", "unsigned long long", "double"), (8,)),
}
ELEMENTWISE = re.compile(r"\b(?:vectorized|unrolled)_elementwise_kernel<")
"""Kernels whose third parameter is an array of pointers, the output first."""
ARRAY = 2
STRIDED = re.compile(r"\belementwise_kernel<[^(]*?gpu_kernel_impl(?:_nocast)?<")
"""Kernels whose second parameter captures sizes and strides, then such an array."""
CAPTURE = 1
_DIMENSIONS = 25
_MOST_OPERANDS = 16

_LISTS = re.compile(r"(\w*TensorList\w*Metadata|FusedOptimizerTensorListMetadata)<(?:.*, )?(\d)>\Z")
_MOST_TENSORS = (110, 64, 48, 36, 30)
_MOST_WITH_SCALARS = (96, 64, 48, 36, 30)
_BLOCKS = 320


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

    def slots(self, arguments: bytes, blocks: int) -> dict[int, Slot]:
        """Return the words that are used by a launch with that many blocks, by index."""
        used = arguments[self.blocks_at : self.blocks_at + min(blocks, _BLOCKS)]
        tensors = min(max(used, default=-1) + 1, self.most)
        first = self.offset // 8
        starts = [first + list_ * self.most for list_ in range(self.depth)]
        if self.steps_at:
            starts.append(self.steps_at // 8)
        return {start + at: (self.parameter, False) for start in starts for at in range(tensors)}


class Layout(NamedTuple):
    """What the words of a kernel's arguments are."""

    slots: list[Slot]
    lists: TensorLists | None = None

    def of_launch(self, arguments: bytes, grid: Sequence[int] | None) -> list[Slot]:
        """Return a slot for every word that parameters cover."""
        if self.lists is None or not grid:
            return self.slots
        used = self.lists.slots(arguments, grid[0])
        return [used.get(at, slot) for at, slot in enumerate(self.slots)]


def plain(type_: str) -> str:
    """Return a type without ``const`` around it."""
    return type_.removesuffix(" const").removeprefix("const ").strip()


def layout_of(kernel: Kernel | None) -> Layout:
    """Return what the words of a kernel's arguments are; of no kernel nothing is known."""
    if kernel is None:
        return Layout([])
    return _layout(kernel.name, tuple(map(tuple, kernel.parameters or ())))


@lru_cache(maxsize=4096)
def _layout(name: str, parameters: tuple[tuple[int, int], ...]) -> Layout:
    end = max((offset + size for offset, size in parameters), default=0)
    slots: list[Slot] = [UNKNOWN] * (end // 8)
    declared = signature(name)
    if declared is None or len(declared) != len(parameters):
        declared = [""] * len(parameters)
    text = demangle(name) if any(declared) else ""
    lists = None
    for index, ((offset, size), type_) in enumerate(zip(parameters, declared, strict=True)):
        kind = plain(type_)
        covered = range(-(-offset // 8), -(-(offset + size) // 8))
        slot: Slot = (index, True)
        if size < 8 or size in _SIZES.get(kind, ()):
            slot = None
        elif (kind.endswith("*") and size == 8) or is_array(text, index, size):
            slot = (index, False)
        for at in covered:
            if at < len(slots):
                slots[at] = slot
        found = _LISTS.search(kind)
        if found is not None:
            lists = _lists(found[1], int(found[2]), index, offset, size) or lists
            if lists is not None and lists.parameter == index:
                slots[offset // 8 : (offset + size) // 8] = [None] * (size // 8)
        operands = operands_of(text, index, size)
        if operands:
            begin, stop = (offset + at for at in operands)
            slots[offset // 8 : begin // 8] = [None] * ((begin - offset) // 8)
            slots[begin // 8 : stop // 8] = [(index, False)] * ((stop - begin) // 8)
    return Layout(slots, lists)


def is_array(kernel: str, index: int, size: int) -> bool:
    """Say whether a parameter is the array of pointers of an element-wise kernel.

    Parameters
    ----------
    kernel : str
        Demangled.
    index, size : int
        Of the parameter.
    """
    return index == ARRAY and not size % 8 and ELEMENTWISE.search(kernel) is not None


def operands_of(kernel: str, index: int, size: int) -> tuple[int, int] | None:
    """Return first and last byte of the pointers that a kernel over strides captures, or ``None``.

    Before them stand the number of dimensions, 25 sizes of three words of four bytes, and 25
    strides for each operand.

    Examples
    --------
    >>> operands_of("elementwise_kernel<128, 2, gpu_kernel_impl<F>(x)::'lambda'(int)>", 1, 648)
    (608, 632)
    """
    if index != CAPTURE or STRIDED.search(kernel) is None:
        return None
    found = None
    for operands in range(1, _MOST_OPERANDS):
        begin = -(-(4 + 12 * _DIMENSIONS + 4 * _DIMENSIONS * operands) // 8) * 8
        if begin + 8 * operands > size:
            break
        found = begin, begin + 8 * operands
    return found


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
