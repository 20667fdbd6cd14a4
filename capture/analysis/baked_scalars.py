"""Finding: captures of one function that differ in a number, which each graph therefore holds."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import GraphLensError
from ..model import Graph, GraphInfo, Recording
from ..origins import Operator, Origins
from .base import (
    Analysis,
    Argument,
    ArgumentKind,
    Cell,
    Column,
    Quantity,
    Result,
    Scope,
    Severity,
    Unit,
)
from .labels import label_of

MOST_NODES = 200_000
"""Nodes of graphs that are opened together."""
MOST_DIFFERING = 0.5
"""Share of a graph's nodes; where more differ, the captures are of different things."""
FEW = 8
"""Nodes that may differ whatever their share."""
COLUMNS = [
    Column("graph", Unit.GRAPH),
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("parameter", Unit.TEXT),
    Column("value", Unit.TEXT),
    Column("other graph", Unit.GRAPH),
    Column("other value", Unit.TEXT),
    Column("confidence", Unit.TEXT),
    Column("launched at", Unit.TEXT),
]
WHY = (
    "A number that a kernel was given while it was captured stays the same in every replay. If it "
    "is data (a step, a position, a learning rate, a random number), keep it in a tensor on the "
    "GPU, which is filled before each replay."
)
NO_TWINS = "no two graphs were captured at the same line with equal nodes and dependencies"
_SHAPES = frozenset(("size", "sizes", "stride", "storage_offset", "dtype", "device", "layout"))


class Difference(NamedTuple):
    """A number in which a node of two captures differs."""

    node: str
    parameter: str
    value: str
    other: str
    confidence: str


def twins(recording: Recording) -> list[list[GraphInfo]]:
    """Return groups of graphs that were captured at one line and have equal topology."""
    groups: defaultdict[tuple[Any, ...], list[GraphInfo]] = defaultdict(list)
    for info in recording.graphs.values():
        place = info.place
        if place is not None and info.topology and info.node_count:
            groups[place.file, place.line, place.function, info.topology, info.process].append(info)
    return [group for group in groups.values() if len(group) > 1]


class _Opened(NamedTuple):
    info: GraphInfo
    graph: Graph
    origins: Origins | None
    memory: Any
    launches: int


def _open(recording: Recording, info: GraphInfo) -> _Opened:
    loaded = recording.is_loaded(info.key)
    graph = recording.graph(info.key)
    if not loaded:
        recording.forget(info.key)
    origins = recording.evidence("origins", info.key, keep=False)
    memory = recording.evidence("memory", info.key, keep=False)
    return _Opened(info, graph, origins, memory, hash(tuple(_launches(graph))))


def _launches(graph: Graph) -> Iterator[Any]:
    """Yield what has to be equal in two captures with inputs of equal shapes."""
    for _, level in graph.walk():
        for type_, payload in zip(level.topology.types, level.payloads, strict=True):
            if type_ == "kernel" and payload is not None:
                name = payload.kernel.name if payload.kernel is not None else ""
                yield name, payload.grid, payload.block, payload.dynamic_shared_bytes
            else:
                yield (
                    type_,
                    *(
                        getattr(payload, field, None)
                        for field in ("width_bytes", "width", "height", "depth", "size_bytes")
                    ),
                )


def differences(one: _Opened, other: _Opened) -> list[Difference]:
    """Return the numbers in which two captures differ, node by node; none where shapes differ."""
    shapes_known = one.origins is not None and other.origins is not None
    found: dict[tuple[str, str], Difference] = {}
    told: set[str] = set()
    if one.origins is not None and other.origins is not None:
        pairs = list(_operators(one.origins, other.origins))
        if any(left.inputs != right.inputs for _, left, right in pairs):
            return []
        for node, left, right in pairs:
            for name, before, after in _scalars(left, right):
                parameter = f"{name} of {left.name.removesuffix('.default')}"
                told.add(node)
                found[node, parameter] = Difference(node, parameter, before, after, "likely")
    for node, field, before, after, exact in _arguments(one, other):
        if node in told:
            continue
        confidence = "likely" if shapes_known or exact else "may"
        found[node, field] = Difference(node, field, before, after, confidence)
    return list(found.values())


def _operators(one: Origins, other: Origins) -> Iterator[tuple[str, Operator, Operator]]:
    for position, (left, right) in enumerate(zip(one.operator, other.operator, strict=False)):
        if left >= 0 and right >= 0:
            first, second = one.operators[left], other.operators[right]
            if first is not second and first.name == second.name:
                yield str(position), first, second


def _scalars(left: Operator, right: Operator) -> Iterator[tuple[str, str, str]]:
    others = dict(_numbers(right))
    for name, value in _numbers(left):
        if name in others and others[name] != value:
            yield name, value, others[name]


def _numbers(operator: Operator) -> Iterator[tuple[str, str]]:
    for text in operator.scalars:
        name, equals, value = text.partition("=")
        if not equals or name in _SHAPES:
            continue
        try:
            number = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            continue  # an object, or text that was cut
        if isinstance(number, int | float | complex) or (
            isinstance(number, list | tuple)
            and number
            and all(isinstance(item, int | float) for item in number)
        ):
            yield name, value


