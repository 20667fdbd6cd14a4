"""The lane layout: streams of nodes in straight lanes, long pictures folded into columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bands import Fold, columns, crossings, fold
from .chains import find_chains
from .order import longest_path_levels
from .pack import Placement, place
from .repeats import repeat_period
from .routes import find_routes

SHELF_LIMITS = (16, 8, 4)
"""Widths, in lanes, that are tried for stacking independent parallel parts."""
SHELF_GAIN = 1.25
"""How much larger a picture must show before its parallel parts are stacked."""
DEFAULT_ASPECT = 1.3


@dataclass(frozen=True)
class LaneLayout:
    """Cells of a drawn graph.

    Attributes
    ----------
    level
        Longest-path level per node, shape ``(n,)``.
    band, column, row
        Cell per node, shape ``(n,)``: the band; the column, counted over all bands; the row,
        counted over all bands. No two nodes share a cell, and every edge that is not in
        `back_edges` goes to a larger row.
    lane
        Column within the band, shape ``(n,)``.
    x, y
        Centre of the cell per node, in lanes from the left and rows from the top.
    lanes_per_band
        Lanes used, shape ``(bands,)``.
    band_rows
        First row of each band and the number of rows at the end, shape ``(bands + 1,)``.
    column_x
        Place of each column, in lanes.
    route
        `graphviz_app.layout.routes.Route` per edge, shape ``(e,)``.
    back_edges
        Indices of the edges that had to be ignored to order a graph with a cycle.
    """

    level: NDArray[np.int32]
    lane: NDArray[np.int32]
    band: NDArray[np.int32]
    column: NDArray[np.int32]
    row: NDArray[np.int32]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    lanes_per_band: NDArray[np.int32]
    band_rows: NDArray[np.int32]
    column_x: NDArray[np.float64]
    route: NDArray[np.uint8]
    back_edges: NDArray[np.int32]

    @property
    def bands(self) -> int:
        """Number of bands."""
        return len(self.lanes_per_band)


def _empty() -> LaneLayout:
    none = np.zeros(0, dtype=np.int32)
    place_ = np.zeros(0)
    return LaneLayout(
        none, none, none, none, none, place_, place_, none,
        np.zeros(1, dtype=np.int32), place_, np.zeros(0, dtype=np.uint8), none,
    )  # fmt: skip


def lane_layout(
    n: int,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    *,
    aspect: float = DEFAULT_ASPECT,
    kind: NDArray[np.int32] | None = None,
    stream: NDArray[np.int32] | None = None,
) -> LaneLayout:
    """Lay a graph out in lanes and bands.

    Levels are longest paths, with nodes pulled towards their consumers; chains are peeled by
    longest remaining path and take lanes by interval colouring; independent parallel parts are
    stacked where that shows the whole picture clearly larger; rows are folded into bands.

    Parameters
    ----------
    n
        Number of nodes.
    source, target
        Ends of the edges, shape ``(e,)``, values in ``[0, n)``.
    aspect
        Width over height that the picture should have.
    kind
        What each node is (equal numbers for equal kernels), shape ``(n,)``. Where it shows that
        the graph repeats, bands are cut so that equal parts stand side by side.
    stream
        Stream that each node was captured on, negative where it is not known, shape ``(n,)``;
        lanes then follow streams. Without it they follow what looks like the order of one.

    Raises
    ------
    ValueError
        If an edge ends at a node that is not there.

    Notes
    -----
    A cycle is no error here: a broken file must still be drawable. Its edges are listed in
    `LaneLayout.back_edges`. Time is linear up to the sorts.
    """
    s, t = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    if len(s) and (min(s.min(), t.min()) < 0 or max(s.max(), t.max()) >= n):
        raise ValueError(f"an edge ends outside the {n} nodes; expected ends from 0 to {n - 1}")
    if n == 0:
        return _empty()
    levels = longest_path_levels(n, s, t)
    back = levels.back_edges
    fs, ft = (np.delete(s, back), np.delete(t, back)) if len(back) else (s, t)
    chains = find_chains(
        levels, fs, ft, None if stream is None else np.asarray(stream, dtype=np.int64)
    )

    def attempt(limit: int, *, repeats: bool = False) -> tuple[Placement, Fold]:
        placement = place(chains, levels.level, fs, ft, limit)
        crossing = crossings(placement.rows, placement.row[fs], placement.row[ft])
        period = 0
        if repeats and kind is not None:
            period = repeat_period(placement, np.asarray(kind, dtype=np.int64))
        return placement, fold(placement, crossing, aspect, period)

    placement, folded = attempt(n + 1)
    chosen = n + 1
    widest = int(placement.lane.max()) + 1
    for limit in SHELF_LIMITS:
        if widest > limit and folded.scale < 0.75:
            stacked, other = attempt(limit)
            if other.scale > folded.scale * SHELF_GAIN:
                placement, folded, chosen = stacked, other, limit
    if kind is not None:
        placement, folded = attempt(chosen, repeats=True)
    band, column, used, place_ = columns(folded.cuts, placement)
    row = placement.row
    first_column = np.cumsum(used) - used
    return LaneLayout(
        level=levels.level.astype(np.int32),
        lane=(column - first_column[band]).astype(np.int32),
        band=band.astype(np.int32),
        column=column.astype(np.int32),
        row=row.astype(np.int32),
        x=place_[column],
        y=(row - folded.cuts[band]).astype(np.float64),
        lanes_per_band=used.astype(np.int32),
        band_rows=folded.cuts.astype(np.int32),
        column_x=place_,
        route=find_routes(column, row, band, s, t, back),
        back_edges=back.astype(np.int32),
    )
