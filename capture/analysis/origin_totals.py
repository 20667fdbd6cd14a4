"""What nodes cost, added up over those of one origin."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..memory.lifetimes import allocated_by_node
from ..origins import PHASES
from .copy_bandwidth import move_of
from .schedule import durations_or_zero, path_to_last, schedule
from .subject import Subject

Key = TypeVar("Key", bound=Hashable)


@dataclass
class Totals:
    """Sums over some nodes.

    Attributes
    ----------
    nodes, timed : int
    time_ns : int
        Of the timed ones.
    path_ns : int
        Of those on the critical path.
    moved_bytes : int
        By memcpy and memset nodes; what kernels read and write is not known.
    allocated_bytes : int
        By torch for these nodes, during the capture; what was freed on the way counts as well.
    shared : int
        Nodes of a fused kernel that other lines, modules or operators are charged with as well.
    phase_nodes, phase_ns : list of int
        By :data:`~capture.origins.PHASES`.
    """

    nodes: int = 0
    timed: int = 0
    time_ns: int = 0
    path_ns: int = 0
    moved_bytes: int = 0
    allocated_bytes: int = 0
    shared: int = 0
    phase_nodes: list[int] = field(default_factory=lambda: [0] * len(PHASES))
    phase_ns: list[int] = field(default_factory=lambda: [0] * len(PHASES))

    def add(self, other: Totals, *, shared: bool = False) -> None:
        """Add other nodes; they are shared ones if `shared` says so."""
        self.nodes += other.nodes
        self.timed += other.timed
        self.time_ns += other.time_ns
        self.path_ns += other.path_ns
        self.moved_bytes += other.moved_bytes
        self.allocated_bytes += other.allocated_bytes
        self.shared += other.nodes if shared else other.shared
        for phase in range(len(PHASES)):
            self.phase_nodes[phase] += other.phase_nodes[phase]
            self.phase_ns[phase] += other.phase_ns[phase]

    @property
    def shown_ns(self) -> int | None:
        """Time, or ``None`` when no node was timed."""
        return self.time_ns if self.timed else None


@dataclass(frozen=True)
class Costs:
    """What each node of a level costs, by position, and what shares of it are shares of.

    Attributes
    ----------
    durations : list of int or None
    on_path : set of int
        Positions on the critical path; empty without timings.
    moved_bytes, allocated_bytes : dict of int to int
        The latter is empty without memory history.
    total_ns : int or None
        All durations together; ``None`` without timings.
    path_ns : int
        Length of the critical path.
    """

    durations: Sequence[int | None]
    on_path: set[int]
    moved_bytes: dict[int, int]
    allocated_bytes: dict[int, int]
    total_ns: int | None
    path_ns: int

    @classmethod
    def of(cls, subject: Subject) -> Costs:
        """Collect the costs of a subject; O(nodes + edges)."""
        moved = {}
        for position, type_ in enumerate(subject.graph.topology.types):
            if type_ in ("memcpy", "memset"):
                move = move_of(type_, subject.graph.payloads[position])
                if move is not None:
                    moved[position] = move.size_bytes
        memory = subject.memory if not subject.path else None
        allocated = {}
        if memory is not None and memory.events is not None:
            allocated = allocated_by_node(memory.events, len(subject.graph))
        if not subject.is_timed:
            return cls(subject.durations, set(), moved, allocated, None, 0)
        path: list[int] = []
        durations = durations_or_zero(subject)
        if subject.edges is not None:
            path = path_to_last(schedule(subject.edges, durations))
        on_path = sum(durations[at] for at in path)
        return cls(subject.durations, set(path), moved, allocated, sum(durations), on_path)


def group(keys: Iterable[Key], phases: Sequence[int], costs: Costs) -> dict[Key, Totals]:
    """Add up nodes by a key of each; keys in order of their first node.

    Parameters
    ----------
    keys : iterable
        One per position.
    phases : sequence of int
        By position, -1 where not known.
    costs : Costs
    """
    found: dict[Key, Totals] = {}
    on_path, moved, allocated = costs.on_path, costs.moved_bytes, costs.allocated_bytes
    for position, (key, phase, duration) in enumerate(
        zip(keys, phases, costs.durations, strict=True)
    ):
        totals = found.get(key)
        if totals is None:
            totals = found[key] = Totals()
        phase = max(phase, 0)
        totals.nodes += 1
        totals.phase_nodes[phase] += 1
        if duration is not None:
            totals.timed += 1
            totals.time_ns += duration
            totals.phase_ns[phase] += duration
            if position in on_path:
                totals.path_ns += duration
        if position in moved:
            totals.moved_bytes += moved[position]
        if position in allocated:
            totals.allocated_bytes += allocated[position]
    return found


def everything(groups: Iterable[Totals]) -> Totals:
    """Return the sum of groups that have no node in common."""
    found = Totals()
    for totals in groups:
        found.add(totals)
    return found
