"""Changes that are alike, as rows of a list, and the order in which the keys step through them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ..figures.changes import Mark
from ..format import duration_text
from .report import ARROW, both_paths, fields_text, path_text, time_text, what_text

if TYPE_CHECKING:
    from capture.compare import NodeChange
    from capture.compare.changes import DurationChange

HEAD = 12
"""Characters of a kernel's name that stand before those that differ."""
LONGEST_CORE = 24


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node is drawn: the body, by its path before, and the node of its union."""

    body: str
    node: int


@dataclass(frozen=True, slots=True)
class Group:
    """Changes that are alike, such as those of every layer.

    Attributes
    ----------
    mark : Mark
    what : str
        Name of the nodes, or both names.
    how : str
        Fields with their values before and after.
    time : str
        Both durations, empty where they are not known.
    cost_ns : int or None
        After less before, over all of them.
    noise : bool or None
        Whether no difference is more than noise; ``None`` where that is not known.
    places : list of Place
        In the order of the graph.
    paths : list of str
    """

    mark: Mark
    what: str
    how: str
    time: str
    cost_ns: int | None
    noise: bool | None
    places: list[Place]
    paths: list[str]


class Tour(msgspec.Struct, frozen=True):
    """Every changed node, the most costly group first: what the keys step through."""

    bodies: list[str]
    body: list[int]
    """Per node, a position in `bodies`."""
    node: list[int]
    group: list[int]


def changed_groups(
    found: Iterable[NodeChange], place_of: Callable[[NodeChange], Place]
) -> Iterator[Group]:
    """Yield nodes that were added, removed, moved or changed alike."""
    alike: defaultdict[tuple[Any, ...], list[NodeChange]] = defaultdict(list)
    for change in found:
        alike[mark_of(change), what_text(change), fields_text(change)].append(change)
    for (mark, what, how), changes in alike.items():
        costs = [item.cost_ns for item in changes]
        known = [cost for cost in costs if cost is not None]
        placed = sorted(
            ((place_of(item), path_text(item)) for item in changes),
            key=lambda item: (item[0].body, item[0].node),
        )
        told = [item.differs for item in changes]
        yield Group(
            mark,
            what if mark is not Mark.SWAPPED else swap_text(changes[0]) or what,
            how,
            time_text(changes),
            sum(known) if len(known) == len(costs) else None,
            None if None in told else not any(told),
            [place for place, _ in placed],
            [path for _, path in placed],
        )


def time_groups(
    found: Iterable[DurationChange], place_of: Callable[[str], Place]
) -> Iterator[Group]:
    """Yield equal nodes of one name that take another time."""
    alike: defaultdict[str, list[DurationChange]] = defaultdict(list)
    for change in found:
        alike[change.name].append(change)
    for name, changes in alike.items():
        one = sum(change.before_ns for change in changes)
        other = sum(change.after_ns for change in changes)
        yield Group(
            Mark.TIME,
            name,
            "",
            f"{duration_text(one)} {ARROW} {duration_text(other)}",
            other - one,
            False,
            [place_of(item.before) for item in changes],
            [both_paths(item.before, item.after) for item in changes],
        )


def mark_of(change: NodeChange) -> Mark:
    """Return what became of a node that differs."""
    if change.kind == "changed" and change.swapped:
        return Mark.SWAPPED
    return Mark[change.kind.upper()]


def swap_text(change: NodeChange) -> str:
    """Return both kernels of a node by where their names differ; empty where all of them does.

    Kernels of one family differ in a few characters in the middle, which a narrow column cuts off.
    """
    names = next((item for item in change.fields if item.field == "kernel"), None)
    if names is None or not isinstance(names.before, str) or not isinstance(names.after, str):
        return ""
    pair = (names.before, names.after)
    start = _shared(*pair)
    start = max(pair[0].rfind(mark, 0, start) + 1 for mark in "_<, :")
    end = _shared(*(name[start:][::-1] for name in pair))
    cores = [name[start : len(name) - end] for name in pair]
    if start <= HEAD or not all(0 < len(core) <= LONGEST_CORE for core in cores):
        return ""
    dots = "\N{HORIZONTAL ELLIPSIS}"
    return f"{pair[0][:HEAD]}{dots}{cores[0]} {ARROW} {cores[1]}{dots if end else ''}"


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts start with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
