"""The details panel of a comparison: a node on both sides, else both graphs."""

from __future__ import annotations

import json
from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.analysis import run_analysis
from capture.errors import FormatError, LookupFailed

from .. import naming
from ..comparing import node_sheets, whole_sheets
from ..comparing.compared import Compared, subject_at
from ..comparing.node_sheets import NodeSide
from ..comparing.report import both_paths
from ..context import Context
from ..figures.changes import COLOURS, HINTS, WORDS, Mark
from ..format import type_text
from .attributes import attributes
from .compare_sheet import sheet_view
from .details import heading
from .facts import Children
from .links import go_link

NAME_CHARACTERS = 4_000


def pair_panel(context: Context, compared: Compared) -> Children:
    """Return the panel of a comparison of two graphs.

    Raises
    ------
    LookupFailed
        There is no such body or node.
    """
    state = context.state
    if state.node is None or compared.nothing_to_draw:
        return [
            heading("Comparison", _title(compared)),
            *[sheet_view(sheet) for sheet in whole_sheets.graph_sheets(compared)],
            *_notes(compared),
        ]
    if state.body not in compared.levels:
        raise LookupFailed(f"no body {state.body!r} is in both graphs")
    merged = compared.merged(state.body)
    if not 0 <= state.node < len(merged):
        raise LookupFailed(f"no node {state.node} in this comparison: it has {len(merged):,}")
    union, node = merged.union, state.node
    positions = [int(side[node]) for side in (union.before, union.after)]
    sides = [_node_side(context, compared, before, position)
             for before, position in zip((True, False), positions, strict=True)]  # fmt: skip
    paths = [side.subject.node_path(side.position) if side else None for side in sides]
    change = compared.change_of(paths[0], paths[1])
    return [
        node_head(Mark(int(merged.marks[node])), sides, both_paths(*paths)),
        *_places(context, compared, int(union.twin[node]), bool(union.in_before[node])),
        *[sheet_view(sheet)
          for sheet in node_sheets.node_sheets(sides[0], sides[1], change)],
        _elsewhere(context, compared, paths),
    ]  # fmt: skip


def recordings_panel(context: Context) -> Children:
    """Return the panel of a comparison of two recordings."""
    opened = [context.store.get(name) for name in (context.state.recording, context.state.after)]
    one, other = (item.recording for item in opened)
    title = f"{opened[0].id} \N{RIGHTWARDS ARROW} {opened[1].id}"
    sheets = whole_sheets.recording_sheets(one, other)
    return [heading("Comparison", title), *[sheet_view(sheet) for sheet in sheets]]


def _title(compared: Compared) -> str:
    infos = compared.before.info, compared.after.info
    names = [info.name if info is not None else "" for info in infos]
    if names[0] == names[1]:
        return names[0]
    # Graphs of one place differ in their labels alone: the place is said once.
    shared, _, rest = names[1].rpartition(", ")
    if shared and names[0].startswith(f"{shared}, "):
        return f"{names[0]} \N{RIGHTWARDS ARROW} {rest}"
    return f"{names[0]} \N{RIGHTWARDS ARROW} {names[1]}"


def _notes(compared: Compared) -> Children:
    notes = compared.diff.notes
    if not notes:
        return []
    return [html.Section([html.H3("Notes"), html.Ul([html.Li(note) for note in notes])],
                         className="compare-notes")]  # fmt: skip


def _node_side(
    context: Context, compared: Compared, before: bool, position: int
) -> NodeSide | None:
    if position < 0:
        return None
    pair, store = compared.pair, context.store
    level = compared.levels[context.state.body]
    place = (
        (pair.recording, pair.graph, level.path_before)
        if before
        else (pair.after, pair.graph_after, level.path_after)
    )
    subject = subject_at(store, *place)
    try:
        critical = store.result(*place, "critical_path")
    except FormatError:  # of timings: nothing is on a critical path then
        critical = run_analysis("critical_path", subject)
    return NodeSide(subject, position, critical, store.get(place[0]).recording)


def node_head(mark: Mark, sides: list[NodeSide | None], path: str) -> Component:
    """Return what a node is, what became of it, and its name on each side."""
    names: list[str] = []
    types: list[str] = []
    for side in sides:
        if side is not None:
            node = side.subject.graph.node(side.position)
            names.append(naming.full_name(node))
            types.append(type_text(node.type))
    kind: list[Any] = [
        html.I(className="chip", style={"background": COLOURS[mark]}),
        html.Span(WORDS[mark], title=HINTS[mark]),
        html.Span(" / ".join(dict.fromkeys(types))),
        html.Span(path, className="path", title="Path of positions, before and after"),
        html.A(
            "\N{MULTIPLICATION SIGN}",
            href="#",
            className="close",
            title="Drop the selection  Esc",
            **attributes(data_go=json.dumps({"node": None}), aria_label="Drop the selection"),
        ),
    ]
    shown: list[Any] = []
    for name in dict.fromkeys(names):
        if shown:
            shown.append(html.Div("became", className="absent"))
        shown.append(html.Div(html.Code(name[:NAME_CHARACTERS]), className="full-name"))
    return html.Header([html.Div(kind, className="details-kind"), *shown], className="details-head")


def _places(context: Context, compared: Compared, twin: int, old: bool) -> Children:
    if twin < 0:
        return []
    words = "Its place after" if old else "Its place before"
    link = go_link(context, words, {"node": twin})
    return [html.Section([html.H3("Moved"), link])]


def _elsewhere(context: Context, compared: Compared, paths: list[str | None]) -> Component:
    pair = compared.pair
    links: list[Any] = []
    for words, recording, key, path in (
        ("before", pair.recording, pair.graph, paths[0]),
        ("after", pair.after, pair.graph_after, paths[1]),
    ):
        if path is None:
            continue
        body, _, position = path.rpartition("/")
        changes = {"page": "graph", "recording": recording, "graph": key, "body": body,
                   "node": int(position), "view": "", "search": ""}  # fmt: skip
        if links:
            links.append(", ")
        links.append(go_link(context, words, changes))
    return html.Section([html.H3("In its own graph"), *links])
