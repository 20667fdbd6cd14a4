from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.errors import InvalidGraphError
from capture.model import Body, Graph, Topology
from capture.topology import (
    digest,
    from_networkx,
    leaves,
    levels,
    reachable,
    roots,
    summarise,
    to_networkx,
    to_networkx_bodies,
    validate,
    width_and_depth,
)
from tests.helpers.declared import TOPOLOGIES
from tests.helpers.strategies import graphs

# Every payload type with every field makes large inputs; that is the point.
THOROUGH = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def topology(count: int, edges: list[tuple[int, int]]) -> Topology:
    return Topology(
        types=["empty"] * count, source=[s for s, _ in edges], target=[t for _, t in edges]
    )


def empty_graph(count: int, edges: list[tuple[int, int]]) -> Graph:
    return Graph(topology=topology(count, edges), payloads=[None] * count)


@st.composite
def acyclic(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 12))
    order = draw(st.permutations(range(count)))
    pairs = [(order[i], order[j]) for j in range(count) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return count, edges


class TestLevels:
    @given(acyclic())
    def test_agree_with_networkx(self, drawn: tuple[int, list[tuple[int, int]]]) -> None:
        count, edges = drawn
        theirs = nx.DiGraph(edges)
        theirs.add_nodes_from(range(count))
        expected = [0] * count
        for level, nodes in enumerate(nx.topological_generations(theirs)):
            for node in nodes:
                expected[node] = level
        assert levels(topology(count, edges)) == expected
        ordered = sorted(edges, key=lambda edge: edge[1])
        assert levels(topology(count, ordered)) == expected

    @given(acyclic())
    def test_roots_leaves_and_reachable(self, drawn: tuple[int, list[tuple[int, int]]]) -> None:
        count, edges = drawn
        theirs = nx.DiGraph(edges)
        theirs.add_nodes_from(range(count))
        ours = topology(count, edges)
        assert roots(ours) == [n for n in range(count) if not theirs.in_degree(n)]
        assert leaves(ours) == [n for n in range(count) if not theirs.out_degree(n)]
        assert reachable(ours, 0) == nx.descendants(theirs, 0)
        assert reachable(ours, [0], backwards=True) == nx.ancestors(theirs, 0)

    def test_a_cycle_has_none(self) -> None:
        assert levels(topology(3, [(0, 1), (1, 2), (2, 1)])) is None
        assert width_and_depth(topology(1, [(0, 0)])) == (None, None)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("one", (1, 1)),
            ("unconnected", (5, 1)),
            ("chain", (1, 6)),
            ("diamond", (2, 3)),
            ("fork_join", (8, 3)),
            ("made_backwards", (1, 4)),
            ("every_pair", (1, 7)),
        ],
    )
    def test_width_and_depth(self, name: str, expected: tuple[int, int]) -> None:
        assert width_and_depth(topology(*TOPOLOGIES[name])) == expected

    def test_of_no_nodes(self) -> None:
        assert width_and_depth(topology(0, [])) == (0, 0)


def nested() -> Graph:
    graph = empty_graph(2, [(0, 1)])
    body = empty_graph(3, [(0, 1), (0, 2)])
    body.bodies.append(Body(node=2, index=0, role="child", graph=empty_graph(1, [])))
    graph.bodies.append(Body(node=1, index=0, role="while", graph=body))
    return graph


class TestSummary:
    def test_counts_bodies(self) -> None:
        found = summarise(nested())
        assert found[:4] == (6, 3, 2, {"empty": 6})
        assert (found.width, found.depth, found.warnings) == (1, 2, [])

    def test_a_cycle_is_a_warning(self) -> None:
        graph = nested()
        graph.bodies[0].graph.topology = topology(3, [(0, 1), (1, 0)])
        found = summarise(graph)
        assert found.width == 1
        assert found.warnings == ["the edges of body 1/0 have a cycle: it has no levels"]
        graph.topology = topology(2, [(0, 1), (1, 0)])
        assert summarise(graph).width is None

    def test_100_000_nodes_are_no_work(self) -> None:
        count = 100_000
        chain = Graph(
            topology=Topology(
                types=["kernel"] * count,
                source=list(range(count - 1)),
                target=list(range(1, count)),
            ),
            payloads=[None] * count,
        )
        started = time.perf_counter()
        found = summarise(chain)
        assert (found.width, found.depth) == (1, count)
        # Printed, not asserted: a time is no test.
        print(f"summary of 100,000 nodes: {time.perf_counter() - started:.3f} s")


class TestDigest:
    def test_is_stable(self) -> None:
        assert digest(nested()) == "b1dc27f9199c36ee6b642cef0ba65e70"

    def test_does_not_see_the_order_of_edges_names_or_payloads(self) -> None:
        one, other = empty_graph(3, [(0, 1), (0, 2)]), empty_graph(3, [(0, 2), (0, 1)])
        other.name = "other"
        assert digest(one) == digest(other)

    @pytest.mark.parametrize(
        "change",
        [
            lambda graph: graph.topology.types.__setitem__(0, "kernel"),
            lambda graph: graph.topology.target.__setitem__(0, 0),
            lambda graph: setattr(graph.topology, "from_port", [1]),
            lambda graph: setattr(graph.topology, "edge_type", [1]),
            lambda graph: setattr(graph.bodies[0], "role", "if"),
            lambda graph: setattr(graph.bodies[0], "index", 1),
            lambda graph: graph.bodies.clear(),
            lambda graph: graph.bodies[0].graph.topology.types.append("empty"),
        ],
    )
    def test_sees_every_part_of_the_topology(self, change: Callable[[Graph], None]) -> None:
        graph = nested()
        change(graph)
        assert digest(graph) != digest(nested())

    def test_ports_of_zero_are_no_ports(self) -> None:
        graph = nested()
        graph.topology.from_port = [0]
        assert digest(graph) == digest(nested())


