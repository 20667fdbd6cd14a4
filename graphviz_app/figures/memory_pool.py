"""Plot of the bytes that a capture's own allocations held, with nodes on the axis."""

from __future__ import annotations

from typing import Any

from capture.memory.lifetimes import bytes_by_node
from capture.memory_map import MemoryMap

from .. import format as text
from .memory import AXIS_TITLE, FEW_NODES, bars_layout

ALIVE = ("allocated by this capture", "#009E73")
MOST_POINTS = 2_000
HEIGHT = 220


def pool_figure(memory: MemoryMap, count: int) -> dict[str, Any] | None:
    """Return the bytes alive at each node; of more than `MOST_POINTS`, the most of each stretch.

    ``None`` where allocations are not known, or not placed between nodes. A point's custom data is
    the position of the node with the most bytes there.

    Parameters
    ----------
    memory : MemoryMap
    count : int
        Nodes of the graph.
    """
    values = bytes_by_node(memory.events, count) if memory.events is not None else []
    if not values:
        return None
    stretch = -(-count // MOST_POINTS)
    starts = range(0, count, stretch)
    nodes = [
        max(range(start, min(start + stretch, count)), key=values.__getitem__) for start in starts
    ]
    most = max(values)
    unit, scale = text.bytes_unit(most)
    name, colour = ALIVE
    trace = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [*starts, count],
        "y": [values[node] / scale for node in [*nodes, nodes[-1]]],
        "line": {"shape": "hv", "width": 1, "color": colour},
        "fill": "tozeroy",
        "fillcolor": "rgba(0,158,115,0.35)",
        "customdata": [*nodes, nodes[-1]],
        "hovertext": [
            f"{text.bytes_text(values[node])} alive at node {node}" for node in [*nodes, nodes[-1]]
        ],
        "hoverinfo": "text",
    }
    layout = bars_layout(1) | {"height": HEIGHT, "hovermode": "x"}
    layout["margin"] = layout["margin"] | {"l": 72}
    layout["xaxis"] |= {
        "range": [0, max(1, count)],
        "tickformat": ",d",
        "title": {"text": "node, in creation order", **AXIS_TITLE},
    }
    if count <= FEW_NODES:
        layout["xaxis"]["dtick"] = 1
    layout["yaxis"] = {
        "title": {"text": f"alive ({unit})", **AXIS_TITLE},
        "rangemode": "tozero",
        "fixedrange": True,
    }
    peak = values.index(most)
    layout["annotations"] = [
        {
            "text": f"{text.bytes_text(most)} at node {peak}",
            "x": peak + 0.5,
            "y": most / scale,
            "showarrow": False,
            "yanchor": "bottom",
            "xanchor": "left" if peak < count / 2 else "right",
        }
    ]
    return {"data": [trace], "layout": layout}
