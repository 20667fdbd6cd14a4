"""The extension point: declared entries, arguments, containment of what fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest

import capture.analysis as package
from capture.analysis import (
    Analysis,
    Argument,
    ArgumentKind,
    Column,
    Quantity,
    Result,
    Scope,
    Subject,
    Unit,
    analyses,
    run_analysis,
    run_entry,
)
from capture.errors import GraphLensError, LookupFailed
from capture.model import EvidenceKind, Metadata, Recording
from capture.registry import discover
from tests.analysis.graphs import GPU, graph_of, kernel, subject_of, timings_of, with_loop

OWN: dict[str, Analysis] = discover("capture.analysis", "ANALYSIS", Analysis)
OF_GRAPHS = [name for name, entry in OWN.items() if entry.scope is Scope.GRAPH]
"""They get each of the subjects below."""


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Let a test declare entry points of other distributions."""
    points: list[EntryPoint] = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    analyses.cache_clear()
    yield points
    analyses.cache_clear()


def subjects() -> dict[str, Subject]:
    """Return graphs that are odd in one way each."""
    loop = timings_of(
        [10, 5, 5, 10],
        [0, 12, 18, 60],
        nodes=["0", "1/0/0", "1/0/1", "2"],
        stream=[7, 7, 7, 7],
        count=[1, 3, 3, 1],
    )
    odd = graph_of(
        3,
        [(0, 1), (1, 2)],
        types=["kernel", "type_17", "memcpy"],
        payloads=[kernel(), {"word": "kept"}, None],
    )
    return {
        "empty": subject_of(0, [], []),
        "empty, no timings": subject_of(0, []),
        "one node": subject_of(1, [], [10], [0]),
        "no timings": subject_of(3, [(0, 1), (1, 2)]),
        "durations only": subject_of(3, [(0, 1), (1, 2)], [10, 20, 30]),
        "zero durations": subject_of(3, [(0, 1), (1, 2)], [0, 0, 0], [0, 0, 0]),
        "partly timed": Subject(
            graph_of(3, [(0, 1), (1, 2)]), timings=timings_of([10, 20], [0, 15], nodes=["0", "2"])
        ),
        "loop": Subject(with_loop(), timings=loop, gpu=GPU),
        "body": Subject(with_loop().at("1/0"), timings=loop, path="1/0"),
        "cycle": subject_of(2, [(0, 1), (1, 0)], [10, 20], [0, 15]),
        "unknown types": Subject(odd, timings=timings_of([1, 2, 3], [0, 2, 5]), gpu=GPU),
        "rows of no node": Subject(
            graph_of(1, []), timings=timings_of([1, 2], [0, 2], nodes=["77", ""])
        ),
        "negative": subject_of(2, [(0, 1)], [-5, -5], [-1, -1]),
    }


def test_every_own_analysis_is_found_and_described() -> None:
    assert set(analyses()) >= set(OWN)
    for name, entry in OWN.items():
        assert entry.name == name
        assert entry.title
        assert entry.description.endswith(".")
        for argument in entry.arguments:
            assert argument.description
            assert argument.default is None or argument.accept(argument.default) is not None


@pytest.mark.parametrize("case", subjects())
@pytest.mark.parametrize("name", OF_GRAPHS)
def test_every_analysis_answers_on_every_graph(name: str, case: str) -> None:
    result = run_analysis(name, subjects()[case])
    assert result.title
    if result.absent_reason:
        assert not result.columns
        assert not result.rows
        assert not result.node_values
        assert not result.node_marks
        assert "failed with" not in result.absent_reason
        assert "gave no result" not in result.absent_reason
        return
    assert result.columns
    for template in (result.summary, *result.notes):
        assert "{" not in result.text(template), template
    for row in result.rows:
        for cell, column in zip(row, result.columns, strict=True):
            kind = str if column.unit in (Unit.TEXT, Unit.NODE) else (int, float)
            assert cell is None or isinstance(cell, kind), (column, cell)
    assert msgspec.convert(msgspec.to_builtins(result), Result) == result


@pytest.mark.parametrize("case", ["empty", "no timings", "negative", "rows of no node"])
@pytest.mark.parametrize(
    "name", ["critical_path", "idle_gaps", "missed_overlap", "small_kernel_chains", "what_if"]
)
def test_without_timings_there_is_a_reason(name: str, case: str) -> None:
    assert "timed" in run_analysis(name, subjects()[case]).absent_reason


