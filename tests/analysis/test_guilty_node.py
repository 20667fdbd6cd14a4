"""What `cglens locate` kept with a graph, as a finding."""

from __future__ import annotations

import msgspec

from capture.analysis import Subject, run_analysis
from capture.analysis.base import Severity
from capture.located import NOTE, Located, Run
from capture.model import GraphInfo
from tests.analysis.graphs import graph_of, kernel


def looked(extra: dict[str, object]) -> Subject:
    info = GraphInfo(key="a", name="a", extra=extra)
    return Subject(graph_of(2, [(0, 1)], payloads=[kernel("first"), kernel("second")]), info)


def kept(**fields: object) -> dict[str, object]:
    located = Located(symptom="fault", graph="a", replay=2, **fields)  # type: ignore[arg-type]
    return {NOTE: msgspec.to_builtins(located)}


def test_the_node_is_a_finding() -> None:
    runs = [Run(part="node by node", what="fault")]
    result = run_analysis("guilty_node", looked(kept(node="1", decided=True, runs=runs)))
    assert result.node_marks == [1]
    assert result.severity is Severity.WARNING
    assert result.rows == [("1", "second", "fault", 3, "", "certain")]
    unsure = run_analysis("guilty_node", looked(kept(node="1")))
    assert unsure.severity is Severity.NOTICE
    assert unsure.rows[0][-1] == "likely"


def test_without_a_node_nothing_is_found() -> None:
    result = run_analysis("guilty_node", looked(kept(reason="it is another one each time")))
    assert (result.rows, result.severity) == ([], Severity.INFO)
    assert "another one each time" in result.summary
    absent = run_analysis("guilty_node", looked({}))
    assert not absent.present
    assert "cglens locate" in absent.absent_reason


def test_what_is_damaged_is_said() -> None:
    for value in (3, {"symptom": 1}, {"symptom": "fault", "runs": "x"}):
        assert "cannot be read" in run_analysis("guilty_node", looked({NOTE: value})).absent_reason
    far = run_analysis("guilty_node", looked(kept(node="99/1")))
    assert far.node_marks == []
    assert far.rows[0][0] == "99/1"
