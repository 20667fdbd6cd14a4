"""The page of modules: what each part of the model takes, as a tree and by class."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from .. import origin_rows
from ..components.executables import picker
from ..components.origin_head import SHARE, caution_of, no_origins, phase_legend
from ..components.prose import prose
from ..components.tree_table import TreeRow, number_column, tree_table
from ..components.view_switch import view_switch
from ..context import Context
from ..format import counted
from ..ids import ModulesPage
from . import Page

CLASSES = "classes"
VIEWS = (
    ("", "Tree", "Modules as the model holds them"),
    (CLASSES, "Classes", "Modules of the same class together"),
)
SUMMARY = (
    "Nodes of the backward pass count with the module whose forward made them. "
    "A name finds its nodes in the graph."
)
CLASS_SUMMARY = (
    "Modules of the same class together, with what is inside them. A name finds their nodes."
)


def layout(context: Context) -> Component:
    """Return the page of the modules of the graph or body that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    report = store.by_origin(state.recording, state.graph, state.body, state.executable)
    if report is None:
        return no_origins(context, "Modules")
    by_class = state.view == CLASSES
    if not any(row.module >= 0 for row in report.modules):
        why = report.index.origins.missing.get("module", "")
        return no_origins(
            context,
            "Modules",
            f"No node of this graph belongs to a module: {why.rstrip('.')}."
            if why
            else "No node of this graph belongs to a module: no `nn.Module` was running when "
            "they were launched.",
        )
    chosen = "" if by_class else origin_rows.chosen_module(report, state.view)
    rows = (
        origin_rows.class_rows(context, report)
        if by_class
        else origin_rows.module_rows(context, report, chosen)
    )
    left = 0 if by_class else len(report.modules) - len(rows)
    return view(
        CLASSES if by_class else "",
        rows,
        timed=report.is_timed,
        chosen=chosen,
        note=caution_of(context, report),
        left=left,
        choice=picker(context),
    )


def view(
    shown: str,
    rows: list[TreeRow],
    *,
    timed: bool,
    chosen: str = "",
    note: str = "",
    left: int = 0,
    choice: list[Component] | None = None,
) -> Component:
    """Return the page around its table."""
    more = f" {counted(left, 'inner module')} left out: search finds their nodes." if left else ""
    by_class = shown == CLASSES
    columns: list[dict[str, Any]] = []
    if by_class:
        columns.append(number_column("modules", "Modules", "How many modules have this class", 78))
    columns += [
        number_column("time", "Time", "Sum over its nodes, inner modules included", hide=not timed),
        number_column("share", "Share", SHARE, 68, hide=not timed),
        number_column(
            "own", "Own time", "Of nodes that it launched itself, not a module in it",
            hide=not timed,
        ),
        number_column("path", "Path", "Its part of the critical path", 62, hide=not timed),
        number_column("nodes", "Nodes", "Inner modules included", 62),
    ]  # fmt: skip
    columns += extra_columns(rows, ("holds", "allocated"))
    if any(row.values.get("backward") for row in rows):  # else all of it is forward
        columns += [
            number_column("forward", "Forward", "Time of the forward pass"),
            number_column("backward", "Back\N{SOFT HYPHEN}ward", "Time of the backward pass"),
        ]
    columns += extra_columns(rows, ("optimizer", "moved", "shared"))
    title = "Time by phase" if timed else "Nodes by phase"
    return html.Div(
        className="origin-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Modules"),
                    view_switch(VIEWS, shown),
                    *(choice or []),
                    html.Div(className="spring"),
                    phase_legend(),
                ],
            ),
            html.P(prose(note), className="caution"),
            html.P((CLASS_SUMMARY if by_class else SUMMARY) + more, className="summary"),
            html.Div(
                tree_table(
                    ModulesPage.TABLE,
                    "Class" if by_class else "Module",
                    columns,
                    rows,
                    bars=title,
                    bars_hint="Full width is the largest module inside another",
                    chosen=chosen,
                ),
                className="origin-table",
            ),
        ],
    )


RARE = {
    "optimizer": ("Optimizer", "Time of the optimizer's step", 90),
    "holds": (
        "Holds",
        "Parameters, buffers, gradients and optimizer state, inner modules included, as far as "
        "nodes of this graph point into them",
        84,
    ),
    "allocated": (
        "Allo\N{SOFT HYPHEN}cated",
        "Bytes that torch allocated for its nodes during the capture; what was freed on the way "
        "counts as well",
        84,
    ),
    "moved": ("Moved", "Bytes of its memcpy and memset nodes", 76),
    "shared": ("Shared", "Nodes of fused kernels, which others are charged with as well", 70),
}


def extra_columns(rows: list[TreeRow], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the columns that are shown only when a row has something in them."""
    return [
        number_column(name, *RARE[name])
        for name in names
        if any(row.values.get(name) for row in rows)
    ]


def skeleton() -> Component:
    """Return the page with every id and no data."""
    return view("", [], timed=True)


PAGE = Page(
    name="modules",
    title="Modules",
    order=42,
    description="What each part of the model takes",
    search_hint="Search rows and nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "body", "view", "executable"),
    layout=layout,
    skeleton=skeleton,
)
