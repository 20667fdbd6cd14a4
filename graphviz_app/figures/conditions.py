"""The device's clock, power and temperature over the time of a benchmark."""

from __future__ import annotations

from typing import Any

from capture.benchmarks import Conditions

from .. import format as text
from .axes import FONT, base_layout

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
