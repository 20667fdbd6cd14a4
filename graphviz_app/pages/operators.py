"""The page of operators: what each takes, and with which shapes it was called."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from .. import origin_rows
from ..components.executables import picker
from ..components.origin_head import SHARE, caution_of, no_origins, phase_legend
from ..components.prose import prose
from ..components.tree_table import TreeRow, number_column, tree_table
from ..context import Context
from ..ids import OperatorsPage
from . import Page
from .modules import extra_columns

SUMMARY = (
    "Inside each operator stands each distinct set of arguments. "
    "A name finds its nodes in the graph."
)


def layout(context: Context) -> Component:
    """Return the page of the operators of the graph or body that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    report = store.by_origin(state.recording, state.graph, state.body, state.executable)
    if report is None:
        return no_origins(context, "Operators")
    if not any(row.name for row in report.operators):
        why = report.index.origins.missing.get("operator", "none was running").rstrip(".")
        return no_origins(
            context, "Operators", f"No node of this graph was launched by an operator: {why}."
        )
    return view(
        origin_rows.operator_rows(context, report),
        timed=report.is_timed,
        chosen=origin_rows.chosen_operator(report, state.view),
        note=caution_of(context, report),
        choice=picker(context),
    )


def view(
    rows: list[TreeRow],
    *,
    timed: bool,
    chosen: str = "",
    note: str = "",
    choice: list[Component] | None = None,
) -> Component:
    """Return the page around its table."""
    columns: list[dict[str, Any]] = [
        number_column("time", "Time", "Sum over its nodes", hide=not timed),
        number_column("share", "Share", SHARE, 68, hide=not timed),
        number_column("path", "Path", "Its part of the critical path", 62, hide=not timed),
        number_column("nodes", "Nodes", "Nodes that it launched", 62),
        number_column("inputs", "Inputs", "Distinct sets of shapes, dtypes and arguments", 62),
        number_column("modules", "Modules", "Innermost modules that called it", 80),
    ]
    if any(row.values.get("given") for row in rows):
        columns.append(number_column("given", "Given", "Bytes of the tensors one call was given"))
    columns += extra_columns(rows, ("allocated", "moved", "shared"))
    return html.Div(
        className="origin-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Operators"),
                    *(choice or []),
                    html.Div(className="spring"),
                    phase_legend(),
                ],
            ),
            html.P(prose(note), className="caution"),
            html.P(SUMMARY, className="summary"),
            html.Div(
                tree_table(
                    OperatorsPage.TABLE,
                    "Operator",
                    columns,
                    rows,
                    bars="Time by phase" if timed else "Nodes by phase",
                    bars_hint="Full width is the largest row",
                    chosen=chosen,
                ),
                className="origin-table",
            ),
        ],
    )


def skeleton() -> Component:
    """Return the page with every id and no data."""
    return view([], timed=True)


PAGE = Page(
    name="operators",
    title="Operators",
    order=44,
    description="What each operator takes, and what it was called with",
    search_hint="Search rows and nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "body", "view", "executable"),
    layout=layout,
    skeleton=skeleton,
)
