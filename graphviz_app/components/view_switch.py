"""Buttons side by side that choose among the views of one page; the choice is in the address."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from .attributes import attributes


def view_switch(views: Sequence[tuple[str, str, str]], chosen: str | None) -> Component:
    """Return the buttons.

    Parameters
    ----------
    views : sequence of (str, str, str)
        Value in the address, title, and what the view shows.
    chosen : str or None
        The view that is shown; ``None`` where the browser switches without asking the server, and
        marks the button itself.
    """
    return html.Div(
        className="switch",
        role="tablist",
        children=[
            html.Button(
                title,
                title=hint or None,
                role="tab",
                **attributes(
                    data_go=json.dumps({"view": value}),
                    data_for=value,
                    **({} if chosen is None else {"aria_selected": str(value == chosen).lower()}),
                ),
            )
            for value, title, hint in views
        ],
    )
