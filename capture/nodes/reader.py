"""What the decoders of node types work with while a graph is read."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from ..driver.dot_bodies import ConditionalBodies, DotBodies, read_bodies
from ..driver.protocol import Driver
from ..driver.records import Answers, Function, LaunchRow
from ..errors import DriverError
from ..model import Kernel

T = TypeVar("T")

MAX_WARNINGS = 100
# cuGraphDebugDotPrint: verbose, handles, conditional node parameters. Without verbose the driver
# leaves out the handles of conditionals, though it names the bodies.
_DOT_FLAGS = 1 | 1024 | 32768


@dataclass(frozen=True)
class Source:
    """A graph that is to be read: by its handle, or by its nodes' handles."""

    index: int
    role: str
    graph: int | None
    nodes: list[int] | None


@dataclass
class RareAttributes:
    """How many kernel nodes were asked for the launch attributes that hardly any node has."""

    read: int = 0
    kernels: int = 0
    """Kernel nodes in all."""
    launches_in_full: int = 0
    """Distinct launches of which every node was asked, since some attribute differs."""


class Reader:
    """What the decoders of node types work with while one graph is read.

    Parameters
    ----------
    driver : Driver
    graph : int
        Handle of the outermost graph.
    all_attributes : bool
        Whether every launch attribute of every kernel node is to be read.
    """

    def __init__(self, driver: Driver, graph: int, *, all_attributes: bool = False) -> None:
        self.driver = driver
        self.all_attributes = all_attributes
        self.rare = RareAttributes()
        self.warnings: list[str] = []
        self.phases_ns: dict[str, int] = defaultdict(int)
        self.notes: dict[str, str] = {}
        """Reasons for what could not be read, by kind of evidence."""
        self.launches: Iterator[LaunchRow | None] = iter(())
        """Launch parameters of the kernel nodes of the graph being read, in order."""
        self.handles: list[tuple[str, list[int]]] = []
        """Path and node handles of each level that was read."""
        self._graph = graph
        self._functions: dict[tuple[int, int], Function | None] = {}
        self._kernels: dict[bytes, Kernel] = {}
        self._occupancy: dict[tuple[int, int, int], int | None] = {}
        self._bodies: list[tuple[int, Source]] = []
        self._dot: DotBodies | None = None
        self._suppressed = 0
        self._where = ""
        self._nodes: Sequence[int] = ()
        self._positions: dict[int, int] | None = None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a phase."""
        started = time.perf_counter_ns()
        try:
            yield
        finally:
            self.phases_ns[name] += time.perf_counter_ns() - started

    def warn(self, text: str) -> None:
        """Keep a warning; past :data:`MAX_WARNINGS` they are only counted."""
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(text)
        else:
            self._suppressed += 1

    def close(self) -> None:
        """Add the warning about warnings that were not kept."""
        if self._suppressed:
            self.warnings.append(f"{self._suppressed} more warnings were not kept")
            self._suppressed = 0

    def enter(self, nodes: Sequence[int], path: str) -> None:
        """Start on a graph: its nodes, and its path such as ``"3/0"`` for messages."""
        self._nodes, self._positions = nodes, None
        self._where = f"{path}/" if path else ""
        self._bodies = []

    def bodies(self) -> list[tuple[int, Source]]:
        """Return (position, body) of every body announced since :meth:`enter`, in order."""
        found = [(self._position(node) or 0, body) for node, body in self._bodies]
        return sorted(found, key=lambda item: (item[0], item[1].index))

    def classify(self, nodes: Sequence[int]) -> list[int | None]:
        """Return the types of a graph's nodes, and hold its kernels' launches for their decoder."""
        found = self.driver.classify(nodes)
        self._warn_refused(found.refused, nodes)
        self.launches = found.launches
        return found.types

    def values(self, answers: Answers[T], nodes: Sequence[int]) -> list[T | None]:
        """Return the values of a call about many nodes, and warn about each refused one."""
        self._warn_refused(answers.refused, nodes)
        return answers.values

    def _warn_refused(self, refused: dict[int, DriverError], nodes: Sequence[int]) -> None:
        for index, error in refused.items():
            self.warn(f"{self.name_of(nodes[index])} could not be read: {error}")

    def name_of(self, node: int) -> str:
        """Name a node for a message: by its path when it is in the graph being read."""
        position = self._position(node)
        return f"node {hex(node)}" if position is None else f"node {self._where}{position}"

    def _position(self, node: int) -> int | None:
        if self._positions is None:
            self._positions = {node: position for position, node in enumerate(self._nodes)}
        return self._positions.get(node)

    def function(self, function: int, kernel: int) -> Function | None:
        """Describe the function of a launch; equal functions share one Kernel."""
        key = (function, kernel)
        if key not in self._functions:
            try:
                found = self.driver.function(function, kernel)
            except DriverError as error:
                self.warn(f"the function {hex(function or kernel)} could not be read: {error}")
                self._functions[key] = None
            else:
                shared = self._kernels.setdefault(_identity(found.kernel), found.kernel)
                self._functions[key] = Function(found.handle, shared)
        return self._functions[key]

    def occupancy(self, function: int, threads: int, dynamic_shared_bytes: int) -> int | None:
        """Return resident blocks per multiprocessor, ``None`` when the driver does not say."""
        key = (function, threads, dynamic_shared_bytes)
        if key not in self._occupancy:
            try:
                self._occupancy[key] = self.driver.occupancy(*key)
            except DriverError as error:
                self.warn(f"occupancy of function {hex(function)} could not be read: {error}")
                self._occupancy[key] = None
        return self._occupancy[key]

    def add_body(
        self,
        node: int,
        index: int,
        role: str,
        *,
        graph: int | None = None,
        nodes: list[int] | None = None,
    ) -> None:
        """Announce a body of a node, by its graph's handle or by its nodes' handles."""
        self._bodies.append((node, Source(index, role, graph, nodes)))

    def dot_conditional(self, node: int) -> ConditionalBodies | None:
        """Return what the driver's DOT says about a conditional node.

        The graph is printed once, when this is first asked.
        """
        if self._dot is None:
            with self.phase("conditional bodies from DOT"):
                try:
                    self._dot = read_bodies(self.driver.debug_dot(self._graph, _DOT_FLAGS))
                except (DriverError, OSError) as error:
                    self.warn(f"bodies of conditional nodes could not be read: {error}")
                    self._dot = DotBodies({}, {})
        return self._dot.conditionals.get(node)

    def dot_nodes(self, cluster: str) -> list[int] | None:
        """Return the node handles of a cluster of the driver's DOT."""
        return self._dot.clusters.get(cluster) if self._dot is not None else None


def _identity(kernel: Kernel) -> bytes:
    return msgspec.json.encode(kernel, order="deterministic")
