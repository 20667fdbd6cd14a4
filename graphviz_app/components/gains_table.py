"""Measured gains of what-if as components: bars beside predictions, and a table."""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from capture.analysis import Unit

from .. import format as text
from .. import gain_facts
from ..context import Context
from ..figures.gains import MEASURED, PREDICTED, SHOWN, gains_figure
from ..gain_facts import Gain
from ..ids import WhatIfPage
from . import result_view
from .benchmark_view import STILL

PREDICTED_NOTE = (
    "Predicted is by how much the longest path shrinks, from durations under tracing, edges and a "
    "gap from each node to the next. Nodes that run at the same time slow each other down, so the "
    "gain may be larger."
)
MEASURED_NOTE = (
    "Measured is the median replay with all nodes less the median replay without these; the "
    "error bar is the larger interquartile range of the two."
)


def measured_gains(context: Context, gains: list[Gain]) -> list[Any]:
    """Return every measured gain, as bars beside predictions and as a table."""
    if not gains:
        return []
    parts: list[Any] = []
    measured = [gain for gain in gains if gain.measured_ns is not None]
    if measured:
        figure = gains_figure(measured)
        chips = [
            html.Span(
                [html.I(className="chip", style={"background": colour}), html.Span(name)],
                className="legend-item",
            )
            for name, colour in (("measured, with its spread", MEASURED), ("predicted", PREDICTED))
            if name != "predicted" or any(gain.predicted_ns is not None for gain in measured)
        ]
        parts += [
            html.Div([html.H2("Measured"), *chips], className="legend-line"),
            dcc.Graph(
                id=WhatIfPage.CHART,
                figure=figure,
                config=STILL,
                style={"height": figure["layout"]["height"]},
            ),
        ]
        if len(measured) > SHOWN:
            parts.append(html.P(f"The {SHOWN} largest are drawn.", className="absent"))
    parts.append(_table(context, gains))
    parts += [html.P(f"{MEASURED_NOTE} {PREDICTED_NOTE}", className="absent")]
    return parts


COLUMNS = (
    ("nodes", "nodes"),
    ("predicted", "predicted"),
    ("measured", "measured"),
    ("spread", "spread"),
    ("share", "share of replay"),
    ("error", "error"),
)


def _table(context: Context, gains: list[Gain]) -> Component:
    columns: list[dict[str, Any]] = [
        result_view.column_of("free", Unit.TEXT, "asked") | {"cellRenderer": "NodeLink"},
        *[result_view.column_of(title, Unit.NS, field) for field, title in COLUMNS],
        result_view.column_of("note", Unit.TEXT, "note"),
    ]
    rows = []
    for number, gain in enumerate(gains):
        notes = [gain.reason, gain_facts.left_text(gain)]
        notes += [f"measured in {gain.source}"] if gain.source else []
        values = {
            "nodes": gain.nodes,
            "predicted": gain.predicted_ns,
            "measured": gain.measured_ns,
            "spread": gain.spread_ns if gain.measured_ns is not None else None,
            "share": gain.share,
            "error": gain.error,
        }
        rows.append(
            {
                "id": str(number),
                "asked": gain.asked,
                **values,
                "note": "; ".join(note for note in notes if note),
                "texts": {
                    "asked": f"{gain.asked}  {gain.name}".strip(),
                    "nodes": text.count_text(gain.nodes),
                    **{
                        name: text.duration_text(values[name])
                        for name in ("predicted", "measured", "spread")
                    },
                    "share": text.ABSENT if gain.share is None else text.share_text(gain.share, 1),
                    "error": gain_facts.error_text(gain),
                },
                "exact": {
                    name: text.exact_duration_text(value)
                    for name in ("predicted", "measured", "spread")
                    if (value := values[name]) is not None
                },
                "links": {"asked": result_view.link_to(context, {"view": gain.asked})},
            }
        )
    return result_view.grid(WhatIfPage.GAINS, columns, rows, few=14)
