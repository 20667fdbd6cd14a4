"""Many graphs of one recording, such as one per batch size: what varies with the size, and how."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import msgspec

from ..errors import LookupFailed
from ..model import Graph, GraphInfo, Recording
from ..names import demangle, family, short
from ..nodes.kernel import KernelPayload
from ..nodes.memcpy import MemcpyPayload
from ..nodes.memset import MemsetPayload
from .answers import ASK, driver_answer
from .asked import Asked, asked
from .parameters import is_plain_integer
from .update import update_verdict
from .variations import Variation, variation

MOST_NAMES = 2
"""Names of nodes that are told of one variation."""
_NUMBER = re.compile(r"(?:^|[^\w.])([A-Za-z_]\w*)\s*=\s*(-?\d+)")


class Group(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Graphs of one topology, in order of their numbers.

    Attributes
    ----------
    topology : str
    keys : list of str
    numbers : list of int
    node_count : int
    same : int
        Nodes that are equal in all of them, addresses apart.
    variations : list of Variation
        Those with the most nodes first.
    served : list of list of str
        Keys by executable: graphs that updates could take one executable to; as the driver says
        where it was asked, else by the documented rules.
    """

    topology: str
    keys: list[str]
    numbers: list[int]
    node_count: int
    same: int = 0
    variations: list[Variation] = msgspec.field(default_factory=list)
    served: list[list[str]] = msgspec.field(default_factory=list)


