"""The page of what some nodes would gain if they took no time: predicted, and measured."""

from __future__ import annotations

import shlex
from typing import Any

from dash import Dash, html
from dash.development.base_component import Component

from capture.analysis import Result, Subject
from capture.errors import FormatError, GraphLensError, LookupFailed
from capture.measure_request import EACH
from capture.selection import select

from .. import benchmark_facts, gain_facts, measurements, result_text, timing_facts
from .. import format as text
from ..components import measure_panel, result_view
from ..components.executables import picker
from ..components.facts import fact_head
from ..components.gains_table import MEASURED_NOTE, PREDICTED_NOTE, measured_gains
from ..components.links import go_link
from ..components.measure_panel import PanelIds, Task
from ..components.prose import prose
from ..components.selection_controls import controls, selection_box
from ..facts import Fact
from ..gain_facts import Gain
from ..ids import WhatIfPage
from ..store import Store
from . import Context, Page

IDS = PanelIds(
    WhatIfPage.START,
    WhatIfPage.CANCEL,
    WhatIfPage.PROGRESS,
    WhatIfPage.TICK,
    WhatIfPage.DONE,
)
HOW = (
    "Choose nodes, and see what the replay would gain if they took no time: one node from the "
    "details panel, all of a type, a family of kernels, or a selection that you type."
)


