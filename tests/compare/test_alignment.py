"""Which node is which: insertions, removals, moves, variants, layers that are all alike."""

from __future__ import annotations

import random

import pytest

import capture
from capture.model import Graph, Topology
from tests.benchmarks.compare import planted
from tests.compare.graphs import chain, conditional, graph, kernels, launch

LAYER = "abcdefgh"


def edits(before: Graph, after: Graph) -> dict[str, int]:
    counts = capture.compare(before, after).counts
    return {
        name: value
        for name in ("added", "removed", "changed", "moved")
        if (value := getattr(counts, name))
    }


def test_a_graph_against_itself_differs_in_nothing() -> None:
    one = kernels(LAYER * 30)
    found = capture.compare(one, one)
    assert found.same
    assert found.counts.matched == found.counts.unchanged == len(one)


def test_a_layer_inserted_among_equal_ones_marks_only_itself() -> None:
    assert edits(kernels(LAYER * 20), kernels(LAYER * 21)) == {"added": len(LAYER)}


@pytest.mark.parametrize("place", [0, 7, 40, 79])
def test_single_edits_are_found_where_they_are(place: int) -> None:
    letters = LAYER * 10
    inserted = capture.compare(kernels(letters), kernels(letters[:place] + "z" + letters[place:]))
    assert [(c.kind, c.after) for c in inserted.changes] == [("added", str(place))]
    removed = capture.compare(kernels(letters[:place] + "z" + letters[place:]), kernels(letters))
    assert [(c.kind, c.before) for c in removed.changes] == [("removed", str(place))]
    swapped = capture.compare(
        kernels(letters), kernels(letters[:place] + "z" + letters[place + 1 :])
    )
    assert [(c.kind, c.before, c.after) for c in swapped.changes] == [
        ("changed", str(place), str(place))
    ]
    assert swapped.changes[0].swapped


def test_a_moved_block_is_moved_and_not_removed_and_added() -> None:
    before = LAYER * 3 + "uvwxyz" + LAYER * 6
    after = LAYER * 7 + "uvwxyz" + LAYER * 2
    assert edits(kernels(before), kernels(after)) == {"moved": 6}


def test_variants_of_a_kernel_are_one_kernel() -> None:
    one = chain([launch(f"nvjet_sm90_hsh_64x{n}_64x13_v_TNT") for n in (8, 16, 32)])
    other = chain([launch(f"nvjet_sm90_hsh_128x{n}_64x13_v_TNT") for n in (8, 16, 32)])
    found = capture.compare(one, other)
    assert found.counts.matched == found.counts.swapped == 3
    assert all(change.related for change in found.changes)


def test_another_matrix_product_takes_the_place_of_one() -> None:
    one = chain([launch("a_kernel"), launch("nvjet_sm90_hsh_64x8_h_TNT"), launch("b_kernel")])
    other = chain([launch("a_kernel"), launch("ampere_fp16_gemm_tn"), launch("b_kernel")])
    found = capture.compare(one, other)
    assert [(c.before, c.after, c.related) for c in found.changes] == [("1", "1", True)]


def test_launch_dimensions_that_all_differ_do_not_hide_what_is_equal() -> None:
    one, other = kernels(LAYER * 4, grid=8), kernels(LAYER * 2 + "z" + LAYER * 2, grid=16)
    found = capture.compare(one, other)
    assert found.counts.added == 1
    assert found.counts.changed == len(one)
    assert any("launch dimensions" in note for note in found.notes)


def test_nodes_made_in_another_order_are_found_by_their_dependencies() -> None:
    dice = random.Random(5)
    letters = [dice.choice("abcdef") for _ in range(60)]
    one = kernels("".join(letters))
    order = list(range(60))
    dice.shuffle(order)
    place = {node: at for at, node in enumerate(order)}
    other = Graph(
        topology=Topology(
            types=["kernel"] * 60,
            source=[place[node] for node in range(59)],
            target=[place[node] for node in range(1, 60)],
        ),
        payloads=[one.payloads[node] for node in order],
    )
    found = capture.compare(one, other)
    assert found.same
    assert found.levels[0].partner == [place[node] for node in range(60)]


