"""Whether a kernel reads or writes through an argument: from its signature, or a convention. Pure.

A signature tells little: ``T const*`` is read, ``T*`` is written or both. torch's element-wise
kernels take an array of pointers, the output first; those that take lists of tensors name in a
functor's type how many lists are read and which one is written. Of products and convolutions of
cuBLAS and cuDNN it is known where their operands stand, see :mod:`capture.memory.operands`.
Triton's compiler in torch names its parameters. All else may do both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..arguments import signature
from ..model import Kernel
from ..names import demangle
from .layouts import is_array, layout_of, operands_of
from .operands import operands_read
from .structures import source_and_results
from .used_parts import CatInputs, TensorLists

READ, WRITE = 1, 2
BOTH = READ | WRITE


class Direction(NamedTuple):
    """What a node does with memory that it points at."""

    does: int
    """:data:`READ` and :data:`WRITE`, as far as there is reason to believe it."""
    may: int
    """What it may do."""
    how: str
    """``"exact"``, ``"measured"``, ``"declared"``, ``"named"``, ``"convention"``, ``"first"`` or
    ``"unknown"``, see :data:`HOW`.
    """


HOW = {
    "exact": "a copy or a memset",
    "measured": "seen to change when a clone ran node by node",
    "declared": "by the kernel's signature",
    "named": "by the names of the kernel's parameters",
    "convention": "by where this kind of torch's, cuBLAS's or cuDNN's kernels takes pointers",
    "first": "the first node to touch memory that lives only in a replay",
    "unknown": "not known, so it may read and write",
}
UNKNOWN = Direction(0, BOTH, "unknown")
_CONST = Direction(READ, READ, "declared")
_POINTER = Direction(WRITE, BOTH, "declared")
_NAMED = (
    ("in_out_ptr", Direction(BOTH, BOTH, "named")),
    ("in_ptr", Direction(READ, READ, "named")),
    ("out_ptr", Direction(WRITE, WRITE, "named")),
)
OUTPUT = Direction(WRITE, WRITE, "convention")
INPUT = Direction(READ, READ, "convention")
_RESULT = Direction(WRITE, BOTH, "convention")
"""What a launch reads of it is what it wrote itself, or what it adds to."""
_ADDED = 2
_FUNCTOR = re.compile(r"Functor<[^<>]*, (\d), (\d), (\d)>\Z")
"""Its last numbers: lists in all, lists that are read, and the one that is written."""
_TENSOR = re.compile(r"at::cuda::detail::TensorInfo<(?:.*?)( const)?, \w[\w ]*>\Z")


class Directions:
    """Directions of the words of one kernel's arguments.

    Parameters
    ----------
    kernel : Kernel
    names : sequence of str
        Names of its parameters, where a compiler told them; of the pointers are used those that
        Triton's compiler in torch gives.
    """

    def __init__(self, kernel: Kernel, names: Sequence[str] = ()) -> None:
        layout = kernel.parameters or []
        self._of: dict[int, Direction] = {}
        self.outputs_first: set[int] = set()
        """Parameters with several pointers, the first of which is written and the others read."""
        self._spans: list[tuple[int, int, Direction]] = []
        self._at: dict[int, Direction] = {}
        """By byte."""
        self._first: dict[int, int] = {}
        """By parameter: the only byte that its direction is known of."""
        declared = signature(kernel.name)
        if declared is not None and len(declared) == len(layout):
            text = demangle(kernel.name)
            for index, (type_, (offset, size)) in enumerate(zip(declared, layout, strict=True)):
                kind = type_.removesuffix(" const").strip()
                if is_array(text, index, size) or operands_of(text, index, size):
                    self.outputs_first.add(index)
                elif kind.endswith("*") and size == 8:
                    pointee = kind[:-1].rstrip()
                    self._of[index] = _CONST if pointee.endswith("const") else _POINTER
                elif tensor := _TENSOR.match(kind):
                    self._of[index] = _CONST if tensor[1] else _POINTER
                    self._first[index] = offset
                elif reduced := source_and_results(kind, size):
                    source, results, end = (offset + at for at in reduced)
                    self._spans.append((source, results, INPUT))
                    self._spans.append((results, end, _RESULT))
            self._tell_lists(kernel, declared)
        elif names:
            self._name(layout, names)
        elif layout:
            size = max(offset + length for offset, length in layout)
            self._at = dict.fromkeys(operands_read(kernel.name, size), INPUT)

    def _tell_lists(self, kernel: Kernel, declared: Sequence[str]) -> None:
        """Take from the functor's type what is done with lists of tensors."""
        lists = layout_of(kernel).part
        if isinstance(lists, CatInputs):
            self._spans.append((lists.offset, lists.offset + 8 * lists.most, INPUT))
        if not isinstance(lists, TensorLists):
            return
        functor = _FUNCTOR.search(declared[1]) if len(declared) > 1 else None
        if functor is None or int(functor[1]) != lists.depth:
            return
        read, written = int(functor[2]), int(functor[3])
        for number in range(lists.depth):
            does = (READ if number < read else 0) | (WRITE if number == written else 0)
            begin = lists.offset + 8 * lists.most * number
            if does:
                self._spans.append(
                    (begin, begin + 8 * lists.most, Direction(does, does, "convention"))
                )

    def _name(self, layout: Sequence[tuple[int, int]], names: Sequence[str]) -> None:
        """Give parameters their names: by position, else by the order of the pointers.

        Triton adds up to two pointers at the end, and leaves out what it took for a constant.
        """
        pairs: list[tuple[int, str]] = []
        pointers = [name for name in names if "ptr" in name]
        places = [index for index, (_, size) in enumerate(layout) if size == 8]
        if 0 <= len(layout) - len(names) <= _ADDED:
            pairs = [(index, name) for index, name in enumerate(names) if index in places]
        elif 0 <= len(places) - len(pointers) <= _ADDED:
            pairs = list(zip(places, pointers, strict=False))
        for index, name in pairs:
            found = next((way for start, way in _NAMED if name.startswith(start)), None)
            if found is not None:
                self._of[index] = found

    @property
    def simple(self) -> dict[int, Direction] | None:
        """Directions by parameter, where they hold for every byte of it; else ``None``."""
        return None if self._first or self._spans or self._at else self._of

    def of(self, argument: int, offset_bytes: int) -> Direction:
        """Return the direction of a word.

        Parameters
        ----------
        argument : int
            Index of the parameter; -1 for none.
        offset_bytes : int
            In the argument buffer.
        """
        if self._at:
            return self._at.get(offset_bytes, UNKNOWN)
        for begin, end, direction in self._spans:
            if begin <= offset_bytes < end:
                return direction
        found = self._of.get(argument)
        if found is None or self._first.get(argument, offset_bytes) != offset_bytes:
            return UNKNOWN
        return found
