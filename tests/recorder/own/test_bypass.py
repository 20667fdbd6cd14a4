from __future__ import annotations

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.errors import GraphLensError
from capture.model import Topology
from capture.recorder.own import bypass as module
from capture.recorder.own.bypass import bypass
from tests.helpers.declared import TOPOLOGIES


def topology(count: int, edges: list[tuple[int, int]]) -> Topology:
    ordered = sorted(edges, key=lambda edge: (edge[1], edge[0]))
    return Topology(
        types=["kernel"] * count,
        source=[source for source, _ in ordered],
        target=[target for _, target in ordered],
    )


def reached(count: int, edges: list[tuple[int, int]], kept: set[int]) -> set[tuple[int, int]]:
    """Return the pairs of kept nodes of which one has to wait for the other."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    closure = networkx.transitive_closure_dag(graph)
    return {(a, b) for a, b in closure.edges if a in kept and b in kept}


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], set[int]]:
    count = draw(st.integers(1, 12))
    order = draw(st.permutations(range(count)))
    pairs = [(order[a], order[b]) for b in range(count) for a in range(b)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    removed = draw(st.sets(st.integers(0, count - 1)))
    return count, edges, removed


@given(cases())
def test_others_wait_for_each_other_as_before(
    case: tuple[int, list[tuple[int, int]], set[int]],
) -> None:
    count, edges, removed = case
    kept = set(range(count)) - removed
    added = bypass(topology(count, edges), removed)
    assert not set(added) & set(edges)
    assert len(set(added)) == len(added)
    assert all(source in kept and target in kept for source, target in added)
    left = [edge for edge in edges if not removed & set(edge)]
    assert reached(count, left + added, kept) == reached(count, edges, kept)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_nothing_is_needed_where_nothing_or_everything_is_removed(name: str) -> None:
    count, edges = TOPOLOGIES[name]
    assert bypass(topology(count, edges), []) == []
    assert bypass(topology(count, edges), range(count)) == []


def test_too_many_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EDGES", 8)
    edges = [(at, 3) for at in range(3)] + [(3, at) for at in range(4, 7)]
    with pytest.raises(GraphLensError, match="choose fewer"):
        bypass(topology(7, edges), [3])
    monkeypatch.setattr(module, "MOST_EDGES", 9)
    assert len(bypass(topology(7, edges), [3])) == 9
