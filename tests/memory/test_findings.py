"""Findings on made-up memory: each fault is named, and its healthy twin is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capture
from capture.analysis import Result, Scope, Severity, Subject, run_analysis
from capture.analysis.found import finders
from capture.memory.torch_snapshot import Tables, add_segments, add_sums
from capture.memory_map import Events, Mark, Snapshot
from capture.model import Executable, GraphInfo, Metadata, Recording
from tests.analysis.graphs import dags, paths
from tests.helpers.synthetic_memory import (
    BASE,
    OWN,
    PAGEABLE,
    PINNED,
    POOL,
    copy,
    fill,
    graph,
    kernel,
    memory,
    segment,
)

SCALE = "_Z5scalePfyPKf"
SNAPSHOT = Path(__file__).parents[1] / "data" / "memory" / "train_step_snapshot.pickle"
GOLDENS = sorted((Path(__file__).parents[1] / "data" / "recordings").glob("*.cgl"))


def found(name: str, payloads: list[Any], edges: Any = (), **fields: Any) -> Result:
    result = run_analysis(name, Subject(graph(payloads, edges), memory=memory(), **fields))
    assert result.present, result.absent_reason
    return result


@pytest.mark.parametrize(
    ("payload", "what", "confidence"),
    [
        (kernel(SCALE, BASE + 600, 0, 0), "a free block", "certain"),
        (kernel("plain", BASE + 600), "a free block", "likely"),
        (kernel(SCALE, 0x7FA000000000, 0, 0), "no memory that CUDA knows", "likely"),
        (fill(0x7FA000000000, 8), "no memory that CUDA knows", "certain"),
        (copy(BASE + 512, POOL, 8), "a free block", "certain"),
        (fill(BASE + 512, 8), "a free block", "certain"),
    ],
)
def test_addresses_of_freed_memory(payload: Any, what: str, confidence: str) -> None:
    result = found("stale_pointers", [kernel(SCALE, BASE, 0, POOL), payload])
    (row,) = result.rows
    assert (row[0], row[4], row[7]) == ("1", what, confidence)
    assert result.node_marks == [1]
    expected = Severity.WARNING if confidence == "certain" else Severity.NOTICE
    assert result.severity is expected
    if what == "a free block":
        assert row[8] == "train.py:12 make"


def test_what_freed_memory_in_the_capture_is_told() -> None:
    before = memory()
    before.events = Events(
        action=[0, 1, 1],
        device=[0, 0, 0],
        address=[BASE + 512, BASE + 512, BASE],
        size_bytes=[400, 400, 8],
        at_us=[1, 2, 3],
        stack=[-1, 0, -1],
    )
    nodes = graph([kernel(SCALE, BASE + 600, 0, 0), kernel(SCALE, BASE + 1000, 0, 0)])
    result = run_analysis("stale_pointers", Subject(nodes, memory=before))
    assert [(row[0], row[9]) for row in result.rows] == [("0", "train.py:12 make"), ("1", "")]


def test_temporaries_of_the_graph_are_no_freed_memory() -> None:
    payloads = [
        kernel(SCALE, POOL + 2000, 0, BASE),
        kernel("plain", 0x7FA000000000, POOL + 1024),  # a number, not an address
        copy(PAGEABLE, PINNED, 8, "HH"),
    ]
    result = found("stale_pointers", payloads)
    assert not result.rows
    assert result.severity is Severity.INFO


def test_the_end_of_a_block_is_not_certain_to_be_the_next_one() -> None:
    result = found("stale_pointers", [kernel(SCALE, BASE, 0, BASE + 512)])
    assert [row[7] for row in result.rows] == ["likely"]
    assert result.severity is Severity.NOTICE


def test_pageable_memory_in_copies() -> None:
    result = found("host_memory", [copy(PAGEABLE, BASE, 8, "HD"), copy(PINNED, BASE, 8, "HD")])
    assert [row[:3] for row in result.rows] == [("0", "memcpy HtoD", "source")]
    assert result.severity is Severity.WARNING
    healthy = found("host_memory", [copy(PINNED, BASE, 8, "HD"), copy(BASE, POOL, 8)])
    assert not healthy.rows
    assert healthy.severity is Severity.INFO


def test_copies_that_race() -> None:
    payloads = [fill(BASE, 64), copy(BASE + 32, POOL, 64), copy(POOL + 8, BASE + 256, 8)]
    result = found("unordered_writes", payloads, [(1, 2)])
    assert [(row[0], row[2], row[4], row[6], row[7]) for row in result.rows] == [
        ("0", "1", "writes, reads", 32, "certain")
    ]
    assert result.severity is Severity.WARNING
    ordered = found("unordered_writes", payloads, [(0, 1), (1, 2)])
    assert not ordered.rows
    apart = found("unordered_writes", [fill(BASE, 64), copy(BASE + 64, POOL, 64)])
    assert not apart.rows
    readers = found("unordered_writes", [copy(BASE, POOL, 8), copy(BASE, POOL + 8, 8)])
    assert not readers.rows


def test_a_kernel_may_race_with_a_memset() -> None:
    payloads = [fill(BASE, 64), kernel(SCALE, BASE + 8, 0, 0), kernel("plain", BASE + 8)]
    result = found("unordered_writes", payloads)
    assert [(row[0], row[2], row[7]) for row in result.rows] == [("0", "1", "may")]
    assert result.severity is Severity.NOTICE


@settings(deadline=None)
@given(dags(), st.data())
def test_unordered_pairs_are_those_without_a_path(
    dag: tuple[int, list[tuple[int, int]], list[int]], data: st.DataObject
) -> None:
    count, edges, _ = dag
    starts = data.draw(st.lists(st.integers(0, 6), min_size=count, max_size=count))
    result = run_analysis(
        "unordered_writes", Subject(graph([fill(BASE + at, 3) for at in starts], edges))
    )
    ordered = {(node, path[-1]) for path in paths(count, edges) for node in path}
    expected = {
        frozenset((str(one), str(other)))
        for one in range(count)
        for other in range(one)
        if abs(starts[one] - starts[other]) < 3
        and (one, other) not in ordered
        and (other, one) not in ordered
    }
    assert {frozenset((row[0], row[2])) for row in result.rows} == expected


def test_empty_graphs() -> None:
    assert found("empty_graph", []).severity is Severity.WARNING
    compilers = GraphInfo(key="k", name="k", extra={"framework_internal": True})
    assert found("empty_graph", [], info=compilers).severity is Severity.INFO
    assert found("empty_graph", [fill(BASE, 1)]).severity is Severity.INFO


def test_blocks_that_nodes_point_into() -> None:
    result = found("pointed_at", [kernel(SCALE, BASE, 0, POOL), kernel(SCALE, BASE + 8, 0, 0)])
    assert [row[:7] for row in result.rows] == [
        ("0x7f1000000000", "", 1024, "graph's pool, allocated", "0", "0", 1),
        ("0x7f0000000000", "Net: weight", 512, "common pool, allocated", "0", "1", 2),
    ]
    assert result.node_values == {0: 2, 1: 1}


def test_pools_agree_with_torch_or_say_by_how_much_not() -> None:
    result = found("pools", [fill(BASE, 8)])
    assert result.text(result.summary).startswith("The capture took 4096 bytes more")
    assert any("to the byte" in note for note in result.notes)
    wrong = memory()
    wrong.counters[1].reserved_bytes = 7000
    differs = run_analysis("pools", Subject(graph([fill(BASE, 8)]), memory=wrong))
    (note,) = [differs.text(note) for note in differs.notes]
    assert "torch counts 7000 bytes reserved after capture" in note
    assert "5120 bytes" in note


def test_memory_by_capture() -> None:
    infos = [GraphInfo(key=key, name=f"graph {key}") for key in "abc"]
    recording = Recording(
        Metadata(), infos, evidence={"memory": {"a": memory("a"), "c": memory("c")}}
    )
    result = run_analysis("memory_steps", recording)
    assert [row[0] for row in result.rows] == ["a", "c"], "keys, which lead to the graphs"
    assert result.series[0].y == [5120, 5120]
    assert "--memory" in run_analysis("memory_steps", Recording(Metadata(), infos)).absent_reason


def at_the_end(*ended: str) -> Recording:
    infos = [
        GraphInfo(key=f"k{number}", name=f"graph {number}", pool=OWN, process=0)
        for number in range(len(ended))
    ]
    executables = [
        Executable(id=f"k{number}/exec1", graph=f"k{number}", ended=how)
        for number, how in enumerate(ended)
    ]
    found = memory()
    snapshot = Snapshot(process="0", pools=found.pools, marks=found.marks[:1])
    add_sums(
        Tables(snapshot), [segment(POOL, [(512, "active_allocated"), (512, "inactive")], OWN)], 0
    )
    return Recording(
        Metadata(), infos, executables=executables, evidence={"snapshots": {"0": snapshot}}
    )


def test_a_pool_whose_graphs_are_gone_is_pinned() -> None:
    result = run_analysis("pool_owners", at_the_end("reset", "destroyed"))
    assert result.severity is Severity.NOTICE
    assert "1024 bytes of that belong to pools whose graphs are gone" in result.text(result.summary)
    assert result.rows[0][:5] == ("1, 0", "graph 0, graph 1", 0, 1, 1024)


def test_a_pool_with_a_graph_alive_is_not_pinned() -> None:
    for ended in (("reset", "alive at exit"), ("alive at exit",), ()):
        result = run_analysis("pool_owners", at_the_end(*ended))
        assert result.severity is Severity.INFO
        assert result.figures["pinned"].value == 0
    assert "--memory" in run_analysis("pool_owners", Recording(Metadata(), [])).absent_reason


def after_the_capture(state: str, ended: str = "alive at exit", pointed: int = 2) -> Recording:
    """Return a recording whose graph points into a block, and what came of the block."""
    found = memory()
    assert found.blocks is not None
    found.blocks.pointed = [pointed, 0, 1, 1]
    snapshot = Snapshot(process="0", marks=[Mark(name="end")])
    segments = [] if state == "gone" else [segment(BASE, [(512, state), (512, "inactive")])]
    add_segments(Tables(snapshot), segments)
    return Recording(
        Metadata(),
        [GraphInfo(key="k", name="step", pool=OWN, process=0)],
        executables=[Executable(id="k/exec1", graph="k", ended=ended)],
        loaded={"k": graph([kernel(SCALE, BASE + 4, 0, POOL)])},
        evidence={"snapshots": {"0": snapshot}, "memory": {"k": found}},
    )


@pytest.mark.parametrize(
    ("state", "what"), [("inactive", "free"), ("gone", "given back to the driver")]
)
def test_the_end_alone_tells_what_was_freed_by_then(state: str, what: str) -> None:
    result = run_analysis("freed_later", after_the_capture(state))
    assert result.severity is Severity.NOTICE
    (row,) = result.rows
    assert row[4:9] == ("0x7f0000000000", "Net: weight", 512, what, 0)
    assert (row[10], row[12]) == ("may", "train.py:12 make")
    assert any("not followed in this recording" in note for note in result.notes)


def test_memory_that_is_still_allocated_or_that_no_living_graph_needs() -> None:
    result = run_analysis("freed_later", after_the_capture("active_allocated"))
    assert (result.severity, result.rows) == (Severity.INFO, [])
    unused = run_analysis("freed_later", after_the_capture("inactive", pointed=0))
    assert (unused.severity, unused.rows) == (Severity.INFO, [])
    dead = run_analysis("freed_later", after_the_capture("inactive", "destroyed"))
    assert (dead.severity, dead.rows) == (Severity.INFO, [])
    assert "--memory" in run_analysis("freed_later", Recording(Metadata(), [])).absent_reason


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_nothing_is_wrong_with_the_goldens(path: Path) -> None:
    recording = capture.read(path)
    for key, info in recording.graphs.items():
        subject = Subject(recording.graph(key), info)
        for name in finders(Scope.GRAPH):
            assert run_analysis(name, subject).severity is Severity.INFO, (key, name)
    for name in finders(Scope.RECORDING):
        assert run_analysis(name, recording).severity is Severity.INFO, name


@pytest.mark.parametrize("name", ["pinned_pools", "shared_workspaces"])
def test_of_a_snapshot_without_graphs_nothing_is_said_of_graphs(name: str) -> None:
    result = run_analysis(name, capture.read(SNAPSHOT))
    assert "no graph is known" in result.absent_reason
