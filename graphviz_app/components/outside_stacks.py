"""The stacks of work outside graphs, below its table."""

from __future__ import annotations

from typing import Any

from dash import html

from capture.analysis.outside_graphs import Launched, stacks

from ..context import Context
from ..format import duration_text
from .origin_panel import stack_details
from .result_view import user_files

MOST = 50
"""Stacks that are shown, of the work that took longest."""


def outside_stacks(context: Context) -> list[Any]:
    """Return the stacks that launched what the table's first rows name, each folded away."""
    found = stacks(context.store.get(context.state.recording).recording, MOST)
    if not found:
        return []
    files = user_files(context)
    parts: list[Any] = [html.H3("Launched from")]
    for item in found:
        parts += stack_details(context, f"{_title(item)} ", list(item.frames), files)
    return parts


def _title(item: Launched) -> str:
    running = f", {item.autograd}" if item.autograd else ""
    return f"{item.name}, {duration_text(item.total_ns)}{running}"
