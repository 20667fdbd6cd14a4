"""Bodies of conditional nodes, from the driver's DOT.

Drivers before CUDA 13.2 have no call that returns the bodies of a conditional node, but
``cuGraphDebugDotPrint`` with handles names the cluster of each body and prints the handles of
the nodes inside, and every other call accepts those. Only what that needs is parsed here;
:mod:`capture.formats.dot` reads such files as recordings.
"""

from __future__ import annotations

import re
from typing import NamedTuple

IF, WHILE, SWITCH = 0, 1, 2
_KINDS = {"IF": IF, "WHILE": WHILE, "SWITCH": SWITCH}

_NODE = re.compile(r'^"(graph_\d+)_node_(\d+)"\s*\[(.*?)"\s*\];', re.DOTALL | re.MULTILINE)
_HANDLE = re.compile(r"node handle.*?0x([0-9A-Fa-f]+)", re.DOTALL)
# "{Conditional Type| IF}" and, from older drivers, a line "Type: IF".
_KIND = re.compile(r"(?:Conditional Type\s*\||^Type:)\s*(IF|WHILE|SWITCH)\b", re.MULTILINE)
_CONDITIONAL_HANDLE = re.compile(
    r"(?:Conditional Handle\s*\|\s*|^Handle:\s*)(0x[0-9A-Fa-f]+|\d+)", re.MULTILINE
)
_BODY = re.compile(
    r"\{\s*(?:True|False|\d+)\s*\|\s*(graph_\d+)\s*\}|^(graph_\d+)\s*$", re.MULTILINE
)


class ConditionalBodies(NamedTuple):
    """One conditional node: its kind, its handle if printed, and the clusters of its bodies."""

    kind: int
    """``CUgraphConditionalNodeType``."""
    handle: int | None
    clusters: list[str]


class DotBodies(NamedTuple):
    """What a DOT says about conditional nodes, and about which nodes each cluster holds."""

    conditionals: dict[int, ConditionalBodies]
    """By node handle."""
    clusters: dict[str, list[int]]
    """Node handles in creation order, by cluster name such as ``"graph_7"``."""


def read_bodies(text: str) -> DotBodies:
    """Parse a DOT that ``cuGraphDebugDotPrint`` printed with handles.

    Parameters
    ----------
    text : str

    Returns
    -------
    DotBodies
        A cluster that has no nodes is there with an empty list.
    """
    conditionals: dict[int, ConditionalBodies] = {}
    numbered: dict[str, list[tuple[int, int]]] = {
        name: [] for name in re.findall(r'^label="(graph_\d+)"', text, re.MULTILINE)
    }
    for match in _NODE.finditer(text):
        cluster, number, label = match.groups()
        found = _HANDLE.search(label)
        if found is None:
            continue
        handle = int(found[1], 16)
        numbered.setdefault(cluster, []).append((int(number), handle))
        kind = _KIND.search(label)
        if kind is not None:
            conditional = _CONDITIONAL_HANDLE.search(label)
            conditionals[handle] = ConditionalBodies(
                _KINDS[kind[1]],
                int(conditional[1], 0) if conditional else None,
                [first or second for first, second in _BODY.findall(label)],
            )
    return DotBodies(
        conditionals,
        {name: [handle for _, handle in sorted(nodes)] for name, nodes in numbered.items()},
    )
