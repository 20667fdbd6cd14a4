"""What the colours of a graph's nodes mean, as buttons that find these nodes."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from .. import format as text
from ..figures.scene import Colouring, LegendEntry
from ..search import term
from .attributes import attributes

LEGEND_ENTRIES = 60
LANE_NOTE = (
    "A CUDA graph keeps no streams: lanes are computed from the edges, one per chain of nodes "
    "that run after each other"
)


def colour_legend(colouring: Colouring) -> Component:
    """Return the legend of one colouring; an entry is a button that finds its nodes."""
    entries: list[Any] = [
        entry_button(
            entry.name,
            entry.count,
            _ground(entry),
            term(colouring.name, entry.name),
            unknown=entry.name == "not timed",
        )
        for entry in colouring.legend[:LEGEND_ENTRIES]
    ]
    if len(colouring.legend) > LEGEND_ENTRIES:
        more = text.counted(len(colouring.legend) - LEGEND_ENTRIES, "more entry", "more entries")
        entries.append(html.Span(f"{more}: search finds them", className="legend-note"))
    return html.Div(
        entries, className="legend", title=LANE_NOTE if colouring.name == "lane" else None,
        **attributes(data_colouring=colouring.name),
    )  # fmt: skip


def _ground(entry: LegendEntry) -> str:
    return f"light-dark({entry.colour}, {entry.dark})" if entry.dark else entry.colour


def entry_button(
    name: str, count: int, ground: str, search: str, hint: str = "", unknown: bool = False
) -> Component:
    """Return an entry of a legend, which finds its nodes.

    Parameters
    ----------
    ground : str
        Its colour, as CSS.
    search : str
        What finds its nodes.
    hint : str
        A sentence about the entry.
    unknown : bool
        Whether the colour stands for nodes that nothing is known of.
    """
    return html.Button(
        className="legend-entry",
        title=f"{hint} Find these nodes; again to stop".strip(),
        children=[
            html.I(className="chip unknown" if unknown else "chip", style={"background": ground}),
            html.Span(name, className="legend-name"),
            html.Span(text.count_text(count), className="count"),
        ],
        **attributes(data_term=search, aria_pressed="false"),
    )
