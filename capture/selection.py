"""Nodes of a graph chosen by a line of text, such as ``"type:memset"`` or ``"family:gemm+node:3"``.

==================  ==================================================================
``node:3``          the node at position 3; several with commas, ranges as ``3-7``
``type:memset``     every node of a type
``family:NAME``     every kernel of a family, as :func:`capture.names.family` gives it
``name:TEXT``       every kernel whose demangled name contains the text, in any case
``branch:3``        node 3 and every node that no path from a root reaches without it
``all``             every node
==================  ==================================================================

Several are joined with ``+``. Only nodes of the outermost level are chosen: a node that holds a
body stands for all of it.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from .errors import LookupFailed
from .model import Graph
from .names import family, readable, short

KINDS = ("node", "type", "family", "name", "branch")
FORMS = "node:3, node:3,5-7, type:memset, family:NAME, name:TEXT, branch:3 and all, joined with +"

_SHOWN = 5
_NEXT = re.compile(rf"\+(?=\s*(?:(?:{'|'.join(KINDS)}):|all\s*(?:\+|$)))")


def select(
    graph: Graph, text: str, kernels_by_family: Mapping[str, Sequence[int]] | None = None
) -> list[int]:
    """Return the positions that a selection chooses, ascending, each once.

    Parameters
    ----------
    graph : Graph
    text : str
    kernels_by_family : dict of str to sequence of int, optional
        Positions by family, where the caller has them; else they are computed.

    Raises
    ------
    LookupFailed
        The text is no selection, or a part of it chooses nothing; the message says what there is.

    Notes
    -----
    O(nodes + edges) for each part.

    Examples
    --------
    >>> from capture.model import Graph, Topology
    >>> fork = Topology(types=["kernel", "memset", "kernel", "empty"],
    ...                 source=[0, 0, 1, 2], target=[1, 2, 3, 3])
    >>> graph = Graph(topology=fork, payloads=[None] * 4)
    >>> select(graph, "type:memset+node:0"), select(graph, "branch:0"), select(graph, "branch:2")
    ([0, 1], [0, 1, 2, 3], [2])
    """
    if not len(graph):
        raise LookupFailed(f"{text!r} chooses nothing: the graph has no nodes")
    found: set[int] = set()
    for part in _NEXT.split(text):
        kind, colon, value = part.strip().partition(":")
        value = value.strip()
        if kind == "all" and not colon:
            return list(range(len(graph)))
        if not value or kind not in KINDS:
            raise LookupFailed(f"{part.strip()!r} is no selection of nodes: expected {FORMS}")
        if kind == "node":
            found.update(_positions(graph, value))
        elif kind == "type":
            found.update(_of_type(graph, value))
        elif kind == "family":
            found.update(_of_family(graph, value, kernels_by_family))
        elif kind == "name":
            found.update(_named(graph, value))
        else:
            for position in _positions(graph, value):
                found.update(dominated(graph, position))
    return sorted(found)


def dominated(graph: Graph, position: int) -> list[int]:
    """Return a node and every node all of whose paths from the roots pass through it.

    Notes
    -----
    O(nodes + edges): a node is one of them when all its predecessors are.

    Raises
    ------
    LookupFailed
        There is no such node.
    """
    graph.node(position)
    topology = graph.topology
    waiting = [0] * len(graph)
    successors: dict[int, list[int]] = {}
    for source, target in zip(topology.source, topology.target, strict=True):
        waiting[target] += 1
        successors.setdefault(source, []).append(target)
    # A node without predecessors is a root: nothing but itself lies on its paths.
    found = [position]
    waiting[position] = -1
    for node in found:
        for after in successors.get(node, ()):
            waiting[after] -= 1
            if not waiting[after]:
                found.append(after)
    return sorted(found)


def families(graph: Graph) -> dict[str, list[int]]:
    """Return the positions of kernels by family, in order of first use.

    Kernels without a name are left out. O(nodes).
    """
    found: dict[str, list[int]] = {}
    for position, name in _kernel_names(graph):
        found.setdefault(family(name), []).append(position)
    return found


def _kernel_names(graph: Graph) -> Iterable[tuple[int, str]]:
    for position, payload in enumerate(graph.payloads):
        kernel = getattr(payload, "kernel", None)
        if kernel is not None:
            yield position, kernel.name


def _positions(graph: Graph, text: str) -> list[int]:
    found: list[int] = []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        first, dash, last = (word.strip() for word in piece.partition("-"))
        if "/" in piece:
            raise LookupFailed(
                f"node {piece!r} is inside a body: only nodes of the outermost level can be "
                f"chosen, such as {piece.partition('/')[0]!r}, which holds it"
            )
        words = (first, last) if dash else (first,)
        if not all(word.isdecimal() and len(word) < 10 for word in words):
            raise LookupFailed(f"{piece!r} is no position of a node: expected {FORMS}")
        begin, end = int(first), int(last) if dash else int(first)
        if begin > end or end >= len(graph):
            raise LookupFailed(
                f"there is no node {piece!r}: the graph's nodes are 0 to {len(graph) - 1}"
            )
        found.extend(range(begin, end + 1))
    return found


def _of_type(graph: Graph, name: str) -> list[int]:
    types = graph.topology.types
    found = [position for position, type_ in enumerate(types) if type_ == name]
    if not found:
        counts = Counter(types).most_common()
        listed = ", ".join(f"{type_} ({count})" for type_, count in counts)
        raise LookupFailed(f"no node has type {name!r}: the graph has {listed}")
    return found


def _of_family(graph: Graph, name: str, known: Mapping[str, Sequence[int]] | None) -> Sequence[int]:
    there = known if known is not None else families(graph)
    found = there.get(name)
    if not found:
        ranked = sorted(there, key=lambda item: (-len(there[item]), item))
        raise LookupFailed(f"no kernel is of family {name!r}{_instead(name, ranked, 'families')}")
    return found


def _named(graph: Graph, text: str) -> list[int]:
    wanted = text.casefold()
    fitting: dict[str, bool] = {}
    found: list[int] = []
    for position, name in _kernel_names(graph):
        if name not in fitting:
            fitting[name] = wanted in readable(name).casefold()
        if fitting[name]:
            found.append(position)
    if not found:
        counts = Counter(short(name) for _, name in _kernel_names(graph))
        ranked = [name for name, _ in counts.most_common()]
        raise LookupFailed(f"no kernel's name contains {text!r}{_instead(text, ranked, 'kernels')}")
    return found


def _instead(wanted: str, ranked: list[str], what: str) -> str:
    """Return what there is: closest names, else the most frequent ones."""
    if not ranked:
        return ": the graph has no kernels with names"
    close = difflib.get_close_matches(wanted, ranked[:2000], _SHOWN)
    shown = close or ranked[:_SHOWN]
    more = len(ranked) - len(shown)
    kind = "closest" if close else "most frequent"
    rest = f", and {more} other {what}" if more > 0 else ""
    return f"; the {kind} {what} of the graph: {', '.join(shown)}{rest}"
