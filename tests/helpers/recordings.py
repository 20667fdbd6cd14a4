"""Recordings made of nothing: hypothesis strategies over every struct of the model."""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from capture.benchmarks import Benchmark
from capture.evidence import BENCHMARKS, ORIGINS, OUTSIDE, STORED, TIMINGS, StoredKind
from capture.model import (
    Body,
    Event,
    Executable,
    Graph,
    GraphInfo,
    Kernel,
    Metadata,
    Process,
    Recording,
    Topology,
)
from capture.nodes import node_types
from capture.origins import PHASES, Compiled, Frame, Module, Operator, Origins, TensorLike
from capture.outside import WORK_COLUMNS, Outside
from capture.timings import Timings

INTEGERS = st.integers(-(2**63), 2**63 - 1)
UNKNOWN_TYPES = ("type_17", "warp_drive")

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | INTEGERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
extras = st.dictionaries(
    st.text("abc", min_size=1, max_size=2).map("x_{}".format), json_values, max_size=2
)


def _of(hint: Any) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_of(argument) for argument in arguments])
    if origin is list:
        return st.lists(_of(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(_of(arguments[0]), _of(arguments[1]), max_size=2)
    if origin is tuple:
        return st.tuples(*map(_of, arguments))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return structs(hint)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        int: INTEGERS,
        float: st.floats(allow_nan=False, allow_infinity=False),
        str: st.text(max_size=12),
        bool: st.booleans(),
        bytes: st.binary(max_size=24),
        type(None): st.none(),
        Any: json_values,
    }
    return simple[hint]


@cache
def structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return a strategy for any struct of the model."""
    hints = typing.get_type_hints(kind)
    fields = {
        name: extras if name == "extra" else _of(hints[name]) for name in kind.__struct_fields__
    }
    return st.builds(kind, **fields)


@st.composite
def graphs(draw: st.DrawFn, depth: int = 2) -> Graph:
    """Graphs of every node type, known or not, with bodies and unknown fields."""
    names = [*node_types(), *UNKNOWN_TYPES]
    count = draw(st.integers(0, 6))
    kinds = draw(st.lists(st.sampled_from(names), min_size=count, max_size=count))
    edges: list[tuple[int, ...]] = []
    if count:
        place = st.integers(0, count - 1)
        port = st.integers(0, 3)
        edges = draw(st.lists(st.tuples(place, place, port, port, port), max_size=6))
    columns = [list(column) for column in zip(*edges, strict=True)] or [[] for _ in range(5)]
    ports = [column if any(column) else [] for column in columns[2:]]
    kernels = draw(st.lists(structs(Kernel), min_size=1, max_size=2))
    payloads: list[Any] = []
    for name in kinds:
        entry = node_types().get(name)
        if entry is None or entry.payload is None:
            payload = st.dictionaries(
                st.text("pq", min_size=1, max_size=3), json_values, max_size=3
            )
            payloads.append(draw(st.none() | payload))
            continue
        value = draw(st.none() | structs(entry.payload))
        if value is not None and getattr(value, "kernel", None) is not None:
            value.kernel = draw(st.sampled_from(kernels))
        payloads.append(value)
    bodies: list[Body] = []
    if count and depth:
        for node in sorted(draw(st.sets(st.integers(0, count - 1), max_size=2))):
            for index in range(draw(st.integers(1, 2))):
                inner = draw(graphs(depth - 1))
                role = draw(st.sampled_from(("child", "if", "while", "case 1")))
                bodies.append(Body(node=node, index=index, role=role, graph=inner))
    node_extra = {}
    if count:
        node_extra = draw(
            st.dictionaries(
                st.integers(0, count - 1), extras.filter(lambda extra: bool(extra)), max_size=2
            )
        )
    return Graph(
        topology=Topology(
            types=kinds,
            source=columns[0],
            target=columns[1],
            from_port=ports[0],
            to_port=ports[1],
            edge_type=ports[2],
        ),
        payloads=payloads,
        bodies=bodies,
        name=draw(st.text(max_size=8)),
        node_extra=node_extra,
        extra=draw(extras),
    )


def fill_columns(draw: st.DrawFn, kind: StoredKind, item: Any) -> None:
    """Give the columns of evidence one length, with anything in them."""
    for columns, lengths in kind.lengths(item):
        part = getattr(item, columns.part) if columns.part else item
        rows = draw(st.integers(0, 3))
        for name in lengths:
            values = st.text(max_size=6) if name == "node" else INTEGERS
            setattr(part, name, draw(st.lists(values, min_size=rows, max_size=rows)))


@st.composite
def timings_of(draw: st.DrawFn, executable: Executable) -> Timings:
    """Timings of an executable: columns of one length, anything in them."""
    made: Timings = draw(structs(Timings))
    made.executable, made.graph = executable.id, executable.graph
    fill_columns(draw, TIMINGS, made)
    return made


@st.composite
def benchmarks_of(draw: st.DrawFn, key: str) -> Benchmark:
    """A benchmark of a graph, with anything in it that it may hold."""
    made: Benchmark = draw(structs(Benchmark))
    made.graph = key
    fill_columns(draw, BENCHMARKS, made)
    if made.eager is not None:
        made.eager.calls = {name: [3, 4] for name in made.eager.calls}
    return made


def _places(count: int, lowest: int = 0) -> st.SearchStrategy[int]:
    return st.integers(lowest, count - 1)


@st.composite
def origins_of(draw: st.DrawFn, key: str) -> Origins:
    """Origins of a graph: tables of a few rows each, and columns that point into them."""
    rows = draw(st.integers(0, 4))
    frames = draw(st.lists(structs(Frame), min_size=1, max_size=3))
    stacks = draw(st.lists(st.lists(_places(len(frames)), max_size=3).map(tuple), max_size=3))
    modules = [
        Module(path=f"layer.{place}", class_name="Layer", parent=draw(_places(place, -1)))
        for place in range(draw(st.integers(0, 3)))
    ]
    kernels = [
        Compiled(kernel="fused", stacks=tuple(draw(st.lists(_places(len(stacks)), max_size=2))))
        for _ in range(draw(st.integers(0, 2)) if stacks else 0)
    ]
    tensor = TensorLike(dtype="float32", shape=(3, 4), stride=(4, 1))
    made = Origins(
        graph=key,
        how=["operators: synthetic"],
        frames=frames,
        stacks=stacks,
        modules=modules,
        operators=[Operator(name="aten.add.Tensor", inputs=(tensor,), scalars=("1",))],
        names=draw(st.lists(st.text(max_size=5), max_size=2)),
        compiled_kernels=kernels,
        sources={"step.py": "x = 1\n"} if draw(st.booleans()) else {},
        extra=draw(extras),
    )
    sizes = {
        "stack": len(stacks),
        "forward": len(stacks),
        "operator": 1,
        "module": len(modules),
        "phase": len(PHASES),
        "compiled": len(kernels),
        **dict.fromkeys(("autograd", "stream", "thread", "label"), len(made.names)),
    }
    for name, size in sizes.items():
        if draw(st.booleans()):
            setattr(made, name, draw(st.lists(_places(size, -1), min_size=rows, max_size=rows)))
        else:
            made.missing[name] = "it was not asked for"
    ORIGINS.validate(made, "made")
    return made


@st.composite
def outside_of(draw: st.DrawFn, process: str) -> Outside:
    """Work outside graphs of a process: rows with or without stacks."""
    rows = draw(st.integers(0, 3))
    frames = draw(st.lists(structs(Frame), min_size=1, max_size=3))
    stacks = draw(st.lists(st.lists(_places(len(frames)), max_size=3).map(tuple), max_size=3))
    made = Outside(process=process, windows=draw(st.integers(0, 3)), extra=draw(extras))
    for name in WORK_COLUMNS:
        values = st.text(max_size=5) if name in ("name", "type", "place") else INTEGERS
        setattr(made, name, draw(st.lists(values, min_size=rows, max_size=rows)))
    if draw(st.booleans()):
        made.frames, made.stacks = frames, stacks
        made.stacks_end = draw(st.integers(0, 3))
        made.stack = draw(st.lists(_places(len(stacks), -1), min_size=rows, max_size=rows))
        made.autograd = draw(st.lists(st.text(max_size=5), min_size=rows, max_size=rows))
    OUTSIDE.validate(made, "made")
    return made


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Recordings with a few graphs and failed captures."""
    keys = draw(st.lists(st.text(min_size=1, max_size=8), max_size=3, unique=True))
    infos: list[GraphInfo] = []
    for key in keys:
        info = draw(structs(GraphInfo))
        info.key, info.failure = key, None
        infos.append(info)
    failed = draw(structs(GraphInfo))
    while failed.key in keys:
        failed.key += "'"
    executables = draw(st.lists(structs(Executable), max_size=2, unique_by=lambda one: one.id))
    processes = draw(st.lists(structs(Process), max_size=2))
    owners = [str(number) for number in range(len(processes))]
    return Recording(
        draw(structs(Metadata)),
        infos,
        [failed],
        executables=executables,
        timings={one.id: draw(timings_of(one)) for one in executables if draw(st.booleans())},
        benchmarks={key: draw(benchmarks_of(key)) for key in keys if draw(st.booleans())},
        origins={key: draw(origins_of(key)) for key in [*keys, failed.key] if draw(st.booleans())},
        evidence={
            "outside": {owner: draw(outside_of(owner)) for owner in owners if draw(st.booleans())}
        },
        processes=processes,
        timeline=draw(st.lists(structs(Event), max_size=4)),
        extra=draw(extras),
        loaded={key: draw(graphs()) for key in [*keys, failed.key]},
    )


def assert_equal(one: Recording, other: Recording) -> None:
    """Fail unless two recordings have the same content."""
    assert one.metadata == other.metadata
    assert one.graphs == other.graphs
    assert list(one.graphs) == list(other.graphs)
    assert one.failed == other.failed
    assert one.executables == other.executables
    for kind in STORED:
        assert sorted(one.stored(kind)) == sorted(other.stored(kind))
        for owner in one.stored(kind):
            assert one.evidence(kind, owner) == other.evidence(kind, owner)
    assert one.processes == other.processes
    assert one.timeline == other.timeline
    assert one.extra == other.extra
    for key in one.graphs:
        assert one.graph(key) == other.graph(key)
    for key, info in one.failed.items():
        if info.failure is None or info.failure.nodes_read:
            assert one.graph(key) == other.graph(key)


def chain(count: int, name: str = "_Z5scalePfi") -> Graph:
    """Return a synthetic chain of one kernel."""
    from capture.nodes.kernel import KernelPayload

    kernel = Kernel(name=name, registers=16, parameters=[(0, 8), (8, 4)])
    return Graph(
        topology=Topology(
            types=["kernel"] * count,
            source=list(range(count - 1)),
            target=list(range(1, count)),
        ),
        payloads=[
            KernelPayload(
                kernel=kernel,
                grid=(4, 1, 1),
                block=(64, 1, 1),
                dynamic_shared_bytes=0,
                arguments=(0x7F0000000000 + 512 * (i % 7)).to_bytes(8, "little") + b"\1\0\0\0",
            )
            for i in range(count)
        ],
        name="synthetic chain",
    )


def recording_of(*named: Graph) -> Recording:
    """Return a recording of synthetic graphs, keyed ``synthetic-0`` and so on."""
    from capture.formats.summary import summarise

    infos = []
    loaded = {}
    for ordinal, graph in enumerate(named):
        info = GraphInfo(key=f"synthetic-{ordinal}", name=graph.name or f"synthetic {ordinal}")
        infos.append(summarise(info, graph))
        loaded[info.key] = graph
    return Recording(Metadata(title="synthetic"), infos, loaded=loaded)
