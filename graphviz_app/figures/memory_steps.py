"""Plot of what each capture of a recording added to reserved memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.memory.sums import Step

from .. import format as text
from .memory import AXIS_TITLE, bars_layout

STEPS = (
    ("reserved before", "#B9BDC4"),
    ("added by the capture", "#009E73"),
    ("given back", "#D55E00"),
)


def steps_figure(names: Sequence[str], steps: Sequence[Step]) -> dict[str, Any]:
    """Return what was reserved before each capture, and what it added, as stacked bars."""
    most = max((max(step.before_bytes, step.after_bytes) for step in steps), default=0)
    unit, scale = text.bytes_unit(most)
    numbers = list(range(1, len(steps) + 1))

    def bars(name: str, colour: str, values: list[int], words: list[str]) -> dict[str, Any]:
        return {
            "type": "bar",
            "name": name,
            "x": numbers,
            "y": [value / scale for value in values],
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertext": words,
            "hoverinfo": "text",
        }

    texts = [
        f"{name}: {text.bytes_text(step.added_bytes)} added to "
        f"{text.bytes_text(step.before_bytes)}; its pool had "
        f"{text.bytes_text(step.pool_before_bytes)}, has {text.bytes_text(step.pool_after_bytes)}"
        for name, step in zip(names, steps, strict=True)
    ]
    texts = [words.replace("<", "&lt;") for words in texts]
    kept = [min(step.before_bytes, step.after_bytes) for step in steps]
    added = [max(0, step.added_bytes) for step in steps]
    given = [max(0, -step.added_bytes) for step in steps]
    traces = [
        bars(*STEPS[0], kept, texts),
        bars(*STEPS[1], added, texts),
    ]
    if any(given):
        traces.append(bars(*STEPS[2], given, texts))
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
