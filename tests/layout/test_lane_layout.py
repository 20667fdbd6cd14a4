"""The lane layout keeps its promises on any graph, broken ones included."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphviz_app.layout import LaneLayout, lane_layout
from graphviz_app.layout.bands import CELL_HEIGHT, CELL_WIDTH
from graphviz_app.layout.routes import Route

Edges = list[tuple[int, int]]


def lay_out(n: int, edges: Edges, **options: object) -> LaneLayout:
    ends = np.array(edges, dtype=np.int32).reshape(-1, 2)
    return lane_layout(n, ends[:, 0], ends[:, 1], **options)  # type: ignore[arg-type]


def chain(n: int, first: int = 0) -> Edges:
    return [(k, k + 1) for k in range(first, first + n - 1)]


def fork_join(width: int, length: int) -> tuple[int, Edges]:
    edges = []
    for branch in range(width):
        begin = 1 + branch * length
        edges += [(0, begin), *chain(length, begin), (begin + length - 1, 1 + width * length)]
    return 2 + width * length, edges


def check(n: int, edges: Edges, layout: LaneLayout) -> None:
    """Assert what holds for every layout."""
    assert len(layout.level) == len(layout.x) == n
    cells = set(zip(layout.column.tolist(), layout.row.tolist(), strict=True))
    assert len(cells) == n, "two nodes share a cell"
    places = set(zip(layout.x.tolist(), layout.y.tolist(), strict=True))
    assert len(places) == n, "two nodes share a place"
    back = set(layout.back_edges.tolist())
    for e, (u, v) in enumerate(edges):
        if e not in back:
            assert layout.row[u] < layout.row[v]
            assert layout.band[u] <= layout.band[v]
            assert layout.level[u] < layout.level[v]
            if layout.band[u] == layout.band[v]:
                assert layout.y[u] < layout.y[v]
        else:
            assert layout.route[e] == Route.BACK
    for band, lanes in enumerate(layout.lanes_per_band.tolist()):
        inside = layout.band == band
        assert inside.any(), "an empty band"
        assert set(layout.lane[inside].tolist()) == set(range(lanes)), "a lane without a node"
        rows = layout.row[inside]
        assert rows.min() >= layout.band_rows[band]
        assert rows.max() < layout.band_rows[band + 1]


def boxes_crossed(edges: Edges, layout: LaneLayout) -> list[int]:
    """Edges drawn down a lane although a box of another node stands in the way."""
    crossed = []
    for e, (u, v) in enumerate(edges):
        low, high = layout.row[u], layout.row[v]
        between = (layout.row > low) & (layout.row < high)
        column = {
            Route.STRAIGHT: layout.column[v],
            Route.TURN_FIRST: layout.column[v],
            Route.TURN_LAST: layout.column[u],
            Route.WRAP: layout.column[u],
        }.get(Route(layout.route[e]))
        if layout.route[e] == Route.WRAP:
            between = (layout.row > low) & (layout.band == layout.band[u])
        if column is not None and (between & (layout.column == column)).any():
            crossed.append(e)
    return crossed


@st.composite
def dags(draw: st.DrawFn) -> tuple[int, Edges]:
    n = draw(st.integers(1, 60))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=150))
    rename = draw(st.permutations(range(n)))
    edges = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
    return n, [(rename[u], rename[v]) for u, v in edges]


@given(dags(), st.sampled_from((0.3, 1.3, 4.0)))
@settings(max_examples=150, deadline=None)
def test_any_dag_is_drawn_downwards_in_cells_of_its_own(
    graph: tuple[int, Edges], aspect: float
) -> None:
    n, edges = graph
    layout = lay_out(n, edges, aspect=aspect)
    assert not len(layout.back_edges)
    check(n, edges, layout)
    assert boxes_crossed(edges, layout) == []


@given(
    st.integers(1, 25).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
        )
    )
)
@settings(max_examples=150, deadline=None)
def test_any_graph_is_drawn_and_names_the_edges_that_close_cycles(graph: tuple[int, Edges]) -> None:
    n, edges = graph
    check(n, edges, lay_out(n, edges))


@given(dags())
@settings(max_examples=30, deadline=None)
def test_the_same_graph_is_laid_out_the_same(graph: tuple[int, Edges]) -> None:
    first, second = lay_out(*graph), lay_out(*graph)
    for name in LaneLayout.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_no_nodes() -> None:
    layout = lay_out(0, [])
    assert layout.bands == 0
    assert len(layout.x) == len(layout.route) == 0


def test_one_node() -> None:
    layout = lay_out(1, [])
    assert (layout.x[0], layout.y[0], layout.bands) == (0, 0, 1)


def test_a_short_chain_is_one_column() -> None:
    layout = lay_out(12, chain(12))
    assert layout.lanes_per_band.tolist() == [1]
    assert layout.y.tolist() == list(range(12))
    assert set(layout.route.tolist()) == {Route.STRAIGHT}


def picture_aspect(layout: LaneLayout) -> float:
    width = (layout.x.max() + 1) * CELL_WIDTH
    height = float(np.diff(layout.band_rows).max()) * CELL_HEIGHT
    return float(width / height)


@pytest.mark.parametrize("aspect", [0.7, 1.3, 2.0])
def test_a_long_chain_fills_the_wanted_shape(aspect: float) -> None:
    layout = lay_out(813, chain(813), aspect=aspect)
    check(813, chain(813), layout)
    assert set(layout.lanes_per_band.tolist()) == {1}
    assert picture_aspect(layout) == pytest.approx(aspect, rel=0.2)


def test_bands_are_cut_between_repeats() -> None:
    kinds = np.arange(813, dtype=np.int32) % 50
    layout = lay_out(813, chain(813), kind=kinds)
    assert {int(row) % 50 for row in layout.band_rows[:-1]} == {0}


def test_a_constant_chain_is_no_repeat() -> None:
    plain = lay_out(400, chain(400))
    same = lay_out(400, chain(400), kind=np.zeros(400, dtype=np.int32))
    np.testing.assert_array_equal(plain.band_rows, same.band_rows)


def test_a_wide_fork_is_stacked() -> None:
    n, edges = fork_join(64, 3)
    layout = lay_out(n, edges)
    check(n, edges, layout)
    assert int(layout.lanes_per_band.max()) <= 16
    assert 0.4 < picture_aspect(layout) < 3


def test_a_narrow_fork_keeps_its_lanes_side_by_side() -> None:
    n, edges = fork_join(4, 5)
    layout = lay_out(n, edges)
    assert layout.lanes_per_band.tolist() == [4]
    for branch in range(4):
        nodes = range(1 + branch * 5, 6 + branch * 5)
        assert len({int(layout.lane[v]) for v in nodes}) == 1


def test_nodes_alone_form_a_block() -> None:
    layout = lay_out(1000, [])
    check(1000, [], layout)
    assert 0.3 < picture_aspect(layout) < 4


def test_parts_that_do_not_touch_share_no_lane_in_a_row_of_parts() -> None:
    edges = chain(10) + chain(10, 10)
    layout = lay_out(20, edges)
    assert len({int(lane) for lane in layout.lane[:10]}) == 1
    assert set(layout.lane[:10].tolist()).isdisjoint(layout.lane[10:].tolist())


def test_a_prefetch_is_drawn_next_to_its_consumer() -> None:
    edges = [*chain(30), (30, 25)]
    layout = lay_out(31, edges)
    assert layout.level[30] == layout.level[25] - 1


def test_a_cycle_is_named() -> None:
    edges = [(0, 1), (1, 2), (2, 0), (2, 2)]
    layout = lay_out(3, edges)
    check(3, edges, layout)
    assert set(layout.back_edges.tolist()) == {2, 3}


def test_an_edge_to_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the 2 nodes"):
        lay_out(2, [(0, 2)])


def test_a_hundred_thousand_nodes_of_mixed_shape() -> None:
    rng = np.random.default_rng(3)
    n = 100_000
    target = np.arange(1, n, dtype=np.int32)
    source: NDArray[np.int32] = target - rng.choice([1, 1, 1, 1, 1, 1, 1, 2, 3], n - 1)
    source = np.maximum(source, 0).astype(np.int32)
    layout = lane_layout(n, source, target)
    assert (layout.row[source] < layout.row[target]).all()
    assert len(np.unique(layout.column.astype(np.int64) * n + layout.row)) == n


def two_streams_with_a_wait() -> tuple[int, Edges]:
    """Stream A is 0..9, stream B is 10..19; node 13 of B also waits for node 4 of A."""
    return 20, [*chain(10), (0, 10), *chain(10, 10), (4, 13), (19, 9)]


def test_a_wait_does_not_mix_the_lanes_of_streams() -> None:
    n, edges = two_streams_with_a_wait()
    layout = lay_out(n, edges)
    check(n, edges, layout)
    assert len({int(lane) for lane in layout.lane[:9]}) == 1
    assert len({int(lane) for lane in layout.lane[10:]}) == 1


def test_lanes_follow_streams_where_they_are_known() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)]
    stream = np.array([0, 0, 1, 1, 0, 0], dtype=np.int32)
    layout = lay_out(6, edges, stream=stream)
    check(6, edges, layout)
    assert layout.lane[4] == layout.lane[5]
    assert layout.lane[0] == layout.lane[1]
    assert layout.lane[1] != layout.lane[3]


@given(dags(), st.integers(1, 12), st.randoms())
@settings(max_examples=60, deadline=None)
def test_any_dag_with_any_streams_is_drawn_downwards(
    graph: tuple[int, Edges], streams: int, random: Random
) -> None:
    n, edges = graph
    stream = np.array([random.randrange(-1, streams) for _ in range(n)], dtype=np.int32)
    layout = lay_out(n, edges, stream=stream)
    check(n, edges, layout)
    assert boxes_crossed(edges, layout) == []
