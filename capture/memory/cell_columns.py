"""Accesses of many cells as arrays, and what follows from all of them at once. Pure.

Says what the loops of :mod:`capture.memory.flow` say, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from .directions import READ, WRITE

if TYPE_CHECKING:
    import numpy

    from .flow import Cells

    Array = numpy.ndarray[Any, Any]

MANY = 10_000
"""Accesses from which on arrays are faster, numpy's import included."""
POSSIBLE, EXACT, MEASURED, INFERRED = range(4)
LABELS = ("possible", "exact", "measured", "inferred")
_HOW = {"exact": 0, "measured": 1}
_OTHER = 2


class CellColumns(NamedTuple):
    """Accesses, cell by cell, each in the order that its cell has.

    Attributes
    ----------
    node, start, does, may, life : array of int
        Fields of the access.
    how : array of int
        0 for exact, 1 for measured, 2 for others.
    cell : array of int
        Place of the cell.
    first : array of int
        Place of the first access of the same cell.
    alike : array of bool
        Whether all accesses of the cell begin where it begins.
    """

    node: Array
    start: Array
    does: Array
    may: Array
    life: Array
    how: Array
    cell: Array
    first: Array
    alike: Array


class Candidates(NamedTuple):
    """Pairs of which the one may have written what the other reads, in order.

    Attributes
    ----------
    order, writer, reader, address, label : array of int
        The label is a place in :data:`LABELS`.
    """

    order: Array
    writer: Array
    reader: Array
    address: Array
    label: Array


def columns_of(cells: Cells) -> CellColumns:
    """Return the accesses of all cells as arrays."""
    import numpy

    lengths = numpy.array([len(items) for _, items in cells.held], dtype=numpy.int64)
    fields = list(zip(*chain.from_iterable(items for _, items in cells.held), strict=True))
    fields = fields or [()] * 8
    node, start, does, may, life, how = (
        numpy.array(column, dtype=numpy.int64)
        for column in (
            *(fields[at] for at in (0, 1, 3, 4, 7)),
            [_HOW.get(item, _OTHER) for item in fields[5]],
        )
    )
    cell = numpy.repeat(numpy.arange(len(lengths)), lengths)
    first = (numpy.cumsum(lengths) - lengths)[cell]
    alike = numpy.array([not begin for begin, _ in cells.held], dtype=bool)[cell]
    return CellColumns(node, start, does, may, life, how, cell, first, alike)


def _last(found: Array, until: Array, first: Array) -> Array:
    """Return the last place up to `until` at which something was found, from `first` on; or -1."""
    import numpy

    places = numpy.maximum.accumulate(numpy.where(found, numpy.arange(len(found)), -1))
    return numpy.where(until >= first, numpy.where(places[until] >= first, places[until], -1), -1)


def candidates_of(columns: CellColumns) -> Candidates:
    """Return who may have written what is read, of cells whose accesses begin alike."""
    import numpy

    node, first = columns.node, columns.first
    at = numpy.arange(len(node))
    # What a node reads it reads before it writes.
    begins = at == first
    begins[1:] |= node[1:] != node[:-1]
    before = numpy.maximum.accumulate(numpy.where(begins, at, 0)) - 1
    writes = columns.may & WRITE > 0
    surely = writes & (columns.does & WRITE > 0)
    writer = _last(surely, before, first)
    between = _last(writes & ~surely, before, first)
    between = numpy.where(between > writer, between, -1)
    reads = columns.alike & (columns.may & READ > 0)
    known = (columns.does & READ > 0) & (between < 0)
    parts = []
    for number, one in enumerate((writer, between)):
        reader = numpy.nonzero(reads & (one >= 0))[0]
        other = one[reader]
        here, there = columns.life[reader], columns.life[other]
        wanted = (node[other] != node[reader]) & ((here == there) | (here < 0) | (there < 0))
        reader, other = reader[wanted], other[wanted]
        how, its = columns.how[reader], columns.how[other]
        label = numpy.where((how == 0) & (its == 0), EXACT, INFERRED)
        label = numpy.where((label != EXACT) & (how < _OTHER) & (its < _OTHER), MEASURED, label)
        label = numpy.where(known[reader] & (number == 0), label, POSSIBLE)
        order = 2 * reader + number
        parts.append((order, node[other], node[reader], columns.start[reader], label))
    order, writer, reader, address, label = map(numpy.concatenate, zip(*parts, strict=True))
    sorted_ = numpy.argsort(order, kind="stable")
    return Candidates(
        order[sorted_] // 2, writer[sorted_], reader[sorted_], address[sorted_], label[sorted_]
    )


def first_of_pairs(found: Candidates, count: int) -> Array:
    """Return places of one candidate for each pair: the first known one, or else the first.

    Pairs are in the order of their first candidates.
    """
    import numpy

    key = found.writer * count + found.reader
    keys, first = numpy.unique(key, return_index=True)
    known = numpy.nonzero(found.label != POSSIBLE)[0]
    known_keys, place = numpy.unique(key[known], return_index=True)
    chosen = first.copy()
    chosen[numpy.searchsorted(keys, known_keys)] = known[place]
    return chosen[numpy.argsort(first)]


def links_between(columns: CellColumns, rank: Sequence[int]) -> tuple[Array, Array]:
    """Return pairs of ranks, the later one first, that share bytes; one may come several times.

    All that is not known is taken to be both read and written.
    """
    import numpy

    at, first = numpy.arange(len(columns.node)), columns.first
    here = columns.node
    if not isinstance(rank, range):
        here = numpy.array(rank, dtype=numpy.int64)[here]
    writes = columns.may & WRITE > 0
    writer = _last(writes, at - 1, first)
    after = numpy.nonzero(writer >= 0)[0]
    # Each that only reads is followed by the next one that writes.
    following = numpy.minimum.accumulate(numpy.where(writes, at, len(at))[::-1])[::-1]
    reads = numpy.nonzero(~writes & (following < len(at)))[0]
    reads = reads[columns.cell[following[reads]] == columns.cell[reads]]
    later = numpy.concatenate([here[after], here[following[reads]]])
    earlier = numpy.concatenate([here[writer[after]], here[reads]])
    wanted = later != earlier
    return later[wanted], earlier[wanted]
