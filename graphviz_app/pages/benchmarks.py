"""The page of replays of our own: what capture, launch and replay cost, and eager against graph."""

from __future__ import annotations

import json
from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from capture.analysis import Column, Result, Unit
from capture.benchmarks import Benchmark, NodeCosts
from capture.errors import GraphLensError

from .. import benchmark_facts, disturbances, measurements, node_costs
from .. import format as text
from ..components import measure_panel, result_view
from ..components.attributes import attributes
from ..components.details import go_link
from ..components.facts import fact_head
from ..components.measure_panel import PanelIds, Task
from ..components.plots import PLOT_CONFIG
from ..components.prose import prose
from ..distributions import Distribution, median_of
from ..facts import Fact
from ..figures import benchmarks as figures
from ..ids import BenchmarksPage
from ..measurements import CurveRow
from ..store import Store
from . import Context, Page
from .graph import NO_GRAPH

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
    if not state.graph:
        return html.Div(html.P(NO_GRAPH), className="sentence")
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
    tabs = (("", "This graph", not everything), (ALL, f"All graphs ({measured:,})", everything))
    return html.Div(
        className="bench-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Benchmarks"),
                    html.Div(
                        className="switch",
                        role="tablist",
                        children=[
                            html.Button(
                                title,
                                role="tab",
                                **attributes(
                                    data_go=json.dumps({"view": name}),
                                    aria_selected=str(here).lower(),
                                ),
                            )
                            for name, title, here in tabs
                        ],
                    ),
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
        return [html.Section([html.P(prose(why), className="summary"), *notes(found)])]
    items = benchmark_facts.distributions(found)
    eager = benchmark_facts.eager_distributions(found.eager) if found.eager is not None else []
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
        parts.append(html.Section(notes(found)))
    return parts


SAMPLES_NOTE = (
    "Points are samples, the box reaches from quartile to quartile. Orange is time of the CPU, "
    "blue of the GPU. Each row has a scale of its own."
)


def notes(found: Benchmark) -> list[Any]:
    """Return what a reader has to know of the figures."""
    if not found.notes:
        return []
    return [
        html.H2("To be read with"),
        html.Ul([html.Li(prose(note)) for note in found.notes], className="notes"),
    ]


def head(found: Benchmark) -> list[Fact]:
    """Return what matters most, for the band on top."""
    facts = []
    for words, samples in (
        ("replay, warm L2", found.replay_ns),
        ("replay, cold L2", found.cold_replay_ns),
        ("launch", found.launch_cpu_ns),
        ("eager call", found.eager.call_ns if found.eager is not None else []),
    ):
        middle = median_of(samples)
        if middle is not None:
            how = f"median of {text.counted(len(samples), 'sample')}"
            facts.append(Fact(words, text.duration_text(middle), f"{middle:,.0f} ns", how))
    compared = benchmark_facts.compare(found)
    if compared is not None and compared.cpu_removed is not None and compared.cpu_removed > 0:
        share = text.share_text(compared.cpu_removed, 1)
        facts.append(Fact("CPU time removed", share, "", "launch of the graph for the eager call"))
    paid = benchmark_facts.payback(found)
    if paid.replays is not None:
        facts.append(Fact("paid after", text.counted(paid.replays, "replay"), "", paid.sentence))
    if found.executable_bytes is not None:
        size = text.bytes_text(found.executable_bytes)
        facts.append(Fact("executable", size, f"{found.executable_bytes:,} bytes", "on the device"))
    if found.saved_bytes:
        size = text.bytes_text(found.saved_bytes)
        why = "memory that replays may write, saved before and restored after"
        facts.append(Fact("memory saved", size, f"{found.saved_bytes:,} bytes", why))
    return facts


def strips(items: list[Distribution]) -> Component:
    """Return a row per quantity: its numbers, and its samples."""
    header = html.Div(
        [
            html.Span("time of"),
            *[html.Span(name, className="number") for name in ("median", "p95", "spread", "n")],
            html.Span(""),
        ],
        className="strip-row strip-header",
    )
    rows = []
    for number, item in enumerate(items):
        figure = figures.samples_figure(item)
        p95 = item.p95_ns
        rows.append(
            html.Div(
                [
                    html.Span(item.name, title=f"{item.clock} time: {item.meaning}"),
                    _number(item.median_ns),
                    _number(p95, "" if p95 is not None else "needs 20 samples"),
                    _number(item.spread_ns),
                    html.Span(text.count_text(item.count), className="number"),
                    dcc.Graph(
                        id=f"{BenchmarksPage.SAMPLES}-{number}",
                        figure=figure,
                        config=PLOT_CONFIG | {"scrollZoom": False},
                        style={"height": figure["layout"]["height"]},
                    ),
                ],
                className="strip-row",
            )
        )
    return html.Div([header, *rows], className="strip-rows")


def _number(value_ns: float | None, hint: str = "") -> Component:
    exact = hint or (f"{value_ns:,.0f} ns" if value_ns is not None else None)
    return html.Span(text.duration_text(value_ns), className="number", title=exact)


