"""Plot of what-if results: measured gains with their spread, predictions beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import format as text
from ..gain_facts import Gain
from .axes import FONT, base_layout, linear_time

MEASURED, PREDICTED = "#0072B2", "#D55E00"
SHOWN = 40
LABEL_CHARACTERS = 34


def gains_figure(gains: Sequence[Gain]) -> dict[str, Any]:
    """Return gains as bars with error bars, and predictions as diamonds.

    Parameters
    ----------
    gains : sequence of Gain
        The first :data:`SHOWN` are drawn, from the top.
    """
    shown = [gain for gain in gains if gain.measured_ns is not None][:SHOWN]
    values = [value for gain in shown for value in (gain.measured_ns or 0, gain.predicted_ns or 0)]
    axis, scale = linear_time(values, "gain per replay")
    rows = list(range(len(shown)))
    bars = {
        "type": "bar",
        "orientation": "h",
        "name": "measured",
        "y": rows,
        "x": [(gain.measured_ns or 0) / scale for gain in shown],
        "width": 0.6,
        "marker": {
            "color": MEASURED,
            "opacity": [0.45 if gain.is_noise else 0.9 for gain in shown],
        },
        "error_x": {
            "type": "data",
            "array": [gain.spread_ns / scale for gain in shown],
            "thickness": 1.5,
            "width": 4,
            "color": "#8A8F98",
        },
        "hovertext": [
            f"{_escaped(gain.asked)}<br>measured "
            f"{text.spread_text(gain.measured_ns, gain.spread_ns)}"
            + ("<br>within the noise" if gain.is_noise else "")
            for gain in shown
        ],
        "hoverinfo": "text",
    }
    guessed = [place for place in rows if shown[place].predicted_ns is not None]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "name": "predicted",
        "y": guessed,
        "x": [(shown[place].predicted_ns or 0) / scale for place in guessed],
        "marker": {
            "symbol": "diamond",
            "size": 10,
            "color": PREDICTED,
            "line": {"width": 1, "color": "rgba(255,255,255,0.7)"},
        },
        "hovertext": [
            f"{_escaped(shown[place].asked)}<br>predicted "
            f"{text.duration_text(shown[place].predicted_ns)}"
            for place in guessed
        ],
        "hoverinfo": "text",
    }
    labels = [_label(gain) for gain in shown]
    layout = base_layout(
        60 + 26 * max(len(shown), 1),
        hovermode="closest",
        margin={"l": 20 + 7 * max(map(len, labels), default=0), "r": 16, "t": 4, "b": 44},
        xaxis=axis | {"zeroline": True, "zerolinecolor": "#8A8F98", "showgrid": True},
        yaxis={
            "tickvals": rows,
            "ticktext": [_escaped(label) for label in labels],
            "range": [len(shown) - 0.5, -0.5],
            "tickfont": FONT,
            "ticksuffix": "  ",
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
    )
    return {"data": [bars, marks], "layout": layout}


def _label(gain: Gain) -> str:
    label = f"{gain.asked} {gain.name}".rstrip()
    return label if len(label) <= LABEL_CHARACTERS else f"{label[: LABEL_CHARACTERS - 1]}…"


def _escaped(value: str) -> str:
    """Names come from files; plotly reads a few tags in texts."""
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
