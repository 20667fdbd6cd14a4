"""Sentences with `code` in backticks, as the messages of the product write it."""

from __future__ import annotations

from typing import Any

from dash import html


def prose(sentence: str) -> list[Any]:
    """Return a sentence's pieces; what stands in backticks becomes code."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:
        return [sentence]
    return [
        html.Code(part, className="inline") if place % 2 else part
        for place, part in enumerate(parts)
        if part
    ]
