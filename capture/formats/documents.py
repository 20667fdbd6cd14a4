"""JSON documents from untrusted bytes, and to bytes, with every failure mapped to one error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ..codec import collection_paused
from ..errors import FormatError, InvalidGraphError, NewerVersionError, TooLargeError
from ..evidence import StoredKind
from ..model import Executable

MAX_VALUES = 60_000_000
"""Values one document may hold; more would fill memory many times over its size on disk."""

MARKER = "cudagraph-lens recording"
VERSION = 1
"""Version 0 had no benchmarks and origins; it reads as version 1 does."""


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
        with collection_paused():
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


def check_owner(kind: StoredKind, item: Any, owner: str, where: str) -> None:
    """Check that evidence belongs to what it is stored for.

    Raises
    ------
    InvalidGraphError
        It says that it belongs to something else.
    """
    claimed = getattr(item, kind.owner)
    if claimed != owner:
        raise InvalidGraphError(
            f"{where} is stored for {kind.owner} {owner!r} and says it is of {claimed!r}"
        )


def owners(
    kind: StoredKind, keys: Sequence[str], executables: Sequence[Executable], processes: int
) -> Sequence[str]:
    """Return what may have evidence of a kind, in the order in which it is written.

    `processes` is how many of them are written with all that belongs to them.
    """
    if kind.owner == "process":
        return [str(number) for number in range(processes)]
    return keys if kind.owner == "graph" else [item.id for item in executables]
