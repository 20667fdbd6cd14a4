"""What the pages by origin share: why there is nothing, what tracing cost, the legend of phases."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from .. import timing_facts
from ..context import Context
from ..figures.origin_colourings import PHASE_COLOURS
from ..origin_report import OriginReport
from ..origin_text import PHASE_NAMES
from .prose import prose

SHARE = "Of the time of all nodes together, also of those that ran at the same time"


def no_origins(context: Context, title: str, reason: str = "") -> Component:
    """Return a page that says why there is nothing, and how to record it."""
    state = context.state
    why = reason or context.store.origins_reason(
        state.recording, state.graph, state.body, state.executable
    )
    return html.Div([html.H2(title), html.P(prose(why))], className="sentence")


def caution_of(context: Context, report: OriginReport) -> str:
    """Return what times rest on, or why there are none."""
    subject = report.subject
    if report.is_timed and subject.timings is not None:
        total = len(subject.graph) if subject.info is None else subject.info.node_count
        return timing_facts.caution(subject.timings, total)
    return timing_facts.absent_text(subject)


def phase_legend() -> Component:
    """Return what the colours of bars mean."""
    return html.Div(
        [
            html.Span(
                [html.I(className="chip", style={"background": PHASE_COLOURS[phase]}),
                 PHASE_NAMES[phase]],
                className="legend-item",
            )
            for phase in (1, 2, 3, 0)
        ],
        className="phase-legend",
    )  # fmt: skip
