"""What is to be traced of one executable, and what came of it."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ..errors import GraphLensError
from ..model import Body, Graph
from ..timings import Timings
from .cupti_records import Record
from .node_times import split_replays, timings
from .timeline import ExecutableState

_TURNS = (3, 8)
"""Replays traced after which as many untraced ones follow; stopping waits for the GPU each time."""

_WIDTH = len(Record._fields)


def outline(graph: Graph) -> Graph:
    """Return a graph without payloads: types, edges and bodies, all that timings need of it."""
    bodies = [
        Body(node=body.node, index=body.index, role=body.role, graph=outline(body.graph))
        for body in graph.bodies
    ]
    return Graph(topology=graph.topology, payloads=[], bodies=bodies)


class Plan:
    """What is to be traced of one executable, and what has been.

    Parameters
    ----------
    state : ExecutableState
    graph : Graph
        As captured; payloads are not looked at.
    paths : dict of int to str
        Path of the captured node by the id of its clone; empty text where there is none.
    limit : int
        Replays to trace, and replays to time without tracing.
    """

    __slots__ = (
        "_records",
        "graph",
        "limit",
        "paths",
        "state",
        "traced",
        "traced_events",
        "traced_ns",
        "untraced",
        "untraced_events",
        "untraced_ns",
    )

    def __init__(
        self, state: ExecutableState, graph: Graph, paths: dict[int, str], limit: int
    ) -> None:
        self.state = state
        self.graph = graph
        self.paths = paths
        self.limit = limit
        self.traced = 0
        self.untraced = 0
        self.traced_ns: list[int] = []
        self.untraced_ns: list[int] = []
        self.traced_events: deque[tuple[Any, Any]] = deque()
        self.untraced_events: deque[tuple[Any, Any]] = deque()
        # Numbers in a row: as objects they would take five times the memory.
        self._records = array("Q")

    @property
    def trace_next(self) -> bool:
        """Whether the next replay is to be traced: turns of 3, 3, 5, 5, 12, 12 and so on."""
        if self.traced >= self.limit:
            return False
        if self.untraced >= self.limit:
            return True
        turn = next((end for end in _TURNS if self.traced < end), self.limit)
        before = max((end for end in _TURNS if end < turn and end <= self.traced), default=0)
        return self.untraced >= before

    @property
    def done(self) -> bool:
        """Whether nothing of ours runs around its replays any more."""
        return self.traced >= self.limit and self.untraced >= self.limit

    def add(self, record: Record) -> None:
        """Keep a record."""
        self._records.extend(record)

    def records(self) -> Iterator[Record]:
        """Yield the records that were kept."""
        numbers = iter(self._records)
        yield from map(Record._make, zip(*[numbers] * _WIDTH, strict=True))

    def count(self, traced: bool, events: tuple[Any, Any]) -> None:
        """Note a replay that was launched, with the events around it."""
        if traced:
            self.traced += 1
            self.traced_events.append(events)
        else:
            self.untraced += 1
            self.untraced_events.append(events)

    def read_events(self, wait: bool = False) -> bool:
        """Turn events into GPU time, as far as they have happened; return whether none is left."""
        for events, found in (
            (self.traced_events, self.traced_ns),
            (self.untraced_events, self.untraced_ns),
        ):
            while events:
                before, after = events[0]
                with suppress(Exception):  # what cannot be read is left out
                    if wait:
                        after.synchronize()
                    elif not after.query():
                        return False
                    found.append(round(before.elapsed_time(after) * 1e6))
                events.popleft()
        return True

    def result(self, reason: str, dropped: int) -> tuple[Timings | None, str]:
        """Return the timings, or ``None`` and why there are none.

        Parameters
        ----------
        reason : str
            Why tracing ended before the recording did; empty when it did not.
        dropped : int
            Records that CUPTI lost.
        """
        if not self.traced:
            if self.state.replays:
                why = reason or "all of them fell into captures or were another thread's"
                return None, f"none of its replays was traced: {why}"
            return None, "it was never replayed"
        replays = split_replays(self.records())
        if not replays:
            return None, "CUPTI left no record of its traced replays"
        result = timings("", self.graph, "", replays, self.paths)
        result.traced_replay_ns = self.traced_ns
        result.untraced_replay_ns = self.untraced_ns
        result.dropped_records = dropped
        if reason and not self.done:
            result.extra["ended_early"] = reason
        seen = set(result.node)
        result.missing = {
            path: _why_missing(self.graph, path)
            for path in _every_path(self.graph)
            if path not in seen
        }
        return result, ""


def _every_path(graph: Graph) -> Iterator[str]:
    for level, inside in graph.walk():
        prefix = f"{level}/" if level else ""
        yield from (f"{prefix}{position}" for position in range(len(inside)))


def _why_missing(graph: Graph, path: str) -> str:
    level, _, position = path.rpartition("/")
    try:
        type_ = graph.at(level).topology.types[int(position)]
    except (GraphLensError, IndexError, ValueError):
        return "it left no record"
    if type_ in ("kernel", "memcpy", "memset"):
        if level:
            return "its body did not run in the traced replays, or left no record"
        return "CUPTI left no record of it"
    return f"CUPTI records kernels, copies and memsets, and this is a {type_} node"
