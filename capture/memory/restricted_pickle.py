"""A pickle of plain data, read without running anything that is in it, within bounds.

The pure-Python unpickler of the standard library takes its operations from a table and its bytes
from a stream, so both can be checked; the C one trusts lengths that a file claims, and a few bytes
can make it allocate gigabytes.
"""

from __future__ import annotations

import io
import pickle
import time
from collections.abc import Callable
from typing import Any

from ..errors import FormatError, TooLargeError, TruncatedError

MAX_BYTES = 1 << 28
MAX_SECONDS = 300
MAX_DEPTH = 64
_KEYS = frozenset((str, int))

_PLAIN = frozenset(
    (
        *("PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP"),
        *("NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2"),
        *("LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("EMPTY_LIST", "APPEND", "APPENDS", "LIST"),
        *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
        *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
        *("PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET", "MEMOIZE"),
    )
)
"""Operations that make plain data. All else names code, calls it, or refers outside the file."""

_NAME = {
    getattr(pickle, name)[0]: name
    for name in pickle.__all__
    if name.isupper()
    and isinstance(getattr(pickle, name), bytes)
    and len(getattr(pickle, name)) == 1
}


def _refuse(name: str) -> Callable[[Any], None]:
    def refused(self: Any) -> None:
        raise FormatError(
            f"it has the operation {name}, which plain data does not need: a memory snapshot holds "
            f"only lists, maps, numbers and text, and nothing in a file is run"
        )

    return refused


_Operation = Callable[[Any], None]


def _keyed(name: str, operation: _Operation) -> _Operation:
    """Check keys before they are hashed: a tuple of tuples takes exponential time."""

    def checked(self: Any) -> None:
        stack = self.stack
        kinds = set(map(type, stack[-2:-1] if name == "SETITEM" else stack[::2]))
        if not kinds <= _KEYS:
            names = ", ".join(sorted(kind.__name__ for kind in kinds - _KEYS))
            raise FormatError(f"a map has a {names} as key, expected text")
        operation(self)

    return checked


def _allowed(code: int, operation: _Operation) -> _Operation:
    name = _NAME.get(code, f"0x{code:02x}")
    if name not in _PLAIN:
        return _refuse(name)
    return _keyed(name, operation) if name in ("SETITEM", "SETITEMS", "DICT") else operation


_dispatch: dict[int, _Operation] = {
    code: _allowed(code, operation) for code, operation in pickle._Unpickler.dispatch.items()
}


class _Bounded(io.BytesIO):
    """Bytes that end where they end: a length that a file claims is checked before it is used.

    Every operation takes at least one byte, so their number is bounded by the size; the clock is
    looked at with each read, which is at least every 64 KiB of what pickle itself writes.
    """

    def __init__(self, content: bytes, seconds: float) -> None:
        super().__init__(content)
        self._size = len(content)
        self._until = time.monotonic() + seconds

    def read(self, size: int | None = -1, /) -> bytes:
        if time.monotonic() > self._until:
            raise TooLargeError(f"its first {self.tell()} bytes took too long to read")
        if size is not None and size > self._size - self.tell():
            raise TruncatedError(
                f"it claims {size} bytes at byte {self.tell()}, where {self._size - self.tell()} "
                f"are left"
            )
        return super().read(size)


class _Unpickler(pickle._Unpickler):
    """The standard library's, with plain operations only."""

    dispatch = _dispatch

    def find_class(self, module: str, name: str) -> Any:
        raise FormatError(f"it names {module}.{name}; nothing in a file is imported")

    def persistent_load(self, pid: Any) -> Any:
        raise FormatError("it refers to something outside of the file")


def loads(content: bytes, seconds: float = MAX_SECONDS) -> Any:
    """Return the plain data in a pickle.

    Parameters
    ----------
    content : bytes
    seconds : float
        How long reading may take.

    Raises
    ------
    FormatError
        It is no pickle, or holds more than plain data.
    TruncatedError
        It ends too early.
    TooLargeError
        More bytes or nesting than is read, or it takes too long.

    Examples
    --------
    >>> import pickle
    >>> loads(pickle.dumps({"segments": [1, "a", None]}))
    {'segments': [1, 'a', None]}
    """
    if len(content) > MAX_BYTES:
        raise TooLargeError(f"it has {len(content)} bytes; up to {MAX_BYTES} are read")
    unpickler = _Unpickler(_Bounded(content, seconds), encoding="utf-8", errors="replace")
    try:
        found = unpickler.load()
        _check_depth(found)
    except FormatError:
        raise
    except KeyError as error:
        raise FormatError(f"it has the byte {error} where an operation should be") from error
    except EOFError as error:
        raise TruncatedError("it ends in the middle of the data") from error
    except (MemoryError, RecursionError) as error:
        raise TooLargeError(f"it does not fit: {type(error).__name__}") from error
    except Exception as error:
        # The unpickler indexes its stack and memo without checks.
        raise FormatError(f"it is no pickle: {type(error).__name__}: {str(error)[:120]}") from error
    return found


def _check_depth(value: Any) -> None:
    """Refuse data that is nested deeper than any snapshot, or inside itself."""
    level = [value]
    for _ in range(MAX_DEPTH):
        seen: set[int] = set()
        below: list[Any] = []
        for item in level:
            if not isinstance(item, (dict, list, tuple)) or id(item) in seen:
                continue
            seen.add(id(item))  # torch shares frames between stacks: each is looked at once
            below.extend(item.values() if isinstance(item, dict) else item)
        if not seen:
            return
        level = below
    raise TooLargeError(f"it is nested deeper than {MAX_DEPTH} levels, or inside itself")
