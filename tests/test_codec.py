"""Graphs to documents and back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.codec import (
    Tables,
    decode_graph,
    dump,
    dump_topology,
    encode_graph,
    load,
    load_topology,
)
from capture.errors import FormatError, InvalidGraphError, TooLargeError
from capture.model import Body, Graph, GraphInfo, Kernel, Topology
from capture.nodes.kernel import KernelPayload
from tests.helpers.recordings import chain, graphs, structs


def _through_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _decode(document: Any, tables: Tables) -> Graph:
    topologies = {k: load_topology(_through_json(v), k) for k, v in tables.topologies.items()}
    kernels = [load(Kernel, _through_json(item), "kernel") for item in tables.kernels]
    return decode_graph(_through_json(document), topologies, kernels)


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_a_graph_survives(graph: Graph) -> None:
    tables = Tables()
    document = encode_graph(graph, tables)
    assert _decode(document, tables) == graph


@given(structs(GraphInfo))
@settings(deadline=None)
def test_unknown_fields_of_a_struct_survive(info: GraphInfo) -> None:
    document = _through_json(dump(info)) | {"a_later_field": [1, {"deep": None}]}
    again = load(GraphInfo, document, "info")
    assert again.extra["a_later_field"] == [1, {"deep": None}]
    assert _through_json(dump(again)) == document


def test_unknown_fields_of_a_payload_survive() -> None:
    tables = Tables()
    document = _through_json(encode_graph(chain(3), tables))
    columns = document["levels"][0]["payloads"]["kernel"]["columns"]
    columns["a_later_field"] = [1, 2, {"x": 3}]
    graph = _decode(document, tables)
    assert [node.extra for node in graph.nodes()] == [
        {"a_later_field": 1},
        {"a_later_field": 2},
        {"a_later_field": {"x": 3}},
    ]
    again = Tables()
    assert _decode(encode_graph(graph, again), again) == graph


def test_equal_topologies_and_kernels_are_stored_once() -> None:
    tables = Tables()
    for graph in (chain(5), chain(5), chain(6)):
        encode_graph(graph, tables)
    assert len(tables.topologies) == 2
    assert len(tables.kernels) == 1


def test_kernels_are_shared_after_reading() -> None:
    tables = Tables()
    graph = _decode(encode_graph(chain(3), tables), tables)
    assert len({id(payload.kernel) for payload in graph.payloads}) == 1


def test_a_thousand_levels_need_no_recursion() -> None:
    graph = inner = Graph(topology=Topology(types=["child_graph"]), payloads=[None])
    for _ in range(5000):
        body = Graph(topology=Topology(types=["child_graph"]), payloads=[None])
        inner.bodies.append(Body(node=0, index=0, role="child", graph=body))
        inner = body
    tables = Tables()
    again = _decode(encode_graph(graph, tables), tables)
    assert sum(1 for _ in again.walk()) == 5001


def test_a_small_document_does_not_unfold_without_end() -> None:
    topology = Topology(types=["empty"] * 50_000)
    graph = Graph(topology=topology, payloads=[None] * 50_000)
    graph.bodies = [
        Body(
            node=node,
            index=0,
            role="child",
            graph=Graph(topology=topology, payloads=graph.payloads),
        )
        for node in range(100)
    ]
    tables = Tables()
    document = encode_graph(graph, tables)
    with pytest.raises(TooLargeError, match="nodes and edges"):
        _decode(document, tables)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"source": [0], "target": [7]}, InvalidGraphError),
        ({"source": [-1], "target": [0]}, InvalidGraphError),
        ({"source": [0.5], "target": [0]}, FormatError),
        ({"source": [True], "target": [0]}, FormatError),
        ({"source": [0]}, FormatError),
        ({"types": [1, 2]}, FormatError),
        ({"count": -1}, FormatError),
        ({"count": "2"}, FormatError),
        ({"types": {"same": "kernel", "count": 3}}, FormatError),
    ],
)
def test_topologies_that_contradict_themselves(change: Any, error: type[Exception]) -> None:
    document = dump_topology(Topology(types=["empty", "empty"], source=[0], target=[1])) | change
    if "target" not in change and "source" in change:
        del document["target"]
    with pytest.raises(error):
        load_topology(document, "x")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_mangled_document_is_refused_or_read(data: st.DataObject) -> None:
    tables = Tables()
    graph = chain(2)
    graph.bodies.append(Body(node=1, index=0, role="child", graph=chain(1)))
    document = _through_json(encode_graph(graph, tables))
    # Replace one value somewhere.
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        child = place[key]
        if isinstance(child, (dict, list)) and child and data.draw(st.booleans()):
            place = child
            continue
        place[key] = data.draw(
            st.sampled_from([None, -1, 10**30, 1.5, "x", [], {}, [[]], {"same": 1, "count": 2}])
        )
        break
    with suppress(FormatError):
        _decode(document, tables)


def test_a_payload_of_none_is_kept_apart_from_an_empty_one() -> None:
    graph = Graph(topology=Topology(types=["kernel", "kernel"]), payloads=[None, KernelPayload()])
    tables = Tables()
    assert _decode(encode_graph(graph, tables), tables).payloads == [None, KernelPayload()]
