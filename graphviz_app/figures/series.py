"""Plots of results: a series of an analysis, and the replays that were traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.analysis import Series, Unit

from .. import format as text
from ..result_text import quantity_text

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
BUSY, IDLE = "#0072B2", "#B9BDC4"
MOST_POINTS = 4_000
HEIGHT = 180
MOST_WHOLE_TICKS = 5


def _axis(unit: Unit, values: Sequence[float], title: str) -> tuple[dict[str, Any], float]:
    """Return an axis and what its values are divided by."""
    scale = 1.0
    name = ""
    if unit is Unit.NS:
        name, whole = text.time_unit(max((abs(value) for value in values), default=1) or 1)
        scale = float(whole)
    elif unit is not Unit.COUNT:
        name = str(unit.value).replace("_", " ")
    label = f"{title} ({name})" if name else title
    few = unit is Unit.COUNT and max(values, default=0) <= MOST_WHOLE_TICKS
    return {
        **({"dtick": 1} if few else {}),
        "title": {"text": label, "standoff": 6, "font": {"size": 12}},
        "zeroline": False,
        "rangemode": "tozero",
        "tickfont": {"size": 12},
    }, scale


def _layout(x: dict[str, Any], y: dict[str, Any], height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 64, "r": 8, "t": 8, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "x",
        "dragmode": "zoom",
        "showlegend": False,
        "xaxis": {**x, "showgrid": False},
        "yaxis": {**y, "showgrid": True, "fixedrange": True},
        "font": {"size": 12},
    }


def series_figure(series: Series, height: int = HEIGHT) -> dict[str, Any]:
    """Return a series as a plotly figure: steps, each value holding until the next.

    Series longer than `MOST_POINTS` keep the largest value of each run of points, so that no peak
    is lost.
    """
    xs, ys = thinned(series.x, series.y)
    x_title = "time in the replay" if series.x_unit is Unit.NS else ""
    x, x_scale = _axis(series.x_unit, xs, x_title)
    y, y_scale = _axis(series.y_unit, ys, series.name)
    trace = {
        "type": "scatter",
        "mode": "lines",
        "line": {"shape": "hv", "width": 1.5, "color": COLOURS[0]},
        "fill": "tozeroy",
        "fillcolor": "rgba(0,114,178,0.18)",
        "x": [value / x_scale for value in xs],
        "y": [value / y_scale for value in ys],
        "text": [
            f"{quantity_text(b, series.y_unit)} from {quantity_text(a, series.x_unit)}"
            for a, b in zip(xs, ys, strict=True)
        ],
        "hoverinfo": "text",
    }
    return {"data": [trace], "layout": _layout(x, y, height)}


def thinned(
    x: Sequence[int], y: Sequence[float], most: int = MOST_POINTS
) -> tuple[list[int], list[float]]:
    """Return at most about `most` points, the largest of each run of neighbours.

    Examples
    --------
    >>> thinned([0, 1, 2, 3], [5, 9, 1, 2], most=2)
    ([0, 2], [9, 2])
    """
    if len(x) <= most:
        return list(x), list(y)
    step = -(-len(x) // most)
    places = range(0, len(x), step)
    return [x[i] for i in places], [max(y[i : i + step]) for i in places]


def replays_figure(makespan_ns: Sequence[int], busy_ns: Sequence[int]) -> dict[str, Any]:
    """Return busy and idle time of each traced replay as stacked bars."""
    busy = list(busy_ns) if len(busy_ns) == len(makespan_ns) else list(makespan_ns)
    idle = [whole - part for whole, part in zip(makespan_ns, busy, strict=True)]
    y, scale = _axis(Unit.NS, makespan_ns, "time")
    traces = []
    for name, colour, values in (("busy", BUSY, busy), ("idle", IDLE, idle)):
        if any(values):
            traces.append(
                {
                    "type": "bar",
                    "name": name,
                    "x": list(range(1, len(values) + 1)),
                    "y": [value / scale for value in values],
                    "marker": {"color": colour, "line": {"width": 0}},
                    "hovertext": [
                        f"replay {number}: {name} {text.duration_text(value)} of "
                        f"{text.duration_text(whole)}"
                        for number, (value, whole) in enumerate(
                            zip(values, makespan_ns, strict=True), 1
                        )
                    ],
                    "hoverinfo": "text",
                }
            )
    x = {
        "title": {"text": "traced replay", "standoff": 4, "font": {"size": 12}},
        "zeroline": False,
        "tickfont": {"size": 12},
        "tickformat": ",d",
        "fixedrange": True,
    }
    layout = {**_layout(x, y, 196), "barmode": "stack", "bargap": 0.25, "hovermode": "closest"}
    layout["yaxis"]["nticks"] = 4
    return {"data": traces, "layout": layout}
