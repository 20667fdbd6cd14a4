"""The page of the sample replay: what ran when, on which hardware stream."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from capture.analysis import Subject

from .. import timing_facts
from ..components.attributes import attributes
from ..components.executables import picker
from ..components.facts import fact_head
from ..components.links import go_link
from ..components.plots import PLOT_CONFIG
from ..components.prose import sentence
from ..components.result_view import node_target
from ..components.shell import SHELL
from ..facts import Fact
from ..figures.series import BUSY, IDLE, replays_figure
from ..figures.time_colourings import ON_PATH
from ..format import (
    ABSENT,
    count_text,
    duration_text,
    exact_duration_text,
    share_text,
    type_text,
)
from ..ids import Shell, TimelinePage
from ..naming import type_colour
from ..routes import replay_url
from ..store import Store
from . import Context, Page

SAMPLE = (
    "One real replay, the one whose length is the median of those traced; it is shown as it ran"
)
LONGEST = 10
LANE_HEIGHT, AXIS_HEIGHT, MOST_HEIGHT = 44, 34, 520
"""Pixels; with more lanes than fit, lanes get lower."""
OWN_ROWS = 60
OWN_NODES = "Where the executable's own nodes differ from the captured ones"
CRITICAL_MARK = " \N{BULLET}"
MEDIANS = "No single replay was kept: bars stand at their medians, so some may seem to overlap"


def layout(context: Context) -> Component:
    """Return the page of the replay of the graph that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    subject = store.subject(state.recording, state.graph, "", state.executable)
    if subject.timings is None or not subject.is_timed:
        return sentence(timing_facts.absent_text(subject))
    timings = subject.timings
    total = len(subject.graph) if subject.info is None else subject.info.node_count
    note = timing_facts.caution(timings, total)
    return view(
        facts=timing_facts.replay_facts(subject),
        note=note,
        kinds=kinds(subject),
        how=SAMPLE if subject.starts_from == "sample" else MEDIANS,
        replay={
            "src": replay_url(state.recording, state.graph, context.prefix, state.executable),
            "host": TimelinePage.HOST,
        },
        figure=replays_figure(timings.makespan_ns, timings.busy_ns),
        longest=longest(context, subject),
        lanes=len(set(subject.column("stream"))),
        choice=picker(context),
        apart=own_nodes(context, subject),
    )


def own_nodes(context: Context, subject: Subject) -> list[Component]:
    """Return what the executable ran that is no captured node one to one, as rows of links."""
    assert subject.timings is not None
    names = subject.timings.node
    counts = Counter(names)
    rows = [row for row, name in enumerate(names) if not name or counts[name] > 1]
    medians, starts = subject.column("median_ns"), subject.column("start_ns")
    streams = subject.column("stream")
    found: list[Component] = []
    for row in sorted(rows, key=lambda row: (names[row] == "", names[row]))[:OWN_ROWS]:
        name = names[row]
        cells: list[Any] = [
            html.Span(
                f"node {name}" if name else "of no captured node",
                className="name",
                title=f"one of {counts[name]} that this captured node became" if name else None,
            ),
            html.Span(duration_text(medians[row]) if medians else ABSENT, className="value"),
            html.Span(duration_text(starts[row]) if starts else ABSENT, className="value"),
            html.Span(f"stream {streams[row]}" if streams else "", className="note"),
        ]
        changes = node_target(name) | {"page": "timeline"} if name else {}
        row_of = go_link(context, cells, changes, className="own-node") if name else cells
        found.append(html.Li(row_of, className="" if name else "own-node"))
    if len(rows) > OWN_ROWS:
        found.append(html.Li(f"and {len(rows) - OWN_ROWS:,} more", className="absent"))
    return found


def longest(context: Context, subject: Subject) -> list[Component]:
    """Return links to the nodes that take longest, with duration, share and path."""
    durations = subject.durations
    timed = [at for at, duration in enumerate(durations) if duration is not None]
    top = sorted(timed, key=lambda at: -(durations[at] or 0))[:LONGEST]
    critical = context.store.result(
        context.state.recording,
        context.state.graph,
        "",
        "critical_path",
        context.state.executable,
    )
    marked = set(critical.node_marks)
    rows: list[Component] = []
    for at in top:
        duration, makespan = durations[at] or 0, subject.makespan_ns or 0
        type_ = subject.graph.topology.types[at]
        cells = [
            html.I(className="chip", style={"background": type_colour(type_)}),
            html.Span(subject.label(at), className="name", title=subject.label(at)),
            html.Span(
                duration_text(duration), className="value", title=exact_duration_text(duration)
            ),
            html.Span(share_text(duration, makespan), className="value", title="of the makespan"),
            html.Span(
                f"{at}{CRITICAL_MARK if at in marked else ''}",
                className="note",
                title="on the critical path" if at in marked else "not on the critical path",
            ),
        ]
        link = go_link(context, cells, {"body": "", "node": at}, className="longest-node")
        rows.append(html.Li(link))
    return rows


