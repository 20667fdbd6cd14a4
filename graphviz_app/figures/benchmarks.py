"""Plots of benchmarks: samples, the CPU time of a call, a curve over graphs, the device's state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from capture.benchmarks import Benchmark, Conditions
from capture.distributions import quantile

from .. import format as text
from ..benchmark_facts import Comparison
from ..distributions import Distribution, median_of
from .axes import FONT, base_layout, linear_time, log_time

CLOCK_COLOURS = {"CPU": "#D55E00", "GPU": "#0072B2"}
SPLIT_COLOURS = {
    "python": "#E69F00",
    "dispatch": "#CC79A7",
    "runtime": "#56B4E9",
    "driver": "#0072B2",
    "launch": "#009E73",
    "unsplit": "#999999",
}
CURVES = (
    ("eager call", "eager", "#D55E00", "diamond"),
    ("replay, cold L2", "cold_replay_ns", "#56B4E9", "square"),
    ("replay, warm L2", "replay_ns", "#0072B2", "circle"),
    ("launch", "launch_cpu_ns", "#009E73", "triangle-up"),
)
ROW_HEIGHT = 54
MOST_POINTS = 2_000
_NUMBERED = re.compile(r"(.*?)[=:\s]*(-?\d+(?:\.\d+)?)\s*")


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


@dataclass(frozen=True)
class CurvePoint:
    """Medians of one graph, for a curve over the graphs of a recording."""

    name: str
    label: str
    medians_ns: dict[str, float]


def point_of(name: str, label: str, benchmark: Benchmark) -> CurvePoint:
    """Return the medians of a benchmark by the names of :data:`CURVES`."""
    found = {}
    for _, field, _, _ in CURVES:
        if field == "eager":
            samples = benchmark.eager.call_ns if benchmark.eager is not None else []
        else:
            samples = getattr(benchmark, field)
        median = median_of(samples)
        if median is not None:
            found[field] = median
    return CurvePoint(name, label, found)


def numbers_in(labels: Sequence[str]) -> tuple[str, list[float]] | None:
    """Return what labels count and their numbers, when they differ in one number alone.

    Examples
    --------
    >>> numbers_in(["batch_size=1", "batch_size=8"]), numbers_in(["a", "b"])
    (('batch_size', [1.0, 8.0]), None)
    """
    names, values = set(), []
    for label in labels:
        match = _NUMBERED.fullmatch(label)
        if match is None:
            return None
        names.add(match[1])
        values.append(float(match[2]))
    if len(names) != 1 or len(set(values)) < 2:
        return None
    return names.pop(), values


def curve_figure(points: Sequence[CurvePoint]) -> dict[str, Any]:
    """Return medians over graphs: by the number in their labels, or else in order of capture."""
    counted = numbers_in([point.label for point in points])
    order = list(range(len(points)))
    if counted is not None:
        name, numbers = counted
        order.sort(key=lambda place: numbers[place])
        xs: list[Any] = [numbers[place] for place in order]
        x: dict[str, Any] = {"title": {"text": name or "label", "standoff": 6, "font": FONT}}
        if min(numbers) > 0:
            x |= {"type": "log"}
        if len(set(xs)) <= 16:
            x |= {"tickvals": sorted(set(xs)), "ticktext": [f"{v:g}" for v in sorted(set(xs))]}
    else:
        xs = [place + 1 for place in order]
        x = {"title": {"text": "graph, in order of capture", "standoff": 6, "font": FONT}}
    every: list[float] = []
    traces = []
    for title, field, colour, symbol in CURVES:
        found = [points[place].medians_ns.get(field) for place in order]
        known = [value for value in found if value is not None]
        if not known:
            continue
        every += known
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(points) <= 200 else "lines",
                "name": title,
                "x": xs,
                "y": found,
                "line": {"width": 1.5, "color": colour},
                "marker": {"size": 7, "color": colour, "symbol": symbol},
                "connectgaps": False,
                "text": [
                    f"{points[place].label or points[place].name}<br>{title}: "
                    f"{text.duration_text(value)}"
                    for place, value in zip(order, found, strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    layout = base_layout(
        300,
        hovermode="closest",
        xaxis={**x, "zeroline": False, "tickfont": FONT, "fixedrange": True, "showgrid": False},
        yaxis=log_time(every, "median"),
        margin={"l": 76, "r": 12, "t": 8, "b": 44},
    )
    return {"data": traces, "layout": layout}


STATES = (
    ("sm_clock_mhz", "SM clock, MHz", 1, text.frequency_text),
    ("power_mw", "power, W", 1000, text.power_text),
    ("temperature_c", "temperature, \N{DEGREE SIGN}C", 1, text.temperature_text),
)


def conditions_figure(conditions: Conditions) -> dict[str, Any]:
    """Return clock, power and temperature over the time of the benchmark, one below the other."""
    shown = [
        (name, title, scale, write)
        for name, title, scale, write in STATES
        if any(value >= 0 for value in getattr(conditions, name))
    ]
    unit, time_scale = text.time_unit(max(conditions.at_ns, default=1) or 1)
    traces, axes, titles = [], {}, []
    height = 1 / max(len(shown), 1)
    for place, (name, title, scale, write) in enumerate(shown):
        number = "" if place == 0 else str(place + 1)
        values = [value if value >= 0 else None for value in getattr(conditions, name)]
        known = [value / scale for value in values if value is not None]
        times = conditions.at_ns
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "line": {"width": 1.5, "color": "#0072B2", "shape": "hv"},
                "x": [time / time_scale for time in times],
                "y": [None if value is None else value / scale for value in values],
                "yaxis": f"y{number}",
                "text": [
                    f"{write(value)} after {text.duration_text(time)}"
                    for value, time in zip(values, times, strict=False)
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
        top = 1 - place * height
        # A steady value is a line in the middle, not a plot of its last digit.
        pad = max(0.05 * max(known), 0.1 * (max(known) - min(known)))
        axes[f"yaxis{number}"] = {
            "domain": [top - height + 0.03, top - 0.09],
            "range": [min(known) - pad, max(known) + pad],
            "nticks": 3,
            "zeroline": False,
            "tickfont": FONT,
            "fixedrange": True,
        }
        titles.append(
            {
                "text": title,
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": top + 0.01,
                "xanchor": "left",
                "yanchor": "top",
                "showarrow": False,
                "font": FONT,
            }
        )
    layout = base_layout(
        48 + 92 * max(len(shown), 1),
        hovermode="x",
        annotations=titles,
        xaxis={
            "title": {
                "text": f"time since the benchmark started ({unit})",
                "standoff": 6,
                "font": FONT,
            },
            "anchor": "free",
            "position": 0,
            "zeroline": False,
            "tickfont": FONT,
            "fixedrange": True,
            "showgrid": False,
        },
        **axes,
    )
    return {"data": traces, "layout": layout}