def layout(context: Context) -> Component:
    """Return the page of the graph and the selection that a view names.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    state, store = context.state, context.store
    store.info(state.recording, state.graph)
    subject = store.subject(state.recording, state.graph, "", state.executable)
    asked = state.view.strip()
    place = (state.recording, state.graph)
    gain: Gain | None = None
    problem = ""
    gains: list[Gain] = []
    try:
        gains = measurements.gains_of(store, *place, subject, state.executable)
    except FormatError as error:  # predictions do not need them
        problem = f"what was measured cannot be read: {error}"
    if asked and asked != EACH:
        try:
            gain = measurements.prediction(store, *place, subject, asked, state.executable)
        except LookupFailed as error:
            problem = str(error)
    return view(
        asked,
        [*controls(subject, asked), *picker(context)],
        answer(context, subject, gain, gains, problem),
        panel(context, asked if gain is not None or asked == EACH else ""),
        measured_gains(context, gains),
        alone(context, subject),
    )


def view(
    asked: str,
    chosen: list[Component],
    said: list[Any],
    measure: Component,
    measured: list[Any],
    each: list[Any],
) -> Component:
    """Return the page around its parts."""
    return html.Div(
        className="whatif-page",
        children=[
            html.Div([html.H2("What if"), *chosen], className="toolbar whatif-toolbar"),
            html.Div(said, className="whatif-answer"),
            measure,
            html.Section(measured, className="whatif-measured", hidden=not measured),
            html.Section(each, className="whatif-each"),
        ],
    )


def answer(
    context: Context, subject: Subject, gain: Gain | None, gains: list[Gain], problem: str
) -> list[Any]:
    """Return what the selection that was asked for gains."""
    untimed = [] if subject.is_timed else [html.P(prose(timing_facts.absent_text(subject)))]
    if problem:
        sentence = f"{problem[:1].upper()}{problem[1:].rstrip('.')}."
        untimed.insert(0, html.P(prose(sentence), className="summary"))
        if gain is None:
            return untimed
    if context.state.view.strip() == EACH:
        least = (subject.makespan_ns or 0) / 100
        many = sum((duration or 0) > least for duration in subject.durations)
        count = f", which are {text.counted(many, 'node')} here" if subject.is_timed else ""
        said = f"Every node above 1 % of the makespan is measured, one after another{count}."
        return [html.P(said, className="summary"), *untimed]
    if gain is None:
        return [html.P(HOW, className="summary"), *untimed]
    facts = [fact_head(fact) for fact in head(subject, gain, gains)]
    marked = {"page": "graph", "view": "", "node": None, "body": "", "search": f"free:{gain.asked}"}
    nodes = go_link(context, "show them in the graph", marked)
    parts: list[Any] = [html.Dl(facts, className="head-facts bare")]
    return [*parts, html.P([f"{text.counted(gain.nodes, 'node')}: ", nodes, "."]), *untimed]


def head(subject: Subject, gain: Gain, gains: list[Gain]) -> list[Fact]:
    """Return the gain that is predicted, and the latest that was measured of the same nodes."""
    facts = [Fact("free", f"{gain.asked}  {gain.name}".strip(), "", "the selection")]
    if gain.predicted_ns is not None:
        whole = subject.makespan_ns
        share = f" ({text.share_text(gain.predicted_ns, whole)})" if whole else ""
        shown = text.duration_text(gain.predicted_ns) + share
        facts.append(
            Fact(
                "predicted gain", shown, text.exact_duration_text(gain.predicted_ns), PREDICTED_NOTE
            )
        )
    same = [item for item in gains if item.asked == gain.asked and item.measured_ns is not None]
    if same:
        found = same[0]
        share = "" if found.share is None else f" ({text.share_text(found.share, 1)})"
        exact = f"{found.measured_ns:,.0f} ns of {found.baseline_ns:,.0f} ns"
        shown = f"{gain_facts.gain_text(found)}{share}"
        facts.append(Fact("measured gain", shown, exact, MEASURED_NOTE))
        if found.predicted_ns is not None:
            error = gain_facts.error_text(found)
            facts.append(Fact("prediction is off by", error, "", "predicted over measured"))
    else:
        facts.append(Fact("measured gain", "not measured here"))
    return facts


def panel(context: Context, asked: str) -> Component:
    """Return the button that measures a selection, or the command that does."""
    store = context.store
    recording = store.get(context.state.recording).recording
    selection = ["--each"] if asked == EACH else ["--free", asked or "SELECTION"]
    options = [*selection, "--graph", context.state.graph]
    command = benchmark_facts.command(recording, "cglens whatif", options)
    if store.measurer is not None:
        command = shlex.join(["cglens", "whatif", *options, *store.measurer.workload.words])
    return measure_panel.panel(IDS, "Measure it", command, store.measurer, bool(asked))


def alone(context: Context, subject: Subject) -> list[Any]:
    """Return what each node alone is predicted to gain; a click on one asks what if."""
    state, store = context.state, context.store
    if not subject.is_timed or subject.timings is None:
        return []
    result: Result = store.result(state.recording, state.graph, "", "what_if", state.executable)
    parts: list[Any] = [
        html.H2("Each node alone, predicted"),
        html.P(prose(result_text.summary(result)), className="summary"),
    ]
    if not result.rows:
        return parts
    columns = [
        result_view.column_of(column.name, column.unit, f"c{place}")
        for place, column in enumerate(result.columns)
    ]
    rows = result_view.rows_of(context, result)
    if len(columns) > 1:
        columns[1] |= {"cellRenderer": "NodeLink"}
    for row in rows:
        path = str(row["c0"])
        ask = {"view": f"node:{path}", "node": int(path), "body": ""}
        row["links"]["c1"] = result_view.link_to(context, ask)
    parts.append(result_view.grid(WhatIfPage.EACH, columns, rows, few=14))
    parts.append(result_view.notes_of(result))
    return parts


def task_of(context: Context) -> Task:
    """Return what the button measures: the selection that is on the screen.

    Raises
    ------
    GraphLensError
        It chooses no nodes of the graph.
    """
    state = context.state
    asked = state.view.strip()
    if not asked:
        raise GraphLensError("choose nodes first")
    info = context.store.info(state.recording, state.graph)
    if asked == EACH:
        return Task(["whatif", "--each"], f"every node above 1 % of {info.name}")
    select(context.store.graph(state.recording, state.graph), asked)
    return Task(["whatif", f"--free={asked}"], f"{asked} of {info.name}")


def skeleton() -> Component:
    """Return the page with every id that is always there."""
    empty: list[Component] = [selection_box("")]
    return view("", empty, [], measure_panel.panel(IDS, "", ""), [], [])


def register(app: Dash, store: Store, prefix: str) -> None:
    """Add the callbacks of the page."""
    measure_panel.register(app, store, IDS, task_of, prefix)


PAGE = Page(
    name="whatif",
    title="What if",
    order=55,
    description="What the replay would gain if some nodes took no time",
    search_hint="Search nodes  /",
    needs_graph=True,
    place=("page", "recording", "graph", "view", "executable"),
    layout=layout,
    skeleton=skeleton,
    register=register,
)
