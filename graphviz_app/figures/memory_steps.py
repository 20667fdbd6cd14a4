"""Plot of what each capture of a recording added to reserved memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.memory.sums import Step

from .. import format as text
from .memory import AXIS_TITLE, FREE, bars_layout

STEPS = (
    ("reserved before, elsewhere", FREE),
    ("reserved before in its pool, which it can use again", "#8FD3BD"),
    ("added by the capture", "#009E73"),
    ("given back", "#D55E00"),
)
MOST_BARS = 400
"""More steps than that are drawn as areas."""


def steps_figure(
    names: Sequence[str], steps: Sequence[Step], keys: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what was reserved before each capture, and what it added, one on top of the other.

    The keys of the graphs are the points' custom data.
    """
    most = max((max(step.before_bytes, step.after_bytes) for step in steps), default=0)
    unit, scale = text.bytes_unit(most)
    numbers = list(range(1, len(steps) + 1))

    def bars(name: str, colour: str, values: list[int], words: list[str]) -> dict[str, Any]:
        common = {
            "name": name,
            "x": numbers,
            "y": [value / scale for value in values],
            "hovertext": words,
            "hoverinfo": "text",
            "customdata": list(keys),
        }
        if len(steps) <= MOST_BARS:
            return {**common, "type": "bar", "marker": {"color": colour, "line": {"width": 0}}}
        line = {"shape": "hvh", "width": 0, "color": colour}
        shape = {"mode": "lines", "stackgroup": "steps", "line": line, "fillcolor": colour}
        return {**common, "type": "scatter", **shape}

    texts = [
        f"{name}<br>{text.bytes_text(step.added_bytes)} added to "
        f"{text.bytes_text(step.before_bytes)} reserved before<br>its pool had "
        f"{text.bytes_text(step.pool_before_bytes)}, has {text.bytes_text(step.pool_after_bytes)}, "
        f"of which {text.bytes_text(step.kept_bytes)} stay allocated"
        for name, step in zip(map(_plain, names), steps, strict=True)
    ]
    again = [min(step.pool_before_bytes, step.before_bytes, step.after_bytes) for step in steps]
    kept = [
        min(step.before_bytes, step.after_bytes) - own
        for step, own in zip(steps, again, strict=True)
    ]
    added = [max(0, step.added_bytes) for step in steps]
    given = [max(0, -step.added_bytes) for step in steps]
    traces = [
        bars(*STEPS[0], kept, texts),
        *([bars(*STEPS[1], again, texts)] if any(again) else []),
        bars(*STEPS[2], added, texts),
    ]
    if any(given):
        traces.append(bars(*STEPS[3], given, texts))
    layout = bars_layout(1)
    layout |= {"height": 260, "barmode": "stack", "bargap": 0.2}
    layout["xaxis"] |= {
        "title": {"text": "graph, in order of capture", **AXIS_TITLE},
        "tickformat": ",d",
    }
    layout["yaxis"] = {
        "title": {"text": f"reserved ({unit})", **AXIS_TITLE},
        "rangemode": "tozero",
        "fixedrange": True,
    }
    return {"data": traces, "layout": layout}


def _plain(name: str) -> str:
    """Return a name without what plotly reads as markup."""
    return name.replace("<", "&lt;")
