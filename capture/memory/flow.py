"""Which node wrote the bytes that another reads, and which nodes share bytes at all. Pure.

What a copy or a memset does is exact. Of a kernel it is known where its arguments point; whether it
reads or writes there is inferred (:mod:`capture.memory.directions`) or was measured, and how far it
reaches is taken to be the end of the allocation. So of a kernel's write only the address that it
points at counts as overwritten.

Nodes are looked at in one order that their dependencies allow, mostly the order of their creation,
which is the order in which the program meant them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from .access import Access, AccessColumns
from .cell_columns import (
    LABELS,
    Candidates,
    CellColumns,
    HeldCells,
    candidates_of,
    divide,
    first_of_pairs,
)
from .directions import READ, WRITE
from .pieces import Divider

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

EXACT = ("exact", "measured")


class Flow(NamedTuple):
    """A node reads what another wrote last."""

    writer: int
    reader: int
    address: int
    """The first byte that both touch, as far as known."""
    how: str
    """``"exact"``, ``"measured"``, ``"inferred"``, or ``"possible"`` where it is not known that the
    one reads, or another node may have written in between.
    """


class Clash(NamedTuple):
    """Two nodes touch the same bytes, the one or the other writes, and none in between does."""

    one: Access
    other: Access
    address: int

    @property
    def certainty(self) -> int:
        """Of how many of the two it is certain what they touch."""
        return (self.one.how in EXACT) + (self.other.how in EXACT)


class Cells(NamedTuple):
    """Accesses by the piece of memory that they have in common."""

    held: Sequence[tuple[int, Sequence[Access]]]
    """First byte, and accesses in order; 0 for the first byte where each begins there itself."""
    whole: bool
    """Whether all overlaps were looked at."""
    columns: CellColumns | None = None
    """Of large graphs, all of it as arrays."""


def cells_of(groups: Iterable[Sequence[Access]]) -> Cells:
    """Divide memory where accesses begin and end; what only one node touches is left out.

    Parameters
    ----------
    groups : iterable of sequence of Access
        Accesses to memory that no other group touches.

    Notes
    -----
    O(accesses) where ranges are equal or apart; where they overlap, one step for each piece that an
    access covers, at most :data:`~capture.memory.pieces.MOST_STEPS` in all.
    """
    held: list[tuple[int, Sequence[Access]]] = []
    divider = Divider()
    for group in groups:
        if len(group) > 1:
            held += (
                (begin, [group[at] for at in items])
                for begin, items in divider.pieces([item[1:3] for item in group])
            )
    return Cells(held, divider.whole)


def large_cells(columns: AccessColumns, group: Array, rank: Sequence[int] | None) -> Cells:
    """Divide memory as :func:`cells_of` does, all groups at once.

    Parameters
    ----------
    columns : AccessColumns
        Group after group.
    group : array of int
        By access, the number of its group.
    rank : sequence of int, optional
        Place of each node in the order in which accesses are to be, where they are in another.
    """
    import numpy

    if rank is not None:
        order = numpy.lexsort((numpy.array(rank, dtype=numpy.int64)[columns.node], group))
        columns, group = columns.take(order), group[order]
    divider = Divider()
    found = divide(columns, group, divider)
    return Cells(HeldCells(found), divider.whole, found)


def flows_of(cells: Cells, count: int) -> list[Flow]:
    """Return who wrote what each node reads, each pair of nodes once.

    Parameters
    ----------
    cells : Cells
        With accesses in an order that the dependencies allow.
    count : int
        Nodes.
    """
    columns = cells.columns
    if columns is None:
        found: dict[int, Flow] = {}
        for begin, items in cells.held:
            _add_flows(found, begin, items, count)
        return list(found.values())
    import numpy

    made = candidates_of(columns)
    # Where accesses only overlap, one after another.
    rows: list[tuple[int, int, int, int, int]] = []
    for cell in numpy.nonzero(columns.begin)[0].tolist():
        begin, items = cells.held[cell]
        place = int(columns.bounds[cell])
        rows += (
            (place, writer, reader, address, LABELS.index(how))
            for writer, reader, address, how in _flows(begin, items)
        )
    if rows:
        more = map(numpy.array, zip(*rows, strict=True))
        joined = [numpy.concatenate(pair) for pair in zip(made, more, strict=True)]
        order = numpy.argsort(joined[0], kind="stable")
        made = Candidates(*(column[order] for column in joined))
    chosen = first_of_pairs(made, count)
    make: Any = tuple.__new__
    return list(
        map(
            make,
            repeat(Flow),
            zip(
                made.writer[chosen].tolist(),
                made.reader[chosen].tolist(),
                made.address[chosen].tolist(),
                map(LABELS.__getitem__, made.label[chosen].tolist()),
                strict=True,
            ),
        )
    )


def _add_flows(found: dict[int, Flow], begin: int, items: Sequence[Access], count: int) -> None:
    for flow in _flows(begin, items):
        key = flow[0] * count + flow[1]
        if key not in found or (flow[3] != "possible" and found[key][3] == "possible"):
            found[key] = flow


def _flows(begin: int, items: Sequence[Access]) -> Iterator[Flow]:
    """Yield who may have written what is read of one cell, in order."""
    writers: list[Access] = []
    """That wrote last; several where none is known to have overwritten the others."""
    between: Access | None = None
    """The last one since then that may have written."""
    pending: list[Access] = []
    """Of the node at hand, which reads before it writes."""
    make: Any = tuple.__new__
    for item in items:
        node, start, _, does, may, how, _, life = item
        if pending and pending[0][0] != node:
            for one in pending:
                if not one[3] & WRITE:
                    between = one
                    continue
                if begin and one[1] != begin and one[5] not in EXACT:
                    # What a kernel overwrites behind its address is not known.
                    writers = [other for other in writers if other[1] != one[1]]
                    writers.append(one)
                else:
                    writers = [one]
                between = None
            pending = []
        if may & READ and (writers or between is not None):
            for one in (*writers, between) if between is not None else writers:
                writer = one[0]
                if writer == node or (life != one[7] and life >= 0 and one[7] >= 0):
                    continue  # itself, or the memory held something else by then
                if not does & READ or between is not None:
                    label = "possible"
                elif how == "exact" == one[5]:
                    label = "exact"
                else:
                    label = "measured" if how in EXACT and one[5] in EXACT else "inferred"
                yield make(Flow, (writer, node, begin or start, label))
        if may & WRITE:
            pending.append(item)


def clashes_of(cells: Cells, count: int, chains: Sequence[int]) -> list[Clash]:
    """Return pairs of nodes that have to stay in order, each once, as far as that is known.

    Of kernels only the first byte that they point at counts, and guessed arguments are left out.

    Parameters
    ----------
    cells : Cells
    count : int
        Nodes.
    chains : sequence of int
        By node; pairs of one chain are left out, since they are in order.
    """
    found: dict[int, Clash] = {}
    for begin, items in cells.held:
        writer: Access | None = None
        touched: list[Access] = []
        for item in items:
            if item[6] or (begin and item[1] != begin and item[5] not in EXACT):
                continue
            others = [writer] if writer is not None else []
            if item[3] & WRITE:
                others += touched
                writer, touched = item, []
            else:
                touched.append(item)
            for one in others:
                if chains[one[0]] == chains[item[0]]:
                    continue
                key = one[0] * count + item[0]
                made = Clash(one, item, begin or item[1])
                if key not in found or made.certainty > found[key].certainty:
                    found[key] = made
    return list(found.values())
