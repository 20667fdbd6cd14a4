"""Pages of benchmarks and what-if over synthetic benchmarks: what they say, and their plots."""

from __future__ import annotations

import json
from typing import Any

import dash
import pytest

from capture.benchmarks import Benchmark, Conditions, Removal
from capture.errors import FormatError
from graphviz_app import benchmark_facts, disturbances, gain_facts, measurements, node_costs
from graphviz_app.app import create_app
from graphviz_app.benchmark_facts import compare, payback
from graphviz_app.components import shell
from graphviz_app.distributions import Distribution
from graphviz_app.figures import benchmarks as figures
from graphviz_app.figures import curve
from graphviz_app.figures.axes import log_time
from graphviz_app.figures.conditions import conditions_figure
from graphviz_app.figures.gains import gains_figure
from graphviz_app.ids import Shell
from graphviz_app.store import Store
from tests.helpers import synthetic, synthetic_benchmarks

from .test_app import details_at, page_at

FULL = "recording=full&graph=train.py:layers%230"
LAYERS = "train.py:layers#0"


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(
        [
            ("full.cgl", synthetic_benchmarks.with_everything()),
            ("ladder.cgl", synthetic_benchmarks.ladder()),
            ("bare.cgl", synthetic.typical()),
        ]
    )


@pytest.fixture(scope="module")
def app(store: Store) -> dash.Dash:
    return create_app(store)


def shown(app: dash.Dash, page: str, query: str) -> str:
    return json.dumps(page_at(app, f"/{page}", f"?{query}")[Shell.CONTENT]["children"])


def test_a_benchmark_is_on_its_page(app: dash.Dash) -> None:
    content = shown(app, "benchmarks", FULL)
    for words in (
        "replay, cold L2",
        "first launch",
        "eager call returns",
        "the graph removes 99.5 % of it",
        "paid for itself after 7 replays",
        "SM clock was steady",
        "Synthetic: these numbers were never measured.",
        "Isolated: the node",
        "cglens bench --graph",
    ):
        assert words in content, words


def test_a_refusal_is_said_in_plain_words(app: dash.Dash) -> None:
    content = shown(app, "benchmarks", "recording=full&graph=train.py:refused%231")
    assert f"was not replayed: {synthetic_benchmarks.REFUSAL}" in content
    assert "Every sample" not in content


@pytest.mark.parametrize("recording", ["bare", "full"])
def test_without_a_benchmark_the_page_says_why_and_what_to_run(
    app: dash.Dash, store: Store, recording: str
) -> None:
    key = list(store.get(recording).recording.graphs)[2]
    content = shown(app, "benchmarks", f"recording={recording}&graph={key.replace('#', '%23')}")
    assert "No benchmark: " in content
    assert "Here would stand" in content
    assert "data-copy" in content
    assert ("2 other graphs of this recording" in content) == (recording == "full")


def test_graphs_of_a_recording_are_a_curve_by_their_label(app: dash.Dash, store: Store) -> None:
    content = shown(app, "benchmarks", "recording=ladder&view=all")
    assert "Medians over graphs" in content
    assert "batch_size=256" in content
    rows = measurements.curve_of(store, "ladder")
    figure = curve.curve_figure([row.point for row in rows][::-1])
    warm = next(trace for trace in figure["data"] if trace["name"] == "replay, warm L2")
    assert warm["x"] == [2.0**power for power in range(9)]
    assert warm["y"] == sorted(warm["y"])
    assert figure["layout"]["xaxis"]["title"]["text"] == "batch_size"


def test_graphs_without_numbers_in_their_labels_stand_in_order() -> None:
    points = [
        curve.CurvePoint("a", "", {"replay_ns": 5.0}),
        curve.CurvePoint("b", "", {"replay_ns": 9.0, "launch_cpu_ns": 1.0}),
    ]
    figure = curve.curve_figure(points)
    launch = next(trace for trace in figure["data"] if trace["name"] == "launch")
    assert launch["x"] == [1, 2]
    assert launch["y"] == [None, 1.0]


