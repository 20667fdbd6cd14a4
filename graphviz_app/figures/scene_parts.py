"""What a scene is made of besides its layout: colourings, legends and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LegendEntry:
    """One category of a colouring: its name, its colour as ``#rrggbb``, its nodes."""

    name: str
    colour: str
    count: int
    dark: str = ""
    """The colour on a dark ground, for scales that run from quiet to loud; empty for the same."""
    outline: bool = False
    """Drawn as an outline: a place that a node of the other graph of a comparison has."""


@dataclass(frozen=True)
class Colouring:
    """A way to colour nodes: ``index`` holds a position in ``legend`` per node, shape ``(n,)``.

    A `strong` one fills boxes rather than tinting them: a scale is read by its lightness.
    `loud_edges` holds, per edge, 1 more than the entry in whose colour it is drawn, 0 for a quiet
    one, shape ``(e,)``; of truth values, a true one is drawn in the colour of the first entry.
    """

    name: str
    label: str
    index: NDArray[np.integer[Any]]
    legend: Sequence[LegendEntry]
    strong: bool = False
    loud_edges: NDArray[np.bool_] | NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class SceneTexts:
    """What the canvas says about nodes.

    Attributes
    ----------
    types
        Node type per node, such as ``kernel``.
    labels
        Short readable name per node.
    names
        Full name per node for the tooltip; the short one where not given.
    notes
        One more fact per node for the tooltip, such as its duration; empty for none.
    path_prefix
        What stands before a node's index in its path of positions: ``"3/0/"`` for ``3/0/12``.
    title
        What the picture is, for readers of the screen.
    warnings
        Sentences that the canvas shows, such as the one about a cycle.
    pair
        Of two graphs drawn as one: positions in each, -1 where a node is not, shape ``(n,)``.
    pair_prefixes
        What stands before positions in each, as `path_prefix` does for one graph.
    merged
        What is said of the category that nodes merged to a strip are drawn in.
    """

    types: Sequence[str]
    labels: Sequence[str]
    names: Sequence[str] | None = None
    notes: Sequence[str] | None = None
    path_prefix: str = ""
    title: str = "CUDA graph"
    warnings: Sequence[str] = ()
    pair: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None
    pair_prefixes: tuple[str, str] = ("", "")
    merged: str = ""
