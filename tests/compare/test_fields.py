"""Which fields differ, and which words are addresses or mean nothing."""

from __future__ import annotations

import struct

import pytest

import capture
from capture.model import Graph, Kernel
from capture.nodes.kernel import KernelPayload
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.nodes.memset import MemsetPayload
from tests.compare.graphs import ADDRESS, chain, graph, kernels, launch


def fields(before: Graph, after: Graph) -> list[tuple[str, object, object]]:
    return [
        (item.field, item.before, item.after)
        for change in capture.compare(before, after).changes
        for item in change.fields
    ]


def test_a_second_run_at_other_addresses_is_no_change() -> None:
    one = chain([launch("a_kernel", address=ADDRESS + 512 * n) for n in range(20)])
    other = chain([launch("a_kernel", address=ADDRESS + 512 * n + (9 << 30)) for n in range(20)])
    found = capture.compare(one, other)
    assert found.same
    assert any("20 distinct addresses" in note for note in found.notes)


def test_a_pointer_to_another_buffer_is_a_change() -> None:
    buffers = [ADDRESS + (n << 24) for n in range(4)]
    there = [ADDRESS + (7 << 33) + (n << 24) for n in (2, 0, 3, 1)]
    uses = [0, 1, 2, 3] * 5
    one = chain([launch("a_kernel", address=buffers[n]) for n in uses])
    after = [there[n] for n in uses]
    after[6] = there[0]
    found = fields(one, chain([launch("a_kernel", address=at) for at in after]))
    assert found == [("argument 0", hex(buffers[2]), hex(there[0]))]


def test_scalars_are_compared() -> None:
    one, other = kernels("abc"), kernels("abc", scalar=9)
    assert fields(one, other) == [("argument 1", 7, 9)] * 3


def test_launch_fields_are_named() -> None:
    one = chain([launch("a_kernel", cooperative=False, priority=0)])
    other = chain([launch("a_kernel", grid=9, cooperative=True, cluster=(2, 1, 1), priority=-1)])
    assert {name for name, _, _ in fields(one, other)} == {
        "grid",
        "cooperative",
        "cluster",
        "priority",
    }


def test_what_one_side_does_not_know_is_no_change() -> None:
    one, other = kernels("ab"), kernels("ab")
    for payload in other.payloads:
        payload.arguments = payload.dynamic_shared_bytes = None
        payload.kernel = Kernel(name=payload.kernel.name)
    assert capture.compare(one, other).same


def test_a_recompiled_kernel_shows_its_registers() -> None:
    one, other = kernels("a"), kernels("a")
    other.payloads[0].kernel.registers = 40
    assert fields(one, other) == [("registers", 32, 40)]


def structure(name: str, data: bytes, size: int) -> Graph:
    kernel = Kernel(name=name, parameters=[(0, size)])
    return chain([KernelPayload(kernel=kernel, grid=(1, 1, 1), arguments=data)])


def test_bytes_of_structures_that_nobody_wrote_are_doubtful() -> None:
    one = structure("a_kernel", struct.pack("<4Q", 1, 0x3B1CEFA0, 0, 5), 32)
    other = structure("a_kernel", struct.pack("<4Q", 1, 0x4AFEC290, 1, 5), 32)
    found = capture.compare(one, other)
    assert found.same
    assert any("structures" in note for note in found.notes)


def test_a_float_in_a_small_structure_is_believed() -> None:
    one = structure("_Z3addI1FEvT_", struct.pack("<2f", 1.0, 3.0), 8)
    other = structure("_Z3addI1FEvT_", struct.pack("<2f", 2.0, 3.0), 8)
    one.payloads[0].kernel.name = other.payloads[0].kernel.name = "_Z3addI1FEvT_"
    assert fields(one, other) in ([("argument 0", 1.0, 2.0)], [("argument 0, byte 0", 1.0, 2.0)])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            MemsetPayload(address=ADDRESS, value=0, element_bytes=4, width=8, height=1),
            MemsetPayload(address=ADDRESS + (1 << 34), value=1, element_bytes=4, width=8, height=1),
            [("value", 0, 1)],
        ),
        (
            MemcpyPayload(
                kind="HtoD", source=MemcpyEnd(memory_type="host", address=5), width_bytes=8
            ),
            MemcpyPayload(
                kind="HtoD", source=MemcpyEnd(memory_type="unified", address=6), width_bytes=16
            ),
            [("source.memory_type", "host", "unified"), ("width_bytes", 8, 16)],
        ),
        ({"size_bytes": 1, "node_handle": 5}, {"size_bytes": 2, "node_handle": 6},
         [("size_bytes", 1, 2)]),
    ],
)  # fmt: skip
def test_fields_of_other_nodes(
    before: object, after: object, expected: list[tuple[str, object, object]]
) -> None:
    type_ = {MemsetPayload: "memset", MemcpyPayload: "memcpy"}.get(type(before), "type_17")
    one, other = (graph([type_], [], payloads=[payload]) for payload in (before, after))
    assert fields(one, other) == expected


def test_rewired_dependencies_are_told() -> None:
    one = graph(["kernel", "memset", "memcpy"], [(0, 1), (1, 2)])
    other = graph(["kernel", "memset", "memcpy"], [(0, 1), (0, 2)])
    found = capture.compare(one, other)
    assert [(edge.kind, edge.before, edge.after) for edge in found.edges] == [
        ("removed", ("1", "2"), None),
        ("added", None, ("0", "2")),
    ]
    assert found.counts.edges_rewired == 2


def test_ports_of_a_dependency() -> None:
    one, other = (graph(["kernel", "memset"], [(0, 1)]) for _ in range(2))
    other.topology.from_port = [1]
    other.topology.edge_type = [1]
    (edge,) = capture.compare(one, other).edges
    assert (edge.kind, edge.form_before, edge.form_after) == ("changed", (0, 0, 0), (1, 0, 1))


def test_pointers_count_only_where_memory_is_laid_out_alike() -> None:
    buffers = [ADDRESS + (n << 24) for n in range(4)]
    one = chain([launch("a_kernel", address=buffers[n % 4]) for n in range(12)])
    payloads = [launch("a_kernel", address=buffers[n % 4]) for n in range(12)]
    payloads[6] = launch("a_kernel", address=buffers[1])
    assert len(fields(one, chain(payloads))) == 1
    longer = capture.compare(one, chain([*payloads, launch("b_kernel")]))
    assert [change.kind for change in longer.changes] == ["added"]
    assert any("another buffer" in note for note in longer.notes)


def test_files_that_say_less_are_no_change() -> None:
    from tests.formats.test_driver_dot import DATA

    found = capture.compare(DATA / "alltypes_plain.dot", DATA / "alltypes_all.dot")
    assert found.same
    assert any("not read in full" in words for words in found.pairs[0].update.unchecked)


def test_recorded_memory_tells_addresses_that_are_small() -> None:
    from capture.analysis import Subject
    from capture.memory_map import Memory, Segments

    def side(start: int) -> Subject:
        addresses = [start, start + 512, start, start + 512]
        memory = Memory(segments=Segments(address=[start], size_bytes=[4096]))
        one = chain([launch("a_kernel", address=address) for address in addresses])
        return Subject(one, memory=memory)

    one, other = side(0x302000000), side(0x502000000)
    found = capture.compare(one, other)
    assert found.same
    assert found.addresses_moved == 2
    assert any("recorded memory" in note for note in found.notes)
    assert not capture.compare(one.graph, other.graph).same
