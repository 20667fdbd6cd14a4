"""The page of a graph: the picture, its legend, its bodies, its nodes as a table."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from capture.model import Graph, GraphInfo

from .. import failure_facts, timing_facts
from .. import format as text
from ..components import nodes_table
from ..components.attributes import attributes
from ..components.details import go_link
from ..components.executables import picker
from ..components.flow_controls import flow_button
from ..components.node_findings import findings_button
from ..components.shell import SHELL
from ..figures.scene import Colouring, LegendEntry
from ..ids import GraphPage, Shell
from ..routes import replay_url, scene_url
from ..search import term
from ..state import Colouring as ColouringName
from ..store import Store
from . import Context, Page

LEGEND_ENTRIES = 60
SEPARATOR = "\u203a"
PATH_NOTE = "Path and slack follow from durations and edges alone, gaps left out."
LANE_NOTE = (
    "A CUDA graph keeps no streams: lanes are computed from the edges, one per chain of nodes "
    "that run after each other"
)
ORIGIN_COLOURS = (
    ("module", "Module", "The part of the model whose forward was running"),
    ("operator", "Operator", "The operator that launched the node"),
    ("phase", "Phase", "Forward, backward or optimizer"),
    ("source", "Source", "The file of the line that launched the node"),
)
NO_GRAPH = (
    "This recording holds no graph, so there is nothing to draw. "
    "The overview says what was recorded."
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
    if not state.graph:
        return html.Div(html.P(NO_GRAPH), className="sentence")
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
        legends=[legend(item) for item in picture.colourings.values()],
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


EMPTY = (
    "This graph has no nodes. torch.compile captures such graphs to hold its memory pool; "
    "a capture in which no work was launched looks the same."
)


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


def breadcrumb(context: Context, graph: Graph, name: str) -> list[Any]:
    """Return the way from the graph down to the body on the screen, with its sibling bodies."""
    parts = [part for part in context.state.body.split("/") if part]
    root: dict[str, Any] = {"body": "", "node": None, "search": ""}
    crumbs: list[Any] = [
        go_link(context, name, root, className="crumb")
        if parts
        else html.Span(name, className="crumb")
    ]
    path = ""
    for node, index in zip(parts[::2], parts[1::2], strict=True):
        around = graph
        siblings = around.bodies_of(int(node))
        up = {"body": path, "node": int(node), "search": ""}
        path = f"{path}/{node}" if path else node
        crumbs.append(html.Span(SEPARATOR, className="crumb-sep"))
        crumbs.append(
            go_link(context, f"node {node}", up, className="crumb", title="Back to this node")
        )
        crumbs.append(html.Span(SEPARATOR, className="crumb-sep"))
        for body in siblings:
            target = {"body": f"{path}/{body.index}", "node": None, "search": ""}
            here = str(body.index) == index
            names = "crumb here" if here else "crumb"
            crumbs.append(go_link(context, body.role, target, className=names))
            if here:
                graph = body.graph
        path = f"{path}/{index}"
    return crumbs


def legend(colouring: Colouring) -> Component:
    """Return the legend of one colouring; an entry is a button that finds its nodes."""
    entries: list[Any] = [
        html.Button(
            className="legend-entry",
            title="Find these nodes; again to stop",
            children=[
                html.I(className=_chip_class(entry), style={"background": _ground(entry)}),
                html.Span(entry.name, className="legend-name"),
                html.Span(text.count_text(entry.count), className="count"),
            ],
            **attributes(data_term=term(colouring.name, entry.name), aria_pressed="false"),
        )
        for entry in colouring.legend[:LEGEND_ENTRIES]
    ]
    if len(colouring.legend) > LEGEND_ENTRIES:
        more = text.counted(len(colouring.legend) - LEGEND_ENTRIES, "more entry", "more entries")
        entries.append(html.Span(f"{more}: search finds them", className="legend-note"))
    return html.Div(
        entries, className="legend", title=LANE_NOTE if colouring.name == "lane" else None,
        **attributes(data_colouring=colouring.name),
    )  # fmt: skip


def _ground(entry: LegendEntry) -> str:
    return f"light-dark({entry.colour}, {entry.dark})" if entry.dark else entry.colour


def _chip_class(entry: LegendEntry) -> str:
    return "chip unknown" if entry.name == "not timed" else "chip"


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
