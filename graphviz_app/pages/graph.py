"""The page of a graph: the picture, its legend, its bodies, its nodes as a table."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from capture.model import GraphInfo

from .. import failure_facts, timing_facts
from ..components import nodes_table
from ..components.attributes import attributes
from ..components.breadcrumb import breadcrumb
from ..components.colour_legend import LANE_NOTE, colour_legend
from ..components.executables import picker
from ..components.flow_controls import flow_button
from ..components.links import go_link
from ..components.node_findings import findings_button
from ..components.shell import SHELL
from ..ids import GraphPage, Shell
from ..routes import replay_url, scene_url
from ..state import Colouring as ColouringName
from ..store import Store
from . import Context, Page

PATH_NOTE = "Path and slack follow from durations and edges alone, gaps left out."
ORIGIN_COLOURS = (
    ("module", "Module", "The part of the model whose forward was running"),
    ("operator", "Operator", "The operator that launched the node"),
    ("phase", "Phase", "Forward, backward or optimizer"),
    ("source", "Source", "The file of the line that launched the node"),
)
EMPTY = (
    "This graph has no nodes. torch.compile captures such graphs to hold its memory pool; "
    "a capture in which no work was launched looks the same."
)


def layout(context: Context) -> Component:
    """Return the page of the graph or body that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph or body.
    """
    state, store = context.state, context.store
    opened = store.get(state.recording)
    picture = store.picture(state.recording, state.graph, state.body, state.executable)
    if state.node is not None:
        picture.graph.node(state.node)
    info = opened.recording.info(state.graph)
    crumbs = breadcrumb(context, store.graph(state.recording, state.graph), info.name)
    if not picture.count:
        return html.Div(
            [html.Div(crumbs, className="toolbar"), html.P(EMPTY)], className="sentence"
        )
    caution: tuple[str, str] = ("", "")
    if picture.times is not None:
        timings = store.subject(state.recording, state.graph, "", state.executable).timings
        assert timings is not None
        caution = (
            timing_facts.short_caution(timings, info.node_count),
            f"{timing_facts.caution(timings, info.node_count)} {PATH_NOTE}",
        )
    choice = picker(context) if picture.times is not None else []
    choice.append(flow_button(context, info))
    if not info.failure:
        choice.append(findings_button(context))
    return view(
        crumbs=crumbs,
        colour=state.colour,
        legends=[colour_legend(item) for item in picture.colourings.values()],
        caution=caution,
        times=picture.times is not None,
        why_not="" if picture.times is not None else timing_facts.absent_reason(info),
        replay={
            "src": replay_url(state.recording, state.graph, context.prefix, state.executable),
            "host": GraphPage.STRIP,
        }
        if picture.times is not None
        else None,
        scene={
            "src": scene_url(
                state.recording, state.graph, state.body, context.prefix, state.executable
            ),
            "host": GraphPage.HOST,
        },
        note=failure_note(context, info),
        choice=choice,
        no_origins=""
        if picture.origins is not None
        else store.origins_reason(state.recording, state.graph).replace("`", ""),
    )


def failure_note(context: Context, info: GraphInfo) -> Any:
    """Return what the toolbar says of a capture that failed, with the way to the reason."""
    if info.failure is None:
        return ""
    changes = {"page": "failures", "view": info.key, "graph": "", "body": "", "node": None}
    link = go_link(context, failure_facts.title(info.failure), changes)
    return ["This capture failed (", link, "); these are the nodes it had reached."]


def view(
    crumbs: list[Any],
    colour: ColouringName,
    legends: list[Component],
    scene: Any,
    note: Any = "",
    times: bool = False,
    why_not: str = "",
    caution: tuple[str, str] = ("", ""),
    replay: Any = None,
    choice: list[Component] | None = None,
    no_origins: str = "",
) -> Component:
    """Return the page around a scene."""
    hint = None if times else why_not.replace("`", "")
    return html.Div(
        className="graph-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.Div(crumbs, id=GraphPage.CRUMBS, className="crumbs"),
                    html.Span(note, className="toolbar-note"),
                    html.Div(className="spring"),
                    *(choice or []),
                    html.Span("colour by", className="toolbar-label"),
                    dmc.SegmentedControl(
                        id=GraphPage.COLOUR,
                        size="xs",
                        value=colour.value,
                        data=[
                            {"value": "type", "label": "Type"},
                            {"value": "kernel", "label": "Kernel"},
                            {"value": "lane", "label": html.Span("Lane", title=LANE_NOTE)},
                            {
                                "value": "time",
                                "label": html.Span("Time", title=hint),
                                "disabled": not times,
                            },
                            {
                                "value": "path",
                                "label": html.Span("Critical path", title=hint),
                                "disabled": not times,
                            },
                            *[
                                {
                                    "value": name,
                                    "label": html.Span(title, title=no_origins or about),
                                    "disabled": bool(no_origins),
                                }
                                for name, title, about in ORIGIN_COLOURS
                            ],
                        ],
                    ),
                    html.Button(
                        "Table",
                        id=GraphPage.TABLE_OPEN,
                        className="text-button",
                        title="Nodes as a table  t",
                        n_clicks=0,
                    ),
                ],
            ),
            html.Div(
                [
                    *legends,
                    html.Button(
                        "Show all",
                        className="legend-more",
                        **attributes(data_legend_more="true", aria_expanded="false"),
                    ),
                    html.Span(caution[0], className="legend-caution", title=caution[1]),
                ],
                id=GraphPage.LEGEND,
                className="legends",
                **attributes(data_colour=colour.value),
            ),
            html.Div(
                id=GraphPage.HOST,
                className="canvas-host",
                tabIndex=0,
                **attributes(
                    data_select_store=Shell.SELECT.value, data_enter_store=Shell.ENTER.value
                ),
            ),
            html.Div(
                id=GraphPage.STRIP,
                className="strip" if replay else "strip none",
                **attributes(data_kind="strip", data_select_store=Shell.RUN_SELECT.value),
            ),
            nodes_table.box(times, origins=not no_origins),
            dcc.Store(id=GraphPage.SCENE, data=scene),
            dcc.Store(id=GraphPage.REPLAY, data=replay),
        ],
    )


def skeleton() -> Component:
    """Return the page with every id and no graph."""
    return view([], ColouringName.TYPE, [], None)


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""

    def in_browser(name: str, *args: Any) -> None:
        app.clientside_callback(ClientsideFunction(SHELL, name), *args)  # type: ignore[no-untyped-call]

    # Without an output Dash does not call it when the page appears.
    in_browser("mount", Output(GraphPage.HOST, "data-scene"), Input(GraphPage.SCENE, "data"))
    in_browser("replay", Output(GraphPage.STRIP, "data-replay"), Input(GraphPage.REPLAY, "data"))
    nodes_table.register(app, store)


PAGE = Page(
    name="graph",
    title="Graph",
    order=20,
    description="The nodes and edges of one graph",
    search_hint="Search nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "body", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