def eager_parts(found: Benchmark) -> list[Any]:
    """Return eager against graph: the split of the CPU time, and what follows from it."""
    parts: list[Any] = [html.H2("Eager against graph")]
    compared = benchmark_facts.compare(found)
    if compared is not None and compared.eager_cpu_ns is not None:
        figure = figures.split_figure(compared)
        names = list(compared.split_ns) or ["unsplit"]
        names += ["launch"] if compared.launch_cpu_ns is not None else []
        chips = [
            html.Span(
                [
                    html.I(className="chip", style={"background": figures.SPLIT_COLOURS[name]}),
                    html.Span(SPLIT_WORDS.get(name, name)),
                ],
                className="legend-item",
            )
            for name in names
        ]
        parts += [
            html.Div(chips, className="legend-line"),
            dcc.Graph(
                id=BenchmarksPage.SPLIT,
                figure=figure,
                config=PLOT_CONFIG | {"scrollZoom": False},
                style={"height": figure["layout"]["height"]},
            ),
        ]
    said = benchmark_facts.comparison_sentences(found)
    if compared is not None:
        said.append(benchmark_facts.payback(found).sentence)
    parts.append(html.Ul([html.Li(prose(item)) for item in said], className="notes plain"))
    return parts


SPLIT_WORDS = {
    "python": "Python",
    "dispatch": "dispatch in torch",
    "runtime": "CUDA runtime calls",
    "driver": "driver calls",
    "launch": "launch of the graph",
    "unsplit": "not split",
}


def state_parts(found: Benchmark) -> list[Any]:
    """Return what the device was doing, and what disturbed the run."""
    parts: list[Any] = [html.H2("What disturbed the run")]
    said = disturbances.disturbances(found.conditions)
    parts.append(html.Ul([html.Li(prose(item)) for item in said], className="notes plain"))
    conditions = found.conditions
    if conditions is not None and len(conditions.at_ns) > 1:
        figure = figures.conditions_figure(conditions)
        if figure["data"]:
            parts.append(
                dcc.Graph(
                    id=BenchmarksPage.STATE,
                    figure=figure,
                    config=PLOT_CONFIG | {"scrollZoom": False},
                    style={"height": figure["layout"]["height"]},
                )
            )
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
    shown = [row for row in rows if not row.refused]
    parts: list[Any] = []
    if len(shown) > 1:
        figure = figures.curve_figure([row.point for row in shown])
        chips = [
            html.Span(
                [html.I(className="chip", style={"background": colour}), html.Span(title)],
                className="legend-item",
            )
            for title, field, colour, _ in figures.CURVES
            if any(field in row.point.medians_ns for row in shown)
        ]
        parts.append(
            html.Section(
                [
                    html.Div([html.H2("Medians over graphs"), *chips], className="legend-line"),
                    dcc.Graph(
                        id=BenchmarksPage.CURVE,
                        figure=figure,
                        config=PLOT_CONFIG | {"scrollZoom": False},
                        style={"height": figure["layout"]["height"]},
                    ),
                ]
            )
        )
    parts.append(html.Section([graphs_table(context, rows)], className="bench-graphs"))
    return parts


CURVE_COLUMNS = (
    ("replay_ns", "Warm"),
    ("cold_replay_ns", "Cold"),
    ("launch_cpu_ns", "Launch"),
    ("eager", "Eager"),
)


def graphs_table(context: Context, rows: list[CurveRow]) -> Component:
    """Return a row per graph that was measured or refused."""
    columns: list[dict[str, Any]] = [
        result_view.column_of("graph", Unit.TEXT, "name") | {"cellRenderer": "NodeLink"},
        result_view.column_of("label", Unit.TEXT, "label") | {"minWidth": 96, "flex": 1},
        *[result_view.column_of(title, Unit.NS, field) for field, title in CURVE_COLUMNS],
        result_view.column_of("paid after replays", Unit.COUNT, "paid"),
        result_view.column_of("refused", Unit.TEXT, "refused"),
    ]
    data = []
    for row in rows:
        go = {"graph": row.key, "view": "", "body": "", "node": None}
        medians = row.point.medians_ns
        data.append(
            {
                "id": row.key,
                "name": row.point.name,
                "label": row.point.label,
                **{field: medians.get(field) for field, _ in CURVE_COLUMNS},
                "paid": row.paid,
                "refused": row.refused,
                "texts": {
                    "name": row.point.name,
                    **{field: text.duration_text(medians.get(field)) for field, _ in CURVE_COLUMNS},
                    "paid": text.count_text(row.paid),
                },
                "exact": {
                    field: f"{medians[field]:,.0f} ns"
                    for field, _ in CURVE_COLUMNS
                    if field in medians
                },
                "links": {"name": result_view.link_to(context, go)},
            }
        )
    if not any(row.refused for row in rows):
        columns.pop()
    return result_view.grid(BenchmarksPage.GRAPHS, columns, data, few=14)


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
