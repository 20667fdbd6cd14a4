"""Whatever a file holds as a benchmark, pages and the terminal show it or say why not."""

from __future__ import annotations

import io
import json
from functools import cache

from hypothesis import HealthCheck, given, settings
from rich.console import Console

from capture.benchmarks import Benchmark
from capture.model import GraphInfo
from graphviz_app import benchmark_facts, disturbances, gain_facts
from graphviz_app.commands._benchmarks import show_benchmark, show_curve, show_gains
from graphviz_app.components.benchmark_view import eager_parts, head, state_parts, strips
from graphviz_app.context import Context
from graphviz_app.figures import curve
from graphviz_app.figures.gains import gains_figure
from graphviz_app.pages.benchmarks import node_parts
from graphviz_app.state import ViewState
from graphviz_app.store import Store
from tests.helpers import synthetic
from tests.helpers.recordings import structs

MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
KEY = "train.py:layers#0"


@cache
def store() -> Store:
    return Store([("run.cgl", synthetic.typical())])


@given(structs(Benchmark))
@MANY
def test_the_page_shows_any_benchmark(found: Benchmark) -> None:
    context = Context(store(), ViewState("benchmarks", "run", KEY))
    head(found)
    eager_parts(found)
    state_parts(found)
    benchmark_facts.notes(found)
    items = benchmark_facts.distributions(found)
    if found.eager is not None:
        items += benchmark_facts.eager_distributions(found.eager)
    strips(items)
    if found.nodes is not None:
        node_parts(context, found.nodes)
    json.dumps(curve.curve_figure([curve.point_of("a", "n=1", found)]))
    disturbances.disturbances(found.conditions)


@given(structs(Benchmark))
@MANY
def test_the_terminal_shows_any_benchmark(found: Benchmark) -> None:
    out = Console(file=io.StringIO(), width=120)
    info = GraphInfo(key=KEY, name="layers")
    show_benchmark(out, info, found)
    show_curve(out, [(info, found)])
    gains = gain_facts.gains(found, store().subject("run", KEY))
    show_gains(out, gains)
    json.dumps(gains_figure(gains))
