"""The driver's DOT: real dumps in every form, other tools' versions of it, and half of it."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import capture.formats as formats
from capture.errors import FormatError, InvalidGraphError, TooLargeError
from capture.formats.driver.syntax import MAX_DEPTH
from capture.model import EvidenceKind, Graph, Recording
from capture.nodes.batch_mem_op import BatchMemOpPayload
from capture.nodes.conditional import ConditionalPayload
from capture.nodes.host import HostPayload
from capture.nodes.kernel import KernelPayload
from capture.nodes.mem_alloc import MemAllocPayload
from capture.nodes.mem_free import MemFreePayload
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.nodes.memset import MemsetPayload
from capture.nodes.wait_event import EventPayload

DATA = Path(__file__).parent.parent / "data" / "driver_dot"
FORMS = ("all", "handles", "params", "plain", "verbose")
TYPES = [
    "kernel",
    "child_graph",
    "empty",
    "event_record",
    "wait_event",
    "memset",
    "memcpy",
    "host",
    "mem_alloc",
    "mem_free",
    "conditional",
    "batch_mem_op",
]
CLAMP = "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_49_GLOBAL__N__d2ba64fb_16_"


def only(recording: Recording) -> Graph:
    (key,) = recording.graphs
    return recording.graph(key)


def read(name: str) -> Graph:
    return only(formats.read(DATA / f"{name}.dot"))


def read_text(tmp_path: Path, text: str) -> Recording:
    path = tmp_path / "some.dot"
    path.write_text(text, encoding="utf-8")
    return formats.read(path)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_graph(form: str) -> None:
    graph = read(f"alltypes_{form}")
    assert graph.topology.types == TYPES
    assert list(zip(graph.topology.source, graph.topology.target, strict=True)) == [
        (i, i + 1) for i in range(11)
    ]
    assert [(b.node, b.index, b.role, len(b.graph)) for b in graph.bodies] == [
        (1, 0, "child", 1),
        (10, 0, "if", 1),
    ]
    for level in (graph, *(body.graph for body in graph.bodies)):
        payload = level.payloads[0]
        assert payload.kernel.name.startswith(CLAMP)
        assert payload.kernel.name.endswith("EEEEviT0_T1_")
    assert graph.bodies[1].graph.name == "graph_2 node 10 (if)"


@pytest.mark.parametrize("form", ["all", "verbose"])
def test_verbose_dumps_have_every_field(form: str) -> None:
    graph = read(f"alltypes_{form}")
    kernel, child, empty, record, wait, memset, memcpy, host, alloc, free, cond, batch = (
        graph.payloads
    )
    assert kernel == KernelPayload(
        kernel=kernel.kernel,
        grid=(64, 1, 1),
        block=(128, 1, 1),
        dynamic_shared_bytes=0,
        cooperative=False,
        priority=0,
        function_handle=0x2C3CEF90,
    )
    assert child is None
    assert empty is None
    assert record == wait == EventPayload(event_handle=0x2CE213D0)
    assert memset == MemsetPayload(
        address=0x7EFAEBE00000, value=0, element_bytes=4, width=16, height=1, pitch_bytes=0
    )
    assert memcpy == MemcpyPayload(
        kind="DtoD",
        source=MemcpyEnd(memory_type="device", address=0x7EFAEBE00000),
        destination=MemcpyEnd(memory_type="device", address=0x7EFACDA00000),
        width_bytes=1024,
        height=1,
        depth=1,
    )
    assert host == HostPayload(function_address=0x7EFDE92B2010, user_data_address=0)
    assert alloc == MemAllocPayload(
        address=0x302000000,
        size_bytes=1048576,
        allocation_type="pinned",
        handle_types="none",
        location_type="device",
        location_id=0,
    )
    assert free == MemFreePayload(address=0x302000000)
    assert cond == ConditionalPayload(kind="if", conditional_handle=1, body_count=1)
    assert batch == BatchMemOpPayload(
        operations=[
            {
                "operation": "write_value_32",
                "address": 0x7EFAEBE00000,
                "value": 1,
                "flags": "default",
            }
        ],
        flags=0,
    )
    assert graph.node_extra == {}


def test_plain_dumps_have_what_is_printed_and_no_more() -> None:
    graph = read("alltypes_plain")
    assert graph.payloads[0] == KernelPayload(kernel=graph.payloads[0].kernel)
    assert graph.payloads[3] == EventPayload()
    assert graph.payloads[5] == MemsetPayload(value=0)
    assert graph.payloads[6] == MemcpyPayload(kind="DtoD")
    assert graph.node_extra == {5: {"size_bytes": 64}, 6: {"size_bytes": 1024}}
    assert graph.payloads[10] == ConditionalPayload(kind="if", body_count=1)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_missing_is_absent_with_its_reason(form: str) -> None:
    (info,) = formats.read(DATA / f"alltypes_{form}.dot").graphs.values()
    assert set(info.evidence) == set(EvidenceKind)
    for evidence in info.evidence.values():
        assert evidence.present != bool(evidence.reason)
    verbose = form in ("all", "verbose")
    assert info.evidence["attributes"].present == (verbose or form == "params")
    assert info.evidence["edge_ports"].present == verbose
    assert not info.evidence["parameters"].present
    assert info.how == "driver-dot"
    assert (info.node_count, info.edge_count, info.body_count) == (14, 11, 2)
    assert (info.width, info.depth) == (1, 12)
    assert info.warnings == []


@pytest.mark.parametrize("form", ["all", "plain"])
def test_conditionals_get_their_bodies(form: str) -> None:
    graph = read(f"conditionals_{form}")
    assert [payload.kind for payload in graph.payloads] == ["if", "while", "switch"]
    assert [(body.node, body.index, body.role) for body in graph.bodies] == [
        (0, 0, "if"),
        (0, 1, "else"),
        (1, 0, "while"),
        (2, 0, "case 0"),
        (2, 1, "case 1"),
        (2, 2, "case 2"),
    ]


@pytest.mark.parametrize("form", ["plain", "verbose"])
def test_a_transformer(form: str) -> None:
    graph = read(f"block12_{form}")
    assert len(graph) == 132
    assert len(graph.topology.source) == 131
    assert graph.topology.types.count("memset") == 12
    kernels = {id(p.kernel) for p in graph.payloads if isinstance(p, KernelPayload)}
    assert len(kernels) == 7
    if form == "verbose":
        assert graph.payloads[1].grid == (8, 12, 1)
        assert graph.payloads[1].dynamic_shared_bytes == 229772
        assert graph.payloads[0].block == (32, 4, 1)


def test_the_older_form_of_a_conditional() -> None:
    graph = read("conditional_rectangle_form")
    assert graph.topology.types == ["kernel", "conditional", "kernel"]
    assert graph.payloads[1] == ConditionalPayload(kind="while", conditional_handle=1, body_count=1)
    assert [(b.node, b.role, b.graph.payloads[0].kernel.name) for b in graph.bodies] == [
        (1, "while", "_Z4bodyv")
    ]
    last: Any = graph.payloads[2]
    assert last.cluster == (2, 1, 1)
    assert last.cooperative is True
    assert last.priority == -5
    assert (last.grid, last.block) == ((2, 3, 1), (32, 4, 2))
    assert last.dynamic_shared_bytes == 2048


def test_after_another_tool() -> None:
    graph = read("graphviz_rewritten")
    assert graph.topology.types == ["kernel", "memcpy"]
    assert graph.payloads[0].kernel.name == "_Z5stepAv"
    assert graph.payloads[1].kind == "HtoD"
    assert graph.node_extra[1] == {"size_bytes": 4096}
    assert (graph.topology.source, graph.topology.target) == ([0], [1])


@pytest.mark.parametrize("name", ["alltypes_verbose", "alltypes_plain", "conditionals_all"])
def test_after_graphviz_itself(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["dot", "-Tdot", str(DATA / f"{name}.dot")], capture_output=True, text=True, check=True
    )
    graph, original = only(read_text(tmp_path, done.stdout)), read(name)
    assert graph.topology == original.topology
    assert graph.payloads == original.payloads
    assert [b.role for b in graph.bodies] == [b.role for b in original.bodies]


def test_a_file_that_ends_in_a_label_is_read_until_there() -> None:
    recording = formats.read(DATA / "truncated_inside_a_label.dot")
    graph = only(recording)
    assert graph.topology.types == ["kernel", "conditional", "kernel"]
    assert graph.payloads[2].kernel.name == "_Z5stepBv"
    assert graph.payloads[2].grid == (2, 3, 1)
    assert graph.payloads[2].priority is None
    assert recording.metadata.complete is False
    assert "at line 21" in recording.metadata.warnings[0]
    assert "graph_5_node_2" in recording.metadata.warnings[0]
    assert any("graph_9, which is not in the file" in w for w in recording.metadata.warnings)


@pytest.mark.parametrize("name", ["alltypes_verbose", "conditionals_plain", "graphviz_rewritten"])
def test_a_file_may_end_anywhere(name: str, tmp_path: Path) -> None:
    text = (DATA / f"{name}.dot").read_text()
    whole = read(name)
    for end in range(20, len(text) - 4, 7):
        try:
            recording = read_text(tmp_path, text[:end])
        except FormatError:
            assert end < text.index("_node_0") + 20
            continue
        graph = recording.graph(next(iter(recording.graphs)))
        assert graph.topology.types == whole.topology.types[: len(graph)]
        assert recording.metadata.complete is False
        assert any("ends too early, at line" in w for w in recording.metadata.warnings)


def cluster(number: int, body: str) -> str:
    return f'subgraph cluster_{number} {{\nlabel="graph_{number}";\n{body}\n}}\n'


def node(graph: int, number: int, *lines: str) -> str:
    text = "\n".join((str(number), *lines))
    return f'"graph_{graph}_node_{number}"[shape="rectangle" label="{text}\n"];\n'


def test_numbers_that_start_anywhere_and_skip(tmp_path: Path) -> None:
    body = node(7, 90, "HOST") + node(7, 12, "EMPTY") + '"graph_7_node_12" -> "graph_7_node_90";'
    graph = only(read_text(tmp_path, "digraph dot {" + cluster(7, body) + "}"))
    assert graph.topology.types == ["empty", "host"]
    assert (graph.topology.source, graph.topology.target) == ([0], [1])


def test_unknown_words_become_types_of_that_name(tmp_path: Path) -> None:
    body = node(1, 0, "QUANTUM_LEAP", "speed: 12")
    graph = only(read_text(tmp_path, "digraph dot {" + cluster(1, body) + "}"))
    assert graph.topology.types == ["quantum_leap"]
    assert graph.payloads == [{"speed": "12"}]


def test_fields_without_a_place_are_kept(tmp_path: Path) -> None:
    body = node(1, 0, "HOST", "fn: 0x10", "mood: good")
    graph = only(read_text(tmp_path, "digraph dot {" + cluster(1, body) + "}"))
    assert graph.payloads == [HostPayload(function_address=16)]
    assert graph.node_extra == {0: {"dot": {"mood": "good"}}}


def test_ports(tmp_path: Path) -> None:
    body = node(1, 0, "EMPTY") + node(1, 1, "EMPTY")
    body += '"graph_1_node_0" -> "graph_1_node_1" [headlabel=2, taillabel=1, style=dashed];'
    recording = read_text(tmp_path, "digraph dot {" + cluster(1, body) + "}")
    graph = only(recording)
    assert (graph.topology.from_port, graph.topology.to_port) == ([1], [2])
    assert graph.extra == {"dot_edges": {"0": {"style": "dashed"}}}
    assert recording.graphs["graph_1"].evidence["edge_ports"].present


def test_several_dumps_in_one_file(tmp_path: Path) -> None:
    one = "digraph dot {" + cluster(1, node(1, 0, "EMPTY")) + "}\n"
    recording = read_text(tmp_path, one * 2)
    assert list(recording.graphs) == ["graph_1", "graph_1 of digraph 1"]


def test_an_empty_body(tmp_path: Path) -> None:
    text = "digraph dot {" + cluster(1, node(1, 0, "graph_2")) + cluster(2, "") + "}"
    graph = only(read_text(tmp_path, text))
    assert graph.topology.types == ["child_graph"]
    assert [len(body.graph) for body in graph.bodies] == [0]


def test_a_cycle_of_edges_loads_with_a_warning(tmp_path: Path) -> None:
    body = node(1, 0, "EMPTY") + node(1, 1, "EMPTY")
    body += '"graph_1_node_0" -> "graph_1_node_1" -> "graph_1_node_0";'
    recording = read_text(tmp_path, "digraph dot {" + cluster(1, body) + "}")
    assert len(only(recording).topology.source) == 2
    assert any("cycle" in warning for warning in recording.graphs["graph_1"].warnings)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (node(1, 0, "graph_1"), "holds itself"),
        (node(1, 0, "graph_2") + node(1, 1, "graph_2"), "held by two nodes"),
        (node(1, 0, "EMPTY") + '"graph_1_node_0" -> "graph_1_node_5";', "node 5, which is not"),
        (node(1, 0, "EMPTY") + '"graph_1_node_0" -> "graph_3_node_0";', "the same graph"),
        (node(1, 0, "EMPTY") + '"graph_1_node_0" -> "hello";', "the same graph"),
    ],
)
def test_graphs_that_contradict_themselves(tmp_path: Path, body: str, words: str) -> None:
    text = "digraph dot {" + cluster(1, body) + cluster(2, node(2, 0, "EMPTY")) + "}"
    with pytest.raises(InvalidGraphError, match=words):
        read_text(tmp_path, text)


def test_another_dot(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the CUDA driver did not write it"):
        read_text(tmp_path, "digraph g { a -> b }")


def test_no_dot_after_the_first_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 2 is no DOT"):
        read_text(tmp_path, "digraph g {\n <html> }")


def test_too_many_subgraphs_in_subgraphs(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="nested"):
        read_text(tmp_path, "digraph g {" + "subgraph {" * (MAX_DEPTH + 1))


def test_a_megabyte_name(tmp_path: Path) -> None:
    name = "_Z" + "k" * (1 << 20)
    graph = only(read_text(tmp_path, "digraph d {" + cluster(1, node(1, 0, name)) + "}"))
    assert graph.payloads[0].kernel.name == name


@pytest.mark.parametrize(
    "content",
    [
        'digraph d {"' + '\\"' * 500_000,
        "digraph d {a [" + "b " * 500_000,
        "digraph d {a [" + "b" * 1_000_000 + " c=",
        "digraph d {" + "/*" * 500_000,
        "digraph d {" + "a -> " * 300_000,
        'digraph d {graph_1_node_0 [label="' + "{" * 1_000_000 + '"]}',
        'digraph d {graph_1_node_0 [label="{KERNEL\n|' + "{a|" * 300_000 + '"]}',
        "digraph d {" + "graph_1_node_0_node_1" * 50_000 + "}",
    ],
    ids=["quotes", "words", "word", "comments", "chain", "braces", "fields", "name"],
)
def test_hostile_text_takes_linear_time(tmp_path: Path, content: str) -> None:
    started = time.process_time()
    with suppress(FormatError):
        read_text(tmp_path, content)
    # Quadratic behaviour would take minutes at these sizes.
    assert time.process_time() - started < 20