class TestValidate:
    def test_takes_what_is_right(self) -> None:
        validate(nested())

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda g: g.payloads.append(None), "2 nodes and 3 payloads"),
            (lambda g: g.topology.source.append(0), "values of target"),
            (lambda g: setattr(g.topology, "from_port", [1, 2]), "values of from_port"),
            (lambda g: g.topology.target.__setitem__(0, 7), "target 7"),
            (lambda g: g.topology.source.__setitem__(0, -1), "source -1"),
            (lambda g: setattr(g.bodies[0], "node", 9), "node 9"),
            (lambda g: g.bodies.append(g.bodies[0]), "1/0 twice"),
        ],
    )
    def test_refuses(self, change: Callable[[Graph], None], message: str) -> None:
        graph = nested()
        change(graph)
        with pytest.raises(InvalidGraphError, match=message):
            validate(graph)

    def test_refuses_an_edge_given_twice(self) -> None:
        with pytest.raises(InvalidGraphError, match="0 -> 1 twice"):
            validate(empty_graph(2, [(0, 1), (0, 1)]))

    def test_edges_between_other_ports_are_two(self) -> None:
        graph = empty_graph(2, [(0, 1), (0, 1)])
        graph.topology.from_port = [0, 1]
        validate(graph)

    @THOROUGH
    @given(graphs())
    def test_takes_every_drawn_graph(self, graph: Graph) -> None:
        validate(graph)


def through_pickle(graph: Any) -> Any:
    return pickle.loads(pickle.dumps(graph))


def through_graphml(graph: Any) -> Any:
    buffer = io.BytesIO()
    nx.write_graphml_xml(graph, buffer)
    buffer.seek(0)
    return nx.read_graphml(buffer)


def through_gml(graph: Any) -> Any:
    return nx.parse_gml("\n".join(nx.generate_gml(graph)))


def through_node_link(graph: Any) -> Any:
    data = json.loads(json.dumps(nx.node_link_data(graph, edges="edges")))
    return nx.node_link_graph(data, edges="edges")


def through_adjacency(graph: Any) -> Any:
    return nx.adjacency_graph(json.loads(json.dumps(nx.adjacency_data(graph))))


WAYS = [through_pickle, through_graphml, through_gml, through_node_link, through_adjacency]


class TestNetworkx:
    @THOROUGH
    @given(graphs())
    def test_and_back(self, graph: Graph) -> None:
        assert from_networkx(to_networkx(graph), to_networkx_bodies(graph)) == graph

    @pytest.mark.parametrize("way", WAYS)
    @THOROUGH
    @given(graph=graphs())
    def test_through_the_writers_of_networkx(self, way: Callable[[Any], Any], graph: Graph) -> None:
        outermost = way(to_networkx(graph))
        bodies = {path: way(body) for path, body in to_networkx_bodies(graph).items()}
        assert from_networkx(outermost, bodies) == graph

    @THOROUGH
    @given(graphs())
    def test_attributes_are_plain(self, graph: Graph) -> None:
        for level in (to_networkx(graph), *to_networkx_bodies(graph).values()):
            for _, attributes in [*level.nodes(data=True), ("", level.graph)]:
                assert {type(value) for value in attributes.values()} <= {str, int, float, bool}
            for _, _, attributes in level.edges(data=True):
                assert {type(value) for value in attributes.values()} <= {str, int}

    def test_a_body_by_its_path(self) -> None:
        graph = nested()
        assert list(to_networkx(graph, "1/0").edges) == [(0, 1), (0, 2)]
        assert list(to_networkx_bodies(graph)) == ["1/0", "1/0/2/0"]
        assert json.loads(to_networkx(graph).nodes[1]["bodies"])[0]["graph"] == "1/0"

    def test_a_missing_body_is_named(self) -> None:
        with pytest.raises(InvalidGraphError, match=r"1/0.*to_networkx_bodies"):
            from_networkx(to_networkx(nested()))

    @pytest.mark.parametrize(
        ("attributes", "message"),
        [
            ({}, "no attribute 'type'"),
            ({"type": "kernel", "position": 5}, "positions"),
            ({"type": "kernel", "position": "first"}, "no number"),
            ({"type": "empty", "extra": "{"}, "extra of node 0"),
            ({"type": "empty", "extra": "[]"}, "extra of node 0"),
            ({"type": "empty", "bodies": '[{"index": 0}]'}, "bodies of node 0"),
            ({"type": "kernel", "kernel": "{}"}, "is no kernel"),
            ({"type": "type_9", "payload": "{"}, "is no type_9"),
            ({"type": "kernel", "grid": "wide"}, "is no kernel"),
            ({"type": "memset", "value": "much"}, "is no memset"),
        ],
    )
    def test_other_graphs_are_refused(self, attributes: dict[str, Any], message: str) -> None:
        theirs: nx.DiGraph[int] = nx.DiGraph()
        theirs.add_node(0, **attributes)
        with pytest.raises(InvalidGraphError, match=message):
            from_networkx(theirs)


def test_a_body_that_holds_itself_is_refused() -> None:
    level: nx.DiGraph[int] = nx.DiGraph()
    level.add_node(0, type="child_graph", bodies='[{"index": 0, "role": "child", "graph": "a"}]')
    with pytest.raises(InvalidGraphError, match="another node's"):
        from_networkx(level, {"a": level})


def test_topology_loads_no_networkx() -> None:
    code = "import sys, capture.topology; print({'networkx', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
