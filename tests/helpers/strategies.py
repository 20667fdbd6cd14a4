"""Hypothesis strategies for graphs with every payload type, unknown types, bodies and extras."""

from __future__ import annotations

from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from capture.model import Body, Graph, Kernel, Topology
from capture.nodes import node_types

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["[]", "()", "json:", "0x", " ", "true", "7", "a\r\nb", "\x00", '"<&>']
)
NAMES = st.text("abcdefgh_0123456789", min_size=1, max_size=8)
INTEGERS = st.integers(-5, 5) | st.integers(0, 2**64 - 1)
SMALL = st.integers(0, 2**31 - 1)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=1),
    max_leaves=3,
)
MAPS = st.dictionaries(NAMES, JSON, max_size=2)
KERNELS = st.builds(
    Kernel,
    name=TEXTS,
    registers=st.none() | SMALL,
    static_shared_bytes=st.none() | SMALL,
    parameters=st.none() | st.lists(st.tuples(SMALL, SMALL), max_size=2),
    extra=MAPS,
)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a field, from its annotation."""
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXTS,
        int: INTEGERS,
        bool: st.booleans(),
        float: st.floats(allow_nan=False),
        bytes: st.binary(max_size=20),
        type(None): st.none(),
        Kernel: KERNELS,
        Any: JSON,
    }
    if hint in simple:
        return simple[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if origin is list:
        return st.lists(values(arguments[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(NAMES, values(arguments[1]), max_size=2)
    if arguments:
        return st.one_of(*map(values, arguments))
    return payloads(hint)


def payloads(struct: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return a strategy for a payload struct with any of its fields set."""
    hints = get_type_hints(struct)
    return st.fixed_dictionaries(
        {}, optional={name: values(hint) for name, hint in hints.items()}
    ).map(lambda fields: struct(**fields))


def node_contents() -> st.SearchStrategy[tuple[str, Any]]:
    """Return a strategy for (type, payload)."""
    known = [
        st.tuples(st.just(name), st.none() | payloads(entry.payload))
        if entry.payload is not None
        else st.tuples(st.just(name), st.none())
        for name, entry in node_types().items()
    ]
    unknown = st.tuples(
        st.sampled_from(["type_17", "type_unread", "something else"]), st.none() | MAPS
    )
    return st.one_of(*known, unknown)


NODES = node_contents()


def column(values: list[int]) -> list[int]:
    """Return a column as the model has it: empty when every value is 0."""
    return values if any(values) else []


@st.composite
def graphs(draw: st.DrawFn, depth: int = 2) -> Graph:
    """Draw a graph; its edges may be in any order, doubled over ports, or cyclic."""
    contents = draw(st.lists(NODES, max_size=3))
    count = len(contents)
    edges: list[tuple[int, ...]] = []
    if count:
        ends = st.integers(0, count - 1)
        ports = st.integers(0, 2)
        edges = draw(
            st.lists(
                st.tuples(ends, ends, ports, ports, st.integers(0, 1)), max_size=8, unique=True
            )
        )
        if draw(st.booleans()):
            edges.sort(key=lambda edge: (edge[1], edge[0]))
    bodies = []
    if count and depth:
        places = draw(
            st.lists(
                st.tuples(st.integers(0, count - 1), st.integers(0, 2)), max_size=2, unique=True
            )
        )
        for node, index in sorted(places):
            inner = draw(graphs(depth=depth - 1))
            bodies.append(Body(node=node, index=index, role=draw(TEXTS), graph=inner))
    extra = draw(MAPS)
    extras = {draw(st.integers(0, count - 1)): extra} if count and extra else {}
    columns = [list(values) for values in zip(*edges, strict=True)] or [[] for _ in range(5)]
    return Graph(
        topology=Topology(
            types=[type_ for type_, _ in contents],
            source=columns[0],
            target=columns[1],
            from_port=column(columns[2]),
            to_port=column(columns[3]),
            edge_type=column(columns[4]),
        ),
        payloads=[payload for _, payload in contents],
        bodies=bodies,
        name=draw(TEXTS),
        node_extra=extras,
        extra=draw(MAPS),
    )
