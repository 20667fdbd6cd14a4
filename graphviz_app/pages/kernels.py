"""The page of kernels: which take the time, per family, per launch and per node."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from dash import ClientsideFunction, Dash, Input, html
from dash.development.base_component import Component

from capture.analysis import Result, Unit

from .. import kernel_rows, profiling, result_text, timing_facts
from ..components import result_view
from ..components.attributes import attributes
from ..components.block_grid import block_grid, serve_rows
from ..components.executables import picker
from ..components.prose import prose
from ..components.shell import SHELL
from ..components.view_switch import view_switch
from ..context import Context
from ..ids import KernelsPage
from ..naming import kernel_of
from ..search import term
from ..state import ViewState
from ..store import Store
from . import Page

VIEWS = (
    ("", "Families", "Kernels that do the same work on other shapes"),
    ("launches", "Launches", "Same kernel, grid and block: how they fill the device"),
    ("nodes", "Nodes", "Each kernel node"),
)
NODE_COLUMNS = (
    ("median", "Median", "Median duration over the traced replays", 88),
    ("start", "Start", "Median offset from the replay's first start", 76),
    ("share", "Share", "Median duration over the median makespan", 68),
    ("waves", "Waves", "Blocks over what fits on the device at once", 64),
    ("occupancy", "Occup.", "Theoretical: threads resident over the most there can be", 68),
)


def layout(context: Context) -> Component:
    """Return the page of the kernels of the graph that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    place = (state.recording, state.graph, "")
    subject = store.subject(*place, state.executable)
    families = store.result(*place, "kernel_families", state.executable)
    launches = store.result(*place, "occupancy", state.executable)
    if subject.is_timed and subject.timings is not None:
        total = len(subject.graph) if subject.info is None else subject.info.node_count
        note = timing_facts.caution(subject.timings, total)
    else:
        note = timing_facts.absent_text(subject)
    return view(
        context.state.view,
        [result_text.summary(families), result_text.summary(launches), NODES_SUMMARY],
        note,
        _families(context, families),
        _launches(context, launches),
        subject.is_timed,
        picker(context),
        subject.origin_index is not None,
    )


NODES_SUMMARY = (
    "Each kernel node of the graph itself; to see the kernels of a body, open the body in the "
    "graph and its table there. "
    "A click selects a node, its name opens it in the graph."
)


def view(
    chosen: str,
    summaries: list[str],
    note: str,
    families: Component,
    launches: Component,
    timed: bool,
    choice: list[Component] | None = None,
    origins: bool = False,
) -> Component:
    """Return the page around its tables."""
    names = [name for name, _, _ in VIEWS]
    tables = (families, launches, _node_table(timed, origins))
    return html.Div(
        id=KernelsPage.VIEW,
        className="kernels-page",
        **attributes(data_view=chosen if chosen in names else ""),
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Kernels"),
                    view_switch(VIEWS, None),
                    *(choice or []),
                ],
            ),
            html.P(prose(note), className="caution"),
            *[
                html.Section(
                    [html.P(prose(summary), className="summary"), table],
                    className="kernels-view",
                    **attributes(data_for=name),
                )
                for name, summary, table in zip(names, summaries, tables, strict=True)
            ],
        ],
    )


def _columns(result: Result) -> list[dict[str, Any]]:
    return [
        result_view.column_of(column.name, column.unit, f"c{place}")
        for place, column in enumerate(result.columns)
    ]


def _families(context: Context, result: Result) -> Component:
    """Return the families; their names find their nodes in the graph."""
    columns, rows = _columns(result), result_view.rows_of(context, result)
    if columns:
        columns[0] |= {"cellRenderer": "NodeLink", "minWidth": 140, "flex": 4}
    for row in rows:
        changes = {
            "page": "graph",
            "view": "",
            "body": "",
            "node": None,
            "search": term("family", str(row["c0"])),
        }
        row["links"]["c0"] = result_view.link_to(context, changes)
        row["full"] = row["c0"]
    return result_view.grid(KernelsPage.FAMILIES, columns, rows)


