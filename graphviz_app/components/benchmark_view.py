"""A benchmark of one graph as components: its numbers, samples, split and surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from capture.benchmarks import Benchmark

from .. import benchmark_facts, disturbances
from .. import format as text
from ..distributions import Distribution, median_of
from ..facts import Fact
from ..figures import benchmarks as figures
from ..figures.conditions import conditions_figure
from ..ids import BenchmarksPage
from .plots import PLOT_CONFIG
from .prose import prose

STILL: Any = PLOT_CONFIG | {"scrollZoom": False}
"""Plots that a page scrolls past."""
SAMPLES_NOTE = (
    "Points are samples, the box reaches from quartile to quartile. Orange is time of the CPU, "
    "blue of the GPU. Each row has a scale of its own."
)


def notes(told: Sequence[str]) -> list[Any]:
    """Return what a reader has to know of the figures."""
    if not told:
        return []
    return [
        html.H2("To be read with"),
        html.Ul([html.Li(prose(note)) for note in told], className="notes"),
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
            facts.append(
                Fact(words, text.duration_text(middle), text.exact_duration_text(middle), how)
            )
    compared = benchmark_facts.compare(found)
    if compared is not None and compared.cpu_removed is not None and compared.cpu_removed > 0:
        share = text.share_text(compared.cpu_removed, 1)
        facts.append(Fact("CPU time removed", share, "", "launch of the graph for the eager call"))
    paid = benchmark_facts.payback(found)
    if paid.replays is not None:
        facts.append(Fact("paid after", text.counted(paid.replays, "replay"), "", paid.sentence))
    if found.executable_bytes:
        size = text.bytes_text(found.executable_bytes)
        facts.append(
            Fact("executable", size, text.exact_bytes_text(found.executable_bytes), "on the device")
        )
    if found.saved_bytes:
        size = text.bytes_text(found.saved_bytes)
        why = "memory that replays may write, saved before and restored after"
        facts.append(Fact("memory saved", size, text.exact_bytes_text(found.saved_bytes), why))
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
                        config=STILL,
                        style={"height": figure["layout"]["height"]},
                    ),
                ],
                className="strip-row",
            )
        )
    return html.Div([header, *rows], className="strip-rows")


def _number(value_ns: float | None, hint: str = "") -> Component:
    exact = hint or (text.exact_duration_text(value_ns) if value_ns is not None else None)
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
                config=STILL,
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
        figure = conditions_figure(conditions)
        if figure["data"]:
            parts.append(
                dcc.Graph(
                    id=BenchmarksPage.STATE,
                    figure=figure,
                    config=STILL,
                    style={"height": figure["layout"]["height"]},
                )
            )
    return parts
