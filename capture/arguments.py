"""Arguments of a kernel launch, parameter by parameter, read as what they may mean.

The driver keeps bytes without types. Where the kernel's name holds a simple C++ signature, the
declared type decides; everything else is a guess and says so: four bytes are an integer and a
float at once, and eight bytes that look like an address may be none.
"""

from __future__ import annotations

import struct

import msgspec

from .names import demangle
from .nodes.kernel import KernelPayload

MAX_SIGNATURE = 20_000
"""Names longer than this many characters are not searched for a signature."""

# Where CUDA places memory on 64-bit Linux and Windows: above 4 GiB, below the 47 bits of user
# space (unified addressing shares it with the host). A heuristic, hence a guess.
_LOWEST_ADDRESS = 1 << 32
_ADDRESS_END = 1 << 47

_INTEGERS = {
    "bool": "<?",
    "char": "<b",
    "signed char": "<b",
    "unsigned char": "<B",
    "short": "<h",
    "unsigned short": "<H",
    "int": "<i",
    "unsigned int": "<I",
    "long": "<q",
    "unsigned long": "<Q",
    "long long": "<q",
    "unsigned long long": "<Q",
}
_FLOATS = {"float": "<f", "double": "<d"}
_GUESSES: dict[int, tuple[tuple[str, str], ...]] = {
    1: (("integer", "<b"),),
    2: (("integer", "<h"), ("float16", "<e")),
    4: (("integer", "<i"), ("float32", "<f")),
    8: (("integer", "<q"), ("float64", "<d")),
}


class Reading(msgspec.Struct, frozen=True):
    """One way to read some bytes of an argument."""

    kind: str
    """``"address"``, ``"integer"``, ``"float16"``, ``"float32"`` or ``"float64"``."""
    value: int | float
    offset: int
    """In bytes from the start of the argument."""
    guess: bool
    """False where the kernel's own signature says so."""


class Argument(msgspec.Struct, frozen=True):
    """One parameter of a launch and the bytes that were passed for it."""

    index: int
    offset: int
    """In bytes from the start of the argument buffer."""
    size_bytes: int
    raw: str
    """The bytes as hexadecimal text, in memory order."""
    declared: str
    """Type in the kernel's signature, empty where the name does not tell."""
    readings: list[Reading]
    """The likeliest first. Structures are read word by word, and only addresses are kept."""


def decode_arguments(payload: KernelPayload) -> list[Argument]:
    """Read the arguments of a launch.

    Parameters
    ----------
    payload : KernelPayload

    Returns
    -------
    list of Argument
        Empty when the bytes were not read. A packed buffer of a kernel whose parameters are not
        known is one argument; bytes past the last parameter are one more.

    Examples
    --------
    >>> from capture.model import Kernel
    >>> kernel = Kernel(name="_Z5scalePffi", parameters=[(0, 8), (8, 4), (12, 4)])
    >>> data = struct.pack("<Qfi", 0x7F0000001000, 0.5, 64)
    >>> [found.readings[0].value for found in decode_arguments(
    ...     KernelPayload(kernel=kernel, arguments=data))]
    [139637976731648, 0.5, 64]
    """
    data = payload.arguments
    if data is None:
        return []
    kernel = payload.kernel
    layout = list(kernel.parameters or []) if kernel is not None else []
    declared = signature(kernel.name) if kernel is not None else None
    if declared is None or len(declared) != len(layout):
        declared = [""] * len(layout)
    end = max((offset + size for offset, size in layout), default=0)
    if len(data) > end:
        layout.append((end, len(data) - end))
        declared.append("")
    found = []
    for index, ((offset, size), type_) in enumerate(zip(layout, declared, strict=True)):
        raw = data[offset : offset + size]
        found.append(Argument(index, offset, size, raw.hex(), type_, readings(raw, type_)))
    return found


def readings(raw: bytes, declared: str = "") -> list[Reading]:
    """Read the bytes of one argument.

    Parameters
    ----------
    raw : bytes
    declared : str
        C++ type, where it is known.
    """
    known = _declared(raw, declared)
    if known is not None:
        return [known]
    guesses = _GUESSES.get(len(raw))
    if guesses is None:
        return list(_addresses(raw))
    found = list(_addresses(raw)) if len(raw) == 8 else []
    for kind, layout in guesses:
        found.append(Reading(kind, struct.unpack(layout, raw)[0], 0, guess=True))
    return found


def _declared(raw: bytes, declared: str) -> Reading | None:
    type_ = declared.removesuffix(" const").removeprefix("const ").strip()
    if type_.endswith("*") and len(raw) == 8:
        return Reading("address", int.from_bytes(raw, "little"), 0, guess=False)
    if type_ in _INTEGERS:
        layout = _INTEGERS[type_]
        # A long has 4 bytes on Windows: a size that does not fit is left to guessing.
        if struct.calcsize(layout) == len(raw):
            return Reading("integer", int(struct.unpack(layout, raw)[0]), 0, guess=False)
    elif type_ in _FLOATS and struct.calcsize(_FLOATS[type_]) == len(raw):
        return Reading(f"float{8 * len(raw)}", struct.unpack(_FLOATS[type_], raw)[0], 0, False)
    return None


def _addresses(raw: bytes) -> list[Reading]:
    count = len(raw) // 8
    words = struct.unpack_from(f"<{count}Q", raw)
    return [
        Reading("address", word, 8 * at, guess=True)
        for at, word in enumerate(words)
        if is_plausible_address(word)
    ]


def is_plausible_address(value: int) -> bool:
    """Say whether a number lies where CUDA places memory; many numbers that are none do too."""
    return _LOWEST_ADDRESS <= value < _ADDRESS_END


def signature(name: str) -> list[str] | None:
    """Return the parameter types in a kernel's name, as written there.

    Returns
    -------
    list of str, or None
        ``None`` when the name has no signature (``extern "C"``) or is too long.

    Examples
    --------
    >>> signature("_Z5scalePffi")
    ['float*', 'float', 'int']
    >>> signature("gemm_kernel") is None
    True
    """
    if len(name) > MAX_SIGNATURE:
        return None
    text = demangle(name)
    if text == name or not text.endswith(")"):
        return None
    start = _opening(text)
    if start is None:
        return None
    inside = text[start + 1 : -1].strip()
    return [part.strip() for part in _split(inside)] if inside and inside != "void" else []


def _opening(text: str) -> int | None:
    """Return where the parenthesis that the last one closes stands."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return None


def _split(text: str) -> list[str]:
    """Split at commas outside of any brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "(<[{":
            depth += 1
        elif letter in ")>]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
