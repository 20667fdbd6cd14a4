"""Lines of text choose nodes, or say what there is instead."""

from __future__ import annotations

import random

import pytest

from capture.errors import LookupFailed
from capture.model import Graph, Topology
from capture.names import family
from capture.selection import dominated, families, select
from tests.helpers import synthetic


def graph_of(count: int, edges: list[tuple[int, int]]) -> Graph:
    return Graph(
        topology=Topology(
            types=["kernel"] * count,
            source=[source for source, _ in edges],
            target=[target for _, target in edges],
        ),
        payloads=[None] * count,
    )


DIAMOND = graph_of(6, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)])


def test_positions() -> None:
    assert select(DIAMOND, "node:3") == [3]
    assert select(DIAMOND, "node: 5, 1-3, 3") == [1, 2, 3, 5]
    assert select(DIAMOND, "all") == list(range(6))
    assert select(DIAMOND, "node:4+branch:1") == [1, 4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node:6", "nodes are 0 to 5"),
        ("node:3-9", "nodes are 0 to 5"),
        ("node:4-2", "nodes are 0 to 5"),
        ("node:-1", "no position"),
        ("node:99999999999999999999", "no position"),
        ("node:1/0/2", "inside a body"),
        ("branch:7", "nodes are 0 to 5"),
        ("", "no selection"),
        ("node:", "no selection"),
        ("kernels", "no selection.*type:memset"),
        ("colour:red", "no selection"),
        ("type:memset", r"the graph has kernel \(6\)"),
        ("family:gemm", "no kernels with names"),
        ("node:1+", "no position"),
    ],
)
def test_what_cannot_be_chosen(text: str, words: str) -> None:
    with pytest.raises(LookupFailed, match=words):
        select(DIAMOND, text)


def test_an_empty_graph() -> None:
    with pytest.raises(LookupFailed, match="no nodes"):
        select(graph_of(0, []), "all")


def test_types_and_kernels() -> None:
    graph = synthetic.layers(40)
    types = graph.topology.types
    memsets = [at for at, type_ in enumerate(types) if type_ == "memset"]
    assert select(graph, "type:memset") == memsets
    by_family = families(graph)
    name = max(by_family, key=lambda item: len(by_family[item]))
    assert select(graph, f"family:{name}") == by_family[name]
    assert all(family(graph.payloads[at].kernel.name) == name for at in by_family[name])
    flash = select(graph, "name:FLASH_fwd")
    assert flash
    assert {graph.payloads[at].kernel.name for at in flash} == {
        name for name in synthetic.MANGLED if "flash_fwd" in name
    }
    assert select(graph, "type:memset+name:flash_fwd") == sorted({*memsets, *flash})
    # Families that the caller knows are taken as they are.
    assert select(graph, "family:mine", kernels_by_family={"mine": [2, 1]}) == [1, 2]


def test_names_that_are_not_there_say_which_are() -> None:
    graph = synthetic.layers(40)
    name = next(iter(families(graph)))
    with pytest.raises(LookupFailed) as caught:
        select(graph, f"family:{name}x")
    assert name in str(caught.value)
    with pytest.raises(LookupFailed, match="most frequent kernels of the graph"):
        select(graph, "name:zzzzzz")


def test_a_plus_inside_a_name_is_part_of_it() -> None:
    with pytest.raises(LookupFailed, match=r"'operator\+'"):
        select(synthetic.layers(20), "name:operator+")


def by_definition(graph: Graph, chosen: int) -> list[int]:
    """Remove the node; what no root reaches any more went through it."""
    count = len(graph)
    edges = list(zip(graph.topology.source, graph.topology.target, strict=True))
    roots = set(range(count)) - {target for _, target in edges}
    reached = {root for root in roots if root != chosen}
    stack = list(reached)
    while stack:
        node = stack.pop()
        for source, target in edges:
            if source == node and target != chosen and target not in reached:
                reached.add(target)
                stack.append(target)
    return sorted(set(range(count)) - reached)


@pytest.mark.parametrize("seed", range(30))
def test_a_branch_is_what_only_this_node_leads_to(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 12)
    edges = [
        (source, target)
        for source in range(count)
        for target in range(source + 1, count)
        if rng.random() < 0.25
    ]
    # Edges between two ports may come twice.
    graph = graph_of(count, edges + edges[:2])
    for chosen in range(count):
        assert dominated(graph, chosen) == by_definition(graph, chosen)
