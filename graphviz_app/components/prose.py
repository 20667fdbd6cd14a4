"""Sentences with `code` in backticks, as the messages of the product write it."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component


def prose(text: str) -> list[Any]:
    """Return a sentence's pieces; what stands in backticks becomes code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return [text]
    return [
        html.Code(part, className="inline") if place % 2 else part
        for place, part in enumerate(parts)
        if part
    ]


def sentence(text: str) -> Component:
    """Return what stands in the place of a page or a part of it: one sentence."""
    return html.Div(html.P(prose(text)), className="sentence")
