"""What became of a graph's memory after its capture, on the page that shows it as it was then."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from capture.analysis.found import findings_in

from .. import format as text
from ..context import Context
from .findings_table import finding_id
from .links import go_link

ONE, MORE = "block that nodes point into was freed", "blocks that nodes point into were freed"


def freed_later(context: Context) -> list[Component]:
    """Return that some of this memory was freed later, with a link to the finding that tells.

    Empty where nothing was, or is not known yet.
    """
    state = context.state
    held = context.store.marks(state.recording, state.graph).get("freed_later")
    items = findings_in(*held, state.graph) if held is not None else []
    items = [item for item in items if item.graph == state.graph]
    if not items:
        return []
    words = f"{text.count_text(len(items))} {ONE if len(items) == 1 else MORE}"
    link = go_link(context, words, {"page": "findings", "view": finding_id(items[0]), "search": ""})
    return [html.P(["This is the memory just after the capture. Later ", link, "."])]
