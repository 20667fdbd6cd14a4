"""DOT for Graphviz: one graph, readable names, bodies as clusters, a colour per category.

One file holds one graph, since Graphviz draws the graphs of one file over each other's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from ..errors import OutputError
from ..model import Graph, Node, Recording
from ..names import readable, short
from ..nodes import Category, node_type
from ..origin_index import OriginIndex, origin_attributes
from ..origins import Origins
from .base import Format
from .cgl import stored_graph

COLOURS = {
    Category.COMPUTE: "#0072B2",
    Category.TRANSFER: "#E69F00",
    Category.MEMORY: "#009E73",
    Category.SYNCHRONISATION: "#999999",
    Category.HOST: "#D55E00",
    Category.GRAPH: "#CC79A7",
    Category.UNKNOWN: "#FFFFFF",
}
"""Fills that colour-blind eyes can tell apart (Okabe and Ito, 2008)."""

MAX_LABEL = 80
MAX_TOOLTIP = 1000

_WRITE_LINES = 2000
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_PROGRAMMATIC = 1


def sniff(head: bytes, path: Path) -> int:
    """Recognise our own header, to say that this format cannot be read."""
    return 99 if head.startswith(b"// cudagraph-lens") else 0


def write(recording: Recording, stream: BinaryIO, keys: Sequence[str]) -> None:
    """Write the graph of the only key.

    Raises
    ------
    OutputError
        Its nodes were not read.
    """
    (key,) = keys
    graph = stored_graph(recording, key)
    if graph is None:
        raise OutputError(f"graph {key!r} cannot be drawn: its nodes could not be read")
    lines: list[str] = []
    name = recording.info(key).name or graph.name
    for line in dot_lines(graph, name, recording.origins(key)):
        lines.append(line)
        if len(lines) == _WRITE_LINES:
            stream.write("".join(lines).encode("utf-8"))
            lines.clear()
    stream.write("".join(lines).encode("utf-8"))


def dot_lines(graph: Graph, name: str = "", origins: Origins | None = None) -> Iterator[str]:
    """Yield the lines of a graph's DOT, newlines included.

    Parameters
    ----------
    graph : Graph
    name : str
        Title.
    origins : Origins, optional
        Adds where each node comes from, in its tooltip and as attributes.
    """
    yield "// cudagraph-lens\n"
    yield f"digraph {quote(name, MAX_LABEL)} {{\n"
    yield (
        f"  graph [compound=true, labelloc=t, label={quote(name, MAX_LABEL)}, "
        f"tooltip={quote(name, MAX_TOOLTIP)}];\n"
    )
    yield '  node [shape=box, style="filled,rounded", fontsize=11, margin="0.12,0.06"];\n'
    yield '  edge [color="#666666", arrowsize=0.7];\n'
    # Opening and closing lines of clusters wait on a stack, so that depth needs no recursion.
    stack: list[tuple[str, Graph] | str] = [("n", graph)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
            continue
        prefix, level = item
        path = prefix[1:].rstrip("_").replace("_", "/")
        index = OriginIndex(origins, len(level), path) if origins is not None else None
        yield from _level(prefix, level, index)
        for body in reversed(level.bodies):
            inner = f"{prefix}{body.node}_{body.index}_"
            owner = f"{prefix}{body.node}"
            first = f"{inner}0" if len(body.graph) else f"{inner}empty"
            stack.append("  }\n" + _owner_edge(owner, first, inner, body.role))
            stack.append((inner, body.graph))
            title = f"{body.role} of node {body.node}"
            stack.append(
                f'  subgraph "cluster_{inner}" {{\n'
                f"  graph [label={quote(title)}, tooltip={quote(title)}, "
                f'style="rounded,dashed", color="#666666"];\n'
            )
    yield "}\n"


def _level(prefix: str, level: Graph, index: OriginIndex | None) -> Iterator[str]:
    if not len(level) and prefix != "n":
        yield f'  {prefix}empty [label="empty", style=dashed, tooltip="a graph without nodes"];\n'
    for node in level.nodes():
        origin = origin_attributes(index, node.position) if index is not None else {}
        yield f"  {prefix}{node.position} {node_attributes(node, origin)};\n"
    for edge in level.edges():
        attributes = ""
        if edge.from_port or edge.to_port or edge.type:
            kind = "programmatic" if edge.type == _PROGRAMMATIC else f"type {edge.type}"
            text = f"{kind}, from port {edge.from_port} to port {edge.to_port}"
            attributes = f" [style=dashed, tooltip={quote(text)}]"
        yield f"  {prefix}{edge.source} -> {prefix}{edge.target}{attributes};\n"


def _owner_edge(owner: str, first: str, cluster: str, role: str) -> str:
    return (
        f'  {owner} -> {first} [lhead="cluster_{cluster}", style=dotted, arrowhead=empty, '
        f"tooltip={quote(role)}];\n"
    )


def node_attributes(node: Node, origin: Mapping[str, str] | None = None) -> str:
    """Return the attribute list of one node, brackets included.

    Parameters
    ----------
    node : Node
    origin : mapping of str to str, optional
        Where it comes from; see :func:`~capture.origin_index.origin_attributes`.
    """
    origin = origin or {}
    entry = node_type(node.type)
    text = entry.label(node.payload)
    kernel = getattr(node.payload, "kernel", None)
    tip = [f"node {node.position}: {node.type.replace('_', ' ')}"]
    if kernel is not None:
        text = short(kernel.name)
        tip.append(readable(kernel.name)[:MAX_TOOLTIP])
        for word in ("grid", "block", "cluster"):
            value = getattr(node.payload, word, None)
            if value is not None:
                tip.append(f"{word} {' x '.join(map(str, value))}")
    tip += [f"{name.removeprefix('origin_')} {value}" for name, value in origin.items()]
    more = "".join(f", {name}={quote(value)}" for name, value in origin.items())
    fill = COLOURS[entry.category]
    return (
        f"[label={quote(text, MAX_LABEL)}, tooltip={quote(chr(10).join(tip), MAX_TOOLTIP)}, "
        f'fillcolor="{fill}", fontcolor="{ink(fill)}"{more}]'
    )


def quote(text: str, limit: int = MAX_TOOLTIP) -> str:
    r"""Return text as a DOT string that Graphviz shows as it is, at most `limit` characters.

    Examples
    --------
    >>> print(quote('f<"a">'))
    "f<\"a\">"
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    text = _CONTROL.sub("\ufffd", text)
    # Graphviz reads HTML entities even in plain strings.
    text = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n") + '"'


def ink(fill: str) -> str:
    """Return black or white, whichever is easier to read on a colour (WCAG 2 contrast)."""
    channels = [int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#FFFFFF"


FORMAT = Format(
    name="dot",
    extensions=(".dot", ".gv"),
    description="DOT for Graphviz: one graph, bodies as clusters, a colour per category",
    sniff=sniff,
    write=write,
    many=False,
)
