"""The ways to colour a graph: by type, by kernel, by lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import type_text
from ..naming import type_colour
from .scene import Colouring, LegendEntry

PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#8C6BB1",
    "#B8860B",
    "#44AA99",
    "#AA4466",
    "#6A7FDB",
    "#7A8B2A",
)
"""Okabe and Ito's colours, then more that keep apart from them and from the greys."""
REST = "#8A8F98"
"""Colour of what has no colour of its own."""


def _encode(values: Sequence[str]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return distinct values by falling count, an index per value, and the counts."""
    position: dict[str, int] = {}
    index = np.fromiter(
        (position.setdefault(value, len(position)) for value in values), np.int32, len(values)
    )
    counts = np.bincount(index, minlength=len(position))
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    names = list(position)
    return [names[i] for i in order], rank[index] if len(index) else index, counts[order]


def by_type(types: Sequence[str]) -> Colouring:
    """Colour each node by its type."""
    names, index, counts = _encode(types)
    legend = [
        LegendEntry(type_text(name), type_colour(name), int(count))
        for name, count in zip(names, counts, strict=True)
    ]
    return Colouring("type", "Type", index, legend)


def by_kernel(types: Sequence[str], labels: Sequence[str]) -> Colouring:
    """Colour the most frequent kernels; other kernels and other nodes get one colour each."""
    kernels = [name if type_ == "kernel" else "" for type_, name in zip(types, labels, strict=True)]
    names, index, counts = _encode(kernels)
    shown = [i for i, name in enumerate(names) if name][: len(PALETTE)]
    position = np.empty(len(names), np.int32)
    legend = []
    for place, i in enumerate(shown):
        position[i] = place
        legend.append(LegendEntry(names[i], PALETTE[place], int(counts[i])))
    rest = [i for i, name in enumerate(names) if name and i not in set(shown)]
    if rest:
        position[rest] = len(legend)
        text = f"{len(rest):,} other kernels"
        legend.append(LegendEntry(text, REST, int(counts[rest].sum())))
    if "" in names:
        i = names.index("")
        position[i] = len(legend)
        legend.append(LegendEntry("not a kernel", "#B9BDC4", int(counts[i])))
    return Colouring("kernel", "Kernel", position[index] if len(index) else index, legend)


def by_lane(lane: NDArray[np.integer[Any]]) -> Colouring:
    """Colour each node by its lane; past the palette, lanes share the last colour."""
    index = np.minimum(np.asarray(lane, dtype=np.int32), len(PALETTE))
    counts = np.bincount(index, minlength=1)
    used = np.flatnonzero(counts)
    rank = np.zeros(len(counts), np.int32)
    rank[used] = np.arange(len(used), dtype=np.int32)
    legend = [
        LegendEntry(f"lane {i}", PALETTE[i], int(counts[i]))
        if i < len(PALETTE)
        else LegendEntry(f"lanes from {i}", REST, int(counts[i]))
        for i in used.tolist()
    ]
    return Colouring("lane", "Lane", rank[index] if len(index) else index, legend)
