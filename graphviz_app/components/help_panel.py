"""The help: what the picture says, and the keyboard."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from ..ids import Shell

KEYS = (
    ("/", "search nodes, or graphs on the overview"),
    ("Enter or n", "next match"),
    ("Shift+Enter or p", "previous match"),
    ("j or k", "next or previous change of a comparison, the most costly first"),
    ("Shift+j or Shift+k", "next or previous row of its list"),
    ("[", "previous graph"),
    ("]", "next graph"),
    ("f", "fit the graph, or the replay, into the window"),
    ("u", "leave a body for the graph around it"),
    ("Esc", "drop the selection, then the search"),
    ("t", "show or hide the table of nodes"),
    ("?", "this help"),
)
WORDS = (
    (
        "Node",
        "One box. Its colour is its type, its kernel, its lane, its time or its origin. "
        "Double-click a conditional or a child graph to enter its body.",
    ),
    (
        "Lane",
        "A CUDA graph keeps no streams. Lanes are computed from the edges: each is a chain of "
        "nodes that run one after another.",
    ),
    (
        "Search",
        "Words that are all in the type or the name, readable or mangled. type:memcpy, "
        "kernel:NAME and lane:3 find one entry of the legend, family:NAME all kernels that do the "
        "same on other shapes, marks:NAME the nodes that an analysis marks, free:SELECTION those "
        "of a what-if, block:0x7f00 those that point into a block of memory; #12 is node 12. Where "
        "origins are known, module:blocks.3, class:Linear, operator:aten.mm.default, "
        "source:model.py:35, phase:backward, autograd:NAME and label:NAME find nodes by them.",
    ),
    (
        "Origin",
        "A node belongs to the innermost line of yours that was running, and to the module and "
        "operator around it. A node of the backward pass belongs to the line and the module of its "
        "forward operator. A fused kernel belongs to all that it came from, and counts as shared.",
    ),
    (
        "Time",
        "Durations are medians over traced replays. Tracing itself takes time: how much stands "
        "beside every timing. The critical path is the longest way through the graph by durations; "
        "slack is by how much a node may start later without making that way longer.",
    ),
    (
        "Replay",
        "The strip under the graph and the timeline show one real replay. The wheel zooms, "
        "dragging moves, a click selects the node on every page, a double-click zooms to it. "
        "Arrows on the timeline are dependencies: all where they are few, else the selected "
        "node's.",
    ),
    (
        "Comparison",
        "Both graphs are laid out as one, so that a place on one side is the same place on the "
        "other; what one side lacks is an outline there. Alike changes share a row of the list. "
        "change:added and so on find nodes by what became of them.",
    ),
    (
        "Gain",
        "What a replay would be shorter without some nodes. Predicted follows from durations, "
        "edges and gaps; measured comes from replays without those nodes.",
    ),
    ("Address", "The address bar always names what you see; a copied link reopens it."),
)


def _keys(names: str) -> list[Any]:
    first, *rest = names.split(" or ")
    return [html.Kbd(first), *[part for name in rest for part in (" or ", html.Kbd(name))]]


def modal() -> Component:
    """Return the help window."""
    window: Component = dmc.Modal(
        id=Shell.HELP,
        title="Help",
        opened=False,
        size="lg",
        children=html.Div(
            className="help",
            children=[
                html.H3("Reading the picture"),
                html.Dl([part for word, text in WORDS for part in (html.Dt(word), html.Dd(text))]),
                html.H3("Keyboard"),
                html.Dl(
                    className="keys",
                    children=[
                        part for key, text in KEYS for part in (html.Dt(_keys(key)), html.Dd(text))
                    ],
                ),
            ],
        ),
    )
    return window
