"""What nodes touch through plain arguments, all of them at once: for large graphs. Pure.

Plain is an argument of a kernel that does the same with every byte of each argument, and leads into
a block outside of the graph's own pool. Of those :func:`capture.memory.accesses.accesses` would say
the same one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..model import Graph, Kernel
from ..nodes.kernel import KernelPayload
from .access import NO_LIFE, PLACE_OF_HOW, AccessColumns
from .directions import UNKNOWN, Direction, Directions
from .pointers import Place, Pointer

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

MANY = 10_000
"""Pointers from which on this is faster, numpy's import included."""


def plain_accesses(
    graph: Graph,
    pointers: Sequence[Pointer],
    own: tuple[int, int] | None,
    names: Mapping[int, tuple[str, ...]],
    ways_of: Callable[[Kernel, tuple[str, ...]], Directions],
) -> tuple[Array, Array, AccessColumns]:
    """Return which pointers are plain, where their blocks begin, and the accesses that they are.

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
    position = numpy.array(_positions([word[0] for word in words]), dtype=numpy.int64)
    argument = numpy.array([word[3] for word in words], dtype=numpy.int64)
    kernel_of, tables, directions = _tables(graph, names, ways_of, int(argument.max(initial=0)))
    places = [pointer[1] for pointer in pointers]
    # One object stands for all pointers of one address.
    _, first, place = numpy.unique(
        numpy.fromiter(map(id, places), dtype=numpy.int64, count=len(places)),
        return_index=True,
        return_inverse=True,
    )
    usual, start, stop = _spots([places[at] for at in first.tolist()], own)
    kernel = numpy.where(position >= 0, kernel_of[position], -1)
    known = numpy.array([word[5] is None for word in words], dtype=bool)
    chosen = numpy.nonzero((kernel >= 0) & usual[place] & known)[0]
    address = numpy.array([words[at][1] for at in chosen.tolist()], dtype=numpy.int64)
    end = stop[place[chosen]]
    told = tables[kernel[chosen], argument[chosen] + 1]
    does, may, how = (
        numpy.array(column, dtype=numpy.int64)
        for column in (
            [direction[0] for direction in directions],
            [direction[1] for direction in directions],
            [PLACE_OF_HOW[direction[2]] for direction in directions],
        )
    )
    return (
        chosen,
        start[place[chosen]],
        AccessColumns(
            position[chosen],
            address,
            numpy.where(end > 0, end, address + 1),
            does[told],
            may[told],
            how[told],
            numpy.array([words[at][7] for at in chosen.tolist()], dtype=numpy.int64),
            numpy.full(len(chosen), NO_LIFE),
        ),
    )


def _positions(nodes: list[str]) -> list[int]:
    """Return the positions of nodes; -1 for those of bodies."""
    try:
        return list(map(int, nodes))
    except ValueError:
        return [-1 if "/" in node else int(node) for node in nodes]


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

    directions: dict[Direction, int] = {UNKNOWN: 0}
    rows: list[list[int]] = []
    numbers: dict[Any, int] = {}
    kernels = [
        payload.kernel if type(payload) is KernelPayload else None for payload in graph.payloads
    ]
    keys: list[Any] = list(map(id, kernels))
    if names:
        keys = [(key, names.get(position, ())) for position, key in enumerate(keys)]
    for key, kernel in dict(zip(keys, kernels, strict=True)).items():
        numbers[key] = -1
        if kernel is None:
            continue
        ways = ways_of(kernel, key[1] if names else ())
        simple = ways.simple
        if simple is not None and not ways.outputs_first:
            row = [0] * (most + 2)
            for argument, direction in simple.items():
                if argument <= most:
                    row[argument + 1] = directions.setdefault(direction, len(directions))
            numbers[key] = len(rows)
            rows.append(row)
    tables = numpy.array(rows or [[0] * (most + 2)], dtype=numpy.int64)
    kernel_of = numpy.array([numbers[key] for key in keys], dtype=numpy.int64)
    return kernel_of, tables, list(directions)


def _spots(places: Sequence[Place], own: tuple[int, int] | None) -> tuple[Array, Array, Array]:
    """Return which places are usual blocks, where they begin, and where those in use end."""
    import numpy

    usual: list[bool] = []
    stop: list[int] = []
    for item in places:
        usual.append(item[0] == "block" and item[5] != own)
        stop.append(item[1] + item[2] if item[4] != "free" else 0)
    return (
        numpy.array(usual, dtype=bool),
        numpy.array([item[1] for item in places], dtype=numpy.int64),
        numpy.array(stop, dtype=numpy.int64),
    )
