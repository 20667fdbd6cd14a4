"""What is found of a graph's memory, on the page that shows it as it was just after the capture."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.analysis.found import Finding, findings_in

from .. import format as text
from ..context import Context
from .findings_table import finding_id
from .links import go_link
from .result_view import node_target

ONE, MORE = "block that nodes point into was freed", "blocks that nodes point into were freed"
ABOUT_MEMORY = (
    "stale_pointers",
    "overwritten_outputs",
    "rebound_storage",
    "shared_workspaces",
    "identical_workspaces",
    "pinned_pools",
    "host_memory",
    "memory_nodes",
    "unordered_writes",
)
"""Findings about memory besides what was freed later, which is told first."""


def found_in_memory(context: Context) -> list[Component]:
    """Return what was freed later and other findings about this memory, each with a link.

    Empty where nothing was found, or is not known yet.
    """
    state = context.state
    marks = context.store.marks(state.recording, state.graph)

    def of(name: str) -> list[Finding]:
        held = marks.get(name)
        items = findings_in(*held, state.graph) if held is not None else []
        return [item for item in items if item.graph == state.graph]

    parts: list[Component] = []
    freed = of("freed_later")
    if freed:
        words = f"{text.count_text(len(freed))} {ONE if len(freed) == 1 else MORE}"
        link = _link(context, words, freed[0])
        parts.append(html.P(["This is the memory just after the capture. Later ", link, "."]))
    links: list[Any] = []
    for name in ABOUT_MEMORY:
        items = of(name)
        if items:
            words = f"{marks[name][0].title} ({text.count_text(len(items))})"
            links += [", " if links else "", _link(context, words, items[0])]
    if links:
        parts.append(html.P(["Found: ", *links, "."]))
    return parts


def _link(context: Context, words: str, item: Finding) -> Component:
    node = node_target(item.node) if item.node else {"body": "", "node": None}
    place = {"body": node["body"], "node": node["node"]}
    changes = {"page": "findings", "view": finding_id(item), "search": "", **place}
    return go_link(context, words, changes)
