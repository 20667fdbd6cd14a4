"""Which captured node each activity record of an executable is of.

Instantiate tells the clone of every node. Where a graph has bodies, it then puts the nodes of all
levels into one list, and records carry places in that list: those of the outermost level first,
then each body's, level by level. So the ids of nodes in bodies are asked for after instantiate,
and only of kernels: clones of embedded graphs may be gone by then, and those of copies answer with
another copy's id (seen with driver 580).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model import Graph

Level = tuple[str, list[int]]
"""Path of a graph's level and the handles of its nodes, in order."""


def joined(
    graph: Graph,
    levels: Sequence[Level],
    clones: Sequence[tuple[int, int, int]],
    node_id: Callable[[int], int],
) -> dict[int, str]:
    """Return the path of the captured node by the id that its records carry.

    Parameters
    ----------
    graph : Graph
        As captured; payloads are not looked at.
    levels : sequence of Level
        The outermost level first, its path being empty.
    clones : sequence of (int, int, int)
        Of every node that instantiate cloned: original handle, id at that time, clone's handle.
    node_id : callable
        Asks CUPTI for the id of a clone that is alive.

    Returns
    -------
    dict of int to str
        Empty text for a clone that is of no node that was read. Nodes of bodies whose ids cannot
        be told for certain are left out.
    """
    places = {
        handle: (path, position) for path, nodes in levels for position, handle in enumerate(nodes)
    }
    if len(levels) == 1:
        return {
            first_id: str(places[original][1]) if original in places else ""
            for original, first_id, _ in clones
        }
    found: dict[int, str] = {}
    asked: dict[str, dict[int, int]] = {path: {} for path, _ in levels if path}
    outermost = -1
    for original, first_id, clone in clones:
        place = places.get(original)
        if place is None:
            found[first_id] = ""
            continue
        path, position = place
        if not path:
            outermost = first_id - position
            found[first_id] = str(position)
        elif graph.at(path).topology.types[position] == "kernel":
            asked[path][position] = node_id(clone)
    found.update(_in_bodies(levels, asked, outermost))
    return found


def _in_bodies(
    levels: Sequence[Level], asked: dict[str, dict[int, int]], outermost: int
) -> dict[int, str]:
    """Return paths by id for nodes in bodies: each body's ids are consecutive."""
    expected = outermost + len(levels[0][1])
    in_order: dict[str, int] = {}
    by_answer: dict[str, int] = {}
    certain = outermost >= 0
    for path, nodes in levels[1:]:
        in_order[path] = expected
        bases = {id_ - position for position, id_ in asked[path].items()}
        if len(bases) == 1:
            by_answer[path] = bases.pop()
            certain = certain and by_answer[path] == expected
        elif bases:
            certain = False
        expected += len(nodes)
    # A body without kernels has its place in the list only if every other body is where the list
    # says it is.
    bases_of = in_order if certain and by_answer else by_answer
    found = {
        bases_of[path] + position: f"{path}/{position}"
        for path, nodes in levels[1:]
        if path in bases_of
        for position in range(len(nodes))
    }
    for path, ids in asked.items():
        if path not in bases_of:
            found.update({id_: f"{path}/{position}" for position, id_ in ids.items()})
    return found
