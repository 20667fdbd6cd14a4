"""Two graphs, or two bodies, as one: the union of their nodes and edges, laid out once.

The picture of each side is that of the union with the other side's nodes as outlines, so that a
place on one is the same place on the other.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from capture.compare import Alignment

from .. import naming
from ..figures.changes import Mark, by_change
from ..figures.scene import SceneTexts, encode_scene
from ..format import counted
from ..layout import LaneLayout, lane_layout
from .union import Union


class Side(StrEnum):
    """Which of two graphs is shown; `BOTH` is the one that holds what either has."""

    BEFORE = "before"
    AFTER = "after"
    BOTH = "both"


class Merged:
    """What is drawn of two aligned graphs.

    Parameters
    ----------
    level : Alignment
    marks : mapping
        What became of nodes, by position before; others are unchanged, added or removed.
    costs_ns : mapping
        What changes cost, by node of the union; strips show what costs most.
    notes : mapping
        One more fact for the tooltip, by node of the union.
    """

    def __init__(
        self,
        level: Alignment,
        marks: Mapping[int, Mark],
        costs_ns: Mapping[int, float] | None = None,
        notes: Mapping[int, str] | None = None,
    ) -> None:
        self.level = level
        self.union = union = Union.of(level)
        self.notes = notes or {}
        self._laying_out = threading.Lock()
        self.marks = np.full(len(union), Mark.SAME, np.uint8)
        self.marks[(union.before >= 0) & (union.after < 0)] = Mark.REMOVED
        self.marks[(union.before < 0) & (union.after >= 0)] = Mark.ADDED
        for position, mark in marks.items():
            self.marks[position] = mark
        moved = union.twin >= 0
        self.marks[moved] = Mark.MOVED
        self.weight = np.where(self.marks == Mark.SAME, 1e-6, 1.0)
        for node, cost_ns in (costs_ns or {}).items():
            self.weight[node] += abs(cost_ns)

    def __len__(self) -> int:
        return len(self.union)

    @property
    def size_bytes(self) -> int:
        """Estimate of what this holds in memory, the graphs left out."""
        return 500 * len(self.union) + 100 * len(self.union.source) + 10_000

    @cached_property
    def names(self) -> tuple[tuple[Sequence[str], Sequence[str]], tuple[Sequence[str], ...]]:
        """Short and full names of the nodes of each side, by position."""
        return naming.names(self.level.before), naming.names(self.level.after)

    @cached_property
    def layout(self) -> LaneLayout:
        """Where nodes are drawn, the same on both sides."""
        union = self.union
        count = len(union)
        rank = np.empty(count, np.int64)
        rank[union.order] = np.arange(count)
        kinds: dict[str, int] = {}
        kind = np.fromiter(
            (kinds.setdefault(name, len(kinds)) for name in self._texts(1, Side.BOTH)),
            np.int32,
            count,
        )
        ends = rank[union.source].astype(np.int32), rank[union.target].astype(np.int32)
        found = lane_layout(count, *ends, kind=kind[union.order])
        by_node = {
            name: getattr(found, name)[rank]
            for name in ("level", "lane", "band", "column", "row", "x", "y")
        }
        return LaneLayout(
            **by_node,
            lanes_per_band=found.lanes_per_band,
            band_rows=found.band_rows,
            column_x=found.column_x,
            route=found.route,
            back_edges=found.back_edges,
        )

    def shown(self, side: Side) -> NDArray[np.bool_]:
        """Return which nodes stand in a picture as themselves, shape ``(n,)``."""
        if side is Side.BEFORE:
            return self.union.in_before
        if side is Side.AFTER:
            return self.union.in_after
        return ~((self.union.twin >= 0) & self.union.in_before)

    def _texts(self, which: int, side: Side) -> list[str]:
        """Return short (0) or full (1) names: of the side that is shown, else of the other."""
        one, other = self.names[0][which], self.names[1][which]
        pairs = zip(self.union.before.tolist(), self.union.after.tolist(), strict=True)
        if side is Side.BEFORE:
            return [one[here] if here >= 0 else other[there] for here, there in pairs]
        return [other[there] if there >= 0 else one[here] for here, there in pairs]

    def _types(self, side: Side) -> list[str]:
        one, other = self.level.before.topology.types, self.level.after.topology.types
        pairs = zip(self.union.before.tolist(), self.union.after.tolist(), strict=True)
        if side is Side.BEFORE:
            return [one[here] if here >= 0 else other[there] for here, there in pairs]
        return [other[there] if there >= 0 else one[here] for here, there in pairs]

    def enterable(self) -> NDArray[np.bool_]:
        """Return which nodes have a body that both sides have, shape ``(n,)``."""
        found = np.zeros(len(self.union), np.bool_)
        held = {(body.node, body.index) for body in self.level.after.bodies}
        for body in self.level.before.bodies:
            if (self.level.partner[body.node], body.index) in held:
                found[body.node] = True
        return found

    def scene(self, side: Side) -> bytes:
        """Return the picture of a side, or of both, for the canvas."""
        union = self.union
        with self._laying_out:  # both sides are asked for at once
            layout = self.layout
        here = self.shown(side)
        edges = np.ones(len(union.source), np.bool_)
        if side is not Side.BOTH:
            edges = union.edge_in_before if side is Side.BEFORE else union.edge_in_after
        loud = np.where(union.edge_in_before, Mark.REMOVED + 1, Mark.ADDED + 1)
        loud[union.edge_in_before & union.edge_in_after] = 0
        labels = self._texts(0, side)
        prefixes = (_prefix(self.level.path_before), _prefix(self.level.path_after))
        texts = SceneTexts(
            types=self._types(side),
            labels=[text if shown else "" for text, shown in zip(labels, here, strict=True)],
            names=self._texts(1, side),
            notes=[self.notes.get(node, "") for node in range(len(union))] if self.notes else None,
            title=_TITLES[side],
            warnings=self._warnings(side),
            pair=(union.before, union.after),
            pair_prefixes=prefixes,
            merged="what costs most among them is",
        )
        return encode_scene(
            replace(layout, route=layout.route[edges]),
            union.source[edges],
            union.target[edges],
            texts,
            [replace(by_change(self.marks, ~here), loud_edges=loud[edges].astype(np.uint8))],
            enterable=self.enterable() & here,
            weight=np.where(here, self.weight, 1e-9),
            twin=union.twin,
        )

    def _warnings(self, side: Side) -> list[str]:
        if side is Side.AFTER or not len(self.layout.back_edges):
            return []
        many = counted(len(self.layout.back_edges), "dependency", "dependencies")
        return [f"{many} drawn upward: the two graphs order these nodes differently."]


_TITLES = {
    Side.BEFORE: "The graph before",
    Side.AFTER: "The graph after",
    Side.BOTH: "Both graphs as one",
}


def _prefix(path: str) -> str:
    return f"{path}/" if path else ""
