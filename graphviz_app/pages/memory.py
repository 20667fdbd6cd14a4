"""The page of memory: address map, use in node order, blocks with their nodes, and captures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import ClientsideFunction, Dash, Input, dcc, html
from dash.development.base_component import Component

from capture.analysis import Result, run_analysis
from capture.analysis.memory_steps import steps_of
from capture.errors import FormatError
from capture.memory_map import MemoryMap
from capture.model import EvidenceKind, Recording

from .. import format as text
from .. import result_text
from ..components import result_view
from ..components.facts import fact_head
from ..components.memory_blocks import blocks_table
from ..components.memory_findings import found_in_memory
from ..components.memory_sums import memory_facts, pools_table
from ..components.plots import STILL_PLOT_CONFIG
from ..components.prose import prose
from ..components.view_switch import view_switch
from ..context import Context
from ..figures.memory import (
    GROUPS,
    LIFETIMES,
    OUTSIDE,
    address_map,
    lifetime_map,
    use_map,
)
from ..figures.memory_pool import ALIVE, pool_figure
from ..figures.memory_steps import STEPS, steps_figure
from ..ids import MemoryPage
from ..memory_rows import Row, rows_of
from ..store import Store
from . import Page

CLICKED = (MemoryPage.MAP, MemoryPage.CHART, MemoryPage.POOL)
"""Plots whose points lead to a block, a node or a graph."""

VIEWS = (
    ("", "Graph", "Memory that the graph's nodes point into, just after its capture"),
    ("captures", "Captures", "What each capture added to reserved memory"),
    ("end", "End of the process", "Everything that torch's allocator held at the end"),
)
POOL_HINT = (
    "Bytes that the capture's own allocations held while each node was made, from torch's memory "
    "history; a click shows the node"
)
NO_EVENTS = (
    "When allocations were made and freed between the nodes is not known: that takes torch's "
    "memory history, which `cglens record --memory-stacks` switches on."
)
NO_END = (
    "The memory of this process was not looked at when it ended: record with "
    "`cglens record --memory`."
)


def layout(context: Context) -> Component:
    """Return the page of the memory of a graph, of the captures, or of a process.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    recording = store.get(state.recording).recording
    chosen = state.view if state.view in {name for name, _, _ in VIEWS} else ""
    if not state.graph:
        chosen = "end"
    if chosen == "captures":
        return view(chosen, _captures(context, recording))
    if chosen == "end":
        return view(chosen, _end(context, recording), graphs=bool(state.graph))
    return view(chosen, _graph(context))


def view(chosen: str, parts: list[Component], graphs: bool = True) -> Component:
    """Return the page around its parts."""
    names = VIEWS if graphs else (("end", "Snapshot", "All that the file holds"),)
    return html.Div(
        className="memory-page",
        children=[
            html.Div(
                className="toolbar",
                children=[
                    html.H2("Memory"),
                    view_switch(names, chosen),
                ],
            ),
            *parts,
        ],
    )


def _sentence(words: str) -> list[Component]:
    return [html.P(prose(words), className="absent memory-absent")]


def _graph(context: Context) -> list[Component]:
    state, store = context.state, context.store
    place = (state.recording, state.graph, state.body)
    subject = store.subject(*place, state.executable)
    memory = subject.memory
    if memory is None:
        reason = subject.lacks(EvidenceKind.MEMORY).rstrip(".")
        return _sentence(f"{reason[:1].upper()}{reason[1:]}.")
    rows = store.remember(
        ("memory rows", *place, state.executable),
        lambda: rows_of(memory, subject),
        lambda rows: 600 * len(rows),
    )
    pools = store.result(*place, "pools", state.executable)
    stale = store.result(*place, "stale_pointers", state.executable)
    use = use_map(rows, len(subject.graph))
    return [
        html.Dl([fact_head(fact) for fact in memory_facts(subject, pools)], className="head-facts"),
        *_caution(memory),
        html.P(prose(f"{result_text.summary(pools)} {result_text.summary(stale)}")),
        *found_in_memory(context),
        *_map(memory, rows),
        *_pool(memory, len(subject.graph)),
        html.H3(
            "Use in node order",
            title="From the first to the last node that holds an address in the block",
        ),
        _legend(use, BLOCK_COLOURS),
        _plot(MemoryPage.CHART, use),
        *_lifetimes(memory, len(subject.graph)),
        html.H3("Blocks"),
        *blocks_table(context, rows),
        *pools_table(context, pools),
    ]


def _pool(memory: MemoryMap, count: int) -> list[Component]:
    figure = pool_figure(memory, count)
    head = html.H3("Pool in node order", title=POOL_HINT)
    if figure is None:
        return [head, *_sentence(NO_EVENTS)]
    return [head, _legend(figure, [ALIVE]), _plot(MemoryPage.POOL, figure)]


