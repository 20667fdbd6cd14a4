"""The page of a recording: what was recorded, on what, its graphs, its failures, its timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from capture.model import GraphInfo, Recording

from .. import failure_facts
from .. import format as text
from ..components.facts import fact_head
from ..components.findings_list import faults, findings
from ..components.graphs_table import FEW, graph_rows, grid
from ..components.plots import PLOT_CONFIG
from ..components.prose import prose
from ..components.shell import SHELL
from ..facts import Fact, place_text
from ..fields import label_text
from ..figures import timeline
from ..ids import Overview
from ..store import Store
from . import Context, Page

NO_GRAPHS = (
    "No graph is in this recording: the workload ran and captured none. Capture one with "
    "torch.cuda.graph or torch.compile(mode='reduce-overhead'), or record a function with "
    "`cglens record MODULE:FUNCTION`."
)
ONLY_MEMORY = "This is a memory snapshot: it holds no graphs. The page Memory shows it."
NO_SUCCESS = (
    "No graph is in this recording: every capture failed. The errors are above, each with the "
    "place it came from and the nodes it had reached."
)
NO_TIMELINE = (
    "No timeline: this recording has no events. `cglens record` keeps when the graphs that a "
    "script captures were captured, instantiated and replayed; a graph that was read from its "
    "handle, or converted from DOT or JSON, has none."
)
MOST_FAILURES = 100
VERSIONS = ("python", "torch", "triton", "driver", "driver_cuda")
"""Those on the band; the panel has all."""


def layout(context: Context) -> Component:
    """Return the page of a recording."""
    opened = context.store.get(context.state.recording)
    recording = opened.recording
    events = context.store.timeline(opened.id)
    return view(
        facts=header_facts(recording),
        warnings=recording_warnings(recording),
        failed=failures(context, recording),
        none=NO_GRAPHS if recording.graphs or not recording.stored("snapshots") else ONLY_MEMORY,
        beside=findings(context),
        faults=faults(context),
        rows=graph_rows(context),
        figure=timeline.figure(events, {**recording.graphs, **recording.failed})
        if events
        else None,
        legend=timeline.legend(events),
    )


def view(
    facts: list[Fact],
    warnings: list[str],
    failed: list[Component],
    beside: list[Component],
    rows: list[dict[str, Any]],
    figure: dict[str, Any] | None,
    legend: list[tuple[str, str, int]],
    none: str = NO_GRAPHS,
    faults: Sequence[Component] = (),
) -> Component:
    """Return the page around its data."""
    parts: list[Any] = [html.Dl([fact_head(fact) for fact in facts], className="head-facts")]
    if warnings:
        parts.append(html.Ul([html.Li(prose(item)) for item in warnings], className="warnings"))
    parts += failed
    parts += faults
    none = NO_SUCCESS if failed else none
    table: Any = grid(rows) if rows else html.P(prose(none), className="absent")
    parts.append(
        html.Section(
            [html.H2(["Graphs", html.Span(text.count_text(len(rows)), className="count")]), table],
            id=Overview.BOX,
            className=f"graphs{' few' if len(rows) <= FEW else ''}" if rows else "graphs none",
        )
    )
    strip: Any = (
        dcc.Graph(
            id=Overview.TIMELINE,
            figure=figure,
            config=PLOT_CONFIG,
            style={"height": figure["layout"]["height"]},
        )
        if figure is not None
        else html.P(prose(NO_TIMELINE), className="absent")
    )
    chips = [
        html.Span(
            [
                html.I(className="chip", style={"background": colour}),
                html.Span(name),
                html.Span(text.count_text(count), className="count"),
            ],
            className="legend-item",
        )
        for name, colour, count in legend
    ]
    parts += beside
    heading = html.Div([html.H2("Timeline"), *chips], className="timeline-head")
    parts.append(html.Section([heading, strip], className="timeline"))
    return html.Div(parts, className="overview")


def header_facts(recording: Recording) -> list[Fact]:
    """Return the facts of the run on one band: command, device, versions, time, cost, exit."""
    meta = recording.metadata
    facts: list[Fact] = []
    if meta.command:
        command = text.command_text(meta.command)
        facts.append(Fact("command", command, command, "as it was typed", True, command))
    process = recording.processes[0] if recording.processes else None
    if process is not None and process.gpus:
        names = list(dict.fromkeys(gpu.name for item in recording.processes for gpu in item.gpus))
        facts.append(Fact("GPU", ", ".join(names), "", "asked of the driver"))
    if process is not None:
        found = process.versions
        for name in [name for name in VERSIONS if name in found] or list(found)[:4]:
            facts.append(Fact(label_text(name), found[name], "", "asked in the process"))
    if meta.started_unix_ns is not None:
        facts.append(Fact("recorded", text.moment_text(meta.started_unix_ns)))
    if meta.duration_ns is not None:
        exact = text.exact_duration_text(meta.duration_ns)
        facts.append(Fact("duration", text.duration_text(meta.duration_ns), exact, "wall time"))
    cost = sum(sum(item.costs_ns.values()) for item in recording.processes)
    if any(item.costs_ns for item in recording.processes):
        share = text.share_text(cost, meta.duration_ns) if meta.duration_ns else ""
        shown = text.duration_text(cost) + (f" ({share})" if share else "")
        source = "wall time the recorder added, by its own clock"
        facts.append(Fact("cost of recording", shown, text.exact_duration_text(cost), source))
    if meta.exit_code is not None:
        meaning = f"signal {-meta.exit_code}" if meta.exit_code < 0 else str(meta.exit_code)
        facts.append(Fact("exit code", meaning, "", "of the workload"))
    if len(recording.processes) > 1:
        facts.append(Fact("processes", text.count_text(len(recording.processes))))
    if meta.source and meta.source != "recorded":
        facts.append(Fact("converted from", meta.source))
    return facts


def recording_warnings(recording: Recording) -> list[str]:
    """Return what is wrong with the recording as a whole."""
    found = list(recording.metadata.warnings)
    if not recording.metadata.complete:
        found.insert(
            0,
            "This recording is not complete: a process vanished without closing its journal. "
            "What it had written until then is here.",
        )
    for process in recording.processes:
        found += [item for item in process.warnings if item not in found]
    return found


def failures(context: Context, recording: Recording) -> list[Component]:
    """Return the failed captures: kind, place, error, and the nodes they had reached."""
    found = failure_facts.failures_of(recording)
    if not found:
        return []
    items = [_failure(context, info) for info in found[:MOST_FAILURES]]
    count = html.Span(text.count_text(len(found)), className="count")
    return [
        html.Section(
            [html.H2(["Failed captures", count]), html.Ul(items, className="failed-list")],
            className="failed",
        )
    ]


def _failure(context: Context, info: GraphInfo) -> Component:
    failure = info.failure
    assert failure is not None
    place = failure_facts.where(failure, info)
    error = failure_facts.error_text(failure)
    reached: Any
    if not failure.nodes_read:
        reached = f"nodes not read: {failure.reason or 'no reason given'}"
    else:
        nodes = text.counted(info.node_count, "node")
        target = context.state.at_graph(info.key)
        reached = dcc.Link(f"{nodes} reached", href=context.url(target))
    page = context.state.but(page="failures", view=info.key)
    function = "" if place is None else place.function
    inside = f" in {function}" if function not in ("", "<module>") else ""
    short = f"{failure_facts.short_place(place)}{inside}" or text.ABSENT
    title = failure_facts.title(failure) if failure_facts.judged(failure) else failure.error
    return html.Li(
        [
            dcc.Link(title, href=context.url(page), className="kind", title="Why, and what to do"),
            html.Span(
                [html.Span(short), html.Span(failure_facts.cut(failure.call), className="call")],
                className="mono place",
                title=place_text(place),
            ),
            html.Span(error, className="error-text", title=error),
            html.Span(reached, className="reached"),
        ]
    )


def skeleton() -> Component:
    """Return the page with every id and no data."""
    empty: dict[str, Any] = {"data": [], "layout": {"height": 100}}
    row: dict[str, Any] = {"key": "", "name": ""}
    return view([], [], [], [], [row], empty, [])


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""

    def in_browser(name: str, *args: Any) -> None:
        app.clientside_callback(ClientsideFunction(SHELL, name), *args)  # type: ignore[no-untyped-call]

    in_browser("focusGraph", Input(Overview.GRAPHS, "cellClicked"))
    in_browser("openGraph", Input(Overview.GRAPHS, "cellDoubleClicked"))
    # Without an output Dash does not call it when the page appears.
    in_browser(
        "filterGraphs", Output(Overview.BOX, "data-filtered"), Input(Overview.GRAPHS, "rowData")
    )


PAGE = Page(
    name="overview",
    title="Overview",
    order=10,
    description="What was recorded, on what, and its graphs",
    search_hint="Filter graphs  /",
    place=("page", "recording"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
