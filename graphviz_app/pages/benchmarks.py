"""The page of replays of our own: what capture, launch and replay cost, and eager against graph."""

from __future__ import annotations

from typing import Any

from dash import Dash, html
from dash.development.base_component import Component

from capture.analysis import Column, Result, Unit
from capture.benchmarks import Benchmark, NodeCosts
from capture.errors import GraphLensError

from .. import benchmark_facts, measurements, node_costs
from .. import format as text
from ..components import measure_panel, result_view
from ..components.benchmark_view import (
    SAMPLES_NOTE,
    eager_parts,
    head,
    notes,
    state_parts,
    strips,
)
from ..components.curve_table import curve, graphs_table
from ..components.facts import fact_head
from ..components.links import go_link
from ..components.measure_panel import PanelIds, Task
from ..components.prose import prose
from ..components.view_switch import view_switch
from ..ids import BenchmarksPage
from ..store import Store
from . import Context, Page

ALL = "all"
WOULD_SHOW = (
    "Here would stand, as distributions: capture, instantiate, upload, first launch, launch and "
    "replay with warm and cold L2; for a function also its eager call, where the CPU time of that "
    "goes, and after how many replays the graph has paid for itself."
)
IDS = PanelIds(
    BenchmarksPage.START,
    BenchmarksPage.CANCEL,
    BenchmarksPage.PROGRESS,
    BenchmarksPage.TICK,
    BenchmarksPage.DONE,
)
STRIPS = 10
"""Strips on the page at most; each has an id."""


def layout(context: Context) -> Component:
    """Return the page of the graph that a view names, or of all graphs of its recording.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    info = store.info(state.recording, state.graph)
    recording = store.get(state.recording).recording
    measured = len(recording.benchmarked)
    everything = state.view == ALL
    if everything:
        body = all_graphs(context)
    else:
        found = measurements.benchmark_of(store, state.recording, state.graph)
        body = of_graph(context, found) if found is not None else without(context)
    command = benchmark_facts.command(recording, "cglens bench", ["--graph", info.key])
    panel = measure_panel.panel(IDS, "Measure this graph", command, store.measurer)
    return view(everything, measured, body, panel)


def view(everything: bool, measured: int, body: list[Any], panel: Component) -> Component:
    """Return the page around its parts."""
    tabs = (("", "This graph", ""), (ALL, f"All graphs ({measured:,})", ""))
    return html.Div(
        className="bench-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Benchmarks"),
                    view_switch(tabs, ALL if everything else ""),
                ],
            ),
            *body,
            panel,
        ],
    )


def without(context: Context) -> list[Any]:
    """Return why there is no benchmark of this graph, and what it would show."""
    info = context.store.info(context.state.recording, context.state.graph)
    others = context.store.get(context.state.recording).recording.benchmarked
    parts: list[Any] = [html.P(prose(benchmark_facts.absent_reason(info)), className="summary")]
    if others:
        count = text.counted(len(others), "other graph")
        link = go_link(context, f"{count} of this recording", {"view": ALL})
        parts.append(
            html.P([link, " are measured."] if len(others) > 1 else [link, " is measured."])
        )
    parts.append(html.P(WOULD_SHOW, className="absent"))
    return [html.Section(parts)]


def of_graph(context: Context, found: Benchmark) -> list[Any]:
    """Return all that a benchmark of one graph says."""
    if found.refused:
        why = f"This graph was not replayed: {found.refused.rstrip('.')}."
        return [
            html.Section(
                [html.P(prose(why), className="summary"), *notes(benchmark_facts.notes(found))]
            )
        ]
    items = benchmark_facts.distributions(found)
    eager = benchmark_facts.eager_distributions(found.eager) if found.eager is not None else []
    if found.removals and not items and not eager and found.nodes is None:
        link = go_link(context, "What if", {"page": "whatif", "view": ""})
        return [html.Section([html.P([f"{benchmark_facts.ONLY_REMOVALS} ", link, "."])])]
    parts: list[Any] = [html.Dl([fact_head(fact) for fact in head(found)], className="head-facts")]
    if items or eager:
        parts.append(
            html.Section(
                [
                    html.H2("Every sample"),
                    html.P(SAMPLES_NOTE, className="absent"),
                    strips([*items, *eager][:STRIPS]),
                ]
            )
        )
    parts.append(html.Section(eager_parts(found), className="bench-eager"))
    parts.append(html.Section(state_parts(found)))
    if found.nodes is not None:
        parts.append(html.Section(node_parts(context, found.nodes), className="bench-nodes"))
    if found.notes:
        parts.append(html.Section(notes(benchmark_facts.notes(found))))
    return parts


def node_parts(context: Context, costs: NodeCosts) -> list[Any]:
    """Return what nodes cost without a tracer, beside their traced times, as a table."""
    state, store = context.state, context.store
    subject = store.subject(state.recording, state.graph, "", state.executable)
    result = Result(
        columns=[
            Column("node", Unit.NODE),
            Column("name", Unit.TEXT),
            Column("traced", Unit.NS),
            Column("isolated", Unit.NS),
            Column("marginal", Unit.NS),
        ]
    )
    durations = subject.durations
    for place, path in enumerate(costs.node):
        at = int(path) if path.isdecimal() and len(path) <= 9 else len(durations)
        inside = at < len(durations)
        isolated, marginal = node_costs.node_cost(costs, place)
        name = subject.label(at) if inside else ""
        traced = durations[at] if inside else None
        result.rows.append((path, name, traced, isolated, marginal))
    parts: list[Any] = [
        html.H2("Nodes without a tracer"),
        html.P(prose(node_costs.node_costs_text(costs)), className="absent"),
        result_view.table(context, BenchmarksPage.NODES, result),
    ]
    for reason, count in node_costs.node_reasons(costs):
        parts.append(html.P(f"{text.counted(count, 'node')} without a value: {reason}."))
    return parts


def all_graphs(context: Context) -> list[Any]:
    """Return the curve over the graphs of a recording, and a row for each."""
    rows = measurements.curve_of(context.store, context.state.recording)
    if not rows:
        return without(context)
    return [
        *curve(rows),
        html.Section([graphs_table(context, rows)], className="bench-graphs"),
        html.Section(notes(measurements.common_notes(rows))),
    ]


def task_of(context: Context) -> Task:
    """Return what the button measures: the graph that is on the screen.

    Raises
    ------
    GraphLensError
        There is no such graph.
    """
    info = context.store.info(context.state.recording, context.state.graph)
    if not context.state.graph:
        raise GraphLensError("there is no graph to measure here")
    return Task(["bench"], f"the graph {info.name}")


def skeleton() -> Component:
    """Return the page with every id that is always there."""
    return view(False, 0, [], measure_panel.panel(IDS, "", ""))


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""
    measure_panel.register(app, store, IDS, task_of, prefix)


PAGE = Page(
    name="benchmarks",
    title="Benchmarks",
    order=60,
    description="What capture, launch and replay cost, and eager against graph",
    search_hint="Search nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "view", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
