"""A graph made ready for the screen: its edges as arrays, its names, its layout, its scene."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from capture.model import Edge, Graph
from capture.origin_index import OriginIndex

from . import naming
from .figures.colourings import by_kernel, by_lane, by_type
from .figures.origin_colourings import origin_colourings
from .figures.scene import Colouring, SceneTexts, encode_scene
from .figures.time_colourings import by_path, by_time
from .format import counted, duration_text
from .layout import LaneLayout, lane_layout
from .node_times import NodeTimes
from .origin_text import origin_texts
from .search import Index

MOST_NOTES = 30_000
"""Nodes up to which tooltips have modules and lines: texts of their own for every node add up."""


class Picture:
    """What is drawn of one graph or body; bodies inside it are nodes here.

    Parameters
    ----------
    graph : Graph
    body : str
        Path of `graph` inside the captured graph.
    times : NodeTimes, optional
        Adds the colourings by time and critical path, and what merged nodes are summed by.
    origins : OriginIndex, optional
        Adds the colourings and search terms by where nodes come from.
    """

    def __init__(
        self,
        graph: Graph,
        body: str = "",
        times: NodeTimes | None = None,
        origins: OriginIndex | None = None,
    ) -> None:
        self.graph = graph
        self.body = body
        self.count = len(graph)
        topology = graph.topology
        self.source: NDArray[np.int32] = np.asarray(topology.source, np.int32)
        self.target: NDArray[np.int32] = np.asarray(topology.target, np.int32)
        self.labels, self.names = naming.names(graph)
        kinds: dict[str, int] = {}
        self.kind: NDArray[np.int32] = np.fromiter(
            (kinds.setdefault(name, len(kinds)) for name in self.names), np.int32, self.count
        )
        self.layout: LaneLayout = lane_layout(self.count, self.source, self.target, kind=self.kind)
        self.colourings: dict[str, Colouring] = {
            colouring.name: colouring
            for colouring in (
                by_type(topology.types),
                by_kernel(topology.types, self.labels),
                by_lane(self.layout.lane),
            )
        }
        self.times = times
        if times is not None:
            for colouring in (by_time(times), by_path(times, self.source, self.target)):
                self.colourings[colouring.name] = colouring
        self.origins = origins
        if origins is not None:
            self.colourings |= {item.name: item for item in origin_colourings(origins)}
        self._by_source = np.argsort(self.source, kind="stable")
        self._by_target = np.argsort(self.target, kind="stable")
        self._sources = self.source[self._by_source]
        self._targets = self.target[self._by_target]

    @property
    def size_bytes(self) -> int:
        """Estimate of what this holds in memory, its graph left out."""
        each = 200 if self.origins is None else 300
        return each * self.count + 60 * len(self.source) + 10_000

    @cached_property
    def scene(self) -> bytes:
        """The binary payload for the canvas."""
        enterable = np.zeros(self.count, np.bool_)
        enterable[[item.node for item in self.graph.bodies]] = True
        warnings = []
        if len(self.layout.back_edges):
            many = counted(len(self.layout.back_edges), "edge")
            warnings.append(
                f"This graph has a cycle, which CUDA does not allow: {many} drawn upward."
            )
        texts = SceneTexts(
            types=self.graph.topology.types,
            labels=self.labels,
            names=self.names,
            path_prefix=f"{self.body}/" if self.body else "",
            notes=self._notes(),
            title=self.graph.name or "CUDA graph",
            warnings=warnings,
        )
        return encode_scene(
            self.layout,
            self.source,
            self.target,
            texts,
            list(self.colourings.values()),
            enterable=enterable,
            weight=None if self.times is None else np.nan_to_num(self.times.duration_ns),
        )

    def _notes(self) -> list[str] | None:
        """Return what the tooltip adds to a node's name: its duration, module and line."""
        found = [self._durations()] if self.times is not None else []
        if self.origin_texts is not None and self.count <= MOST_NOTES:
            found += [self.origin_texts["module"], self.origin_texts["source"]]
        if not found:
            return None
        return [" · ".join(filter(None, parts)) for parts in zip(*found, strict=True)]

    def _durations(self) -> list[str]:
        assert self.times is not None
        known: dict[float, str] = {}
        return [
            (known.get(value) or known.setdefault(value, duration_text(value)))
            if value == value
            else "not timed"
            for value in self.times.duration_ns.tolist()
        ]

    @cached_property
    def origin_texts(self) -> dict[str, list[str]] | None:
        """Module, operator and source line of each node as short texts, for tables."""
        if self.origins is None:
            return None
        modules, operators, lines = origin_texts(self.origins)
        return {"module": modules, "operator": operators, "source": lines}

    @cached_property
    def index(self) -> Index:
        """The search index over types, names and lanes."""
        return Index.of(
            self.graph,
            self.labels,
            self.names,
            self.layout.lane,
            self.colourings,
            self.origins,
        )

    def _edges(self, order: NDArray[np.intp], ends: NDArray[np.int32], node: int) -> list[Edge]:
        first, last = np.searchsorted(ends, [node, node + 1])
        t = self.graph.topology
        return [
            Edge(
                t.source[i],
                t.target[i],
                t.from_port[i] if t.from_port else 0,
                t.to_port[i] if t.to_port else 0,
                t.edge_type[i] if t.edge_type else 0,
            )
            for i in order[first:last].tolist()
        ]

    def into(self, node: int) -> list[Edge]:
        """Return the edges from a node's predecessors."""
        return self._edges(self._by_target, self._targets, node)

    def out_of(self, node: int) -> list[Edge]:
        """Return the edges to a node's successors."""
        return self._edges(self._by_source, self._sources, node)
