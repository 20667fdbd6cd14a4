"""Series of graphs: what varies with the size and how, and what one executable could serve."""

from __future__ import annotations

from pathlib import Path

import pytest

import capture
from capture.compare.series import series
from capture.compare.variations import Variation
from capture.errors import LookupFailed
from capture.model import Graph, GraphInfo, Metadata, Recording
from capture.topology.summary import digest
from capture.updates import Answer, Updates
from graphviz_app.comparing.series_report import sections
from tests.compare.graphs import chain, kernels, launch

ROOT = Path(__file__).resolve().parent.parent.parent


def recording(graphs: dict[int, Graph]) -> Recording:
    infos = [
        GraphInfo(
            key=f"g{number}",
            name="g",
            label=f"batch={number}",
            ordinal=at,
            node_count=len(graph),
            topology=digest(graph),
        )
        for at, (number, graph) in enumerate(graphs.items())
    ]
    loaded = {info.key: graph for info, graph in zip(infos, graphs.values(), strict=True)}
    return Recording(Metadata(), infos, loaded=loaded)


def one(number: int) -> Graph:
    """Return a synthetic graph whose grid grows and whose second kernel switches at 8."""
    return chain(
        [
            launch("a_kernel", grid=number, scalar=3),
            launch("small_gemm" if number < 8 else "big_gemm", grid=4, scalar=100 * number),
            launch("c_kernel", grid=-(-number // 4), scalar=3),
            launch("d_kernel"),
        ]
    )


def by_field(variations: list[Variation]) -> dict[tuple[str, str], Variation]:
    return {(node, item.field): item for item in variations for node in item.nodes}


def test_how_fields_vary_with_the_number() -> None:
    found = series(recording({number: one(number) for number in (16, 8, 4, 2, 1)}))
    (group,) = found.groups
    assert (found.name, group.numbers) == ("batch", [1, 2, 4, 8, 16])
    assert group.same == 1
    fields = by_field(group.variations)
    assert set(fields) == {
        ("0", "grid x"),
        ("1", "kernel"),
        ("1", "argument 1"),
        ("2", "grid x"),
    }
    assert (fields["0", "grid x"].how, fields["0", "grid x"].slope) == ("linear", 1)
    assert (fields["1", "argument 1"].slope, fields["1", "argument 1"].intercept) == (100, 0)
    assert fields["2", "grid x"].slope == 0.25
    assert fields["1", "kernel"].switches == [(1, "small_gemm"), (8, "big_gemm")]
    assert (found.executables, found.needed) == (5, 1)


def test_other_topologies_and_launches_need_other_executables() -> None:
    graphs = {1: kernels("ab"), 2: kernels("ab"), 3: kernels("abc"), 4: kernels("ab")}
    graphs[4] = chain([launch("a_kernel", cooperative=True), launch("b_kernel")])
    graphs[1].payloads[0].cooperative = graphs[2].payloads[0].cooperative = False
    found = series(recording(graphs))
    assert [len(group.keys) for group in found.groups] == [3, 1]
    assert found.groups[0].served == [["g1", "g2"], ["g4"]]
    _, group, single = sections(found, None)
    assert dict(group.facts)["served by"] == "2 executables: batch 1, 2; batch 4"
    assert [row[0] for row in single.tables[0].rows] == ["g3"]
    assert found.needed == 3
    assert any("documentation" in note for note in found.notes)


def test_one_graph_is_no_series() -> None:
    with pytest.raises(LookupFailed, match="two graphs"):
        series(recording({1: one(1)}))


def test_a_real_ladder_of_batch_sizes() -> None:
    found = series(capture.read(ROOT / "tests/data/recordings/batch_ladder.cgl"))
    (group,) = found.groups
    assert (found.name, len(group.keys), group.numbers[-1]) == ("batch", 35, 256)
    hows = {item.how for item in group.variations}
    assert hows >= {"linear", "switches"}
    assert any(item.field == "kernel" and item.how == "switches" for item in group.variations)
    assert found.saved_ns
    assert found.asked is not None
    assert found.asked.taken == found.asked.answers > 100
    assert not any("documentation" in note for note in found.notes)


def answered(predicted: str, result: str) -> Recording:
    """Return a synthetic ladder of two sizes of which the driver was asked."""
    made = recording({1: one(1), 2: one(2)})
    answers = Updates(graph="g1")
    row = Answer("g2", predicted, result, "1", "", 40_000, 3_000)
    answers.put(row, 1)
    return Recording(
        Metadata(),
        list(made.graphs.values()),
        loaded={key: made.graph(key) for key in made.graphs},
        evidence={"updates": {"g1": answers}},
    )


def test_the_drivers_word_counts_more_than_the_prediction() -> None:
    found = series(answered("SUCCESS", "PARAMETERS_CHANGED"))
    assert found.needed == 2
    assert found.asked is not None
    (item,) = found.asked.disagreements
    assert (item.before, item.after, item.result, item.node) == (
        "g1",
        "g2",
        "PARAMETERS_CHANGED",
        "1",
    )
    (named,) = [table for section in sections(found, None) for table in section.tables[:1]][:1]
    assert named.rows == [("g1", "g2", "SUCCESS", "PARAMETERS_CHANGED", "1")]


def test_what_an_update_takes_is_told_beside_instantiate() -> None:
    found = series(answered("SUCCESS", "SUCCESS"))
    assert found.needed == 1
    facts = dict(sections(found, None)[0].facts)
    assert facts["an update takes"] == "3 µs; to instantiate 40 µs (medians)"
    assert "all as predicted" in facts["the driver says"]
