"""Where arguments of kernels hold addresses: by declared types, and in structures that are known.

Structures are copied whole, with what was in their memory before: entries that are not used, and
padding. Of some it is known which bytes are addresses, see :mod:`capture.memory.structures` and
:mod:`capture.memory.used_parts`; sizes are checked, so that another version of such a structure is
an unknown one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..arguments import signature
from ..model import Kernel
from ..names import demangle
from .structures import is_numbers, numbers_in, pointers_in
from .used_parts import Slot, UsedPart, part_of, scratch_of

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


class Layout(NamedTuple):
    """What the words of a kernel's arguments are."""

    slots: list[Slot]
    part: UsedPart | None = None
    """What tells the words that a launch uses, where a structure has more."""

    def of_launch(self, arguments: bytes, grid: Sequence[int] | None) -> list[Slot]:
        """Return a slot for every word that parameters cover."""
        return self.slots if self.part is None else self.part.of_launch(self.slots, arguments, grid)


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
    part: UsedPart | None = scratch_of(name)
    for index, ((offset, size), type_) in enumerate(zip(parameters, declared, strict=True)):
        kind = plain(type_)
        covered = range(-(-offset // 8), -(-(offset + size) // 8))
        slot: Slot = (index, True)
        if size < 8 or size in _SIZES.get(kind, ()) or is_numbers(name, size):
            slot = None
        elif (kind.endswith("*") and size == 8) or is_array(text, index, size):
            slot = (index, False)
        for at in covered:
            if at < len(slots):
                slots[at] = slot
        held = pointers_in(kind, size) if size >= 8 else None
        if held is not None:
            _fill(slots, offset, size, {at: (index, guess) for at, guess in held.items()})
        else:
            for begin, stop in numbers_in(kind, size, text):
                _fill(slots, offset + begin, stop - begin, {})
        found = part_of(kind, index, offset, size)
        if found is not None:
            part = found
            _fill(slots, offset, size, {})
        operands = operands_of(text, index, size)
        if operands:
            begin, stop = (offset + at for at in operands)
            slots[offset // 8 : begin // 8] = [None] * ((begin - offset) // 8)
            slots[begin // 8 : stop // 8] = [(index, False)] * ((stop - begin) // 8)
    return Layout(slots, part)


def _fill(slots: list[Slot], offset: int, size: int, held: dict[int, Slot]) -> None:
    """Take all words that lie in a structure for numbers, except those that are given by byte."""
    for at in range(-(-offset // 8), min(-(-(offset + size) // 8), len(slots))):
        slots[at] = held.get(8 * at - offset)


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
