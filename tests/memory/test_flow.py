"""Data through bytes, on made-up memory: who wrote what is read, and what no data needs."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.analysis import Severity, Subject, run_analysis
from capture.memory_map import Events
from capture.model import Graph, Kernel
from capture.nodes.kernel import KernelPayload
from capture.origins import Compiled, Origins
from capture.writes import Watched, Writes
from tests.helpers.synthetic_memory import BASE, POOL, copy, fill, graph, kernel, memory

SCALE = "_Z5scalePfyPKf"  # scale(float*, unsigned long long, float const*)
ADD = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"  # noqa: E501 - a real name
STRIDED = "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_addIN3c104HalfEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_"  # noqa: E501 - a real name


def add(out: int, one: int, other: int) -> KernelPayload:
    """Return a launch of torch's addition, with the parameters that it has."""
    return KernelPayload(
        kernel=Kernel(name=ADD, parameters=[(0, 4), (4, 4), (8, 24)]),
        arguments=struct.pack("<iiQQQ", 8, 0, out, one, other),
    )


def strided(out: int, one: int, other: int) -> KernelPayload:
    """Return a launch of the same over strides: what it captures begins with sizes.

    In entries of sizes that are not used stands what was in their memory before.
    """
    captured = struct.pack("<Q", 2) + struct.pack("<Q", BASE + 128) * 75
    return KernelPayload(
        kernel=Kernel(name=STRIDED, parameters=[(0, 4), (8, 648)]),
        arguments=struct.pack("<Q", 8) + captured + struct.pack("<QQQQQ", out, one, other, 1, 1),
    )


def subject(payloads: list[Any], edges: Any = (), **fields: Any) -> Subject:
    return Subject(graph(payloads, edges), **{"memory": memory(), **fields})


def flows(payloads: list[Any], **fields: Any) -> list[tuple[int, int, str]]:
    found = subject(payloads, **fields).flows
    return sorted((item.writer, item.reader, item.how) for item in found)


def test_copies_are_exact_and_signatures_inferred() -> None:
    assert flows([fill(BASE, 64), copy(BASE + 32, POOL, 64), kernel(SCALE, BASE, 0, POOL)]) == [
        (0, 1, "exact"),
        (0, 2, "possible"),  # float*: it may read what it writes
        (1, 2, "inferred"),
    ]


@pytest.mark.parametrize("launch", [add, strided])
def test_elementwise_kernels_write_their_first_pointer_and_read_the_others(launch: Any) -> None:
    payloads = [fill(BASE, 64), fill(POOL, 64), launch(BASE, BASE, POOL), copy(BASE, POOL, 64)]
    assert flows(payloads) == [(0, 2, "inferred"), (1, 2, "inferred"), (2, 3, "inferred")]


def test_only_the_last_writer_counts_unless_another_may_have_written() -> None:
    assert flows([fill(BASE, 8), fill(BASE, 8), copy(BASE, POOL, 8)]) == [(1, 2, "exact")]
    assert flows([fill(BASE, 8), kernel("plain", BASE), copy(BASE, POOL, 8)]) == [
        (0, 1, "possible"),
        (0, 2, "possible"),
        (1, 2, "possible"),
    ]


def history(*rows: tuple[int, int, int, int]) -> Events:
    """Return events of (what, address, size, nodes before); 0 allocates, 1 frees."""
    what, address, size, before = (list(column) for column in zip(*rows, strict=True))
    return Events(action=what, address=address, size_bytes=size, at_us=before, nodes_before=before)


def test_memory_that_is_used_again_is_other_memory() -> None:
    payloads = [kernel("gemm", POOL + 1024), add(BASE, BASE, POOL + 1024)] * 2
    held = memory()
    held.events = history((0, POOL + 1024, 64, 0), (1, POOL + 1024, 64, 2), (0, POOL + 1024, 64, 2))
    # What lives only in a replay is written by the first node that touches it.
    assert flows(payloads, memory=held) == [
        (0, 1, "inferred"),
        (1, 3, "inferred"),
        (2, 3, "inferred"),
    ]
    held.events = None
    assert (0, 1, "possible") in flows(payloads, memory=held)


def test_measured_writes_replace_inferred_ones() -> None:
    payloads = [kernel("gemm", BASE, POOL), kernel("gemm", POOL, BASE)]
    writes = Writes(
        node=["0"],
        address=[POOL],
        size_bytes=[64],
        ran=["0", "1"],
        watched=Watched(address=[BASE, POOL], size_bytes=[512, 1024]),
    )
    assert flows(payloads) == [(0, 1, "possible")]
    assert flows(payloads, writes=writes) == [(0, 1, "measured")]
    result = run_analysis("unordered_writes", subject(payloads, writes=writes))
    assert [row[7] for row in result.rows] == ["certain"]
    # Its absence is not certain: a value may have been written over itself.
    assert result.severity is Severity.WARNING