class Series(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What many graphs of a recording have in common.

    Attributes
    ----------
    name : str
        What the number in the labels is called, such as ``"batch"``; ``"ordinal"`` where labels
        hold none.
    groups : list of Group
        Graphs by topology, the largest group first.
    executables : int
        One per graph.
    needed : int
        As many would do if executables were updated.
    saved_bytes : int or None
        Device memory of the executables that would not be needed; ``None`` where a benchmark did
        not measure it.
    saved_ns : int or None
        Time that instantiating them took in the recording.
    total_ns : int or None
        Time that capturing and instantiating all graphs took; ``None`` where any is not known.
    asked : Asked or None
        What the driver said, where it was asked.
    notes : list of str
    """

    name: str
    groups: list[Group]
    executables: int
    needed: int
    saved_bytes: int | None = None
    saved_ns: int | None = None
    total_ns: int | None = None
    asked: Asked | None = None
    notes: list[str] = msgspec.field(default_factory=list)


def series(recording: Recording) -> Series:
    """Say what varies among the graphs of a recording.

    Raises
    ------
    LookupFailed
        There are fewer than two graphs with nodes.

    Notes
    -----
    O(nodes of all graphs); one graph of a topology is held at a time besides the first.
    """
    infos = [info for info in recording.graphs.values() if info.node_count]
    if len(infos) < 2:
        raise LookupFailed(
            f"a series needs two graphs with nodes, this recording has {len(infos)}: record a "
            f"script that captures one per size"
        )
    name = _common_name(infos)
    by_topology: defaultdict[str, list[GraphInfo]] = defaultdict(list)
    for info in infos:
        by_topology[info.topology].append(info)
    groups = [
        _group(recording, topology, members, name) for topology, members in by_topology.items()
    ]
    groups.sort(key=lambda group: -len(group.keys))
    spare = {key for group in groups for served in group.served for key in served[1:]}
    found = Series(
        name=name,
        groups=groups,
        executables=len(infos),
        needed=len(infos) - len(spare),
        saved_bytes=_saved_bytes(recording, spare),
        saved_ns=_instantiate_ns(recording, spare),
        total_ns=_total_ns(recording, infos),
        asked=asked(recording),
    )
    if spare:
        found.notes += _notes_of_updates(found)
    clusters = any(item.field == "cluster" for group in groups for item in group.variations)
    if clusters and found.asked is None:
        found.notes.append(
            "Thread-block clusters differ, of which the documentation does not say whether an "
            "update may change them."
        )
    return found


def _notes_of_updates(found: Series) -> Iterator[str]:
    if found.asked is None:
        yield (
            f"Which graphs an executable could serve is predicted from the documentation's rules: "
            f"the driver was not asked ({ASK} asks it)."
        )
    yield (
        "Each graph is captured all the same, since an update takes a graph, and every change of "
        "the size costs an update."
    )


def _takes(
    recording: Recording, first: Graph, graph: Graph, first_info: GraphInfo, info: GraphInfo
) -> bool:
    answer, _ = driver_answer(recording, recording, first_info.key, info.key)
    if answer is not None:
        return answer.result == "SUCCESS"
    return update_verdict(first, graph, first_info, info).possible


def number_of(info: GraphInfo, name: str) -> int:
    """Return the number that a graph's label gives a name, else its ordinal."""
    return dict(_numbers(info.label)).get(name, info.ordinal)


def _numbers(label: str) -> Iterator[tuple[str, int]]:
    for match in _NUMBER.finditer(label):
        yield match[1], int(match[2])


def _common_name(infos: Sequence[GraphInfo]) -> str:
    """Return the name that every label has; the one with the most different numbers."""
    values: defaultdict[str, list[int]] = defaultdict(list)
    for info in infos:
        for name, number in dict(_numbers(info.label)).items():
            values[name].append(number)
    whole = {name: len(set(found)) for name, found in values.items() if len(found) == len(infos)}
    return max(whole, key=whole.__getitem__, default="ordinal")


def _group(recording: Recording, topology: str, members: list[GraphInfo], name: str) -> Group:
    members = sorted(members, key=lambda info: number_of(info, name))
    numbers = [number_of(info, name) for info in members]
    group = Group(
        topology=topology,
        keys=[info.key for info in members],
        numbers=numbers,
        node_count=members[0].node_count,
    )
    columns: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    firsts: list[tuple[Graph, GraphInfo]] = []
    for index, info in enumerate(members):
        loaded = recording.is_loaded(info.key)
        graph = recording.graph(info.key)
        for place, value in _fields(graph):
            column = columns[place]
            column.extend([None] * (index - len(column)))
            column.append(value)
        for served, (first, first_info) in zip(group.served, firsts, strict=True):
            if _takes(recording, first, graph, first_info, info):
                served.append(info.key)
                break
        else:
            group.served.append([info.key])
            firsts.append((graph, info))
        if not loaded and index:
            recording.forget(info.key)
    alike: defaultdict[tuple[str, tuple[Hashable, ...]], list[str]] = defaultdict(list)
    touched = set()
    for (path, field), values in columns.items():
        values.extend([None] * (len(members) - len(values)))
        if any(value != values[0] for value in values):
            alike[field, tuple(values)].append(path)
            touched.add(path)
    group.same = group.node_count - len(touched)
    group.variations = [
        variation(field, paths, numbers, list(values)) for (field, values), paths in alike.items()
    ]
    names = dict(_names(firsts[0][0]))
    for item in group.variations:
        listed = dict.fromkeys(names[path] for path in item.nodes)
        item.what = ", ".join(list(listed)[:MOST_NAMES]) + (
            ", …" if len(listed) > MOST_NAMES else ""
        )
    group.variations.sort(
        key=lambda item: (-len(item.nodes), item.nodes[0], item.field != "kernel", item.field)
    )
    return group


def _names(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yield (path, what a node is): the name of a kernel without sizes of tiles, or a type."""
    for path, level in graph.walk():
        prefix = f"{path}/" if path else ""
        for position, payload in enumerate(level.payloads):
            kernel = payload.kernel if isinstance(payload, KernelPayload) else None
            what = level.topology.types[position]
            if kernel is not None:
                generic = demangle(kernel.name) != kernel.name
                what = short(kernel.name) if generic else short(family(kernel.name))
            yield f"{prefix}{position}", what


def _fields(graph: Graph) -> Iterator[tuple[tuple[str, str], Hashable]]:
    """Yield ((path, field), value) of what may vary; addresses and structures are left out."""
    for path, level in graph.walk():
        prefix = f"{path}/" if path else ""
        for position, payload in enumerate(level.payloads):
            node = f"{prefix}{position}"
            for field, value in _of_payload(payload):
                yield (node, field), value


def _of_payload(payload: Any) -> Iterator[tuple[str, Hashable]]:
    if isinstance(payload, KernelPayload):
        yield "kernel", payload.kernel.name if payload.kernel is not None else None
        for name in ("grid", "block"):
            dimensions = getattr(payload, name)
            if dimensions is not None:
                yield from zip((f"{name} x", f"{name} y", f"{name} z"), dimensions, strict=True)
        yield "dynamic_shared_bytes", payload.dynamic_shared_bytes
        yield "cluster", payload.cluster
        if payload.kernel is not None and payload.arguments is not None:
            for index, (offset, size) in enumerate(payload.kernel.parameters or []):
                if is_plain_integer(payload.kernel, index, size):
                    raw = payload.arguments[offset : offset + size]
                    yield f"argument {index}", int.from_bytes(raw, "little", signed=True)
    elif isinstance(payload, MemcpyPayload):
        for name in ("kind", "width_bytes", "height", "depth"):
            yield name, getattr(payload, name)
    elif isinstance(payload, MemsetPayload):
        for name in ("value", "element_bytes", "width", "height"):
            yield name, getattr(payload, name)


def _saved_bytes(recording: Recording, spare: set[str]) -> int | None:
    total = 0
    for key in spare:
        benchmark = recording.benchmark(key)
        if benchmark is None or benchmark.executable_bytes is None:
            return None
        total += benchmark.executable_bytes
    return total if spare else None


def _instantiate_ns(recording: Recording, keys: set[str]) -> int | None:
    found = [item.instantiate_duration_ns for item in recording.executables if item.graph in keys]
    known = [duration for duration in found if duration is not None]
    return sum(known) if known and len(known) == len(found) else None


def _total_ns(recording: Recording, infos: Sequence[GraphInfo]) -> int | None:
    captures = [info.capture_duration_ns for info in infos]
    known = [duration for duration in captures if duration is not None]
    made = _instantiate_ns(recording, {info.key for info in infos})
    return sum(known) + made if made is not None and len(known) == len(captures) else None