def kinds(subject: Subject) -> list[tuple[str, str, int]]:
    """Return the types of the graph's nodes, with colour and number, bodies included."""
    counts: dict[str, int] = {}
    for _, graph in subject.graph.walk():
        for name in graph.topology.types:
            counts[name] = counts.get(name, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return [(type_text(name), type_colour(name), count) for name, count in ranked]


def view(
    facts: list[Fact],
    note: str,
    kinds: list[tuple[str, str, int]],
    how: str,
    replay: Any,
    figure: dict[str, Any],
    longest: list[Component],
    lanes: int,
    choice: list[Component] | None = None,
    apart: list[Component] | None = None,
) -> Component:
    """Return the page around its data."""
    room = min(LANE_HEIGHT * max(lanes, 2) + AXIS_HEIGHT, MOST_HEIGHT)
    chips: list[Any] = [_chip(name, colour, count_text(count)) for name, colour, count in kinds]
    path = f"light-dark({ON_PATH[0]}, {ON_PATH[1]})"
    chips += [
        html.Span(
            [html.I(className="chip line", style={"background": path}), "on the critical path"],
            className="legend-item",
        ),
        html.Span(
            [html.I(className="chip idle"), "nothing ran"],
            className="legend-item",
            title="No node of the graph ran on any stream",
        ),
    ]
    return html.Div(
        className="timeline-page",
        children=[
            html.Dl([fact_head(fact) for fact in facts], className="head-facts"),
            html.P(note, className="caution"),
            html.Div(
                className="timeline-head",
                children=[
                    html.H2("Sample replay", title=how),
                    *chips,
                    html.Div(className="spring"),
                    *(choice or []),
                    html.Button(
                        "Fit",
                        className="text-button",
                        title="Show the whole replay  f",
                        **attributes(data_fit="true"),
                    ),
                ],
            ),
            html.Div(
                id=TimelinePage.HOST,
                className="replay-host",
                style={"height": room, "maxHeight": room, "flexShrink": 1},
                **attributes(data_kind="page", data_select_store=Shell.RUN_SELECT.value),
            ),
            html.Div(
                className="timeline-foot",
                children=[
                    html.Div(
                        [
                            html.Div(
                                className="timeline-head",
                                children=[
                                    html.H2("Longest nodes"),
                                    html.Span(
                                        f"{CRITICAL_MARK.strip()} on the critical path",
                                        className="absent",
                                    ),
                                ],
                            ),
                            html.Ul(longest, className="links"),
                        ]
                    ),
                    html.Div(
                        [
                            html.Div(
                                className="timeline-head",
                                children=[
                                    html.H2("Traced replays"),
                                    _chip("busy", BUSY, ""),
                                    _chip("idle", IDLE, ""),
                                ],
                            ),
                            dcc.Graph(
                                id=TimelinePage.CHART,
                                figure=figure,
                                config=PLOT_CONFIG,
                                style={"height": figure["layout"]["height"]},
                            ),
                        ]
                    ),
                ],
            ),
            html.Details(
                [
                    html.Summary(OWN_NODES),
                    html.Ul(apart or [], className="links"),
                ],
                className="own-nodes",
                hidden=not apart,
            ),
            dcc.Store(id=TimelinePage.REPLAY, data=replay),
        ],
    )


def _chip(name: str, colour: str, count: str) -> Component:
    parts: list[Any] = [html.I(className="chip", style={"background": colour}), html.Span(name)]
    if count:
        parts.append(html.Span(count, className="count"))
    return html.Span(parts, className="legend-item")


def skeleton() -> Component:
    """Return the page with every id and no data."""
    return view([], "", [], "", None, replays_figure([], []), [], 1)


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction(SHELL, "replay"),
        Output(TimelinePage.HOST, "data-replay"),
        Input(TimelinePage.REPLAY, "data"),
    )


PAGE = Page(
    name="timeline",
    title="Timeline",
    order=30,
    description="One replay in time: what ran when, on which hardware stream",
    search_hint="Search nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
