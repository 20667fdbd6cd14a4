"""Benchmarks of all graphs of a recording: a curve of medians, and a row for each."""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from capture.analysis import Unit

from .. import format as text
from ..context import Context
from ..figures.curve import CURVES, curve_figure
from ..ids import BenchmarksPage
from ..measurements import CurveRow
from . import result_view
from .benchmark_view import STILL


def curve(rows: list[CurveRow]) -> list[Component]:
    """Return medians over graphs as a plot; nothing of a single graph."""
    shown = [row for row in rows if not row.refused]
    if len(shown) < 2:
        return []
    figure = curve_figure([row.point for row in shown])
    chips = [
        html.Span(
            [html.I(className="chip", style={"background": colour}), html.Span(title)],
            className="legend-item",
        )
        for title, field, colour, _ in CURVES
        if any(field in row.point.medians_ns for row in shown)
    ]
    return [
        html.Section(
            [
                html.Div([html.H2("Medians over graphs"), *chips], className="legend-line"),
                dcc.Graph(
                    id=BenchmarksPage.CURVE,
                    figure=figure,
                    config=STILL,
                    style={"height": figure["layout"]["height"]},
                ),
            ]
        )
    ]


CURVE_COLUMNS = (
    ("replay_ns", "Warm"),
    ("cold_replay_ns", "Cold"),
    ("launch_cpu_ns", "Launch"),
    ("eager", "Eager"),
)


def graphs_table(context: Context, rows: list[CurveRow]) -> Component:
    """Return a row per graph that was measured or refused."""
    columns: list[dict[str, Any]] = [
        result_view.column_of("graph", Unit.TEXT, "name") | {"cellRenderer": "NodeLink"},
        result_view.column_of("label", Unit.TEXT, "label") | {"minWidth": 96, "flex": 1},
        *[result_view.column_of(title, Unit.NS, field) for field, title in CURVE_COLUMNS],
        result_view.column_of("paid after replays", Unit.COUNT, "paid"),
        result_view.column_of("refused", Unit.TEXT, "refused"),
    ]
    data = []
    for row in rows:
        go = {"graph": row.key, "view": "", "body": "", "node": None}
        medians = row.point.medians_ns
        data.append(
            {
                "id": row.key,
                "name": row.point.name,
                "label": row.point.label,
                **{field: medians.get(field) for field, _ in CURVE_COLUMNS},
                "paid": row.paid,
                "refused": row.refused,
                "texts": {
                    "name": row.point.name,
                    **{field: text.duration_text(medians.get(field)) for field, _ in CURVE_COLUMNS},
                    "paid": text.count_text(row.paid),
                },
                "exact": {
                    field: text.exact_duration_text(medians[field])
                    for field, _ in CURVE_COLUMNS
                    if field in medians
                },
                "links": {"name": result_view.link_to(context, go)},
            }
        )
    if not any(row.refused for row in rows):
        columns.pop()
    return result_view.grid(BenchmarksPage.GRAPHS, columns, data, few=14)
