"""Two graphs as one picture: which node stands where on each side, and in which colour."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.compare import align
from capture.model import Graph
from graphviz_app.comparing.merged import Merged, Side
from graphviz_app.comparing.union import Union
from graphviz_app.figures.changes import ABSENT, Mark
from graphviz_app.figures.scene import decode_scene
from tests.compare.graphs import graph, kernels

LAYERS = "abcdefgh" * 3


def joined(before: Graph, after: Graph) -> Merged:
    return Merged(align(before, after)[0], {})


def marks(before: str, after: str) -> list[str]:
    return [Mark(mark).name for mark in joined(kernels(before), kernels(after)).marks.tolist()]


def test_what_only_one_side_has_is_marked() -> None:
    assert marks("abcdefgh", "abxcdefgh").count("ADDED") == 1
    assert marks("abcdefgh", "abdefgh")[2] == "REMOVED"
    assert set(marks(LAYERS, LAYERS)) == {"SAME"}


def test_a_moved_block_is_there_twice_and_each_place_knows_the_other() -> None:
    merged = joined(kernels("wxyz" + LAYERS), kernels(LAYERS + "wxyz"))
    twin = merged.union.twin
    moved = np.flatnonzero(twin >= 0)
    assert len(moved) == 8
    assert (twin[twin[moved]] == moved).all()
    assert {Mark(mark) for mark in merged.marks[moved].tolist()} == {Mark.MOVED}
    assert merged.shown(Side.BEFORE)[moved].tolist() == [True] * 4 + [False] * 4
    assert merged.shown(Side.AFTER)[moved].tolist() == [False] * 4 + [True] * 4
    assert merged.shown(Side.BOTH).sum() == len(LAYERS) + 4


@pytest.mark.parametrize("side", list(Side))
def test_a_place_on_one_side_is_the_same_place_on_the_other(side: Side) -> None:
    merged = joined(kernels(LAYERS), kernels(LAYERS[:9] + "xy" + LAYERS[12:]))
    both, scene = (decode_scene(merged.scene(item)) for item in (Side.BOTH, side))
    for name in ("column", "row"):
        assert scene.arrays[name].tolist() == both.arrays[name].tolist()
    labels: list[Any] = [scene.header["labels"][at] for at in scene.arrays["label"].tolist()]
    here = merged.shown(side)
    assert [bool(text) for text in labels] == here.tolist()
    assert (scene.arrays["colour0"] >= ABSENT).tolist() == (~here).tolist()


def test_each_side_has_its_own_edges_and_those_that_differ_are_loud() -> None:
    before = graph(["memset", "empty", "host"], [(0, 1), (1, 2)])
    after = graph(["memset", "empty", "host"], [(0, 1), (0, 2)])
    merged = joined(before, after)
    found = {}
    for side in Side:
        scene = decode_scene(merged.scene(side))
        ends = zip(scene.arrays["source"].tolist(), scene.arrays["target"].tolist(), strict=True)
        found[side] = dict(zip(ends, scene.arrays["loudEdges0"].tolist(), strict=True))
    removed, added = Mark.REMOVED + 1, Mark.ADDED + 1
    assert found[Side.BEFORE] == {(0, 1): 0, (1, 2): removed}
    assert found[Side.AFTER] == {(0, 1): 0, (0, 2): added}
    assert found[Side.BOTH] == {(0, 1): 0, (1, 2): removed, (0, 2): added}


def test_orders_that_contradict_each_other_are_drawn_and_said() -> None:
    before = graph(["memset", "empty"], [(0, 1)])
    after = graph(["memset", "empty"], [(1, 0)])
    scene = decode_scene(joined(before, after).scene(Side.BOTH))
    assert "order these nodes differently" in " ".join(scene.header["warnings"])
    assert scene.header["edges"] == 2


@given(st.text("abcd", max_size=30), st.text("abcd", max_size=30))
@settings(max_examples=60, deadline=None)
def test_every_node_and_edge_of_either_side_is_in_the_union(one: str, other: str) -> None:
    level = align(kernels(one), kernels(other))[0]
    union = Union.of(level)
    assert union.before[union.in_before].tolist() == list(range(len(one)))
    assert sorted(union.after[union.in_after].tolist()) == list(range(len(other)))
    assert union.after[union.index_after].tolist() == list(range(len(other)))
    assert sorted(union.order.tolist()) == list(range(len(union)))
    pairs = list(zip(union.source.tolist(), union.target.tolist(), strict=True))
    here = [pair for pair, known in zip(pairs, union.edge_in_before, strict=True) if known]
    there = [pair for pair, known in zip(pairs, union.edge_in_after, strict=True) if known]
    assert here == [(at, at + 1) for at in range(len(one) - 1)]
    index = union.index_after.tolist()
    assert sorted(there) == sorted(pairwise(index))
