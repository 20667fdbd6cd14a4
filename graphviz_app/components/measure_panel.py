"""The button that measures this session's workload again, its progress, or the command to copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.development.base_component import Component

from capture.errors import GraphLensError

from .. import format as text
from ..context import Context
from ..ids import Shell
from ..measuring import Progress, Step
from ..state import stored
from ..store import Store
from .facts import copy_button
from .shell import SHELL

TICK_MS = 700


@dataclass(frozen=True)
class PanelIds:
    """Ids of one page's panel."""

    start: str
    cancel: str
    progress: str
    tick: str
    done: str


@dataclass(frozen=True)
class Task:
    """What a page would measure.

    Attributes
    ----------
    words : sequence of str
        Command and options of ``cglens``.
    what : str
        For people.
    """

    words: Sequence[str]
    what: str


def panel(
    ids: PanelIds, label: str, command: str, measurer: Any = None, possible: bool = True
) -> Component:
    """Return the panel.

    Parameters
    ----------
    ids : PanelIds
    label : str
        On the button.
    command : str
        What one would type instead.
    measurer : Measurer or None
        Without one there is no button: only this session's own workload is ever run.
    possible : bool
        Whether there is something to measure now.
    """
    now = measurer.progress() if measurer is not None else Progress()
    running = now.step is Step.RUNNING
    return html.Div(
        className="measure",
        children=[
            html.Div(
                className="measure-line",
                children=[
                    html.Button(
                        label,
                        id=ids.start,
                        className="text-button strong",
                        title="Runs this session's workload again and measures it afterwards",
                        n_clicks=0,
                        disabled=running or not possible,
                        hidden=measurer is None,
                    ),
                    html.Button(
                        "Cancel", id=ids.cancel, className="text-button", n_clicks=0,
                        hidden=not running,
                    ),
                    html.Span(
                        "or type" if measurer is not None else "Measure it:", className="absent"
                    ),
                    html.Code(command, className="inline"),
                    copy_button(command),
                ],
            ),
            html.Div(shown(now), id=ids.progress, role="status"),
            dcc.Interval(id=ids.tick, interval=TICK_MS, disabled=not running),
            dcc.Store(id=ids.done),
        ],
    )  # fmt: skip


def shown(now: Progress) -> list[Component]:
    """Return what is going on, or how the last measurement ended."""
    if now.step is Step.IDLE:
        return []
    took = text.duration_text(now.seconds * 1e9)
    if now.step is Step.RUNNING:
        said = f"Measuring {now.what}: {took} so far."
    else:
        said = f"Measured {now.what} in {took}. {now.message}"
        if now.step is not Step.DONE:
            said = f"{now.what} was not measured ({took}). {now.message}"
    parts: list[Component] = [html.P(said, className=f"measure-said {now.step}")]
    if now.lines:
        parts.append(html.Pre("\n".join(now.lines), className="measure-lines"))
    return parts


def register(
    app: Dash, store: Store, ids: PanelIds, task_of: Callable[[Context], Task], prefix: str
) -> None:
    """Add the callbacks of a panel.

    Parameters
    ----------
    app, store
    ids : PanelIds
    task_of : callable
        Returns what the view that is on the screen would measure; raises
        :class:`GraphLensError` when that is nothing.
    prefix : str
    """
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction(SHELL, "measured"), Input(ids.done, "data")
    )

    @app.callback(
        Output(ids.progress, "children"),
        Output(ids.tick, "disabled"),
        Output(ids.start, "disabled"),
        Output(ids.cancel, "hidden"),
        Output(ids.done, "data"),
        Input(ids.start, "n_clicks"),
        Input(ids.cancel, "n_clicks"),
        Input(ids.tick, "n_intervals"),
        State(Shell.PLACE, "data"),
        State(Shell.CONTEXT, "data"),
        prevent_initial_call=True,
    )
    def measure(
        starts: int | None, cancels: int | None, ticks: int | None, place: Any, context: Any
    ) -> Any:
        measurer = store.measurer
        if measurer is None:
            return [], True, True, True, no_update
        if ctx.triggered_id == ids.start and starts:
            try:
                view = Context(store, stored(place, context), prefix)
                task = task_of(view)
                measurer.start(task.words, task.what, view.state.graph)
            except GraphLensError as error:
                said = html.P(f"{error}", className=f"measure-said {Step.FAILED}")
                running = measurer.progress().step is Step.RUNNING
                return [said], not running, running, not running, no_update
        elif ctx.triggered_id == ids.cancel and cancels:
            measurer.cancel()
        now = measurer.progress()
        running = now.step is Step.RUNNING
        done: Any = no_update
        if now.step is Step.DONE and ctx.triggered_id == ids.tick:
            done = {"recording": now.recording, "graph": now.graph, "number": now.number}
        return shown(now), not running, running, not running, done
