"""Whatever two graphs hold: nothing raises, counts add up, and everything can be written."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

import capture
from capture.compare import update_verdict
from capture.compare.gate import check_graph
from capture.model import Graph, GraphInfo, Metadata, Recording
from capture.policy import Policy
from graphviz_app.commands.compare import FORMATS, rendered
from tests.helpers.strategies import graphs


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), graphs())
def test_counts_add_up(before: Graph, after: Graph) -> None:
    found = capture.compare(before, after)
    counts = found.counts
    assert counts.matched + counts.removed == counts.nodes_before
    assert counts.matched + counts.added == counts.nodes_after
    assert counts.unchanged + counts.changed + counts.moved == counts.matched
    for level in found.levels:
        pairs = {(i, j) for i, j in enumerate(level.partner) if j >= 0}
        assert pairs == {(i, j) for j, i in enumerate(level.origin) if i >= 0}
    assert capture.compare(before, before).same
    update_verdict(before, after, diff=found)
    assert update_verdict(before, before).swaps == []
    check_graph(after, Policy())


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), graphs())
def test_every_report_can_be_written(before: Graph, after: Graph) -> None:
    sides = [
        Recording(
            Metadata(), [GraphInfo(key="k", name="k", node_count=len(graph))], loaded={"k": graph}
        )
        for graph in (before, after)
    ]
    diff = capture.compare(sides[0], sides[1])
    for form in FORMATS:
        rendered(diff, form, "a", None).encode()
