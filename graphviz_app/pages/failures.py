"""The page of failed captures: a list, and the chosen one in full."""

from __future__ import annotations

import json
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from capture.model import GraphInfo, Recording

from .. import failure_facts as texts
from .. import format as text
from ..components.attributes import attributes
from ..components.failure_view import failure_view
from . import Context, Page

NONE = "No capture failed in this recording."
LEFT_OUT = "Not in any graph"
WHY_LEFT_OUT = (
    "These operators were called inside a capture, on a stream that is not part of it. They ran at "
    "once, and no replay repeats them. Let the stream wait for the capturing one first, and let "
    "the capturing one wait for it at the end."
)
MOST_LEFT_OUT = 50
MOST = 200
"""Failed captures in the list."""


def layout(context: Context) -> Component:
    """Return the page of failed captures; the view names one by its key."""
    recording = context.store.get(context.state.recording).recording
    found = texts.failures_of(recording)
    lost = omissions(context, recording)
    if not found:
        return html.Div([html.P(NONE), *lost], className="sentence")
    wanted = context.state.view
    chosen = next((info for info in found if info.key == wanted), found[0])
    shown = found[:MOST] if chosen in found[:MOST] else [chosen, *found[: MOST - 1]]
    items: list[Any] = [item(info, info is chosen) for info in shown]
    if len(found) > len(shown):
        left = text.counted(len(found) - len(shown), "more failed capture")
        items.append(html.P(f"and {left}", className="absent"))
    return view(items, [*failure_view(context, chosen), *lost])


def omissions(context: Context, recording: Recording) -> list[Component]:
    """Return work that graphs of the recording silently lack, each with the way to its graph."""
    rows = [(info, left) for info in recording.graphs.values() for left in info.left_out]
    if not rows:
        return []
    items: list[Any] = []
    for info, left in rows[:MOST_LEFT_OUT]:
        link = dcc.Link(info.name, href=context.url(context.state.at_graph(info.key)))
        items.append(html.Li([f"{texts.left_out_text(left)}, while ", link, " was captured"]))
    more = len(rows) - len(items)
    if more:
        items.append(html.Li(f"and {more} more"))
    return [html.H3(LEFT_OUT), html.P(WHY_LEFT_OUT), html.Ul(items, className="advice")]


def view(items: list[Any], shown: list[Any]) -> Component:
    """Return the page around its list and the failure that is shown."""
    return html.Div(
        className="analyses-page failures-page",
        children=[
            html.Nav(items, className="analyses-list"),
            html.Article(shown, className="analysis failure"),
        ],
    )


def item(info: GraphInfo, here: bool) -> Component:
    """Return one entry of the list: kind, and the line to blame."""
    failure = info.failure
    assert failure is not None
    place = texts.short_place(texts.where(failure, info))
    return html.A(
        [
            html.Div(
                html.Span(texts.title(failure), className="analysis-title"),
                className="analysis-head",
            ),
            html.P([html.Span(place, className="mono"), f"  {texts.cut(failure.call)}"]),
        ],
        href="#",
        title=texts.error_text(failure),
        className="analysis-item here" if here else "analysis-item",
        **attributes(data_go=json.dumps({"view": info.key})),
    )


def skeleton() -> Component:
    """Return the page without data."""
    return view([], [])


PAGE = Page(
    name="failures",
    title="Failures",
    order=15,
    description="Captures that failed: why, where, what to do",
    place=("page", "recording", "view"),
    layout=layout,
    skeleton=skeleton,
)
