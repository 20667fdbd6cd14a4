"""Bytes that a node of a graph touches: one by one, and by the hundred thousand as arrays. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from .directions import HOW

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

NO_LIFE = -1
HOWS = tuple(HOW)
"""Ways to know what a node does with memory; arrays hold places in it."""
PLACE_OF_HOW = {how: place for place, how in enumerate(HOWS)}


class Access(NamedTuple):
    """Bytes that a node touches."""

    node: int
    """Position; of what is inside a body, that of the node that holds it."""
    start: int
    end: int
    does: int
    """What it is believed to do, see :class:`~capture.memory.directions.Direction`."""
    may: int
    how: str
    guess: bool
    """Whether the word may be a number that only looks like an address."""
    life: int = NO_LIFE
    """Which allocation of the history it lies in: memory that is used again is another one."""


class AccessColumns(NamedTuple):
    """Accesses as arrays, one for each field; `how` as places in :data:`HOWS`."""

    node: Array
    start: Array
    end: Array
    does: Array
    may: Array
    how: Array
    guess: Array
    life: Array

    @classmethod
    def of(cls, items: Sequence[Access]) -> AccessColumns:
        """Return accesses as arrays."""
        import numpy

        how = [PLACE_OF_HOW[item[5]] for item in items]
        return cls(
            *(
                numpy.array(how if at == 5 else [item[at] for item in items], dtype=numpy.int64)
                for at in range(8)
            )
        )

    def take(self, places: Array) -> AccessColumns:
        """Return some of the accesses, in an order."""
        return AccessColumns(*(column[places] for column in self))

    def join(self, other: AccessColumns) -> AccessColumns:
        """Return all accesses, the other ones last."""
        import numpy

        return AccessColumns(*map(numpy.concatenate, zip(self, other, strict=True)))

    def rows(self, first: int, end: int) -> list[Access]:
        """Return accesses one by one, from a first one on, to before an end."""
        node, start, stop, does, may, how, guess, life = (
            column[first:end].tolist() for column in self
        )
        make: Any = tuple.__new__
        return list(
            map(
                make,
                repeat(Access),
                zip(
                    *(node, start, stop, does, may),
                    map(HOWS.__getitem__, how),
                    map(bool, guess),
                    life,
                    strict=True,
                ),
            )
        )