def _lifetimes(memory: MemoryMap, count: int) -> list[Component]:
    figure = lifetime_map(memory, count)
    if figure is None:
        return []
    hint = "From torch's memory history, placed between nodes by the times of operators"
    return [
        html.H3("Allocations of the capture", title=hint),
        _legend(figure, LIFETIMES),
        _plot(MemoryPage.LIFETIMES, figure),
    ]


def _map(memory: MemoryMap, rows: list[Row]) -> list[Component]:
    count = len(memory.segments.address) if memory.segments is not None else 0
    figure = address_map(memory, rows)
    hint = "Each bar is one segment that torch took from the driver, its blocks by address"
    return [
        html.H3(f"Address map · {text.counted(count, 'segment')}", title=hint),
        _legend(figure, BLOCK_COLOURS),
        _plot(MemoryPage.MAP, figure),
    ]


def _caution(memory: MemoryMap) -> list[Component]:
    notes = " ".join(memory.notes)
    return [html.P(prose(notes), className="caution")] if notes else []


def _legend(figure: dict[str, Any], entries: Sequence[tuple[str, str]]) -> Component:
    """Return the meanings of the colours that a figure has."""
    drawn = {trace["name"] for trace in figure["data"]}
    items = [
        html.Span(
            [html.I(className="chip", style={"background": colour}), words], className="legend-item"
        )
        for words, colour in entries
        if words in drawn
    ]
    return html.Div(items, className="memory-legend")


BLOCK_COLOURS = [(words, colour) for _, words, colour in (*GROUPS, OUTSIDE)]


def _plot(id_: str, figure: dict[str, Any]) -> Component:
    height = figure["layout"]["height"]
    return dcc.Graph(id=id_, figure=figure, config=STILL_PLOT_CONFIG, style={"height": height})


def _captures(context: Context, recording: Recording) -> list[Component]:
    store = context.store
    opened = store.get(context.state.recording)

    def make() -> tuple[Result, dict[str, Any]]:
        with store.reading:
            found, _ = steps_of(recording)
            result = run_analysis("memory_steps", recording)
        names = [recording.graphs[key].name for key, _ in found]
        return result, steps_figure(names, [made for _, made in found], [key for key, _ in found])

    result, figure = store.remember(
        ("memory steps", opened.id), make, lambda made: 2_000 + 800 * len(made[0].rows)
    )
    if not result.present:
        return _sentence(result_text.summary(result))
    columns = [
        result_view.column_of(column.name, column.unit, f"c{place}")
        for place, column in enumerate(result.columns)
    ]
    return [
        html.P(prose(result_text.summary(result)), className="summary"),
        _legend(figure, STEPS),
        _plot(MemoryPage.CHART, figure),
        result_view.grid(
            MemoryPage.BLOCKS, columns, result_view.rows_of(context, result), result_view.FEW
        ),
        result_view.notes_of(result),
    ]


def _end(context: Context, recording: Recording) -> list[Component]:
    store, process = context.store, 0
    if context.state.graph:
        process = recording.info(context.state.graph).process or 0
    try:
        with store.reading:
            snapshot = recording.snapshot(process)
    except FormatError as error:
        return _sentence(f"It cannot be read: {error}.")
    if snapshot is None:
        return _sentence(NO_END)
    rows = rows_of(snapshot)
    how = "; ".join(snapshot.how)
    return [
        html.P(prose(f"From {how}." if how else ""), className="summary"),
        *_caution(snapshot),
        *_map(snapshot, rows),
        html.H3("Blocks"),
        *blocks_table(context, rows, nodes=False),
        *pools_table(context, store.recording_result(context.state.recording, "pool_owners")),
    ]


def skeleton() -> Component:
    """Return the page with every id and no data."""
    empty: dict[str, Any] = {"data": [], "layout": {"height": 100}}
    return view(
        "",
        [
            *[_plot(id_, empty) for id_ in (*CLICKED, MemoryPage.LIFETIMES)],
            *[result_view.grid(id_, [], []) for id_ in (MemoryPage.BLOCKS, MemoryPage.POOLS)],
        ],
    )


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page: a click on a plot shows the block, or the node."""
    for id_ in CLICKED:
        app.clientside_callback(  # type: ignore[no-untyped-call]
            ClientsideFunction("shell", "memoryClicked"), Input(id_, "clickData")
        )


PAGE = Page(
    name="memory",
    title="Memory",
    order=48,
    description="Pools, blocks, and the nodes that point into them",
    search_hint="Search nodes  /",
    needs_graph=True,
    no_graph=None,
    place=("page", "recording", "graph", "body", "view", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