def test_labels_that_differ_in_one_number_are_counted() -> None:
    assert curve.numbers_in(["n=1", "n=2.5"]) == ("n", [1.0, 2.5])
    assert curve.numbers_in(["n=1", "m=2"]) is None
    assert curve.numbers_in(["n=1", "n=1"]) is None
    assert curve.numbers_in(["", "n=1"]) is None


def test_every_sample_is_a_point_until_there_are_too_many() -> None:
    few = figures.samples_figure(Distribution("replay", (3_000, 1_000, 2_000), "GPU"))["data"][0]
    assert few["x"] == [[3.0, 1.0, 2.0]]
    assert (few["q1"], few["median"], few["q3"]) == ([1.5], [2.0], [2.5])
    assert few["boxpoints"] == "all"
    many = figures.samples_figure(Distribution("replay", tuple(range(10_000))))["data"][0]
    assert len(many["x"][0]) <= figures.MOST_POINTS


def test_the_split_adds_up_to_the_call() -> None:
    found = compare(synthetic_benchmarks.benchmark("a"))
    assert found is not None
    figure = figures.split_figure(found)
    eager = [trace for trace in figure["data"] if trace["y"] == ["eager call"]]
    assert [trace["name"] for trace in eager] == ["python", "dispatch", "runtime", "driver"]
    assert sum(trace["x"][0] for trace in eager) == pytest.approx((found.eager_cpu_ns or 0) / 1e6)


def test_without_a_split_the_call_is_one_bar() -> None:
    made = synthetic_benchmarks.benchmark("a")
    assert made.eager is not None
    made.eager.share = {}
    made.eager.reason = "synthetic: the profiler was taken"
    found = compare(made)
    assert found is not None
    assert [trace["name"] for trace in figures.split_figure(found)["data"]] == ["unsplit", "launch"]
    said = " ".join(benchmark_facts.comparison_sentences(made))
    assert "not split: synthetic: the profiler was taken." in said


def test_no_eager_calls_have_their_reason() -> None:
    made = synthetic_benchmarks.benchmark("a", eager=False)
    assert compare(made) is None
    (said,) = benchmark_facts.comparison_sentences(made)
    assert "synthetic: the script captured this graph itself" in said
    assert payback(made).replays is None


def test_a_gain_within_the_noise_never_pays() -> None:
    made = synthetic_benchmarks.benchmark("a")
    assert made.eager is not None
    made.eager.call_ns = [
        launch + replay for launch, replay in zip(made.launch_cpu_ns, made.replay_ns, strict=True)
    ]
    said = " ".join(benchmark_facts.comparison_sentences(made))
    assert "no difference beyond twice the spread" in said
    assert payback(made).replays is None
    assert "within twice the spread" in payback(made).sentence
    made.eager.call_ns = [1_000, 1_000]
    assert "makes no call faster" in payback(made).sentence


def test_what_disturbed_a_run_is_said() -> None:
    said = " ".join(disturbances.disturbances(synthetic_benchmarks.conditions(steady=False)))
    assert "moved between 1,395 MHz and 1,980 MHz" in said
    assert "held down: sw_power_cap" in said
    assert "python (pid 77, 3 GiB)" in said
    assert "not watched" in disturbances.disturbances(None)[0]
    assert "no NVML" in disturbances.disturbances(Conditions(reason="no NVML"))[0]
    assert disturbances.disturbances(Conditions()) == ["NVML gave no values while it was measured."]


def test_values_that_nvml_did_not_give_leave_gaps() -> None:
    conditions = Conditions(at_ns=[0, 1, 2], sm_clock_mhz=[1980, -1, 1980], power_mw=[-1, -1, -1])
    (clock,) = conditions_figure(conditions)["data"]
    assert clock["y"] == [1980, None, 1980]