def _arguments(one: _Opened, other: _Opened) -> Iterator[tuple[str, str, str, str, bool]]:
    """Yield node, parameter, both values, and whether the value is a float, so no size."""
    from ..compare.alignment import Alignment
    from ..compare.fields import changed_fields
    from ..compare.relocation import Spans

    levels = []
    for (path, left), (_, right) in zip(one.graph.walk(), other.graph.walk(), strict=True):
        same = list(range(len(left)))
        levels.append(
            Alignment(left, right, path, path, same, same, order_before=same, order_after=same)
        )
    known = one.memory is not None and other.memory is not None
    spans = (Spans(one.memory), Spans(other.memory)) if known else None
    for (level, position), changes in changed_fields(levels, spans).changes.items():
        path = levels[level].path_before
        node = f"{path}/{position}" if path else str(position)
        for change in changes:
            plain = change.field == "value" or change.field.startswith("argument ")
            if plain and isinstance(change.before, int | float):
                floats = isinstance(change.before, float)
                yield node, change.field, repr(change.before), repr(change.after), floats


def run(recording: Recording, graphs: int = 64) -> Result:
    """Compare captures of the same line with each other.

    Two captures are compared when their kernels, launch dimensions and, where they are known, the
    shapes of all operators' inputs are equal. Numbers are read from the arguments that operators
    were called with, where those were recorded, and from the kernels' own arguments.

    Notes
    -----
    Linear in the nodes of the graphs that are opened, at most `graphs` of them.
    """
    groups = twins(recording)
    if not groups:
        return Result.absent(NO_TWINS)
    result = Result(columns=COLUMNS)
    left, nodes, compared = graphs, MOST_NODES, 0
    differing: set[str] = set()
    passed_over = 0
    for group in groups:
        group = sorted(group, key=lambda info: info.label)
        chosen: list[_Opened] = []
        for info in group:
            if left <= 0 or nodes < info.node_count:
                passed_over += 1
                continue
            left, nodes = left - 1, nodes - info.node_count
            try:
                chosen.append(_open(recording, info))
            except GraphLensError as error:
                result.notes.append(f"The graph {info.key} was not looked at: {error}.")
        seen: set[tuple[str, str]] = set()
        alike: defaultdict[int, list[_Opened]] = defaultdict(list)
        for opened in chosen:
            alike[opened.launches].append(opened)
        for same in alike.values():
            for one, other in pairwise(sorted(same, key=lambda item: item.info.started_ns or 0)):
                compared += 1
                found = differences(one, other)
                most = max(FEW, MOST_DIFFERING * one.info.node_count)
                if len({item.node for item in found}) > most:
                    continue
                for item in found:
                    differing.update((one.info.key, other.info.key))
                    if (item.node, item.parameter) not in seen:
                        seen.add((item.node, item.parameter))
                        result.rows.append(_row(one, other, item))
    if not compared:
        reason = "the graphs captured at one line differ in their kernels or launch dimensions"
        return Result.absent(reason, notes=result.notes)
    result.figures = {
        "compared": Quantity(compared, Unit.COUNT),
        "numbers": Quantity(len(result.rows), Unit.COUNT),
        "graphs": Quantity(len(differing), Unit.COUNT),
    }
    if result.rows:
        result.severity = Severity.NOTICE
        result.summary = (
            "Captures of the same line differ in numbers that are stored in {graphs} graphs: "
            "{numbers}, in {compared} pairs of captures."
        )
        result.notes.append(WHY)
    else:
        result.summary = "No number differs in {compared} pairs of captures of the same line."
    if passed_over:
        result.notes.append(
            f"{passed_over:,} more graphs were not opened: the argument 'graphs' sets how many are."
        )
    return result


def _row(one: _Opened, other: _Opened, item: Difference) -> tuple[Cell, ...]:
    path, _, position = item.node.rpartition("/")
    return (
        one.info.key,
        item.node,
        label_of(one.graph.at(path), int(position)),
        item.parameter,
        item.value,
        other.info.key,
        item.other,
        item.confidence,
        launched_at(one.origins, item.node),
    )


def launched_at(origins: Origins | None, node: str) -> str:
    """Return the user's line that launched a node; empty where it is not known."""
    position = int(node.partition("/")[0])
    if origins is None or not 0 <= position < len(origins.stack):
        return ""
    stack = origins.stack[position]
    frames = [origins.frames[at] for at in origins.stacks[stack]] if stack >= 0 else []
    frame = next((item for item in frames if item.kind == "user"), None)
    return f"{frame.file}:{frame.line} {frame.function}" if frame is not None else ""


ANALYSIS = Analysis(
    name="baked_scalars",
    title="Numbers stored in graphs",
    description="Which numbers differ between captures of one function, and so are stored in each.",
    run=run,
    scope=Scope.RECORDING,
    arguments=(
        Argument("graphs", ArgumentKind.INTEGER, 64, "most graphs to open", Unit.COUNT, minimum=2),
    ),
    finding=True,
)
