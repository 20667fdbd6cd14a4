"""Nodes that were added, removed, moved or changed, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ..analysis import Subject
from ..analysis.labels import label_of
from ..distributions import differs
from .alignment import Alignment
from .edges import EdgeChange
from .measures import node_spread
from .parameters import FieldChange


class NodeChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A node that was added, removed, moved or changed."""

    kind: str
    """``"added"``, ``"removed"``, ``"changed"`` or ``"moved"``; moved ones may differ as well."""
    type: str
    before: str | None = None
    """Path before; ``None`` for an added node."""
    after: str | None = None
    name_before: str = ""
    name_after: str = ""
    fields: list[FieldChange] = msgspec.field(default_factory=list)
    swapped: bool = False
    """Whether another kernel does its work."""
    related: bool = False
    """Of a swapped one: whether both kernels are of one family or one operator."""
    operator: str = ""
    """The operator that both sides come from, where that is known."""
    duration_before_ns: int | None = None
    duration_after_ns: int | None = None
    differs: bool | None = None
    """Whether its duration changed by more than noise; ``None`` where that is not known."""

    @property
    def cost_ns(self) -> int | None:
        """What the change costs: duration after less before; ``None`` when it was not timed."""
        one, other = self.duration_before_ns, self.duration_after_ns
        if self.kind == "added":
            return other
        if self.kind == "removed":
            return None if one is None else -one
        return None if one is None or other is None else other - one


class DurationChange(msgspec.Struct, kw_only=True, frozen=True):
    """A node that differs in no field and takes another time, by more than noise."""

    before: str
    after: str
    name: str
    before_ns: int
    after_ns: int
    spread_ns: int


class Counts(msgspec.Struct, kw_only=True):
    """How much is what; nodes of bodies are counted, each node once."""

    nodes_before: int = 0
    nodes_after: int = 0
    matched: int = 0
    """Pairs, whether or not they differ."""
    unchanged: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0
    """Pairs with another field, without those that also moved."""
    moved: int = 0
    swapped: int = 0
    """Of the changed and moved ones, those with another kernel."""
    edges_added: int = 0
    edges_removed: int = 0
    edges_changed: int = 0
    edges_rewired: int = 0
    """Of all edges that differ, those between nodes that both sides have."""


def count_changes(
    counts: Counts, changes: Sequence[NodeChange], edges: Sequence[EdgeChange]
) -> None:
    """Add changes to counts, and conclude how many pairs are unchanged."""
    for change in changes:
        setattr(counts, change.kind, getattr(counts, change.kind) + 1)
        counts.swapped += change.swapped
    for edge in edges:
        name = f"edges_{edge.kind}"
        setattr(counts, name, getattr(counts, name) + 1)
        counts.edges_rewired += edge.between_kept
    counts.unchanged = counts.matched - counts.changed - counts.moved


def costly(change: NodeChange) -> tuple[int, list[int]]:
    """Return what to sort by for the most costly first, then by place."""
    return -abs(change.cost_ns or 0), place(change)


def place(change: NodeChange) -> list[int]:
    """Return what to sort by for the order of the graph before, added nodes by their own."""
    path = change.before if change.before is not None else change.after or ""
    return [int(part) for part in path.split("/") if part]


class Operators:
    """Names of operators of a body's nodes, for the alignment."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def __call__(self, path: str) -> list[str] | None:
        """Return the operators of a body's nodes; ``None`` where origins are absent."""
        if self.subject.origins is None:
            return None
        index = _at(self.subject, path).origin_index
        if index is None:
            return None
        return [
            " ".join(index.operator_names[item] for item in operators)
            for operators in index.node_operators
        ]


def _at(subject: Subject, path: str) -> Subject:
    """Return the subject of a body."""
    if not path:
        return subject
    return Subject(
        subject.graph.at(path),
        subject.info,
        subject.timings,
        subject.gpu,
        subject.executable,
        path,
        subject.origins,
    )


class Sides:
    """Makes the changes of one level."""

    def __init__(self, level: Alignment, before: Subject, after: Subject) -> None:
        self.level = level
        self.before = _at(before, level.path_before)
        self.after = _at(after, level.path_after)
        self.operators = (
            Operators(before)(level.path_before),
            Operators(after)(level.path_after),
        )

    def pair(self, position: int, fields: list[FieldChange], moved: bool) -> NodeChange:
        """Return the change of a pair, by its position before."""
        partner = self.level.partner[position]
        swapped = any(item.field == "kernel" for item in fields)
        operator = self._operator(position, partner)
        one, other = self.before.durations[position], self.after.durations[partner]
        spreads = (node_spread(self.before, position), node_spread(self.after, partner))
        known = [spread for spread in spreads if spread is not None]
        return NodeChange(
            kind="moved" if moved else "changed",
            type=self.level.before.topology.types[position],
            before=self.before.node_path(position),
            after=self.after.node_path(partner),
            name_before=label_of(self.level.before, position),
            name_after=label_of(self.level.after, partner),
            fields=fields,
            swapped=swapped,
            related=swapped and (position not in self.level.replaced or bool(operator)),
            operator=operator,
            duration_before_ns=one,
            duration_after_ns=other,
            differs=(
                differs(other - one, max(known))
                if one is not None and other is not None and len(known) == 2
                else None
            ),
        )

    def _operator(self, position: int, partner: int) -> str:
        one, other = self.operators
        if one is None or other is None or one[position] != other[partner]:
            return ""
        return one[position]

    def durations(self, touched: set[int]) -> Iterator[DurationChange]:
        """Yield pairs that differ in their durations alone."""
        one, other = self.before.durations, self.after.durations
        for position, partner in enumerate(self.level.partner):
            if partner < 0 or position in touched:
                continue
            old, new = one[position], other[partner]
            if old is None or new is None or old == new:
                continue
            spreads = (node_spread(self.before, position), node_spread(self.after, partner))
            spread = max(-1 if item is None else item for item in spreads)
            if None not in spreads and differs(new - old, spread):
                yield DurationChange(
                    before=self.before.node_path(position),
                    after=self.after.node_path(partner),
                    name=label_of(self.level.before, position),
                    before_ns=old,
                    after_ns=new,
                    spread_ns=spread,
                )

    def unpaired(self) -> Iterator[NodeChange]:
        """Yield nodes that only one side has, and what is in their bodies."""
        for subject, partners, kind in (
            (self.before, self.level.partner, "removed"),
            (self.after, self.level.origin, "added"),
        ):
            alone = {position for position, partner in enumerate(partners) if partner < 0}
            for position in sorted(alone):
                yield self._alone(kind, subject, position)
            other = self.level.after if kind == "removed" else self.level.before
            held = {(body.node, body.index) for body in other.bodies}
            for body in subject.graph.bodies:
                if (partners[body.node], body.index) in held:
                    continue
                path = f"{subject.node_path(body.node)}/{body.index}"
                for inner, graph in body.graph.walk(path):
                    inside = Subject(graph, timings=subject.timings, path=inner)
                    for position in range(len(graph)):
                        yield self._alone(kind, inside, position)

    def _alone(self, kind: str, subject: Subject, position: int) -> NodeChange:
        change = NodeChange(kind=kind, type=subject.graph.topology.types[position])
        name, path = label_of(subject.graph, position), subject.node_path(position)
        if kind == "removed":
            change.before, change.name_before = path, name
            change.duration_before_ns = subject.durations[position]
        else:
            change.after, change.name_after = path, name
            change.duration_after_ns = subject.durations[position]
        return change
