"""JSON documents from untrusted bytes, and to bytes, with every failure mapped to one error."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..errors import FormatError, InvalidGraphError, NewerVersionError, TooLargeError
from ..timings import NODE_COLUMNS, Timings

MAX_VALUES = 60_000_000
"""Values one document may hold; more would fill memory many times over its size on disk."""

MARKER = "cudagraph-lens recording"
VERSION = 0


def decode(data: bytes, where: str) -> Any:
    """Decode one JSON document.

    Raises
    ------
    TooLargeError
        Too many values, or nested too deeply.
    FormatError
        No JSON, or no UTF-8.
    """
    values = data.count(b",") + data.count(b"[") + data.count(b"{")
    if values > MAX_VALUES:
        raise TooLargeError(f"{where} holds about {values} values; at most {MAX_VALUES} are read")
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise TooLargeError(f"{where} is nested too deeply to be a recording") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{where} is not UTF-8 text: {error}") from error
    except msgspec.MsgspecError as error:
        raise FormatError(f"{where} is not valid JSON: {error}") from error


def encode(document: Any, sort: bool = True) -> bytes:
    """Encode a document; sorted, with equal bytes for equal content.

    Text that UTF-8 cannot hold (a file name of undecodable bytes, as Python represents it) is
    written with escapes rather than refused.
    """
    order: Literal["sorted"] | None = "sorted" if sort else None
    try:
        return msgspec.json.encode(document, order=order)
    except UnicodeEncodeError:
        return msgspec.json.encode(_printable(msgspec.to_builtins(document)), order=order)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return value


def check_marker(document: Any, where: str, marker: str = MARKER) -> None:
    """Check that a document says it is a recording, of a version that is known here.

    Raises
    ------
    FormatError
        It does not.
    NewerVersionError
        It is of a later version.
    """
    if not isinstance(document, dict) or document.get("format") != marker:
        raise FormatError(f"{where} does not say that it is a {marker!r}")
    version = document.get("version")
    if type(version) is not int or version < 0:
        raise FormatError(f"{where} has version {version!r}, expected a number")
    if version > VERSION:
        writer = document.get("written_by")
        by = f", by cudagraph-lens {writer}" if isinstance(writer, str) and writer else ""
        raise NewerVersionError(
            f"{where} was written in version {version}{by}; this cudagraph-lens reads up to "
            f"version {VERSION}: upgrade with `pip install -U cudagraph-lens`"
        )


def field(document: dict[str, Any], name: str, kind: type, where: str) -> Any:
    """Return a field that may be missing but not of another kind; missing is an empty `kind`.

    Raises
    ------
    FormatError
        It is of another kind.
    """
    value = document.get(name)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise FormatError(f"{where}.{name} is a {type(value).__name__}, expected {kind.__name__}")
    return value


def check_keys(keys: list[str], where: str) -> None:
    """Check that no two graphs have one key.

    Raises
    ------
    InvalidGraphError
        Two have.
    """
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise InvalidGraphError(f"{where} has two graphs with the key {key!r}")
        seen.add(key)


def check_columns(timings: Timings, where: str) -> None:
    """Check that stored timings have one value per row in every column.

    Columns that a writer left out are filled with nothing and stay empty.

    Raises
    ------
    FormatError
        A column has another length than ``node``.
    """
    rows = len(timings.node)
    for name in (*NODE_COLUMNS, "sample_runs", "sample_end_ns"):
        count = len(getattr(timings, name))
        if count and count != rows:
            raise FormatError(f"{where}.{name} has {count} values, expected {rows}, one per row")
