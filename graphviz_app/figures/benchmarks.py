"""Plots of one benchmark: its samples, and the CPU time of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.distributions import quantile

from .. import format as text
from ..benchmark_facts import Comparison
from ..distributions import Distribution
from .axes import FONT, base_layout, linear_time

CLOCK_COLOURS = {"CPU": "#D55E00", "GPU": "#0072B2"}
SPLIT_COLOURS = {
    "python": "#E69F00",
    "dispatch": "#CC79A7",
    "runtime": "#56B4E9",
    "driver": "#0072B2",
    "launch": "#009E73",
    "unsplit": "#999999",
}
ROW_HEIGHT = 54
MOST_POINTS = 2_000


def samples_figure(distribution: Distribution) -> dict[str, Any]:
    """Return every sample as a point over a box from quartile to quartile."""
    values = distribution.samples_ns
    ordered = sorted(values)
    q1, q3 = quantile(ordered, 0.25), quantile(ordered, 0.75)
    reach = 1.5 * (q3 - q1)
    # Of very large numbers quartiles are rounded, and may lie past every sample.
    inside = [value for value in ordered if q1 - reach <= value <= q3 + reach] or ordered
    if len(values) > MOST_POINTS:
        step = -(-len(values) // MOST_POINTS)
        values = values[::step]
    axis, scale = linear_time(values)
    colour = CLOCK_COLOURS.get(distribution.clock, "#8A8F98")
    box = {
        "type": "box",
        "orientation": "h",
        # Quartiles as everywhere here: plotly's own differ for few samples.
        "q1": [q1 / scale],
        "median": [distribution.median_ns / scale],
        "q3": [q3 / scale],
        "lowerfence": [inside[0] / scale],
        "upperfence": [inside[-1] / scale],
        "x": [[value / scale for value in values]],
        "y": [0],
        "boxpoints": "all",
        "jitter": 0.7,
        "pointpos": 0,
        "width": 0.8,
        "line": {"width": 1.2, "color": colour},
        "fillcolor": "rgba(128,128,128,0.12)",
        "marker": {"size": 4, "color": colour, "opacity": 0.7},
        "hoveron": "points",
        "text": [
            [
                f"sample {place}: {text.duration_text(value)}"
                for place, value in enumerate(values, 1)
            ]
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }
    axis |= {"nticks": 6, "showgrid": True, "title": None, "ticksuffix": f" {_unit(values)}"}
    layout = base_layout(
        ROW_HEIGHT,
        margin={"l": 8, "r": 8, "t": 2, "b": 18},
        hovermode="closest",
        xaxis=axis,
        yaxis={"visible": False, "fixedrange": True, "range": [-0.6, 0.6]},
    )
    return {"data": [box], "layout": layout}


def _unit(values_ns: Sequence[float]) -> str:
    return text.time_unit(max((abs(value) for value in values_ns), default=1) or 1)[0]


def split_figure(found: Comparison) -> dict[str, Any]:
    """Return the CPU time of an eager call by where it goes, over that of a launch."""
    parts = found.split_ns or (
        {"unsplit": found.eager_cpu_ns} if found.eager_cpu_ns is not None else {}
    )
    whole = [found.eager_cpu_ns or 0, found.launch_cpu_ns or 0]
    axis, scale = linear_time(whole, "CPU time of one call")
    traces = []
    for name, value in parts.items():
        traces.append(_part(name, "eager call", value, found.eager_cpu_ns or 0, scale))
    if found.launch_cpu_ns is not None:
        traces.append(
            _part(
                "launch", "launch of the graph", found.launch_cpu_ns, found.eager_cpu_ns or 0, scale
            )
        )
    layout = base_layout(
        128,
        barmode="stack",
        bargap=0.35,
        hovermode="closest",
        margin={"l": 128, "r": 12, "t": 4, "b": 44},
        xaxis=axis | {"rangemode": "tozero"},
        yaxis={
            "fixedrange": True,
            "tickfont": FONT,
            "ticksuffix": "  ",
            "categoryorder": "array",
            "categoryarray": ["launch of the graph", "eager call"],
        },
    )
    return {"data": traces, "layout": layout}


def _part(name: str, row: str, value: float, whole: float, scale: int) -> dict[str, Any]:
    share = f", {text.share_text(value, whole)} of the eager call" if whole else ""
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [row],
        "x": [value / scale],
        "marker": {"color": SPLIT_COLOURS.get(name, "#999999"), "line": {"width": 0}},
        "hovertext": [f"{name}: {text.duration_text(value)}{share}"],
        "hoverinfo": "text",
    }
