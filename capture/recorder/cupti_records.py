"""Activity records of CUPTI, read from their buffers without an object of CUPTI's each.

Only the leading fields of the three records are used: they are equal in CUPTI 12.8 and 13.0
(``cupti_activity.h``).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import NamedTuple

MEMCPY, MEMSET, KERNEL, CONCURRENT_KERNEL = 1, 2, 3, 10

_LONG = struct.Struct("<Q")
_KIND = struct.Struct("<I")
# start, end, stream, correlation, graph node: leading fields of each record, with what is between.
_KERNEL_FIELDS = struct.Struct("<16xQQ16xI40xI48xQ")
_COPY_FIELDS = struct.Struct("<16xQQ8xII16xQ")
_NAME, _COPY_KIND = 104, 4
"""Places of a kernel's name and of a copy's kind in their records."""
_FIELDS = {
    KERNEL: _KERNEL_FIELDS,
    CONCURRENT_KERNEL: _KERNEL_FIELDS,
    MEMCPY: _COPY_FIELDS,
    MEMSET: _COPY_FIELDS,
}


class Record(NamedTuple):
    """One node that ran: times are CUPTI's, in nanoseconds."""

    kind: int
    start_ns: int
    end_ns: int
    stream: int
    correlation: int
    node_id: int


class Other(NamedTuple):
    """Work that was launched outside any graph."""

    kind: int
    start_ns: int
    end_ns: int
    stream: int
    correlation: int
    label: int
    """Address of a kernel's name, or the kind of a copy (``CUpti_ActivityMemcpyKind``)."""


class RecordReader:
    """Reads buffers of records, and keeps those of work outside graphs apart.

    Parameters
    ----------
    next_offset : callable
        ``next_offset(base, valid, offset)`` asks CUPTI where the record after the one at `offset`
        is: lengths differ between its versions. 0 where there is none.
    """

    def __init__(self, next_offset: Callable[[int, int, int], int]) -> None:
        self._next_offset = next_offset
        self._lengths: dict[int, int] = {}
        self._others: list[Other] = []

    def read(self, base: int, valid: int) -> list[Record]:
        """Return the records of nodes in the `valid` bytes from an address."""
        found: list[Record] = []
        data = ctypes.string_at(base, valid)
        offset = 0
        while offset + 4 <= valid:
            kind = _KIND.unpack_from(data, offset)[0]
            fields = _FIELDS.get(kind)
            if fields is not None and offset + fields.size <= valid:
                start_ns, end_ns, stream, correlation, node_id = fields.unpack_from(data, offset)
                # Without an end it had not finished when the buffer was called back.
                if not 0 < start_ns <= end_ns:
                    pass
                elif node_id:
                    found.append(Record(kind, start_ns, end_ns, stream, correlation, node_id))
                else:
                    label = _label(data, offset, kind)
                    self._others.append(Other(kind, start_ns, end_ns, stream, correlation, label))
            length = self._lengths.get(kind) or self._length_of(base, valid, offset, kind)
            if not length:
                break
            offset += length
        return found

    def others(self) -> list[Other]:
        """Return and forget the records without a node among those that were read."""
        found, self._others = self._others, []
        return found

    def _length_of(self, base: int, valid: int, offset: int, kind: int) -> int:
        length = max(0, self._next_offset(base, valid, offset) - offset)
        if length:
            self._lengths[kind] = length
        return length


def _label(data: bytes, offset: int, kind: int) -> int:
    """Return what names a piece of work: a kernel's name, by address, or the kind of a copy."""
    if kind == MEMCPY:
        return data[offset + _COPY_KIND]
    return 0 if kind == MEMSET else int(_LONG.unpack_from(data, offset + _NAME)[0])