def test_bodies_are_aligned_too() -> None:
    before = conditional(kernels(LAYER), kernels("abc"))
    after = conditional(kernels(LAYER), kernels("abzc"))
    found = capture.compare(before, after)
    assert [(change.kind, change.after) for change in found.changes] == [("added", "0/1/2")]


def test_a_body_that_only_one_side_has_counts_whole() -> None:
    found = capture.compare(conditional(kernels("ab")), conditional(kernels("ab"), kernels("xyz")))
    assert found.counts.added == 3
    assert {change.after for change in found.changes if change.kind == "added"} == {
        "0/1/0",
        "0/1/1",
        "0/1/2",
    }


def test_nothing_in_common_is_said_and_not_drawn() -> None:
    found = capture.compare(kernels("abcdefgh"), kernels("stuvwxyz"))
    assert not found.in_common
    assert found.counts.matched == 0
    assert any("in common" in note for note in found.notes)


@pytest.mark.parametrize(("left", "right"), [("", "abc"), ("abc", ""), ("", "")])
def test_an_empty_graph(left: str, right: str) -> None:
    found = capture.compare(kernels(left), kernels(right))
    assert (found.counts.removed, found.counts.added) == (len(left), len(right))


def test_hundreds_of_identical_kernels() -> None:
    found = capture.compare(kernels("a" * 700), kernels("a" * 690))
    assert (found.counts.removed, found.counts.added, found.counts.changed) == (10, 0, 0)


def test_nodes_that_were_not_read_are_paired_by_type() -> None:
    one = graph(["kernel", "memset", "kernel"], [(0, 1), (1, 2)])
    other = graph(["kernel", "memset", "memcpy", "kernel"], [(0, 1), (1, 2), (2, 3)])
    found = capture.compare(one, other)
    assert [(change.kind, change.type) for change in found.changes] == [("added", "memcpy")]
    assert any("not read" in note for note in found.notes)


@pytest.mark.parametrize("seed", [1, 2])
def test_planted_edits_cost_what_was_planted(seed: int) -> None:
    before, after, count = planted(2_000, seed)
    assert sum(edits(before, after).values()) <= 1.02 * count


def branches(order: list[tuple[int, int]], count: int, length: int) -> Graph:
    """Return parallel chains between a root and a join, made in a given order."""
    places: dict[tuple[int, int], int] = {}
    edges: list[tuple[int, int]] = []
    payloads = [launch("root")]
    for branch, step in order:
        edges.append((places[branch, step - 1] if step else 0, len(payloads)))
        places[branch, step] = len(payloads)
        payloads.append(launch(f"kernel_{branch}_{step}"))
    edges += [(places[branch, length - 1], len(payloads)) for branch in range(count)]
    payloads.append(launch("join"))
    return graph(["kernel"] * len(payloads), edges, payloads=payloads)


@pytest.mark.parametrize("count", [2, 5])
def test_branches_that_were_captured_in_turns_are_the_same_graph(count: int) -> None:
    length = 30
    one_by_one = [(branch, step) for branch in range(count) for step in range(length)]
    in_turns = [(branch, step) for step in range(length) for branch in range(count)]
    dice = random.Random(3)
    reached = [0] * count
    at_random = []
    while sum(reached) < count * length:
        branch = dice.choice([at for at in range(count) if reached[at] < length])
        at_random.append((branch, reached[branch]))
        reached[branch] += 1
    first = branches(one_by_one, count, length)
    for order in (in_turns, at_random):
        found = capture.compare(first, branches(order, count, length))
        assert found.same
        assert any("another order" in note for note in found.notes)
