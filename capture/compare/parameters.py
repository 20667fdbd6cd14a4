"""Which parameters of a launch differ, and which differences may mean nothing.

Arguments are copied whole, and structures have bytes that nobody wrote: padding, the only byte of
an empty functor, unused entries of arrays. What stands there is left over on the stack. Two
recordings of one script on an H200 differed in such bytes in 60 of 128 nodes of a mixture of
experts, small numbers and old pointers alike, so no value tells them from others. A difference
inside a structure is therefore doubtful, unless both values are floats of few digits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ..arguments import readings, signature
from ..model import Kernel
from .relocation import is_address

SMALL_BYTES = 16
"""Size up to which floats of few digits in a structure are believed."""

_NUMBERS = {
    "bool": (1,),
    "char": (1,),
    "signed char": (1,),
    "unsigned char": (1,),
    "short": (2,),
    "unsigned short": (2,),
    "int": (4,),
    "unsigned int": (4,),
    "long": (4, 8),
    "unsigned long": (4, 8),
    "long long": (8,),
    "unsigned long long": (8,),
    "float": (4,),
    "double": (8,),
    "__half": (2,),
    "__nv_bfloat16": (2,),
    "c10::Half": (2,),
    "c10::BFloat16": (2,),
}
"""Sizes of types that have no bytes to spare."""


class FieldChange(msgspec.Struct, kw_only=True, frozen=True):
    """A field that has another value."""

    field: str
    """Name in the node's payload, ``"kernel"``, or ``"argument 2"`` with the byte in structures."""
    before: Any
    after: Any


class ChangedParameters(NamedTuple):
    """Parameters of one pair of launches that differ.

    Attributes
    ----------
    changes : list of FieldChange
    pointers : list of FieldChange
        Addresses that no relocation explains.
    doubtful : int
        How many words differ in structures.
    """

    changes: list[FieldChange]
    pointers: list[FieldChange]
    doubtful: int


class Parameters:
    """The parameters of a kernel, and which of them are structures.

    Parameters
    ----------
    kernel : Kernel or None
        The declared types in a C++ name decide; without them, a parameter of 4 or 8 bytes is none.
    """

    def __init__(self, kernel: Kernel | None) -> None:
        self.layout = list(kernel.parameters or []) if kernel is not None else []
        self.end = max((offset + size for offset, size in self.layout), default=0)
        declared = signature(kernel.name) if kernel is not None else None
        if declared is None or len(declared) != len(self.layout):
            declared = [""] * len(self.layout)
        self.declared = declared

    def changed(self, before: bytes, after: bytes, words: list[int]) -> ChangedParameters:
        """Name the parameters in which words differ.

        Parameters
        ----------
        before, after : bytes
            Argument buffers of equal length.
        words : list of int
            Words of 8 bytes that differ and are no relocated addresses.

        Returns
        -------
        ChangedParameters
        """
        layout, declared = self.layout, self.declared
        if len(before) > self.end:
            layout = [*layout, (self.end, len(before) - self.end)]
            declared = [*declared, ""]
        changes: list[FieldChange] = []
        pointers: list[FieldChange] = []
        doubtful = 0
        for index, ((offset, size), type_) in enumerate(zip(layout, declared, strict=True)):
            touched = [w for w in words if 8 * w < offset + size and 8 * w + 8 > offset]
            old, new = before[offset : offset + size], after[offset : offset + size]
            if not touched or old == new:
                continue
            name = f"argument {index}"
            if not is_structure(type_, size):
                kind = pointers if _are_addresses(before, after, touched) else changes
                kind.append(
                    FieldChange(field=name, before=_read(old, type_), after=_read(new, type_))
                )
                continue
            for word in touched:
                start, end = max(8 * word, offset), min(8 * word + 8, offset + size)
                one, other = before[start:end], after[start:end]
                if one == other:
                    continue
                floats = size <= SMALL_BYTES and _floats(one, other)
                if not floats:
                    doubtful += 1
                    continue
                at = f", byte {start - offset}" if size > 8 else ""
                changes.append(FieldChange(field=name + at, before=floats[0], after=floats[1]))
        return ChangedParameters(changes, pointers, doubtful)


def _are_addresses(before: bytes, after: bytes, words: list[int]) -> bool:
    return all(
        is_address(int.from_bytes(data[8 * word : 8 * word + 8], "little"))
        for data in (before, after)
        for word in words
    )


def is_structure(declared: str, size_bytes: int) -> bool:
    """Say whether a parameter may have bytes that nobody wrote.

    Examples
    --------
    >>> is_structure("float*", 8), is_structure("std::array<char*, 3ul>", 24)
    (False, False)
    >>> is_structure("at::native::CUDAFunctor_add<float>", 8), is_structure("", 1720)
    (True, True)

    A size that does not fit the type means that the name was read wrongly:

    >>> is_structure("float", 8)
    True
    """
    type_ = declared.removesuffix(" const").removeprefix("const ").strip()
    if not type_:
        return size_bytes not in (4, 8)
    pointers = type_.startswith(("std::array<char*", "std::array<char *"))
    return not (type_.endswith("*") or pointers or size_bytes in _NUMBERS.get(type_, ()))


_INTEGERS = frozenset(
    {"int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long"}
)


@lru_cache(maxsize=4096)
def _declared(name: str, count: int) -> tuple[str, ...]:
    found = signature(name)
    return tuple(found) if found is not None and len(found) == count else ("",) * count


def is_plain_integer(kernel: Kernel, index: int, size_bytes: int) -> bool:
    """Say whether a parameter is an integer: by its declared type, or of 4 bytes without one."""
    declared = _declared(kernel.name, len(kernel.parameters or []))[index]
    if declared:
        return declared in _INTEGERS and not is_structure(declared, size_bytes)
    return size_bytes == 4


def _floats(before: bytes, after: bytes) -> tuple[float, float] | None:
    """Return two floats of few digits; ``None`` where a value is none, or zero."""
    import struct

    for size, layout, mask in ((4, "<f", 0xFFF), (8, "<d", 0xFF_FFFF_FFFF)):
        for start in range(0, len(before) - size + 1, size):
            one, other = before[start : start + size], after[start : start + size]
            if one == other:
                continue
            bits = [int.from_bytes(part, "little") for part in (one, other)]
            values = [struct.unpack(layout, part)[0] for part in (one, other)]
            rest_equal = before[:start] + before[start + size :] == (
                after[:start] + after[start + size :]
            )
            if (
                rest_equal
                and not any(part & mask for part in bits)
                and all(1e-6 <= abs(value) <= 1e6 for value in values)
            ):
                return values[0], values[1]
    return None


def _read(raw: bytes, declared: str) -> Any:
    found = readings(raw, declared)
    if not found:
        return raw.hex()
    return hex(int(found[0].value)) if found[0].kind == "address" else found[0].value
