"""What nodes touch through plain arguments, all of them at once: for large graphs. Pure.

Plain is an argument of a kernel that does the same with every byte of each argument, and leads into
a block outside of the graph's own pool. Of those :func:`capture.memory.accesses.accesses` would say
the same one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

from ..model import Graph, Kernel
from ..nodes.kernel import KernelPayload
from .directions import UNKNOWN, Direction, Directions
from .pointers import Place, Pointer

MANY = 10_000
"""Pointers from which on this is faster, numpy's import included."""


def plain_accesses(
    graph: Graph,
    pointers: Sequence[Pointer],
    own: tuple[int, int] | None,
    names: Mapping[int, tuple[str, ...]],
    ways_of: Callable[[Kernel, tuple[str, ...]], Directions],
) -> tuple[list[int], list[tuple[int, int, int, int, int, str, bool, int]]]:
    """Return which pointers are plain, and the fields of the access that each of them is.

    Parameters
    ----------
    graph : Graph
    pointers : sequence of Pointer
    own : tuple of two int, or None
        The graph's own pool.
    names : mapping of int to tuple of str
        Names of the parameters of the kernel of a position.
    ways_of : callable
        Returns what a kernel does with its arguments.
    """
    import numpy

    words = [pointer[0] for pointer in pointers]
    position = numpy.array(
        [-1 if "/" in word[0] else int(word[0]) for word in words], dtype=numpy.int64
    )
    argument = numpy.array([word[3] for word in words], dtype=numpy.int64)
    kernel_of, tables, directions = _tables(graph, names, ways_of, int(argument.max(initial=0)))
    places = [pointer[1] for pointer in pointers]
    distinct = dict(zip(map(id, places), places, strict=True))
    number = dict(zip(distinct, range(len(distinct)), strict=True))
    place = numpy.array([number[id(item)] for item in places], dtype=numpy.int64)
    usual, stop = _spots(distinct.values(), own)
    kernel = numpy.where(position >= 0, kernel_of[position], -1)
    wanted = numpy.nonzero(
        (kernel >= 0) & usual[place] & numpy.array([word[5] is None for word in words], dtype=bool)
    )[0]
    chosen = wanted.tolist()
    address = [words[at][1] for at in chosen]
    end = stop[place[wanted]].tolist()
    told = [directions[at] for at in tables[kernel[wanted], argument[wanted] + 1].tolist()]
    fields = list(
        zip(
            position[wanted].tolist(),
            address,
            [stop_ or start + 1 for stop_, start in zip(end, address, strict=True)],
            [item[0] for item in told],
            [item[1] for item in told],
            [item[2] for item in told],
            [words[at][7] for at in chosen],
            repeat(-1),
        )
    )
    return chosen, fields


def _tables(
    graph: Graph,
    names: Mapping[int, tuple[str, ...]],
    ways_of: Callable[[Kernel, tuple[str, ...]], Directions],
    most: int,
) -> tuple[Any, Any, list[Direction]]:
    """Return a kernel's number by position, directions' numbers by kernel and argument, and those.

    The number is -1 where there is no kernel, or one that takes a closer look.
    """
    import numpy

    known: dict[tuple[int, tuple[str, ...]], int] = {}
    directions: dict[Direction, int] = {UNKNOWN: 0}
    rows: list[list[int]] = []
    kernel_of: list[int] = []
    nameless: tuple[str, ...] = ()
    for position, payload in enumerate(graph.payloads):
        kernel = payload.kernel if type(payload) is KernelPayload else None
        if kernel is None:
            kernel_of.append(-1)
            continue
        key = id(kernel), names.get(position, nameless) if names else nameless
        found = known.get(key)
        if found is None:
            found = known[key] = -1
            ways = ways_of(kernel, key[1])
            simple = ways.simple
            if simple is not None and not ways.outputs_first:
                row = [0] * (most + 2)
                for argument, direction in simple.items():
                    if argument <= most:
                        row[argument + 1] = directions.setdefault(direction, len(directions))
                found = known[key] = len(rows)
                rows.append(row)
        kernel_of.append(found)
    tables = numpy.array(rows) if rows else numpy.zeros((1, most + 2), dtype=numpy.int64)
    return numpy.array(kernel_of, dtype=numpy.int64), tables, list(directions)


def _spots(places: Any, own: tuple[int, int] | None) -> tuple[Any, Any]:
    """Return which places are blocks that other nodes may share, and where those in use end."""
    import numpy

    usual: list[bool] = []
    stop: list[int] = []
    item: Place
    for item in places:
        usual.append(item[0] == "block" and item[5] != own)
        stop.append(item[1] + item[2] if item[4] != "free" else 0)
    return numpy.array(usual, dtype=bool), numpy.array(stop, dtype=numpy.int64)
