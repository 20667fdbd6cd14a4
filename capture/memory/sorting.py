"""Sorting of integer arrays, by the ways that numpy has fast. Pure.

``numpy.unique`` and ``numpy.isin`` may build a hash table, which takes ten times a sort.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def is_new(values: Array) -> Array:
    """Say of each value whether it differs from the one before; of the first one, that it does."""
    import numpy

    found = numpy.ones(len(values), dtype=bool)
    found[1:] = values[1:] != values[:-1]
    return found


def distinct(values: Array) -> Array:
    """Return distinct values in order."""
    import numpy

    found = numpy.sort(values)
    return found[is_new(found)]


def are_in(values: Array, ordered: Array) -> Array:
    """Say of each value whether it is in a sorted array."""
    import numpy

    if not len(ordered):
        return numpy.zeros(len(values), dtype=bool)
    places = numpy.minimum(numpy.searchsorted(ordered, values), len(ordered) - 1)
    found: Array = ordered[places] == values
    return found


def order_of(values: Array) -> Array:
    """Return where each value comes from in a stable sort of numbers of at least 0, below 2**32."""
    import numpy

    # By halves: numpy sorts 16 bits by their digits.
    order = numpy.argsort((values & 0xFFFF).astype(numpy.uint16), kind="stable")
    if len(values) and int(values.max()) > 0xFFFF:
        high = (values >> 16).astype(numpy.uint16)[order]
        order = order[numpy.argsort(high, kind="stable")]
    return order