def test_unknown_names_and_wrong_values_are_told() -> None:
    subject = subject_of(1, [], [1], [0])
    with pytest.raises(LookupFailed, match="no analysis 'nothing': there are "):
        run_analysis("nothing", subject)
    with pytest.raises(LookupFailed, match="no argument 'depth': it takes rows, gaps"):
        run_analysis("critical_path", subject, depth=3)
    with pytest.raises(GraphLensError, match="'rows' is 'many', expected a whole number"):
        run_analysis("critical_path", subject, rows="many")
    with pytest.raises(GraphLensError, match="at least 0"):
        run_analysis("critical_path", subject, rows=-1)
    with pytest.raises(LookupFailed, match="looks at a graph"):
        run_analysis("critical_path", Recording(Metadata(), []))
    assert "no node 7" in run_analysis("what_if", subject, nodes=[7]).absent_reason


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (ArgumentKind.INTEGER, "12", 12),
        (ArgumentKind.NUMBER, "0.5", 0.5),
        (ArgumentKind.TEXT, "a", "a"),
        (ArgumentKind.FLAG, "no", False),
        (ArgumentKind.FLAG, True, True),
        (ArgumentKind.NODES, "3, 7-9,3", [3, 7, 8, 9]),
        (ArgumentKind.NODES, {4, 2}, [2, 4]),
    ],
)
def test_arguments_parse(kind: ArgumentKind, given: object, expected: object) -> None:
    assert Argument("a", kind, None, "").accept(given) == expected


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (ArgumentKind.INTEGER, True),
        (ArgumentKind.INTEGER, 1.5),
        (ArgumentKind.NUMBER, "nan"),
        (ArgumentKind.NUMBER, None),
        (ArgumentKind.TEXT, 3),
        (ArgumentKind.FLAG, "maybe"),
        (ArgumentKind.NODES, "9-3"),
        (ArgumentKind.NODES, "0-999999999999"),
        (ArgumentKind.NODES, "-4"),
        (ArgumentKind.NODES, "a"),
    ],
)
def test_arguments_refuse(kind: ArgumentKind, given: object) -> None:
    with pytest.raises(GraphLensError, match="expected"):
        Argument("a", kind, 0, "").accept(given)


def broken(subject: Subject) -> Result:
    raise ZeroDivisionError("a fault of its own")


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (broken, "ZeroDivisionError: a fault of its own"),
        (lambda subject: "text", "returned a str"),
        (
            lambda subject: Result(summary="a", columns=[Column("a", Unit.NS)], rows=[(1, 2)]),
            "one per column",
        ),
        (lambda subject: Result(summary="a", node_values={9: 1}), "outside the graph's 1 nodes"),
        (lambda subject: Result(summary="a", node_marks=[-1]), "outside the graph's 1 nodes"),
        (lambda subject: Result(), "neither a summary"),
    ],
)
def test_failures_inside_an_analysis_are_contained(run: Any, reason: str) -> None:
    result = run_entry(Analysis("odd", "Odd", "Fails.", run), subject_of(1, []))
    assert reason in result.absent_reason
    assert "'odd'" in result.absent_reason
    assert result.title == "Odd"


def test_foreign_entries_appear_and_broken_ones_cost_only_themselves(
    entry_points: list[EntryPoint],
) -> None:
    def declared(name: str, value: str) -> None:
        entry_points.append(EntryPoint(name, value, package.ENTRY_POINTS))

    here = "tests.analysis.test_extension"
    declared("foreign", f"{here}:FOREIGN")
    declared("gone", "no_such_distribution:ANALYSIS")
    declared("not_one", f"{here}:OWN")
    declared("twice", f"{here}:TAKEN")
    declared("width", f"{here}:TAKEN")
    found = analyses()
    subject = subject_of(2, [(0, 1)])
    assert run_analysis("foreign", subject).text("{n}") == "2"
    assert "does not load" in run_analysis("gone", subject).absent_reason
    assert "expected an Analysis" in run_analysis("not_one", subject).absent_reason
    assert "there already" in run_analysis("twice", subject).absent_reason
    assert found["width"].title == "Width"
    assert set(found) == set(OWN) | {"foreign", "gone", "not_one", "twice"}


FOREIGN = Analysis(
    "foreign",
    "Foreign",
    "Counts.",
    lambda subject: Result(summary="{n}", figures={"n": Quantity(len(subject.graph), Unit.COUNT)}),
)
TAKEN = Analysis("width", "Another", "Is called as another.", broken)


def test_scopes_decide_what_an_analysis_is_given() -> None:
    recording = Recording(Metadata(title="a"), [])
    whole = Analysis(
        "whole",
        "Whole",
        "Looks at all.",
        lambda given: Result(summary=given.metadata.title),
        scope=Scope.RECORDING,
        needs=(EvidenceKind.TIMINGS,),
    )
    assert run_entry(whole, recording).summary == "a"
    pair = Analysis(
        "pair",
        "Pair",
        "Compares.",
        lambda given: Result(summary=f"{len(given[1].graph) - len(given[0].graph)}"),
        scope=Scope.PAIR,
    )
    assert run_entry(pair, (subject_of(1, []), subject_of(3, []))).summary == "2"
    with pytest.raises(LookupFailed, match="looks at a pair"):
        run_entry(pair, subject_of(1, []))


def test_texts_show_figures_by_unit_and_leave_other_braces_alone() -> None:
    result = Result(
        summary="{time} of {name} {other}",
        figures={
            "time": Quantity(1500, Unit.NS),
            "name": Quantity("{lambda()#1} {time}", Unit.TEXT),
        },
    )
    assert result.text(result.summary) == "1500 ns of {lambda()#1} {time} {other}"
    shown = result.text(result.summary, lambda value, unit: f"<{value}|{unit}>")
    assert shown == "<1500|ns> of <{lambda()#1} {time}|text> {other}"


def test_analyses_load_nothing_heavy() -> None:
    code = (
        "import sys\nfrom capture.analysis import analyses, run_analysis, Subject\n"
        "from capture.model import Graph, Topology\n"
        "subject = Subject(Graph(topology=Topology(types=['kernel']), payloads=[None]))\n"
        "[run_analysis(name, subject) for name, entry in analyses().items()"
        " if entry.scope == 'graph']\n"
        "print(*{'numpy', 'networkx', 'dash', 'plotly', 'torch', 'cuda'} & set(sys.modules))"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == ""
