"""The parameters of a kernel launch, as rows of a table."""

from __future__ import annotations

from capture.arguments import Argument, Reading, decode_arguments
from capture.nodes.kernel import KernelPayload

from . import format as text
from .facts import Section
from .fields import hex_text

SHOWN_BYTES = 64
SHOWN_READINGS = 8
GUESS = "?"
"""Marks a reading that the kernel's own signature does not confirm."""


def reading_text(reading: Reading) -> str:
    """Return a value as its kind is written.

    Examples
    --------
    >>> reading_text(Reading("address", 4096, 8, True))
    '0x1000'
    """
    if reading.kind == "address":
        return text.address_text(int(reading.value))
    if reading.kind == "integer":
        return str(reading.value)
    return f"{reading.value:.6g}"


def parameter_rows(arguments: list[Argument]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return a row per parameter, and below each its bytes and the other ways to read them.

    Returns
    -------
    rows : list of tuple
        Offset, size, likeliest value, what it was read as.
    notes : list of str
        One per row.
    """
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for argument in arguments:
        whole = argument.size_bytes <= 8
        first = argument.readings[0] if argument.readings and whole else None
        value = reading_text(first) if first is not None else ""
        kind = first.kind if first is not None else "bytes"
        doubt = GUESS if first is not None and first.guess else ""
        rows.append((str(argument.offset), str(argument.size_bytes), value, kind + doubt))
        notes.append(_note(argument, 1 if first is not None else 0))
    return rows, notes


def _note(argument: Argument, skip: int) -> str:
    raw = bytes.fromhex(argument.raw)
    parts = [argument.declared] if argument.declared else []
    parts.append(hex_text(raw, SHOWN_BYTES))
    others = argument.readings[skip:]
    for reading in others[:SHOWN_READINGS]:
        where = f" at +{reading.offset}" if argument.size_bytes > 8 else ""
        parts.append(f"{reading.kind} {reading_text(reading)}{where}")
    if len(others) > SHOWN_READINGS:
        parts.append(f"{len(others) - SHOWN_READINGS} more")
    return " · ".join(parts)


def parameter_section(payload: KernelPayload, source: str, absent: str) -> Section:
    """Return the parameters of a launch, or the sentence that says why there are none."""
    if payload.arguments is None:
        return Section("Parameters", absent=absent)
    arguments = decode_arguments(payload)
    if not arguments:
        return Section("Parameters", absent="None: this kernel takes no parameters.")
    rows, notes = parameter_rows(arguments)
    guesses = any(row[3].endswith(GUESS) for row in rows)
    how = f"{source}; bytes in memory order"
    if guesses:
        how += f"; {GUESS} marks a guess, where the kernel's name does not tell the type"
    return Section(
        "Parameters",
        columns=("offset", "size", "value", "read as"),
        rows=rows,
        notes=notes,
        source=how,
    )
