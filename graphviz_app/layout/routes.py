"""How each edge runs, so that it passes beside boxes and not through them."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Route(IntEnum):
    """Shapes of an edge; the canvas turns them into lines (`assets/canvas/routes.mjs`)."""

    STRAIGHT = 0
    """Down the lane from one box to the next."""
    TURN_FIRST = 1
    """Over to the target's lane at once, then down."""
    TURN_LAST = 2
    """Down the own lane, then over just above the target."""
    GUTTER = 3
    """Down between two lanes: both lanes are taken by other boxes."""
    WRAP = 4
    """To another band, down the own lane to the bottom of the band first."""
    WRAP_GUTTER = 5
    """To another band, down beside the own lane first."""
    BACK = 6
    """Against the order: part of a cycle in a broken file."""


def find_routes(
    column: NDArray[np.int64],
    row: NDArray[np.int64],
    band: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    back_edges: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Choose a route per edge.

    Parameters
    ----------
    column, row, band
        Cell of each node: column over all bands, row over all bands, band, shape ``(n,)``.
    source, target
        Ends of each edge, shape ``(e,)``.
    back_edges
        Indices of the edges that run against the order.

    Returns
    -------
    numpy.ndarray
        A `Route` per edge, shape ``(e,)``.
    """
    n = len(column)
    order = np.lexsort((row, column))
    same = column[order][1:] == column[order][:-1]
    above = np.full(n, -1)
    below = np.full(n, np.iinfo(np.int64).max)
    above[order[1:][same]] = row[order[:-1][same]]
    below[order[:-1][same]] = row[order[1:][same]]

    free_above_target = above[target] <= row[source]
    free_below_source = below[source] >= row[target]
    same_column = column[source] == column[target]
    forks = np.bincount(source, minlength=n)[source] > 1

    route = np.full(len(source), int(Route.GUTTER), dtype=np.uint8)
    route[free_above_target] = Route.TURN_FIRST
    route[free_below_source & (~free_above_target | ~forks)] = Route.TURN_LAST
    route[same_column] = Route.GUTTER
    route[same_column & free_above_target & free_below_source] = Route.STRAIGHT
    wrapped = band[source] != band[target]
    last_in_band = below[source] == np.iinfo(np.int64).max
    route[wrapped] = Route.WRAP_GUTTER
    route[wrapped & last_in_band] = Route.WRAP
    route[back_edges] = Route.BACK
    return route
