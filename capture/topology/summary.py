"""Counts, digest and consistency of a graph with all its bodies."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections import Counter
from typing import NamedTuple

from ..errors import InvalidGraphError
from ..model import Graph, Topology
from .structure import width_and_depth

_PORTS = ("from_port", "to_port", "edge_type")


class Summary(NamedTuple):
    """What a :class:`~capture.model.GraphInfo` says about a graph's topology.

    Counts include bodies; `width` and `depth` are of the outermost level, and ``None`` where its
    edges have a cycle.
    """

    node_count: int
    edge_count: int
    body_count: int
    type_counts: dict[str, int]
    width: int | None
    depth: int | None
    topology: str
    """:func:`digest`."""
    warnings: list[str]


def summarise(graph: Graph) -> Summary:
    """Count what a graph has. O(nodes + edges), bodies included."""
    nodes = edges = bodies = 0
    counts: Counter[str] = Counter()
    warnings: list[str] = []
    width, depth = width_and_depth(graph.topology)
    for path, level in graph.walk():
        topology = level.topology
        nodes += len(topology.types)
        edges += len(topology.source)
        bodies += len(level.bodies)
        counts.update(topology.types)
        if (width if level is graph else width_and_depth(topology)[0]) is None:
            where = f"body {path}" if path else "the graph"
            warnings.append(f"the edges of {where} have a cycle: it has no levels")
    return Summary(
        nodes, edges, bodies, dict(counts.most_common()), width, depth, digest(graph), warnings
    )


def digest(graph: Graph) -> str:
    """Return a text that is equal for graphs of equal topology, bodies included.

    Types in creation order, edges with ports and type in any order, and where bodies hang count;
    payloads and names do not. The same on every machine and Python.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    whole = hashlib.sha256()
    memo: dict[int, bytes] = {}
    for path, level in graph.walk():
        key = id(level.topology)
        if key not in memo:
            memo[key] = _level_digest(level.topology)
        whole.update(f"{path}\n".encode())
        whole.update(memo[key])
        for body in level.bodies:
            whole.update(f"{body.node}/{body.index} {body.role}\n".encode())
    return whole.hexdigest()[:32]


def _level_digest(topology: Topology) -> bytes:
    hashed = hashlib.sha256("\n".join(topology.types).encode())
    ports = [column for column in (getattr(topology, name) for name in _PORTS) if any(column)]
    if ports:
        zeros = [0] * len(topology.source)
        columns = [getattr(topology, name) or zeros for name in _PORTS]
        rows = sorted(zip(topology.target, topology.source, *columns, strict=True))
        flat = [value for row in rows for value in row]
        hashed.update(b"ports")
    else:
        count = len(topology.types)
        flat = sorted(
            target * count + source
            for source, target in zip(topology.source, topology.target, strict=True)
        )
    words = array("Q", flat)
    if sys.byteorder == "big":
        words.byteswap()
    hashed.update(words.tobytes())
    return hashed.digest()


def validate(graph: Graph) -> None:
    """Check that a graph and its bodies do not contradict themselves; cycles are no error.

    Raises
    ------
    InvalidGraphError
        A column of another length than its siblings, an edge to a node that is not there, an
        edge given twice, a body of a node that is not there, two bodies in one place.
    """
    for path, level in graph.walk():
        where = f"body {path}" if path else "the graph"
        _validate_level(level, where)


def _validate_level(level: Graph, where: str) -> None:
    topology = level.topology
    count, edges = len(topology.types), len(topology.source)
    if len(level.payloads) != count:
        raise InvalidGraphError(
            f"{where} has {count} nodes and {len(level.payloads)} payloads, expected one each"
        )
    for name in ("target", *_PORTS):
        length = len(getattr(topology, name))
        if length != edges and (name == "target" or length):
            raise InvalidGraphError(
                f"{where} has {edges} edge sources and {length} values of {name}, expected as many"
            )
    for name in ("source", "target"):
        column = getattr(topology, name)
        if column and not (min(column) >= 0 and max(column) < count):
            bad = next(node for node in column if not 0 <= node < count)
            raise InvalidGraphError(
                f"{where} has an edge with {name} {bad}, expected one of its {count} nodes "
                f"numbered from 0"
            )
    ports = [column for column in (getattr(topology, name) for name in _PORTS) if column]
    rows = list(zip(topology.source, topology.target, *ports, strict=True))
    if len(set(rows)) < len(rows):
        (twice, _), *_ = Counter(rows).most_common(1)
        raise InvalidGraphError(f"{where} has the edge {twice[0]} -> {twice[1]} twice")
    places = set()
    for body in level.bodies:
        if not 0 <= body.node < count:
            raise InvalidGraphError(
                f"{where} has a body of node {body.node}, expected one of its {count} nodes "
                f"numbered from 0"
            )
        if (body.node, body.index) in places:
            raise InvalidGraphError(f"{where} has body {body.node}/{body.index} twice")
        places.add((body.node, body.index))
