"""What nodes are recognised by: their launch, their kernel, its family, their operator."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model import Graph, Kernel
from ..names import family
from ..nodes.kernel import KernelPayload

Ints = npt.NDArray[np.int64]


class Strictness(StrEnum):
    """How alike two nodes have to be to be taken for the same."""

    LAUNCH = "launch"
    """Type, kernel and launch dimensions, or what a copy and the like do; never addresses."""
    NAME = "name"
    """Type and kernel."""
    FAMILY = "family"
    """Type and kernel without tile sizes, template arguments and counters."""


ENOUGH = {Strictness.LAUNCH: 0.8, Strictness.NAME: 0.5}
"""Share of the smaller graph's nodes that have to have a counterpart for a key to be used."""


class Keys(NamedTuple):
    """Keys of both sides as numbers that are equal where the keys are."""

    before: Ints
    after: Ints


class NodeKeys(NamedTuple):
    """Keys of the nodes of one graph, by strictness."""

    launch: list[Hashable]
    name: list[Hashable]
    family: list[Hashable]
    work: list[str]
    """What kind of work kernels of any library do, by :func:`work_of`; empty where unknown."""


def node_keys(graph: Graph) -> NodeKeys:
    """Return the keys of every node, without those of bodies. O(nodes)."""
    kernels: dict[int, tuple[str, str, str]] = {}
    inside: dict[int, int] = {}
    for body in graph.bodies:
        inside[body.node] = inside.get(body.node, 0) + len(body.graph)
    found = NodeKeys([], [], [], [])
    for position, (type_, payload) in enumerate(
        zip(graph.topology.types, graph.payloads, strict=True)
    ):
        launch: Hashable
        name: Hashable
        if isinstance(payload, KernelPayload):
            kernel = payload.kernel
            words = kernels.get(id(kernel))
            if words is None:
                words = kernels[id(kernel)] = _words(kernel)
            name, group = (type_, words[0]), (type_, words[1])
            launch = (name, payload.grid, payload.block, payload.dynamic_shared_bytes)
            found.work.append(words[2])
        else:
            name, launch = _other(type_, payload, inside.get(position))
            group = (type_, "")
            found.work.append("")
        found.launch.append(launch)
        found.name.append(name)
        found.family.append(group)
    return found


def _words(kernel: Kernel | None) -> tuple[str, str, str]:
    if kernel is None:
        return "", "", ""
    return kernel.name, family(kernel.name), work_of(kernel.name)


_WORK = (
    ("attention", re.compile(r"fmha|flash_(?:fwd|bwd)|attention", re.IGNORECASE)),
    ("convolution", re.compile(r"conv|fprop|dgrad|wgrad", re.IGNORECASE)),
    ("matrix product", re.compile(r"nvjet|gemm|gemv|cublas", re.IGNORECASE)),
)


def work_of(name: str) -> str:
    """Return what kind of work a library's kernel does, from its name; empty where unknown.

    Libraries choose other kernels for other shapes, whose names have little else in common.

    Examples
    --------
    >>> work_of("nvjet_sm90_hsh_8x64_64x16_4x1_v_bz_bias_TNN")
    'matrix product'
    """
    return next((work for work, pattern in _WORK if pattern.search(name)), "")


_NAMING: dict[str, Callable[[Any], Hashable]] = {
    "memcpy": lambda payload: payload.kind,
    "host": lambda payload: (payload.symbol, payload.library),
    "conditional": lambda payload: payload.kind,
}
_SIZING: dict[str, Callable[[Any], Hashable]] = {
    "memcpy": lambda payload: (payload.width_bytes, payload.height, payload.depth),
    "memset": lambda payload: (payload.element_bytes, payload.width, payload.height, payload.value),
    "mem_alloc": lambda payload: payload.size_bytes,
}


def _other(type_: str, payload: Any, inside: int | None) -> tuple[Hashable, Hashable]:
    """Return (name, launch) of a node that launches no kernel."""
    name: Hashable = (type_,)
    launch: Hashable = (type_, inside)
    try:
        if type_ in _NAMING:
            name = (type_, _NAMING[type_](payload))
        if type_ in _SIZING:
            launch = (type_, _SIZING[type_](payload))
    except AttributeError:
        # Not read, or of a file that says less.
        pass
    return name, (name, launch)


def numbered(before: Sequence[Hashable], after: Sequence[Hashable]) -> Keys:
    """Return keys as numbers from 0."""
    numbers: dict[Hashable, int] = {}
    columns = [
        np.fromiter((numbers.setdefault(key, len(numbers)) for key in side), np.int64, len(side))
        for side in (before, after)
    ]
    return Keys(columns[0], columns[1])


def shared(before: Sequence[Hashable], after: Sequence[Hashable]) -> float:
    """Return the share of the smaller side whose keys the other side has as well; 1 if empty."""
    smaller = min(len(before), len(after))
    if not smaller:
        return 1.0
    return (Counter(before) & Counter(after)).total() / smaller


def strictest(before: NodeKeys, after: NodeKeys) -> Strictness:
    """Return the strictest key by which enough nodes have a counterpart.

    Where all launch dimensions differ, as between two batch sizes, they tell nothing.
    """
    for strictness, enough in ENOUGH.items():
        if shared(getattr(before, strictness), getattr(after, strictness)) >= enough:
            return strictness
    return Strictness.FAMILY
