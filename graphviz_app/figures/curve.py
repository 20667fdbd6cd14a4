"""The curve of benchmarks over the graphs of a recording, such as one per batch size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from capture.benchmarks import Benchmark

from .. import format as text
from ..distributions import median_of
from .axes import FONT, base_layout, log_time

CURVES = (
    ("eager call", "eager", "#D55E00", "diamond"),
    ("replay, cold L2", "cold_replay_ns", "#56B4E9", "square"),
    ("replay, warm L2", "replay_ns", "#0072B2", "circle"),
    ("launch", "launch_cpu_ns", "#009E73", "triangle-up"),
)
_NUMBERED = re.compile(r"(.*?)[=:\s]*(-?\d+(?:\.\d+)?)\s*")


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
