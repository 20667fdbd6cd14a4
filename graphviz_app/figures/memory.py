"""Plots of memory: address map, and the use and lifetimes of blocks in node order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.analysis.block_roles import TEMPORARY
from capture.analysis.pointed_at import allocated_at
from capture.memory.lifetimes import lifetimes
from capture.memory_map import MemoryMap

from .. import format as text
from ..memory_rows import Row, device_of, pool_text

FREE = "rgba(128,136,150,0.3)"
"""Lets the ground shine through: it stays back in both themes."""
GROUPS = (
    ("own allocated", "graph's pool, stays allocated", "#009E73"),
    ("own free", "graph's pool, used in a replay only", "#8FD3BD"),
    ("common allocated", "common pool, allocated", "#0072B2"),
    ("other allocated", "another pool, allocated", "#CC79A7"),
    ("awaiting", "freed, waiting for a stream", "#E69F00"),
    ("free", "free", FREE),
)
"""What blocks are told apart by: key, words, colour."""
MOST_SEGMENTS = 60
MOST_PIECES = 6_000
MOST_BARS = 60
BAR_HEIGHT = 18
MOST_CHARACTERS = 28
"""Of a name beside a bar."""
AXIS_TITLE: dict[str, Any] = {"standoff": 6, "font": {"size": 12}}
FEW_NODES = 12
LIFETIMES = (("still allocated after the capture", "#009E73"), ("freed in the capture", "#8FD3BD"))
OUTSIDE = ("outside", "outside torch's allocator", "#999999")


def group_of(row: Row) -> str:
    """Return which of the groups a block belongs to."""
    if row.state == "awaiting_free":
        return "awaiting"
    if row.state == "free":
        return "own free" if row.kind == "own" else "free"
    return f"{row.kind} allocated"


def address_map(memory: MemoryMap, rows: Sequence[Row]) -> dict[str, Any]:
    """Return one bar per segment, drawn over its whole length, with its blocks by state.

    At most `MOST_SEGMENTS` segments, the graph's own first, then the largest; neighbours of one
    group are one piece where there would be more than `MOST_PIECES`.
    """
    segments = memory.segments
    if segments is None or not segments.address:
        return _empty("Nothing was allocated.")
    kinds = {row.segment: row.kind for row in rows if row.segment >= 0}
    order = sorted(
        range(len(segments.address)),
        key=lambda at: (kinds.get(at) != "own", -segments.size_bytes[at], segments.address[at]),
    )
    shown = {at: place for place, at in enumerate(order[:MOST_SEGMENTS])}
    own, here = getattr(memory, "pool", None), device_of(memory)
    labels = [
        f"{_device(segments.device[at] if segments.device else here, here)}"
        f"{pool_text(memory.pools[segments.pool[at]], own)} · "
        f"{text.bytes_text(segments.size_bytes[at])}"
        + (", expandable" if segments.expandable and segments.expandable[at] else "")
        for at in shown
    ]
    pieces = _pieces([row for row in rows if row.segment in shown])
    traces = []
    for key, words, colour in GROUPS:
        held = [piece for piece in pieces if piece[0] == key]
        if not held:
            continue
        base, width, y, hover, starts = [], [], [], [], []
        for _, segment, start, end, shown_text in held:
            size = segments.size_bytes[segment] or 1
            base.append((start - segments.address[segment]) / size)
            width.append((end - start) / size)
            y.append(shown[segment])
            hover.append(shown_text)
            starts.append(text.address_text(start))
        traces.append(_bars(words, colour, base, width, y, hover) | {"customdata": starts})
    layout = bars_layout(len(shown))
    layout["xaxis"] |= {"range": [0, 1], "tickformat": ",.0%"}
    layout["xaxis"]["title"] = {"text": "share of the segment", **AXIS_TITLE}
    layout["yaxis"] |= {"tickvals": list(range(len(shown))), "ticktext": labels}
    return {"data": traces, "layout": layout}


def _device(device: int | None, here: int | None) -> str:
    return "" if device == here else f"device {device} · "


def _pieces(rows: Sequence[Row]) -> list[tuple[str, int, int, int, str]]:
    """Return (group, segment, start, end, hover text), neighbours merged where there are many."""
    found: list[tuple[str, int, int, int, str]] = []
    merge = len(rows) > MOST_PIECES
    for row in rows:
        key, end = group_of(row), row.address + row.size_bytes
        if merge and found:
            last = found[-1]
            if last[0] == key and last[1] == row.segment and last[3] == row.address:
                words = f"several blocks, {text.bytes_text(end - last[2])}<br>{row.where}"
                found[-1] = (key, row.segment, last[2], end, words)
                continue
        found.append((key, row.segment, row.address, end, _hover(row)))
    return found


def _short(name: str) -> str:
    """Return the end of a tensor's name, which tells more than its beginning.

    Examples
    --------
    >>> _short("OptimizedModule: _orig_mod.layers.0.self_attn.in_proj_weight"), _short("Net: scale")
    ('….0.self_attn.in_proj_weight', 'scale')
    """
    path = name.rpartition(": ")[2].replace("_orig_mod.", "")
    return path if len(path) <= MOST_CHARACTERS else f"…{path[1 - MOST_CHARACTERS :]}"


def _role(row: Row) -> str:
    """Return a role short enough for an axis; a temporary is better told by its address."""
    return row.role.partition(",")[0] if row.role != TEMPORARY else ""


def _hover(row: Row) -> str:
    lines = [
        f"{text.address_text(row.address)}, {text.bytes_text(row.size_bytes)}",
        row.where,
        row.name or row.role,
        f"allocated at {row.allocated_at}" if row.allocated_at else "",
        f"{text.counted(len(row.nodes), 'node')} point into it" if row.nodes else "",
    ]
    # plotly reads a few tags in hover texts.
    return "<br>".join(line.replace("<", "&lt;") for line in lines if line)


def use_map(rows: Sequence[Row], count: int) -> dict[str, Any]:
    """Return from which to which node each block is pointed into, the largest `MOST_BARS`.

    Parameters
    ----------
    rows : sequence of Row
    count : int
        Nodes of the graph.
    """
    used = [row for row in rows if row.nodes]
    if not used:
        return _empty("No node points into memory that is known.")
    largest = sorted(used, key=lambda row: -row.size_bytes)[:MOST_BARS]
    spans = {row.address: [_position(path) for path in row.nodes] for row in largest}
    largest.sort(key=lambda row: (min(spans[row.address]), row.address))
    traces = []
    for key, words, colour in GROUPS:
        held = [
            (place, row)
            for place, row in enumerate(largest)
            if row.segment >= 0 and group_of(row) == key
        ]
        if held:
            traces.append(_spans(words, colour, held, spans))
    outside = [(place, row) for place, row in enumerate(largest) if row.segment < 0]
    if outside:
        traces.append(_spans(*OUTSIDE[1:], outside, spans))
    layout = bars_layout(len(largest))
    layout["xaxis"] |= {"range": [0, max(1, count)], "tickformat": ",d"}
    if count <= FEW_NODES:
        layout["xaxis"]["dtick"] = 1
    layout["xaxis"]["title"] = {"text": "node, in creation order", **AXIS_TITLE}
    names = [
        (_short(row.name) or _role(row) or text.address_text(row.address))
        + f" · {text.bytes_text(row.size_bytes)}"
        for row in largest
    ]
    layout["yaxis"] |= {"tickvals": list(range(len(largest))), "ticktext": names}
    return {"data": traces, "layout": layout}


def lifetime_map(memory: MemoryMap, count: int) -> dict[str, Any] | None:
    """Return which allocations of the capture lived between which nodes, the largest `MOST_BARS`.

    ``None`` where they are not known, or not placed between nodes.

    Parameters
    ----------
    memory : MemoryMap
    count : int
        Nodes of the graph.
    """
    events = memory.events
    if events is None or not events.nodes_before:
        return None
    largest = sorted(lifetimes(events), key=lambda item: -item.size_bytes)[:MOST_BARS]
    largest.sort(key=lambda item: item.allocated)
    traces = []
    for name, colour in LIFETIMES:
        held = [
            (place, item)
            for place, item in enumerate(largest)
            if (item.freed is None) == (name == LIFETIMES[0][0])
        ]
        if not held:
            continue
        ends = [item.last if item.freed is not None else count for _, item in held]
        hover = []
        for (_, item), end in zip(held, ends, strict=True):
            line = allocated_at(memory, item.stack).replace("<", "&lt;")
            hover.append(
                f"{text.address_text(item.address)}, {text.bytes_text(item.size_bytes)}<br>"
                f"before node {item.first} to before node {end}"
                + (f"<br>allocated at {line}" if line else "")
            )
        traces.append(
            _bars(
                name,
                colour,
                [item.first for _, item in held],
                [
                    max(end - item.first, count / 500)
                    for (_, item), end in zip(held, ends, strict=True)
                ],
                [place for place, _ in held],
                hover,
            )
        )
    layout = bars_layout(len(largest))
    layout["xaxis"] |= {"range": [0, max(1, count)], "tickformat": ",d"}
    if count <= FEW_NODES:
        layout["xaxis"]["dtick"] = 1
    layout["xaxis"]["title"] = {"text": "nodes made until then", **AXIS_TITLE}
    names = [
        f"{text.address_text(item.address)} · {text.bytes_text(item.size_bytes)}"
        for item in largest
    ]
    layout["yaxis"] |= {"tickvals": list(range(len(largest))), "ticktext": names}
    return {"data": traces, "layout": layout}


def _spans(
    words: str, colour: str, held: list[tuple[int, Row]], spans: dict[int, list[int]]
) -> dict[str, Any]:
    base = [min(spans[row.address]) for _, row in held]
    width = [
        max(spans[row.address]) + 1 - start for (_, row), start in zip(held, base, strict=True)
    ]
    hover = [
        f"{_hover(row)}<br>node {start} to {start + span - 1}"
        for (_, row), start, span in zip(held, base, width, strict=True)
    ]
    starts = [text.address_text(row.address) for _, row in held]
    bars = _bars(words, colour, base, width, [place for place, _ in held], hover)
    return bars | {"customdata": starts}


def _position(path: str) -> int:
    return int(path.partition("/")[0])


def _bars(
    name: str,
    colour: str,
    base: Sequence[float],
    width: Sequence[float],
    y: Sequence[int],
    hover: Sequence[str],
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "base": list(base),
        "x": list(width),
        "y": list(y),
        # Or each trace would have bars as high as its own least distance allows.
        "width": 0.75,
        "marker": {"color": colour, "line": {"width": 0.5, "color": "rgba(127,127,127,0.6)"}},
        "hovertext": list(hover),
        "hoverinfo": "text",
    }


def bars_layout(bars: int) -> dict[str, Any]:
    """Return the layout of a plot with that many horizontal bars."""
    return {
        "height": 72 + BAR_HEIGHT * max(2, bars),
        "margin": {"l": 210, "r": 12, "t": 6, "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "barmode": "overlay",
        "bargap": 0.25,
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": False,
        "xaxis": {"zeroline": False, "showgrid": False, "tickfont": {"size": 12}},
        "yaxis": {"autorange": "reversed", "fixedrange": True, "tickfont": {"size": 11}},
        "font": {"size": 12},
    }


def _empty(words: str) -> dict[str, Any]:
    layout = bars_layout(1)
    layout["annotations"] = [{"text": words, "showarrow": False, "xref": "paper", "yref": "paper"}]
    layout["xaxis"]["visible"] = layout["yaxis"]["visible"] = False
    return {"data": [], "layout": layout}
