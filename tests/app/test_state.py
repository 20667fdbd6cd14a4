"""The view and its address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphviz_app.state import Colouring, ViewState, from_url, to_url

NAMES = st.text(st.characters(codec="utf-8"), max_size=30)
PATHS = st.lists(st.integers(0, 99), max_size=3).map(
    lambda numbers: "/".join(f"{number}/0" for number in numbers)
)
STATES = st.builds(
    ViewState,
    page=st.sampled_from(["", "overview", "graph"]),
    recording=NAMES,
    graph=NAMES,
    body=PATHS,
    node=st.none() | st.integers(0, 999_999_999),
    colour=st.sampled_from(Colouring),
    search=NAMES,
    after=NAMES,
    graph_after=NAMES,
)


@given(STATES, st.sampled_from(["/", "/lens/", "/a/b/"]))
def test_an_address_reopens_its_view(state: ViewState, prefix: str) -> None:
    path, _, query = to_url(state, prefix).partition("?")
    assert from_url(path, query, prefix) == state
    assert from_url(path, f"?{query}", prefix) == state


@given(st.text(), st.text())
def test_any_address_is_some_view(path: str, query: str) -> None:
    state = from_url(path, query)
    assert state.node is None or 0 <= state.node < 10**9


@pytest.mark.parametrize(
    ("query", "node"),
    [("node=12", 12), ("node=-1", None), ("node=1e3", None), ("node=", None), ("node=٣", None),
     ("node=99999999999999999999", None), ("node=3&node=4", 3)],
)  # fmt: skip
def test_a_node_is_a_position_or_nothing(query: str, node: int | None) -> None:
    assert from_url("/graph", query).node == node


def test_defaults_stay_out_of_the_address() -> None:
    assert to_url(ViewState()) == "/"
    assert to_url(ViewState(page="graph", colour=Colouring.TYPE)) == "/graph"


def test_an_unknown_colouring_is_the_default() -> None:
    assert from_url("/graph", "colour=rainbow").colour is Colouring.TYPE


def test_paths_of_nodes() -> None:
    assert ViewState(node=3).node_path == "3"
    assert ViewState(body="3/0", node=12).node_path == "3/0/12"
    assert ViewState(body="3/0").node_path == ""


def test_another_graph_drops_what_belongs_to_this_one() -> None:
    state = ViewState("graph", "r", "g", "1/0", 4, Colouring.LANE, "gemm").at_graph("h")
    assert state == ViewState("graph", "r", "h", colour=Colouring.LANE)
