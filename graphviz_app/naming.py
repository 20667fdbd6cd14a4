"""What a node is called on the screen, and the colour of its type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from capture.model import Graph, Kernel, Node
from capture.names import readable, short
from capture.nodes import Category, node_type, node_types
from capture.nodes.kernel import KernelPayload

from .format import type_text

CATEGORY_COLOURS: dict[Category, str] = {
    Category.COMPUTE: "#0072B2",
    Category.TRANSFER: "#E69F00",
    Category.MEMORY: "#009E73",
    Category.SYNCHRONISATION: "#999999",
    Category.HOST: "#D55E00",
    Category.GRAPH: "#CC79A7",
    Category.UNKNOWN: "#8C6BB1",
}
"""One colour per meaning, told apart by colour-blind eyes; the same in plots, tables and graph."""

TINTS = (
    ("#FFFFFF", 0.32),
    ("#000000", 0.32),
    ("#FFFFFF", 0.5),
    ("#000000", 0.52),
    ("#000000", 0.16),
)
"""Moves toward white or black that tell the second and later types of a category apart."""


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour moved toward another by a share between 0 and 1."""
    ends = [[int(text[i : i + 2], 16) for i in (1, 3, 5)] for text in (colour, other)]
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in zip(*ends, strict=True))


@lru_cache(maxsize=256)
def type_colour(name: str) -> str:
    """Return a node type's colour: its category's, tinted for all but the first type of it."""
    entry = node_type(name)
    base = CATEGORY_COLOURS[entry.category]
    kin = sorted(
        (other for other in node_types().values() if other.category is entry.category),
        key=lambda other: other.number,
    )
    place = next((i for i, other in enumerate(kin) if other.name == name), 0)
    if place == 0:
        return base
    return mix(base, *TINTS[(place - 1) % len(TINTS)])


def kernel_of(node: Node) -> Kernel | None:
    """Return the kernel a node launches."""
    return node.payload.kernel if isinstance(node.payload, KernelPayload) else None


def full_name(node: Node) -> str:
    """Return a node's full name: the readable kernel name, or what its type calls it."""
    kernel = kernel_of(node)
    if kernel is not None and kernel.name:
        return readable(kernel.name)
    return label(node)


def label(node: Node) -> str:
    """Return a node's short name for a box."""
    kernel = kernel_of(node)
    if kernel is not None and kernel.name:
        return short(kernel.name)
    return _text(node)


def _text(node: Node) -> str:
    entry = node_type(node.type)
    # An unknown type has a plain map as payload, which no label function expects.
    text = entry.label(node.payload) if entry.payload is not None or node.payload is None else ""
    return text or type_text(node.type)


def names(graph: Graph) -> tuple[Sequence[str], Sequence[str]]:
    """Return short and full names of all nodes, each kernel's computed once."""
    known: dict[int, tuple[str, str]] = {}
    labels: list[str] = []
    full: list[str] = []
    for node in graph.nodes():
        kernel = kernel_of(node)
        if kernel is None:
            name = long = _text(node)
        else:
            pair = known.get(id(kernel))
            if pair is None:
                pair = known[id(kernel)] = (label(node), full_name(node))
            name, long = pair
        labels.append(name)
        full.append(long)
    return labels, full
