"""What differs between two graphs: nodes, dependencies, times and findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from ..analysis import Subject
from ..model import Graph, Topology
from .alignment import Alignment, align
from .changes import Counts, DurationChange, NodeChange, Operators, Sides, costly, count_changes
from .edges import EdgeChange, changed_edges
from .fields import Changes, changed_fields
from .keys import Strictness
from .measures import Finding, Measure, Size, findings, measures, plain, sizes
from .relocation import Spans
from .variants import VARIANTS, is_variant

SIZED = frozenset(
    {"kernel", "grid", "block", "dynamic_shared_bytes", "width_bytes", "height", "width"}
    | {"size_bytes", "depth"}
)
"""Fields that come with other sizes of buffers."""
LITTLE_IN_COMMON = 0.5
"""Share of the smaller graph's nodes below which it is said that few were paired."""


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
        Which node is which, the graphs first, then bodies; empty after :meth:`without_graphs`.
    before, after : Subject
    addresses_kept, addresses_moved : int
        Distinct addresses that are the same, and those that are others and stand for one another.
    """

    counts: Counts
    changes: list[NodeChange]
    edges: list[EdgeChange]
    in_common: bool
    notes: list[str]
    levels: list[Alignment] = field(repr=False)
    before: Subject = field(repr=False)
    after: Subject = field(repr=False)
    addresses_kept: int = 0
    addresses_moved: int = 0

    @cached_property
    def measures(self) -> list[Measure]:
        """Times of both, as far as they were measured."""
        return measures(self.before, self.after)

    @cached_property
    def sizes(self) -> list[Size]:
        """Memory of both, as far as it was looked at."""
        return sizes(self.before, self.after)

    @cached_property
    def durations(self) -> list[DurationChange]:
        """Nodes that differ in nothing but their time, the largest difference first."""
        touched = {change.before for change in self.changes}
        found: list[DurationChange] = []
        if self.before.is_timed and self.after.is_timed:
            for level in self.levels:
                sides = Sides(level, self.before, self.after)
                paths = map(sides.before.node_path, range(len(level.before)))
                known = {at for at, path in enumerate(paths) if path in touched}
                found += sides.durations(known)
        return sorted(found, key=lambda item: -abs(item.after_ns - item.before_ns))

    @cached_property
    def findings(self) -> list[Finding]:
        """What analyses find on either side that is more than information."""
        return findings(self.before, self.after)

    @property
    def only_variants(self) -> bool:
        """Whether all that differs are other kernels for the same work, as by autotuning.

        See :func:`capture.compare.variants.is_variant`.
        """
        return bool(self.changes) and not self.edges and all(map(is_variant, self.changes))

    @property
    def same(self) -> bool:
        """Whether no node and no dependency differs; times are not asked."""
        return not self.changes and not self.edges

    def without_graphs(self) -> GraphDiff:
        """Return the same without levels and graphs, which are large; findings only if it differs.

        Thousands of pairs are held this way.
        """
        empty = Graph(topology=Topology(types=[]), payloads=[])
        light = replace(
            self,
            levels=[],
            before=Subject(empty, self.before.info),
            after=Subject(empty, self.after.info),
        )
        vars(light)["measures"] = self.measures
        vars(light)["sizes"] = self.sizes
        vars(light)["durations"] = self.durations
        vars(light)["findings"] = [] if self.same else self.findings
        return light

    def document(self) -> dict[str, Any]:
        """Return everything but the levels as plain data for JSON."""
        return {
            "same": self.same,
            "only_variants": self.only_variants,
            "in_common": self.in_common,
            "counts": msgspec.to_builtins(self.counts),
            "changes": list(plain(self.changes)),
            "edges": list(plain(self.edges)),
            "measures": [
                {**msgspec.to_builtins(item), "differs": item.differs} for item in self.measures
            ],
            "addresses_kept": self.addresses_kept,
            "addresses_moved": self.addresses_moved,
            "sizes": list(plain(self.sizes)),
            "durations": list(plain(self.durations)),
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
    spans = None
    if one.memory is not None and other.memory is not None:
        spans = Spans(one.memory), Spans(other.memory)
    levels = align(one.graph, other.graph, Operators(one), Operators(other))
    changes, pointers, relocation, doubtful = changed_fields(levels, spans)
    laid_out_alike = _laid_out_alike(levels, changes)
    if laid_out_alike:
        for place, fields in pointers.items():
            changes.setdefault(place, []).extend(fields)
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
        sides = Sides(level, one, other)
        counts.matched += sum(partner >= 0 for partner in level.partner)
        moved = dict(level.moved_positions())
        for position in sorted(differing[index] | set(moved)):
            fields = changes.get((index, position), [])
            listed.append(sides.pair(position, fields, position in moved))
        listed += sides.unpaired()
        edges += changed_edges(level)
    count_changes(counts, listed, edges)
    listed.sort(key=costly)
    in_common = levels[0].in_common
    unsure = 0 if laid_out_alike else len(pointers)
    diff = GraphDiff(
        counts=counts,
        changes=listed,
        edges=edges,
        in_common=in_common,
        notes=list(
            _notes(levels, relocation.moved, len(doubtful), unsure, in_common, spans is not None)
        ),
        levels=levels,
        before=one,
        after=other,
        addresses_kept=relocation.kept,
        addresses_moved=relocation.moved,
    )
    if diff.only_variants:
        diff.notes.insert(0, VARIANTS)
    return diff


def _laid_out_alike(levels: list[Alignment], changes: Changes) -> bool:
    """Say whether both graphs should have their buffers in the same places.

    An allocator places them by the order and size of requests: one node more, or other sizes, and
    buffers are shared in another way from there on.
    """
    return all(
        -1 not in level.partner and -1 not in level.origin and not level.moved for level in levels
    ) and not any(item.field in SIZED for fields in changes.values() for item in fields)


def _notes(
    levels: list[Alignment],
    moved_addresses: int,
    doubtful: int,
    unsure: int,
    in_common: bool,
    memory_known: bool,
) -> Iterator[str]:
    top = levels[0]
    if not in_common:
        yield (
            "The graphs have next to nothing in common: no node was paired, so all nodes before "
            "count as removed and all after as added."
        )
        return
    paired, smaller = sum(at >= 0 for at in top.partner), min(len(top.before), len(top.after))
    if paired < LITTLE_IN_COMMON * smaller:
        yield (
            f"The graphs have little in common: {paired:,} nodes of {smaller:,} that could have a "
            f"counterpart have one."
        )
    if top.strictness is not Strictness.LAUNCH and len(top.before) and len(top.after):
        by = "names" if top.strictness is Strictness.NAME else "families"
        yield f"Most launch dimensions differ, so nodes were paired by the {by} of their kernels."
    if any(level.canonical for level in levels):
        yield (
            "The nodes were made in another order, so they were paired in an order that their "
            "dependencies decide."
        )
    if moved_addresses:
        known = "the recorded memory tells, and their size where it does not"
        guess = "was guessed from their size, since the recordings do not tell what memory they had"
        yield (
            f"{moved_addresses:,} distinct addresses are others, each in place of one and the same "
            f"before; they do not count as changes. Which words are addresses "
            f"{known if memory_known else guess}."
        )
    if unsure:
        yield (
            f"Pointers of {unsure:,} node{'' if unsure == 1 else 's'} lead to another buffer than "
            f"elsewhere in the graphs; where nodes or sizes differ, memory is laid out anew, so "
            f"they do not count as changes."
        )
    if doubtful:
        yield (
            f"Arguments of {doubtful:,} node{'' if doubtful == 1 else 's'} differ inside "
            f"structures, which have bytes that nobody wrote; such differences do not count as "
            f"changes."
        )
    unread = sum(
        payload is None and type_ == "kernel"
        for level in levels
        for graph in (level.before, level.after)
        for type_, payload in zip(graph.topology.types, graph.payloads, strict=True)
    )
    if unread:
        yield f"{unread:,} kernel nodes were not read: what they launch was not compared."
