"""Recordings graph by graph: which graph is which, real recordings, evidence on one side only."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import capture
from capture.analysis.labels import label_of
from capture.compare import compare_graphs, pair_graphs, subject_of
from capture.errors import LookupFailed
from capture.model import Graph, GraphInfo, Metadata, Recording, Topology
from tests.compare.graphs import kernels

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDINGS = sorted(
    [*ROOT.glob("tests/data/recordings/*.cgl"), *ROOT.glob("graphviz_app/samples/*.cgl")]
)
AGAIN = sorted(ROOT.glob("tests/data/recordings_again/*.cgl"))
BATCHES = ROOT / "graphviz_app/samples/batch_sizes.cgl"


def info(key: str, label: str = "", topology: str = "") -> GraphInfo:
    return GraphInfo(key=key, name=key, label=label, topology=topology)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_against_itself_differs_in_nothing(path: Path) -> None:
    found = capture.compare(path, path)
    assert found.same
    assert not any(item.differs for pair in found.pairs for item in pair.diff.measures)


TUNED = {
    "grid",
    "block",
    "registers",
    "dynamic_shared_bytes",
    "static_shared_bytes",
    "max_threads_per_block",
}


def test_two_runs_of_one_compiled_model_differ_at_most_in_what_was_tuned() -> None:
    # The same model, recorded in two processes, each of which tuned its Triton kernels.
    found = capture.compare(
        ROOT / "graphviz_app/samples/compiled.cgl",
        ROOT / "tests/data/recordings/encoder_compiled.cgl",
    )
    assert [pair.paired_by for pair in found.pairs] == ["topology and label"] * 2 + ["key"]
    for pair in found.pairs:
        counts = pair.diff.counts
        assert (counts.added, counts.removed, counts.moved) == (0, 0, 0)
        assert not pair.diff.edges
        for change in pair.diff.changes:
            assert change.name_before.startswith("triton")
            assert {item.field for item in change.fields} <= TUNED
        assert pair.diff.only_variants == bool(pair.diff.changes)
        if counts.matched:
            assert any("distinct addresses" in note for note in pair.diff.notes)


@pytest.mark.parametrize("path", AGAIN, ids=lambda path: path.stem)
def test_a_second_recording_of_a_script_differs_in_nothing(path: Path) -> None:
    # In other processes: other addresses, other bytes in structures that nobody wrote.
    found = capture.compare(ROOT / "tests/data/recordings" / path.name, path)
    assert found.same
    assert all(pair.paired_by == "key" for pair in found.pairs)


def test_there_are_second_recordings() -> None:
    assert len(AGAIN) >= 9


def test_two_batch_sizes_are_paired_node_by_node() -> None:
    recording = capture.read(BATCHES)
    one, *_, other = recording.graphs
    found = capture.compare(subject_of(recording, one), subject_of(recording, other))
    counts = found.counts
    assert (counts.added, counts.removed, counts.matched) == (0, 0, counts.nodes_before)
    grids = {item.field for change in found.changes for item in change.fields}
    assert {"grid", "kernel"} <= grids
    assert all(change.related for change in found.changes if change.swapped)
    assert {item.name for item in found.measures} >= {"replay, traced", "critical path"}
    costs = [abs(change.cost_ns or 0) for change in found.changes]
    assert costs == sorted(costs, reverse=True)


def test_graphs_are_paired_by_key_then_topology_and_label() -> None:
    pairs, removed, added = pair_graphs(
        [info("a", "x", "t1"), info("b", "y", "t1"), info("c", "", "t2"), info("d", "z", "t3")],
        [info("a", "q", "t9"), info("m", "", "t2"), info("n", "y", "t1"), info("o", "", "t8")],
    )
    assert [(one.key, other.key, words) for one, other, words in pairs] == [
        ("a", "a", "key"),
        ("b", "n", "topology and label"),
        ("c", "m", "topology and label"),
    ]
    assert [item.key for item in removed] == ["d"]
    assert [item.key for item in added] == ["o"]


def test_a_capture_more_at_the_start_does_not_shift_all_pairs() -> None:
    pairs, removed, added = pair_graphs(
        [info("f#0", topology="t1"), info("f#1", topology="t2")],
        [info("f#0", topology="t0"), info("f#1", topology="t1"), info("f#2", topology="t2")],
    )
    assert [(one.key, other.key) for one, other, _ in pairs] == [("f#0", "f#1"), ("f#1", "f#2")]
    assert (removed, [item.key for item in added]) == ([], ["f#0"])


def test_two_recordings_of_one_graph_each_are_paired() -> None:
    pairs, _, _ = pair_graphs([info("a", topology="t")], [info("b", topology="u")])
    assert pairs[0][2] == "the only graph"


def recording(*letters: str) -> Recording:
    graphs = {f"g{at}": kernels(text) for at, text in enumerate(letters)}
    infos = [GraphInfo(key=key, name=key, node_count=len(graph)) for key, graph in graphs.items()]
    return Recording(Metadata(), infos, loaded=graphs)


def test_a_graph_without_a_counterpart_is_an_error_that_names_what_there_is() -> None:
    from capture.compare import compare_recordings

    with pytest.raises(LookupFailed, match="g0"):
        compare_recordings(recording("abc", "def"), recording("abc"), key="g1")


def test_an_empty_recording_is_said() -> None:
    found = capture.compare(recording("abc"), recording())
    assert [item.key for item in found.removed] == ["g0"]
    assert not found.same
    assert any("no graphs" in note for note in found.notes)


def test_timings_on_one_side_only_compare_nothing() -> None:
    timed = capture.read(BATCHES)
    key = next(iter(timed.graphs))
    found = capture.compare(subject_of(timed, key), timed.graph(key))
    assert found.same
    assert found.measures == []


def test_a_graph_and_a_recording_cannot_be_compared() -> None:
    with pytest.raises(LookupFailed, match=r"recording\.graph"):
        capture.compare(kernels("a"), recording("a"))  # type: ignore[call-overload]


def test_the_package_is_the_function_however_it_was_imported() -> None:
    import subprocess
    import sys

    code = "import capture.compare.diff, capture; assert callable(capture.compare)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


def test_a_layer_inserted_in_a_real_model_marks_only_itself() -> None:
    # The first decoder layer of a real graph, once more after itself; made up from what was read.
    read = capture.read(ROOT / "tests/data/recordings/llama_decode.cgl")
    before = read.graph(next(iter(read.graphs)))
    names = [label_of(before, position) for position in range(len(before))]
    period = next(
        length
        for length in range(20, 120)
        if names[100 : 100 + length] == names[100 + length : 100 + 2 * length]
    )
    twice = [*before.payloads[: 100 + period], *before.payloads[100:]]
    count = len(twice)
    after = Graph(
        topology=Topology(
            types=[*before.topology.types[: 100 + period], *before.topology.types[100:]],
            source=list(range(count - 1)),
            target=list(range(1, count)),
        ),
        payloads=twice,
    )
    counts = capture.compare(before, after).counts
    assert (counts.added, counts.removed, counts.moved) == (period, 0, 0)
    assert counts.changed == 0


def test_many_pairs_hold_no_graphs_and_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from capture.compare import recordings
    from graphviz_app.commands.compare import rendered

    one, other = recording("abcd", "abc"), recording("abxd", "abc")
    kept = capture.compare(one, other)
    monkeypatch.setattr(recordings, "MOST_KEPT", 1)
    light = capture.compare(one, other)
    assert all(pair.diff.levels for pair in kept.pairs)
    assert not any(pair.diff.levels or len(pair.diff.before.graph) for pair in light.pairs)
    for form in ("text", "json"):
        assert rendered(light, form, "t", None) == rendered(kept, form, "t", None)


def test_other_kernels_of_the_same_operators_are_told_as_variants() -> None:
    recording = capture.read(ROOT / "tests/data/recordings/convnet_train.cgl")
    (key,) = recording.graphs
    before, after = subject_of(recording, key), subject_of(recording, key)
    payloads = list(before.graph.payloads)
    assert before.origins is not None
    at = next(
        at for at, payload in enumerate(payloads) if getattr(payload, "kernel", None) is not None
    )
    kernel = msgspec.structs.replace(payloads[at].kernel, name="triton_tem_fused_other_7")
    payloads[at] = msgspec.structs.replace(payloads[at], kernel=kernel)
    after.graph = Graph(topology=before.graph.topology, payloads=payloads)
    diff = compare_graphs(before, after)
    assert not diff.same
    assert diff.only_variants
    assert "same operator" in diff.notes[0]
    payloads[at + 1] = msgspec.structs.replace(payloads[at + 1], grid=(77, 1, 1))
    assert not compare_graphs(before, after).only_variants


def test_another_configuration_of_a_triton_kernel_is_told_as_a_variant() -> None:
    recording = capture.read(ROOT / "tests/data/recordings/encoder_compiled.cgl")
    key = max(recording.graphs, key=lambda key: recording.graphs[key].node_count)
    before = recording.graph(key)
    at = next(
        at
        for at, payload in enumerate(before.payloads)
        if label_of(before, at).startswith("triton_")
    )
    payloads = list(before.payloads)
    tuned = msgspec.structs.replace(payloads[at].kernel, registers=99)
    payloads[at] = msgspec.structs.replace(payloads[at], kernel=tuned, grid=(77, 1, 1))
    diff = compare_graphs(before, Graph(topology=before.topology, payloads=payloads))
    assert not diff.same
    assert diff.only_variants
    payloads[at] = msgspec.structs.replace(payloads[at], cooperative=True)
    other = compare_graphs(before, Graph(topology=before.topology, payloads=payloads))
    assert not other.only_variants
