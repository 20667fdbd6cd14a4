"""Synthetic graphs and one from a driver's file, as payloads for the canvas's test page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pydemumble

from graphviz_app.figures.scene import (
    Colouring,
    LegendEntry,
    SceneTexts,
    column_labels,
    encode_scene,
)
from graphviz_app.layout import lane_layout

BLOCK12 = Path(__file__).parents[2] / "data" / "driver_dot" / "block12_plain.dot"
TYPE_COLOURS = {
    "kernel": "#0072B2",
    "memcpy": "#E69F00",
    "memset": "#E69F00",
    "mem_alloc": "#009E73",
    "mem_free": "#009E73",
    "empty": "#999999",
    "host": "#D55E00",
    "conditional": "#CC79A7",
}
KERNEL_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8A6FD1", "#999999",
)  # fmt: skip


@dataclass
class SyntheticGraph:
    """Nodes and edges while a test builds them."""

    types: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)

    def node(self, kind: str, label: str, *after: int, name: str | None = None) -> int:
        """Add a node that depends on others."""
        self.types.append(kind)
        self.labels.append(label)
        self.names.append(label if name is None else name)
        index = len(self.types) - 1
        for before in after:
            self.source.append(before)
            self.target.append(index)
        return index

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the edges, as the layout takes them."""
        return np.array(self.source, dtype=np.int32), np.array(self.target, dtype=np.int32)


LAYER = (
    "rmsnorm_fwd", "nvjet_hsh_64x64 qkv", "rope_embed", "flash_fprop", "nvjet_hsh_24x64 o",
    "add_residual", "rmsnorm_fwd", "nvjet_hsh_128x64 gate", "silu_mul", "nvjet_hsh_64x64 down",
)  # fmt: skip


def chain(n: int) -> SyntheticGraph:
    """A decode step: one chain of kernels."""
    graph = SyntheticGraph()
    last: list[int] = []
    for k in range(n):
        last = [graph.node("kernel", LAYER[k % len(LAYER)], *last)]
    return graph


def fork_join(width: int, length: int) -> SyntheticGraph:
    """A fork of equal chains with a join."""
    graph = SyntheticGraph()
    root = graph.node("memcpy", "memcpy HtoD")
    ends = []
    for branch in range(width):
        at = root
        for k in range(length):
            at = graph.node("kernel", f"expert{branch}_{('up', 'act', 'down')[k % 3]}", at)
        ends.append(at)
    graph.node("kernel", "combine", *ends)
    return graph


