"""The page of source lines: a file with nodes and times beside each line."""

from __future__ import annotations

import json
from typing import Any

from dash import ClientsideFunction, Dash, Input, html
from dash.development.base_component import Component

from capture.analysis.source_lines import FileRow
from capture.origin_index import Line

from .. import source_rows
from ..components.attributes import attributes
from ..components.executables import picker
from ..components.facts import copy_button
from ..components.links import editor_link
from ..components.origin_head import caution_of, no_origins
from ..components.prose import prose
from ..components.shell import SHELL
from ..components.source_grid import source_grid
from ..context import Context
from ..format import counted
from ..ids import SourcePage
from ..origin_report import OriginReport
from ..source_access import STORED, SourceText, unusual
from ..source_changes import changes
from ..store import Store
from . import Page


def layout(context: Context) -> Component:
    """Return the page of the source of the graph or body that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    report = store.by_origin(state.recording, state.graph, state.body, state.executable)
    if report is None:
        return no_origins(context, "Source")
    files = report.lines.files
    if not files:
        why = report.index.origins.missing.get("stack", "no stack holds a line of the user's")
        return no_origins(context, "Source", f"No node has a source line: {why.rstrip('.')}.")
    file, line = source_rows.chosen_place(state.view or selected_file(context, report), files)
    items = file_list(report, file)
    note = caution_of(context, report)
    if file is None:
        name = state.view
        return view(items, [html.P(f"No node of this graph comes from {name}.")], [], note=note)
    source = store.sources.read(file.file, report.index.origins)
    marked = selected_lines(context, report, file)
    line = line or min(marked, default=0)
    rows = source_rows.line_rows(context, report, file, source.lines, line, marked)
    return view(
        items,
        head(context, file, source, line),
        rows,
        timed=report.is_timed,
        chosen=line or hottest(rows),
        note=note,
        choice=picker(context),
        editor=store.sources.link_of_lines(file.file, source.path),
        without=without_text(report),
    )


def selected_file(context: Context, report: OriginReport) -> str:
    """Return the file of the selected node's first line; empty without one."""
    lines = _selected(context, report)
    return lines[0].file if lines else ""


def selected_lines(context: Context, report: OriginReport, file: FileRow) -> set[int]:
    """Return the lines of a file that the selected node is charged to."""
    return {line.line for line in _selected(context, report) if line.file == file.file}


def _selected(context: Context, report: OriginReport) -> list[Line]:
    node = context.state.node
    if node is None or node >= report.index.count:
        return []
    return [report.index.lines[at] for at in report.index.charges[node].lines]


def hottest(rows: list[dict[str, Any]]) -> int:
    """Return the number of the line that takes the most; 0 for none."""

    def size(row: dict[str, Any]) -> tuple[float, int]:
        return (row.get("time") or 0) + (row.get("back") or 0), row.get("nodes") or 0

    best = max(rows, key=size, default=None)
    return int(best["line"]) if best is not None else 0


def without_text(report: OriginReport) -> str:
    """Return how many nodes no line is charged with, as a sentence; empty for none."""
    nodes = report.lines.without.nodes
    if not nodes:
        return ""
    missing = report.index.origins.missing.get("stack", "")
    why = f": {missing.rstrip('.')}" if missing else ""
    return f"{counted(nodes, 'node')} with no line of the user's{why}."


def file_list(report: OriginReport, chosen: FileRow | None) -> list[Component]:
    """Return the files, those that take the longest first."""
    files = report.lines.files
    short = report.short_files
    found: list[Component] = []
    for file in files:
        here = chosen is not None and file.file == chosen.file
        kind = unusual(file.file)
        parts: list[Any] = [
            html.Div(html.Span(short[file.file], className="analysis-title"), title=file.file),
            html.P(source_rows.file_note(file, report.costs)),
        ]
        if kind:
            parts.append(html.P(kind))
        found.append(
            html.A(
                parts,
                href="#",
                title=file.file,
                className="analysis-item here" if here else "analysis-item",
                **attributes(data_go=json.dumps({"view": file.file})),
            )
        )
    return found


def head(context: Context, file: FileRow, source: SourceText, line: int) -> list[Any]:
    """Return what stands over the lines: the file, where its text is from, an editor's link."""
    shown: list[Any] = [
        html.Span(file.file, className="mono source-path", title=file.file),
        copy_button(file.file),
        editor_link(context, file.file, line or 1, source.path),
    ]
    parts: list[Any] = [html.Div(shown, className="source-file")]
    if source.reason:
        parts.append(html.P(prose(f"Only lines with nodes: {source.reason}."), className="absent"))
    elif source.how != STORED:
        found = changes(source.lines, [row.line for row in file.lines])
        parts.append(html.P(f"The text was {source.how}."))
        parts += [html.P(f"It has changed. {item}", className="warn") for item in found]
    else:
        parts.append(html.P(f"The text was {source.how}."))
    return parts


def view(
    files: list[Component],
    head: list[Any],
    rows: list[dict[str, Any]],
    *,
    timed: bool = False,
    chosen: int = 0,
    note: str = "",
    choice: list[Component] | None = None,
    without: str = "",
    editor: str = "",
) -> Component:
    """Return the page around its files and the lines of one."""
    return html.Div(
        className="source-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Source"),
                    *(choice or []),
                    html.Span(without, className="toolbar-label"),
                    html.Div(className="spring"),
                    html.Div(
                        [
                            _chip(source_rows.LAUNCHED, "launched here"),
                            _chip(source_rows.BACKWARD, "its backward pass"),
                        ],
                        className="phase-legend",
                    ),
                ],
            ),
            html.P(prose(note), className="caution"),
            html.Nav(files, id=SourcePage.FILES, className="analyses-list"),
            html.Div(
                [
                    html.Div(head, className="source-head"),
                    source_grid(rows, timed=timed, chosen=chosen, editor=editor),
                ],
                className="source-main",
            ),
        ],
    )


def _chip(colour: str, words: str) -> Component:
    return html.Span(
        [html.I(className="chip", style={"background": colour}), words], className="legend-item"
    )


def skeleton() -> Component:
    """Return the page with every id and no data."""
    return view([], [], [], timed=True)


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction(SHELL, "openLine"), Input(SourcePage.CODE, "cellClicked")
    )


PAGE = Page(
    name="source",
    title="Source",
    order=46,
    description="Nodes and times beside each line of source",
    search_hint="Search nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "body", "node", "view", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
