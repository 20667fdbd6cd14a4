"""The parts of a comparison of two graphs: pictures, timelines, memory and findings, update."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from .. import timing_facts
from ..comparing import whole_sheets
from ..comparing.compared import Compared
from ..comparing.merged import Side
from ..comparing.report import measure_text
from ..context import Context
from ..figures.changes import COLOURS, HINTS, WORDS, Mark, counted_marks
from ..format import count_text, counted
from ..ids import Shell
from ..routes import compare_url
from .attributes import attributes
from .colour_legend import entry_button
from .compare_changes import FEW, changes_list
from .compare_text import memory_view, update_view
from .links import go_link
from .prose import prose
from .view_switch import view_switch

MERGED, TIMELINES, MEMORY, UPDATE = "merged", "timelines", "memory", "update"
VIEWS = (
    ("", "Side by side", "Both graphs, in one layout"),
    (MERGED, "Merged", "One graph that holds the nodes of both"),
    (TIMELINES, "Timelines", "A replay of each, one under the other, on one scale"),
    (MEMORY, "Memory, findings", "What memory each takes, and what analyses find"),
    (UPDATE, "Update", "Could cuGraphExecUpdate take the executable from one to the other?"),
)
LANE, AXIS = 36, 34


def pair_view(context: Context, compared: Compared) -> list[Component]:
    """Return everything below the choice of the two graphs."""
    view = context.state.view
    if view not in {value for value, _, _ in VIEWS}:
        view = ""
    parts: list[Component] = [band(context, compared)]
    nothing = compared.nothing_to_draw
    if nothing and view in ("", MERGED):
        return [*parts, tools(context, compared, view), none_view(context, compared, nothing)]
    parts.append(tools(context, compared, view))
    if view == MEMORY:
        return [*parts, memory_view(compared)]
    if view == UPDATE:
        return [*parts, update_view(context, compared)]
    if view == TIMELINES:
        parts.append(timelines(context, compared))
    else:
        sides = (Side.BOTH,) if view == MERGED else (Side.BEFORE, Side.AFTER)
        parts.append(
            html.Div([pane(context, compared, side) for side in sides], className="compare-panes")
        )
    tour = compare_url("tour", compared.pair, context.prefix)
    parts.append(
        html.Section(
            changes_list(context, compared),
            className="changes few" if len(compared.groups) <= FEW else "changes",
            **attributes(data_tour=tour),
        )
    )
    return parts


def band(context: Context, compared: Compared) -> Component:
    """Return what a reader wants to know first: nodes, times, update."""
    diff, verdict = compared.diff, compared.verdict
    facts: list[tuple[str, Any, str]] = [("nodes", nodes_text(compared), "bodies included")]
    # The panel has all of them.
    shown = [*diff.measures[:1], *(m for m in diff.measures[1:] if m.name == "critical path")]
    facts += [
        (item.name, measure_text(item), "medians; noise is the larger interquartile range")
        for item in shown
    ]
    if not diff.measures:
        facts.append(("replay", "not timed on both sides", whole_sheets.no_times(compared)))
    answer = "would be taken" if verdict.possible else f"refused: {verdict.result}"
    link = go_link(
        context, answer, {"view": UPDATE}, className=None if verdict.possible else "refused"
    )
    facts.append(("cuGraphExecUpdate", link, "predicted from the documented rules"))
    return html.Dl(
        [
            html.Div([html.Dt(name), html.Dd(value, title=hint or None)])
            for name, value, hint in facts
        ],
        className="head-facts",
    )


def nodes_text(compared: Compared) -> str:
    """Return how many nodes there are and what became of them, in short."""
    counts = compared.diff.counts
    sizes = count_text(counts.nodes_before)
    if counts.nodes_after != counts.nodes_before:
        sizes = f"{sizes} \N{RIGHTWARDS ARROW} {count_text(counts.nodes_after)}"
    kinds = [
        f"{count_text(getattr(counts, kind))} {kind}"
        for kind in ("changed", "added", "removed", "moved")
        if getattr(counts, kind)
    ]
    return f"{sizes}: {', '.join(kinds) if kinds else 'none differs'}"


def tools(context: Context, compared: Compared, view: str) -> Component:
    """Return the row with the views, the way back from a body, and the legend."""
    state = context.state
    parts: list[Any] = [view_switch(VIEWS, view)]
    if state.body and view in ("", MERGED):
        parts += bodies(context, compared)
    if view in ("", MERGED, TIMELINES) and not compared.nothing_to_draw:
        parts.append(legend(compared, state.body))
    return html.Div(parts, className="toolbar compare-tools")


def bodies(context: Context, compared: Compared) -> list[Component]:
    """Return the way out of a body, and into the others of its node."""
    holder = context.state.body.rpartition("/")[0]
    up, _, last = holder.rpartition("/")
    node = int(last)
    out = {"body": up, "node": node}
    parts = [go_link(context, f"node {node}", out, title="Leave the body  u", className="crumb")]
    for body in compared.levels[up].before.bodies_of(node):
        path = f"{holder}/{body.index}"
        if path in compared.levels:
            names = "crumb here" if path == context.state.body else "crumb"
            changes = {"body": path, "node": None}
            parts.append(go_link(context, body.role, changes, className=names))
    return [html.Div(parts, className="crumbs")]


def legend(compared: Compared, body: str) -> Component:
    """Return what the colours say; an entry is a button that finds its nodes."""
    entries = [
        entry_button(WORDS[mark], count, COLOURS[mark], f"change:{WORDS[mark]}", f"{HINTS[mark]}.")
        for mark, count in _counts(compared, body).items()
    ]
    return html.Div(entries, className="compare-legend")


def _counts(compared: Compared, body: str) -> dict[Mark, int]:
    merged = compared.merged(body)
    return counted_marks(merged.marks[merged.shown(Side.BOTH)])


def pane(context: Context, compared: Compared, side: Side) -> Component:
    """Return one picture with its heading."""
    pair, body = compared.pair, context.state.body
    level = compared.levels[body]
    words, nodes = {
        Side.BEFORE: ("Before", len(level.before)),
        Side.AFTER: ("After", len(level.after)),
        Side.BOTH: ("Both as one", len(compared.merged(body))),
    }[side]
    return html.Div(
        className="compare-pane",
        children=[
            html.Div(
                [html.B(words), html.Span(counted(nodes, "node"), className="absent")],
                className="pane-head",
            ),
            html.Div(
                id=f"compare-{side}",
                className="canvas-host",
                tabIndex=0,
                **attributes(
                    data_canvas=compare_url("scene", pair, context.prefix, side=side, body=body),
                    data_link="compare",
                    data_layout=f"{pair}{body}",
                    data_select_store=Shell.SELECT.value,
                    data_enter_store=Shell.ENTER.value,
                ),
            ),
        ],
    )


def timelines(context: Context, compared: Compared) -> Component:
    """Return a replay of each side on one scale; where one has none, the reason."""
    rows: list[Component] = []
    for side, words, subject in (
        (Side.BEFORE, "Before", compared.before),
        (Side.AFTER, "After", compared.after),
    ):
        head = html.Div([html.B(words)], className="pane-head")
        if not subject.is_timed:
            why = timing_facts.absent_text(subject)
            rows.append(html.Div([head, html.P(prose(why), className="absent timeline-none")]))
            continue
        lanes = len(set(subject.column("stream"))) or 1
        rows.append(
            html.Div(
                className="compare-timeline",
                children=[
                    head,
                    html.Div(
                        id=f"compare-replay-{side}",
                        className="replay-host",
                        style={"height": min(lanes * LANE + AXIS, 260)},
                        **attributes(
                            data_replay_src=compare_url(
                                "replay", compared.pair, context.prefix, side=side
                            ),
                            data_kind="strip",
                            data_link="compare",
                            data_select_store=Shell.RUN_SELECT.value,
                        ),
                    ),
                ],
            )
        )
    return html.Div(rows, className="compare-timelines")


def none_view(context: Context, compared: Compared, why: str) -> Component:
    """Return why the two graphs are not drawn together, and where each is drawn alone."""
    pair = compared.pair
    links = [
        go_link(
            context,
            f"Open the graph {words}",
            {"page": "graph", "recording": recording, "graph": key, "body": "", "node": None,
             "view": "", "search": ""},
            className="way-back",
        )
        for words, recording, key in (
            ("before", pair.recording, pair.graph),
            ("after", pair.after, pair.graph_after),
        )
    ]  # fmt: skip
    return html.Div([html.P(why), html.Div(links, className="links-row")], className="sentence")