def test_kernels_of_known_kinds_that_race() -> None:
    payloads = [add(BASE, BASE, POOL), add(BASE, BASE, POOL)]
    result = run_analysis("unordered_writes", subject(payloads))
    assert [(row[0], row[2], row[4], row[7]) for row in result.rows] == [
        ("0", "1", "writes, writes", "likely")
    ]
    assert result.severity is Severity.NOTICE
    for healthy in (
        [add(BASE, POOL, POOL), add(BASE + 256, POOL, POOL)],
        [kernel("gemm", BASE, POOL), kernel("gemm", BASE, POOL)],
    ):
        assert not run_analysis("unordered_writes", subject(healthy)).rows
    assert not run_analysis("unordered_writes", subject(payloads, [(0, 1)])).rows


def test_dependencies_that_no_data_needs() -> None:
    payloads = [fill(BASE, 8), fill(BASE + 8, 8), copy(BASE, POOL, 8), copy(POOL, BASE + 8, 8)]
    result = run_analysis("edges_without_data", subject(payloads, [(0, 1), (1, 2), (2, 3)]))
    assert [(row[0], row[2]) for row in result.rows] == [("0", "1"), ("1", "2")]
    assert result.node_marks == [1, 2]
    figures = {name: item.value for name, item in result.figures.items()}
    assert figures == {
        "edges": 3,
        "judged": 3,
        "without_data": 2,
        "data_chain": 3,
        "edge_chain": 4,
    }


def test_nodes_of_which_nothing_is_known_keep_their_edges() -> None:
    payloads = [fill(BASE, 8), kernel("plain", 7), copy(POOL, BASE + 256, 8)]
    result = run_analysis("edges_without_data", subject(payloads, [(0, 1), (1, 2)]))
    assert not result.rows
    assert result.figures["judged"].value == 0


def _byte_by_byte(graph_: Graph) -> set[tuple[int, int]]:
    """Return last writers and readers by simulating every byte."""
    last: dict[int, int] = {}
    found = set()
    for node, payload in enumerate(graph_.payloads):
        if hasattr(payload, "source"):
            start, size = payload.source.address, payload.width_bytes
            found |= {(last[at], node) for at in range(start, start + size) if at in last}
            target = payload.destination.address
        else:
            target, size = payload.address, payload.width
        for at in range(target, target + size):
            last[at] = node
    return found


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 12), st.integers(0, 12), st.integers(1, 6)),
        max_size=14,
    )
)
def test_flows_of_copies_are_those_of_every_byte(
    made: list[tuple[int | None, int, int]],
) -> None:
    payloads = [
        fill(BASE + to, size) if source is None else copy(BASE + source, BASE + to, size)
        for source, to, size in made
    ]
    for held in (memory(), None):
        one = Subject(graph(payloads), memory=held)
        pairs = {(item.writer, item.reader) for item in one.flows}
        expected = {(a, b) for a, b in _byte_by_byte(one.graph) if a != b}
        assert pairs == expected
        assert {item.how for item in one.flows} <= {"exact"}


def test_the_table_of_flows() -> None:
    result = run_analysis("data_flow", subject([fill(BASE, 8), copy(BASE, POOL, 8)]))
    assert [row[0::2] for row in result.rows] == [("0", "1", f"0x{BASE:x}")]
    assert result.node_values == {1: 1}
    assert any("--memory-stacks" in note for note in result.notes) is False


def test_lists_of_tensors_are_read_and_written_as_their_functor_says() -> None:
    name = (
        "_ZN2at6native57_GLOBAL__N__e658eeb9_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tensor"
        "_apply_kernelINS1_18TensorListMetadataILi2EEENS1_21BinaryOpScalarFunctorIfLi2ELi1ELi1EEE"
        "JSt10multipliesIfEfEEEvT_T0_DpT1_"
    )
    data = bytearray(3144)
    data[0:16] = struct.pack("<QQ", BASE, BASE + 64)  # what is read
    data[512:528] = struct.pack("<QQ", POOL, POOL + 64)
    data[1536:1538] = bytes((0, 1))
    launch = KernelPayload(
        kernel=Kernel(name=name, parameters=[(0, 3144), (3144, 1), (3145, 1), (3148, 4)]),
        arguments=bytes(data) + bytes(8),
        grid=(2, 1, 1),
    )
    payloads = [fill(BASE, 128), fill(POOL, 128), launch, copy(POOL + 64, BASE, 8)]
    assert flows(payloads) == [(0, 2, "inferred"), (2, 3, "inferred")]


def test_parameters_that_a_compiler_named_tell_directions() -> None:
    names = ("in_ptr0", "in_out_ptr0", "xnumel", "out_ptr1")
    fused = Kernel(name="triton_fused", parameters=[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8)])
    launch = KernelPayload(
        kernel=fused, arguments=struct.pack("<QQQQQ", BASE, BASE + 64, 7, POOL, 0)
    )
    nodes = graph([fill(BASE, 128), launch, copy(POOL, BASE + 256, 8)])
    origins = Origins(
        graph="k",
        compiled_kernels=[Compiled("triton_fused", parameters=names)],
        compiled=[-1, 0, -1],
    )
    found = Subject(nodes, memory=memory(), origins=origins).flows
    assert [(item.writer, item.reader, item.how) for item in found] == [
        (0, 1, "inferred"),
        (1, 2, "inferred"),
    ]
