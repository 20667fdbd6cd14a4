"""Axes of time that plots of measurements share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import format as text

FONT = {"size": 12}


def base_layout(height: int, **more: Any) -> dict[str, Any]:
    """Return what every plot has: no frame, no ground of its own, quiet grid."""
    return {
        "height": height,
        "margin": {"l": 64, "r": 8, "t": 8, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
        "showlegend": False,
        "font": FONT,
        **more,
    }


def linear_time(values_ns: Sequence[float], title: str = "") -> tuple[dict[str, Any], int]:
    """Return an axis of time and what its values are divided by."""
    unit, scale = text.time_unit(max((abs(value) for value in values_ns), default=1) or 1)
    label = f"{title} ({unit})" if title else unit
    return {
        "title": {"text": label, "standoff": 6, "font": FONT},
        "zeroline": False,
        "tickfont": FONT,
        "fixedrange": True,
    }, scale


def log_time(values_ns: Sequence[float], title: str = "") -> dict[str, Any]:
    """Return a logarithmic axis of nanoseconds whose ticks are written with units."""
    positive = [value for value in values_ns if value > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 10.0)
    first, last = len(str(int(low))) - 1, len(str(int(high)))
    steps = (1, 2, 5) if last - first <= 2 else (1, 3) if last - first <= 4 else (1,)
    ticks = [
        step * 10**power
        for power in range(first, last + 1)
        for step in steps
        if low / 2 <= step * 10**power <= high * 2
    ]
    return {
        "type": "log",
        "title": {"text": title, "standoff": 6, "font": FONT},
        "tickvals": ticks,
        "ticktext": [text.duration_text(tick) for tick in ticks],
        "zeroline": False,
        "tickfont": FONT,
        "fixedrange": True,
    }
