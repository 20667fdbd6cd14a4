"""What differs between two graphs: nodes, dependencies, times and findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ..analysis import Subject
from ..analysis.labels import label_of
from ..distributions import differs
from ..model import Graph
from .alignment import Alignment, align
from .edges import EdgeChange, changed_edges
from .fields import changed_fields
from .keys import Strictness
from .measures import Finding, Measure, findings, measures, node_spread, plain
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


@dataclass(frozen=True)
class GraphDiff:
    """The difference of two graphs.

    Attributes
    ----------
    counts : Counts
    changes : list of NodeChange
        The most costly first, then by place.
    edges : list of EdgeChange
    in_common : bool
        False when the graphs have next to nothing in common; nothing is paired then.
    notes : list of str
        What a reader has to know, one sentence each.
    levels : list of Alignment
        Which node is which, the graphs first, then bodies.
    before, after : Subject
    """

    counts: Counts
    changes: list[NodeChange]
    edges: list[EdgeChange]
    in_common: bool
    notes: list[str]
    levels: list[Alignment] = field(repr=False)
    before: Subject = field(repr=False)
    after: Subject = field(repr=False)

    @cached_property
    def measures(self) -> list[Measure]:
        """Times of both, as far as they were measured."""
        return measures(self.before, self.after)

    @cached_property
    def findings(self) -> list[Finding]:
        """What analyses find on either side that is more than information."""
        return findings(self.before, self.after)

    @property
    def same(self) -> bool:
        """Whether no node and no dependency differs; times are not asked."""
        return not self.changes and not self.edges

    def document(self) -> dict[str, Any]:
        """Return everything but the levels as plain data for JSON."""
        return {
            "same": self.same,
            "in_common": self.in_common,
            "counts": msgspec.to_builtins(self.counts),
            "changes": list(plain(self.changes)),
            "edges": list(plain(self.edges)),
            "measures": [
                {**msgspec.to_builtins(item), "differs": item.differs} for item in self.measures
            ],
            "findings": list(plain(self.findings)),
            "notes": self.notes,
        }


def compare_graphs(before: Subject | Graph, after: Subject | Graph) -> GraphDiff:
    """Compare two graphs with what is known about them.

    Parameters
    ----------
    before, after : Subject or Graph
        Subjects bring timings, origins and benchmarks. Whole graphs, no bodies.

    Notes
    -----
    See :func:`capture.compare.wavefront.pair` for what the alignment costs; all else is linear in
    nodes, edges and argument bytes.
    """
    one = before if isinstance(before, Subject) else Subject(before)
    other = after if isinstance(after, Subject) else Subject(after)
    levels = align(one.graph, other.graph, _Operators(one), _Operators(other))
    changes, relocation, doubtful = changed_fields(levels)
    counts = Counts(
        nodes_before=sum(len(level) for _, level in one.graph.walk()),
        nodes_after=sum(len(level) for _, level in other.graph.walk()),
    )
    listed: list[NodeChange] = []
    edges: list[EdgeChange] = []
    differing: defaultdict[int, set[int]] = defaultdict(set)
    for index, position in changes:
        differing[index].add(position)
    for index, level in enumerate(levels):
        sides = _Sides(level, one, other)
        counts.matched += sum(partner >= 0 for partner in level.partner)
        moved = dict(level.moved_positions())
        for position in sorted(differing[index] | set(moved)):
            fields = changes.get((index, position), [])
            listed.append(sides.pair(position, fields, position in moved))
        listed += sides.unpaired()
        edges += changed_edges(level)
    _count(counts, listed, edges)
    listed.sort(key=_costly)
    in_common = levels[0].in_common
    return GraphDiff(
        counts=counts,
        changes=listed,
        edges=edges,
        in_common=in_common,
        notes=list(_notes(levels, relocation.moved, len(doubtful), in_common)),
        levels=levels,
        before=one,
        after=other,
    )


def _count(counts: Counts, changes: Sequence[NodeChange], edges: Sequence[EdgeChange]) -> None:
    for change in changes:
        setattr(counts, change.kind, getattr(counts, change.kind) + 1)
        counts.swapped += change.swapped
    for edge in edges:
        name = f"edges_{edge.kind}"
        setattr(counts, name, getattr(counts, name) + 1)
        counts.edges_rewired += edge.between_kept
    counts.unchanged = counts.matched - counts.changed - counts.moved


def _costly(change: NodeChange) -> tuple[int, list[int]]:
    path = change.before if change.before is not None else change.after or ""
    return -abs(change.cost_ns or 0), [int(part) for part in path.split("/") if part]


class _Operators:
    """Names of operators of a body's nodes, for the alignment."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def __call__(self, path: str) -> list[str] | None:
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


class _Sides:
    """Makes the changes of one level."""

    def __init__(self, level: Alignment, before: Subject, after: Subject) -> None:
        self.level = level
        self.before = _at(before, level.path_before)
        self.after = _at(after, level.path_after)
        self.operators = (
            _Operators(before)(level.path_before),
            _Operators(after)(level.path_after),
        )

    def pair(self, position: int, fields: list[FieldChange], moved: bool) -> NodeChange:
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


def _notes(
    levels: list[Alignment], moved_addresses: int, doubtful: int, in_common: bool
) -> Iterator[str]:
    top = levels[0]
    if not in_common:
        yield (
            "The graphs have next to nothing in common: no node was paired, so all nodes before "
            "count as removed and all after as added."
        )
        return
    if top.strictness is not Strictness.LAUNCH and len(top.before) and len(top.after):
        by = "names" if top.strictness is Strictness.NAME else "families"
        yield f"Most launch dimensions differ, so nodes were paired by the {by} of their kernels."
    if any(level.canonical for level in levels):
        yield (
            "The nodes were made in another order, so they were paired in an order that their "
            "dependencies decide."
        )
    if moved_addresses:
        yield (
            f"{moved_addresses:,} distinct addresses are others, each in place of one and the same "
            f"before; they do not count as changes. Which words are addresses was guessed from "
            f"their size, since neither recording tells what memory it had."
        )
    if doubtful:
        yield (
            f"Arguments of {doubtful:,} nodes differ inside structures, which have bytes that "
            f"nobody wrote; such differences do not count as changes."
        )
    unread = sum(
        payload is None and type_ == "kernel"
        for level in levels
        for graph in (level.before, level.after)
        for type_, payload in zip(graph.topology.types, graph.payloads, strict=True)
    )
    if unread:
        yield f"{unread:,} kernel nodes were not read: what they launch was not compared."