def test_logarithmic_axes_write_units() -> None:
    axis = log_time([8_000, 60_000_000])
    assert axis["ticktext"][0] == "10 µs"
    assert len(axis["tickvals"]) >= 4
    assert log_time([])["tickvals"]


def test_what_if_without_a_selection_says_how(app: dash.Dash) -> None:
    content = shown(app, "whatif", FULL)
    assert "Choose nodes" in content
    assert "--free SELECTION" in content
    assert "all memcpy" in content
    assert "Each node alone, predicted" in content


def test_a_selection_has_its_predicted_and_its_measured_gain(app: dash.Dash) -> None:
    content = shown(app, "whatif", f"{FULL}&view=type:memcpy")
    assert "3.44 \\u00b5s (0.37 %)" in content
    assert "30.3 \\u00b5s \\u00b1 741 ns (7.57 %)" in content
    assert "free%3Atype%3Amemcpy" in content or "free:type:memcpy" in content
    assert "cglens whatif --free type:memcpy --graph" in content
    assert "synthetic: nothing would be left" in content


def test_each_node_can_be_measured(app: dash.Dash) -> None:
    content = shown(app, "whatif", f"{FULL}&view=each%3E1%25")
    assert "Every node above 1 % of the makespan" in content
    assert "which are 24 nodes here" in content
    assert "cglens whatif --each --graph" in content


def test_a_selection_of_nothing_says_what_there_is(app: dash.Dash) -> None:
    content = shown(app, "whatif", f"{FULL}&view=family:nope")
    assert "No kernel is of family 'nope'" in content
    assert "most frequent families" in content


def test_what_if_works_without_timings(app: dash.Dash) -> None:
    content = shown(app, "whatif", "recording=bare&graph=train.py:chain%232&view=node:3")
    assert "No timings" in content
    assert "predicted gain" not in content
    assert "not measured here" in content


def test_selected_nodes_are_found_in_the_graph(store: Store) -> None:
    found = store.find("full", LAYERS, "", "free:type:memset+node:3")
    assert found == [0, 3]


def test_the_plot_of_gains_shows_noise_and_predictions() -> None:
    gains = [
        gain_facts.measured(synthetic_benchmarks.removal("type:<b>", [1, 2], 30_000)),
        gain_facts.Gain("node:1", 1, predicted_ns=5_000, measured_ns=100, spread_ns=900),
        gain_facts.Gain("node:9", 1, reason="refused"),
    ]
    bars, marks = gains_figure(gains)["data"]
    assert len(bars["x"]) == 2
    assert bars["marker"]["opacity"] == [0.9, 0.45]
    assert marks["y"] == [1]
    assert "&lt;b&gt;" in bars["hovertext"][0]


def test_errors_are_relative_and_silent_within_the_noise() -> None:
    gain = gain_facts.Gain("a", 1, predicted_ns=1_200, measured_ns=1_000, spread_ns=100)
    assert gain.error == pytest.approx(0.2)
    assert gain_facts.error_text(gain) == "+20 %"
    noise = gain_facts.Gain("a", 1, predicted_ns=1_200, measured_ns=100, spread_ns=100)
    assert noise.error is None
    assert gain_facts.error_text(noise) == "noise"
    assert gain_facts.error_text(gain_facts.Gain("a", 1)) == "\N{EN DASH}"


def test_nodes_in_bodies_are_measured_but_not_predicted(store: Store) -> None:
    subject = store.subject("full", LAYERS)
    removal = Removal(asked="node:1", nodes=["1/0/2"], with_ns=[9, 9], without_ns=[5, 5])
    gain = gain_facts.measured(removal, subject)
    assert (gain.measured_ns, gain.predicted_ns) == (4, None)