def _launches(context: Context, result: Result) -> Component:
    """Return the launches with a command that profiles each one's kernel."""
    columns, rows = _columns(result), result_view.rows_of(context, result)
    recording = context.store.get(context.state.recording).recording
    node = next((i for i, column in enumerate(result.columns) if column.unit is Unit.NODE), None)
    graph = context.store.graph(context.state.recording, context.state.graph)
    if columns:
        columns[0] |= {"cellRenderer": "NodeLink", "minWidth": 120, "flex": 4}
        columns.append(COPY_COLUMN)
    for row in rows:
        changes = {
            "page": "graph",
            "view": "",
            "body": "",
            "node": None,
            "search": json.dumps(str(row["c0"])),
        }
        row["links"]["c0"] = result_view.link_to(context, changes)
        first = row.get(f"c{node}") if node is not None else None
        if isinstance(first, str) and first.isdecimal():
            kernel = kernel_of(graph.node(int(first)))
            row["copy"] = profiling.ncu_command(recording, kernel.name) if kernel else ""
    return result_view.grid(KernelsPage.LAUNCHES, columns, rows)


COPY_COLUMN: dict[str, Any] = {
    "field": "copy",
    "headerName": "ncu",
    "headerTooltip": profiling.NOTE,
    "width": 60,
    "sortable": False,
    "cellRenderer": "CopyCell",
}


def _node_table(timed: bool, origins: bool) -> Component:
    right: dict[str, Any] = {"type": "rightAligned", "cellClass": "number"}
    needs_times = {"median", "start", "share"}
    columns: list[dict[str, Any]] = [
        {"field": "position", "headerName": "Node", "width": 64, **right},
        {
            "field": "name",
            "headerName": "Kernel",
            "flex": 1,
            "minWidth": 132,
            "tooltipField": "full",
            "cellRenderer": "SelectLink",
            "filter": "agTextColumnFilter",
            "filterParams": {"filterOptions": ["contains"], "maxNumConditions": 1},
        },
        {
            "field": "operator",
            "headerName": "Operator",
            "headerTooltip": "The operator that launched it",
            "hide": not origins,
            "width": 150,
            "tooltipField": "operator",
        },
        *[
            {
                "field": field,
                "headerName": title,
                "headerTooltip": hint,
                "width": width,
                "hide": field in needs_times and not timed,
                **right,
            }
            for field, title, hint, width in NODE_COLUMNS
        ],
        {"field": "grid", "headerName": "Grid", "width": 104, "sortable": False, **right},
        {"field": "block", "headerName": "Block", "width": 92, "sortable": False, **right},
        COPY_COLUMN,
    ]
    if timed:
        columns[3]["sort"] = "desc"
    return block_grid(KernelsPage.NODES, columns, 28, 32)


def skeleton() -> Component:
    """Return the page with every id and no data."""
    empty = [
        result_view.grid(name, [], []) for name in (KernelsPage.FAMILIES, KernelsPage.LAUNCHES)
    ]
    return view("", ["", "", ""], "", empty[0], empty[1], True)


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction(SHELL, "openKernel"), Input(KernelsPage.NODES, "cellClicked")
    )

    def block(view: ViewState, request: dict[str, Any]) -> dict[str, Any]:
        picture = store.picture(view.recording, view.graph, "", view.executable)
        kernels = store.kernels(view.recording, view.graph, view.executable)
        command = partial(profiling.ncu_command, store.get(view.recording).recording)
        return kernel_rows.block(picture, kernels, command, request)

    serve_rows(app, KernelsPage.NODES, block)


PAGE = Page(
    name="kernels",
    title="Kernels",
    order=40,
    description="Which kernels take the time, and how they fill the device",
    search_hint="Search nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