def layers(wanted: int, seed: int = 1) -> SyntheticGraph:
    """Up to 96 layers: a spine, a copy stream, fork-joins up to 64 wide."""
    rng = np.random.default_rng(seed)
    graph = SyntheticGraph()
    per_layer = max(12, wanted // 96)
    spine = graph.node("memset", "memset 4 B")
    copy: list[int] = []
    while len(graph.types) < wanted:
        begin = len(graph.types)
        copy = [graph.node("memcpy", "memcpy HtoD weights", *copy)]
        width = int(rng.choice([2, 4, 8, 64], p=[0.5, 0.3, 0.15, 0.05]))
        waits = copy
        while len(graph.types) - begin < per_layer and len(graph.types) < wanted:
            k = len(graph.types) - begin
            if k > 10 and rng.random() < 0.03:
                tails = []
                for branch in range(min(width, per_layer)):
                    at = spine
                    for _ in range(int(rng.integers(1, 4))):
                        at = graph.node("kernel", f"expert{branch % 8}_gemm", at)
                    tails.append(at)
                spine = graph.node("kernel", "combine", *tails)
            else:
                after = (spine, *waits) if k > 8 else (spine,)
                waits = waits if k <= 8 else []
                spine = graph.node("kernel", LAYER[k % len(LAYER)], *after)
    return graph


def short_name(name: str) -> str:
    """A name short enough for a box; the product has a better one of its own."""
    text = pydemumble.demangle(name) or name
    text = re.sub(r"<.*", "", text.removeprefix("void "))
    return text.rsplit("::", 1)[-1].split("(")[0] or name


def block12() -> SyntheticGraph:
    """The transformer forward of 132 nodes that a driver wrote as DOT."""
    text = BLOCK12.read_text()
    graph = SyntheticGraph()
    position: dict[str, int] = {}
    for match in re.finditer(
        r'"(graph_\d+_node_\d+)"\[[^\]]*?label="(\d+)\n(.*?)\n"\]', text, re.S
    ):
        name = match[3].replace("\n", " ")
        kind = name.split()[0].lower() if name.startswith(("MEM", "EMPTY")) else "kernel"
        position[match[1]] = graph.node(kind, short_name(name), name=name)
    for before, after in re.findall(r'"(\w+)" -> "(\w+)"', text):
        graph.source.append(position[before])
        graph.target.append(position[after])
    return graph


def streams(count: int, rounds: int) -> SyntheticGraph:
    """Streams that wait for one another now and then, as events make them."""
    graph = SyntheticGraph()
    root = graph.node("kernel", "embedding")
    last = [root] * count
    for round_ in range(rounds):
        for stream in range(count):
            for k in range(2 + (stream + round_) % 3):
                last[stream] = graph.node("kernel", f"s{stream}_{LAYER[k]}", last[stream])
        other = (round_ + 1) % count
        last[other] = graph.node("kernel", f"s{other}_wait_{round_ % count}", last[other], last[0])
        if round_ % 4 == 3:
            joined = graph.node("kernel", "all_reduce", *last)
            last = [joined] * count
    graph.node("memcpy", "memcpy DtoH", *last)
    return graph


def alone(n: int) -> SyntheticGraph:
    """Nodes without an edge."""
    graph = SyntheticGraph()
    for k in range(n):
        graph.node("kernel", f"kernel_{k % 40}")
    return graph


def every_shape() -> SyntheticGraph:
    """Small: bodies to enter, a side stream, markup in a name, a part of its own."""
    graph = SyntheticGraph()
    a = graph.node("memcpy", "memcpy HtoD")
    b = graph.node("kernel", "gemm", a)
    c = graph.node("conditional", "while", b)
    d = graph.node("kernel", "<img src=x onerror=alert(1)>", c)
    e = graph.node("kernel", "side_stream", a)
    f = graph.node("kernel", "side_stream_2", e)
    g = graph.node("host", "callback", d, f)
    graph.node("mem_free", "mem free", g)
    graph.node("empty", "alone")
    return graph


def cyclic() -> SyntheticGraph:
    """What only a broken file holds."""
    graph = SyntheticGraph()
    a = graph.node("kernel", "first")
    b = graph.node("kernel", "second", a)
    c = graph.node("kernel", "third", b)
    graph.source.append(c)
    graph.target.append(a)
    return graph


def categories(values: list[str], colours: dict[str, str] | tuple[str, ...]) -> Colouring:
    """Colour by the values, the most frequent first."""
    counts = Counter(values)
    ranked = [value for value, _ in counts.most_common()]
    place = {value: k for k, value in enumerate(ranked)}
    legend = [
        LegendEntry(
            value,
            colours.get(value, "#999999")
            if isinstance(colours, dict)
            else colours[k % len(colours)],
            counts[value],
        )
        for k, value in enumerate(ranked)
    ]
    return Colouring("", "", np.array([place[v] for v in values], dtype=np.int32), legend)


def payload(
    graph: SyntheticGraph,
    *,
    by: str = "type",
    stream: list[int] | None = None,
    modules: list[str] | None = None,
) -> bytes:
    """Lay a graph out and encode it, coloured by type and by kernel."""
    source, target = graph.edges()
    kind = np.unique(np.array(graph.labels, dtype=str), return_inverse=True)[1].astype(np.int32)
    layout = lane_layout(
        len(graph.types),
        source,
        target,
        kind=kind,
        stream=None if stream is None else np.array(stream, dtype=np.int32),
    )
    type_ = categories(graph.types, TYPE_COLOURS)
    kernel = categories(graph.labels, KERNEL_COLOURS)
    colourings = [
        Colouring("type", "Type", type_.index, type_.legend),
        Colouring("kernel", "Kernel", kernel.index, kernel.legend),
    ]
    if modules is not None:
        module = categories(modules, KERNEL_COLOURS)
        colourings.append(Colouring("module", "Module", module.index, module.legend))
    warnings = []
    if len(layout.back_edges):
        warnings.append(
            "This graph has a cycle, which no CUDA graph can have; dashed edges close it."
        )
    return encode_scene(
        layout,
        source,
        target,
        SceneTexts(
            graph.types, graph.labels, graph.names, path_prefix="0/", title="Test graph",
            warnings=warnings,
        ),
        colourings if by == "type" else colourings[::-1],
        enterable=np.array([t in {"conditional", "child_graph"} for t in graph.types], dtype=bool),
        lane_labels=None
        if stream is None
        else column_labels(layout, [f"stream {s}" if s >= 0 else "" for s in stream]),
    )  # fmt: skip


def streams_known() -> bytes:
    """The same with the streams given, which the names hold."""
    graph = streams(4, 14)
    stream = [
        int(label[1]) if label[0] == "s" and label[1].isdigit() else 0 for label in graph.labels
    ]
    return payload(graph, by="kernel", stream=stream)


SCENES: dict[str, Callable[[], bytes]] = {
    "block12": lambda: payload(block12(), by="kernel"),
    "chain813": lambda: payload(chain(813), by="kernel"),
    "chain12": lambda: payload(chain(12)),
    "fork64": lambda: payload(fork_join(64, 3)),
    "synthetic1k": lambda: payload(layers(1_000), by="kernel"),
    "synthetic10k": lambda: payload(layers(10_000), by="kernel"),
    "synthetic100k": lambda: payload(layers(100_000), by="kernel"),
    "modules": lambda: payload(
        chain(6), modules=["blocks.0"] * 3 + ["blocks.1"] * 2 + ["no module"]
    ),
    "streams4": lambda: payload(streams(4, 14), by="kernel"),
    "streams4known": streams_known,
    "star100k": lambda: payload(fork_join(99_998, 1)),
    "alone5k": lambda: payload(alone(5_000)),
    "shapes": lambda: payload(every_shape()),
    "cyclic": lambda: payload(cyclic()),
    "empty": lambda: payload(SyntheticGraph()),
    "damaged": lambda: payload(every_shape())[:-40],
    "nonsense": lambda: b"<html>Not found</html>",
}
