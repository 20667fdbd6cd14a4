"""Accesses of many cells as arrays, and what follows from all of them at once. Pure.

Says what the loops of :mod:`capture.memory.flow` say, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .access import PLACE_OF_HOW, Access, AccessColumns
from .directions import READ, WRITE
from .pieces import Divider
from .sorting import is_new, order_of

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

POSSIBLE, EXACT, MEASURED, INFERRED = range(4)
LABELS = ("possible", "exact", "measured", "inferred")
_EXACT, _MEASURED = PLACE_OF_HOW["exact"], PLACE_OF_HOW["measured"]


class CellColumns(NamedTuple):
    """Accesses as arrays, cell by cell, each in the order that its cell has.

    Attributes
    ----------
    items : AccessColumns
    cell : array of int
        Place of the cell that each is in.
    bounds : array of int
        By cell, the place of its first access; and how many accesses there are.
    begin : array of int
        By cell, its first byte; 0 where each access begins there itself.
    """

    items: AccessColumns
    cell: Array
    bounds: Array
    begin: Array

    @property
    def first(self) -> Array:
        """By access, the place of the first one of its cell."""
        return self.bounds[self.cell]


class HeldCells(Sequence[tuple[int, Sequence[Access]]]):
    """Cells of which the accesses are made when they are asked for."""

    def __init__(self, columns: CellColumns) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns.begin)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        first, end = self._columns.bounds[at : at + 2].tolist()
        return int(self._columns.begin[at]), self._columns.items.rows(first, end)


def divide(columns: AccessColumns, group: Array, divider: Divider) -> CellColumns:
    """Divide memory where accesses begin and end; what only one node touches is left out.

    Parameters
    ----------
    columns : AccessColumns
        Group after group, each in order.
    group : array of int
        By access, the number of its group.
    divider : Divider
        For groups in which ranges differ.
    """
    import numpy

    new = is_new(group)
    bounds = numpy.append(numpy.nonzero(new)[0], len(group))
    inside = numpy.cumsum(new) - 1
    differs = numpy.zeros(len(group), dtype=bool)
    for column in (columns.start, columns.end):
        differs |= column != column[bounds[inside]]
    apart = numpy.bincount(inside, weights=differs, minlength=len(bounds) - 1) > 0
    several = numpy.diff(bounds) > 1
    alike = numpy.nonzero((several & ~apart)[inside])[0]
    rows: list[tuple[int, int, int, int]] = []
    for row in numpy.nonzero(several & apart)[0].tolist():
        first, end = bounds[row : row + 2].tolist()
        ranges = zip(
            columns.start[first:end].tolist(), columns.end[first:end].tolist(), strict=True
        )
        for at, (byte, items) in enumerate(divider.pieces(list(ranges))):
            rows += ((first + item, row, at, byte) for item in items)
    more = numpy.array(rows, dtype=numpy.int64).reshape(-1, 4).T
    none = numpy.zeros(len(alike), dtype=numpy.int64)
    place, number, piece, begin = (
        numpy.concatenate(pair)
        for pair in zip((alike, inside[alike], none, none), more, strict=True)
    )
    order = numpy.lexsort((piece, number))
    place, number, piece, begin = (column[order] for column in (place, number, piece, begin))
    new = is_new(number) | is_new(piece)
    return CellColumns(
        columns.take(place),
        numpy.cumsum(new) - 1,
        numpy.append(numpy.nonzero(new)[0], len(place)),
        begin[new],
    )


def columns_of(held: Sequence[tuple[int, Sequence[Access]]]) -> CellColumns:
    """Return the accesses of cells as arrays."""
    import numpy

    lengths = [len(items) for _, items in held]
    return CellColumns(
        AccessColumns.of([item for _, items in held for item in items]),
        numpy.repeat(numpy.arange(len(lengths)), lengths),
        numpy.cumsum([0, *lengths]),
        numpy.array([begin for begin, _ in held], dtype=numpy.int64),
    )


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


def _last(found: Array, until: Array, first: Array) -> Array:
    """Return the last place up to `until` at which something was found, from `first` on; or -1."""
    import numpy

    places = numpy.maximum.accumulate(numpy.where(found, numpy.arange(len(found)), -1))
    return numpy.where(until >= first, numpy.where(places[until] >= first, places[until], -1), -1)


def candidates_of(columns: CellColumns) -> Candidates:
    """Return who may have written what is read, of cells whose accesses begin alike."""
    import numpy

    items, first = columns.items, columns.first
    node = items.node
    at = numpy.arange(len(node))
    # What a node reads it reads before it writes.
    begins = at == first
    begins[1:] |= node[1:] != node[:-1]
    before = numpy.maximum.accumulate(numpy.where(begins, at, 0)) - 1
    writes = items.may & WRITE > 0
    surely = writes & (items.does & WRITE > 0)
    writer = _last(surely, before, first)
    between = _last(writes & ~surely, before, first)
    between = numpy.where(between > writer, between, -1)
    reads = (columns.begin == 0)[columns.cell] & (items.may & READ > 0)
    known = (items.does & READ > 0) & (between < 0)
    parts = []
    for number, one in enumerate((writer, between)):
        reader = numpy.nonzero(reads & (one >= 0))[0]
        other = one[reader]
        here, there = items.life[reader], items.life[other]
        wanted = (node[other] != node[reader]) & ((here == there) | (here < 0) | (there < 0))
        reader, other = reader[wanted], other[wanted]
        how, its = items.how[reader], items.how[other]
        label = numpy.where((how == _EXACT) & (its == _EXACT), EXACT, INFERRED)
        both = numpy.isin(how, (_EXACT, _MEASURED)) & numpy.isin(its, (_EXACT, _MEASURED))
        label = numpy.where(both & (label != EXACT), MEASURED, label)
        label = numpy.where(known[reader] & (number == 0), label, POSSIBLE)
        order = 2 * reader + number
        parts.append((order, node[other], node[reader], items.start[reader], label))
    order, writer, reader, address, label = map(numpy.concatenate, zip(*parts, strict=True))
    sorted_ = order_of(order)
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

    items, first = columns.items, columns.first
    here = items.node
    at = numpy.arange(len(here))
    if not isinstance(rank, range):
        here = numpy.array(rank, dtype=numpy.int64)[here]
    writes = items.may & WRITE > 0
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