def test_costs_without_a_tracer_stand_in_the_panel(app: dash.Dash) -> None:
    focus = {"page": "graph", "recording": "full", "graph": LAYERS, "body": ""}
    panel = details_at(app, **focus, node=1)
    assert "Without a tracer" in panel
    assert "3.1 \\u00b5s" in panel
    assert "if this node took no time" in panel
    assert "300 ns, noise" in details_at(app, **focus, node=2)
    assert "synthetic: it writes what another node reads." in details_at(app, **focus, node=3)
    assert "Without a tracer" not in details_at(app, **focus, node=4)


def test_a_negative_marginal_cost_is_a_value() -> None:
    costs = synthetic_benchmarks.with_everything().benchmark(LAYERS)
    assert costs is not None
    assert costs.nodes is not None
    costs.nodes.marginal_ns[0] = -700
    assert node_costs.node_cost(costs.nodes, 0) == (3_100, -700)
    assert node_costs.node_cost(costs.nodes, 2) == (None, None)


def test_a_benchmark_of_removals_alone_leads_to_what_if() -> None:
    made = synthetic.recording({"layers": synthetic.layers(2)}, failed=False)
    only = Benchmark(graph=LAYERS, removals=[synthetic_benchmarks.removal("node:1", [1], 900)])
    app = create_app(Store([("r.cgl", synthetic_benchmarks.filled(made, {LAYERS: only}))]))
    content = shown(app, "benchmarks", "graph=train.py:layers%230")
    assert "Only replays without some nodes" in content
    assert "/whatif?" in content


def test_recordings_of_one_title_are_told_apart() -> None:
    made = synthetic.recording({"layers": synthetic.layers(1)}, failed=False)
    store = Store([("a.cgl", made), ("b.cgl", made)])
    labels = [option["label"] for option in shell.recording_choice(store)[0]]
    assert labels == ["synthetic run · a", "synthetic run · b"]


def test_damaged_benchmarks_leave_predictions_to_look_at() -> None:
    made = synthetic.recording({"layers": synthetic.layers(8)}, failed=False, timed=["layers"])

    def broken() -> Benchmark:
        raise FormatError("synthetic damage")

    made._evidence["benchmarks"][LAYERS] = broken
    app = create_app(Store([("r.cgl", made)]))
    query = "graph=train.py:layers%230&view=type:kernel"
    content = shown(app, "whatif", query)
    assert "What was measured cannot be read: synthetic damage." in content
    assert "predicted gain" in content
    assert "Synthetic damage." in shown(app, "benchmarks", "graph=train.py:layers%230")
    assert "synthetic damage" not in shown(app, "timeline", "graph=train.py:layers%230")


def test_what_a_foreign_file_calls_its_command_is_not_taken_for_one() -> None:
    made: Any = synthetic.typical()
    made.metadata.command = ["python", "train.py"]
    assert benchmark_facts.command(made).endswith("SCRIPT")
    made.metadata.command = ["train.py", "--a b"]
    assert benchmark_facts.command(made) == "cglens bench train.py '--a b'"


def test_thousands_of_graphs_stay_one_page(app: dash.Dash) -> None:
    made = synthetic_benchmarks.filled(
        synthetic.recording({f"s{i}": synthetic.chain(1) for i in range(3_000)}, failed=False),
        {f"train.py:s{i}#{i}": Benchmark(graph="", replay_ns=[1_000 + i]) for i in range(3_000)},
    )
    big = create_app(Store([("big.cgl", made)]))
    content = shown(big, "benchmarks", "recording=big&view=all")
    assert "All graphs (3,000)" in content
    assert len(content) < 4_000_000


def test_what_holds_of_every_graph_is_said_beside_the_curve() -> None:
    """Synthetic: two graphs with one note in common."""
    rows = [
        measurements.CurveRow(key, key, "", Benchmark(graph=key, notes=["it is cold", key]))
        for key in ("a", "b")
    ]
    rows.append(measurements.CurveRow("c", "c", "", Benchmark(graph="c", refused="no nodes")))
    assert measurements.common_notes(rows) == ["It is cold."]
    assert measurements.common_notes([]) == []
