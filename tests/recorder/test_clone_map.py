"""Ids of records are joined to captured nodes, also where instantiate flattened bodies.

Ids and handles of the first three tests are as a driver gave them (580, CUDA 13.0, H200).
"""

from __future__ import annotations

from capture.model import Body, Graph, Topology
from capture.recorder.clone_map import joined


def flat(*types: str) -> Graph:
    return Graph(topology=Topology(types=list(types)), payloads=[None] * len(types))


def with_bodies(types: list[str], *bodies: tuple[int, int, Graph]) -> Graph:
    graph = flat(*types)
    graph.bodies = [
        Body(node=node, index=index, role="", graph=inside) for node, index, inside in bodies
    ]
    return graph


def refuse(clone: int) -> int:
    raise AssertionError(f"clone {clone} was asked about")


def test_a_graph_without_bodies_asks_nothing() -> None:
    clones = [(501, 0x200000000, 1), (502, 0x200000001, 2), (777, 0x200000002, 3)]
    found = joined(flat("kernel", "memcpy"), [("", [501, 502])], clones, refuse)
    assert found == {0x200000000: "0", 0x200000001: "1", 0x200000002: ""}


def test_nodes_of_child_graphs_at_any_depth() -> None:
    grandchild = flat("kernel", "kernel")
    child = with_bodies(["kernel", "child_graph", "kernel"], (1, 0, grandchild))
    graph = with_bodies(["kernel", "child_graph"], (1, 0, child))
    levels = [("", [10, 11]), ("1/0", [20, 21, 22]), ("1/0/1/0", [30, 31])]
    clones = [
        (10, 0xB00000000, 110),
        (20, 0xC00000000, 120),
        (30, 0xD00000000, 130),
        (31, 0xD00000001, 131),
        (21, 0xC00000001, 121),
        (22, 0xC00000002, 122),
        (11, 0xB00000001, 111),
    ]
    later = {120: 0xB00000002, 130: 0xB00000005, 131: 0xB00000006, 122: 0xB00000004}
    # Clone 121, an embedded child graph, is gone after instantiate: asking crashes.
    found = joined(graph, levels, clones, later.__getitem__)
    seen = {0xB00000000: "0", 0xB00000002: "1/0/0", 0xB00000005: "1/0/1/0/0"}
    seen |= {0xB00000006: "1/0/1/0/1", 0xB00000004: "1/0/2"}
    assert {id_: found[id_] for id_ in seen} == seen


def test_copies_in_bodies_are_placed_by_the_kernels_beside_them() -> None:
    case = flat("kernel", "memcpy")
    graph = with_bodies(["kernel", "conditional"], (1, 0, case), (1, 1, case))
    levels = [("", [10, 11]), ("1/0", [20, 21]), ("1/1", [30, 31])]
    clones = [(10, 0x100, 1), (20, 0x200, 2), (21, 0x201, 3), (30, 0x300, 4), (31, 0x301, 5)]
    clones.append((11, 0x101, 6))
    # Copies would answer with each other's ids: only kernels are asked.
    found = joined(graph, levels, clones, {2: 0x102, 4: 0x104}.__getitem__)
    assert found[0x103] == "1/0/1"
    assert found[0x105] == "1/1/1"


def test_a_body_of_copies_alone_is_placed_when_all_others_are_where_expected() -> None:
    graph = with_bodies(
        ["child_graph", "child_graph"], (0, 0, flat("memcpy")), (1, 0, flat("kernel"))
    )
    levels = [("", [10, 11]), ("0/0", [20]), ("1/0", [30])]
    clones = [(10, 0x100, 1), (20, 0x200, 2), (11, 0x101, 3), (30, 0x300, 4)]
    assert joined(graph, levels, clones, {4: 0x103}.__getitem__)[0x102] == "0/0/0"
    # Elsewhere than expected: the copy's place is not known, and nothing is claimed.
    found = joined(graph, levels, clones, {4: 0x102}.__getitem__)
    assert found[0x102] == "1/0/0"
    assert "0/0/0" not in found.values()


def test_answers_that_do_not_fit_one_another_place_only_kernels() -> None:
    graph = with_bodies(["child_graph"], (0, 0, flat("kernel", "memset", "kernel")))
    levels = [("", [10]), ("0/0", [20, 21, 22])]
    clones = [(10, 0x100, 1), (20, 0x200, 2), (21, 0x201, 3), (22, 0x202, 4)]
    found = joined(graph, levels, clones, {2: 0x101, 4: 0x109}.__getitem__)
    assert found == {0x100: "0", 0x101: "0/0/0", 0x109: "0/0/2"}
