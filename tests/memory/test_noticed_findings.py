"""Findings on made-up captures: numbers, random state, memory nodes, owners on the host."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import pytest

from capture.analysis import Result, Severity, Subject, run_analysis
from capture.analysis.found import findings_in, of_graph, of_recording, walk
from capture.compare.gate import State, check_recording
from capture.model import Body, Graph, GraphInfo, Kernel, Metadata, Place, Recording
from capture.nodes.host import HostPayload
from capture.nodes.kernel import KernelPayload
from capture.nodes.mem_alloc import MemAllocPayload
from capture.nodes.mem_free import MemFreePayload
from capture.noticed import (
    HOST_OWNERS,
    HOST_RANDOM,
    RECORD_STREAM,
    SEEDS,
    ConstantSeed,
    HostOwner,
    Later,
    Noticed,
    RecordedStream,
    noticed_in,
)
from capture.origins import Frame, Operator, Origins, TensorLike
from capture.policy import parse_policy
from capture.topology.summary import digest
from tests.analysis.graphs import graph_of, with_loop
from tests.helpers.synthetic_memory import (
    BASE,
    PINNED,
    POOL,
    copy,
    fill,
    graph,
    kernel,
    memory,
)

LINE = Place(file="train.py", line=31, function="step")
ALL = [RECORD_STREAM, HOST_RANDOM, SEEDS, HOST_OWNERS]


def info(noticed: Noticed | None = None, later: Later | None = None, **fields: Any) -> GraphInfo:
    extra: dict[str, Any] = {}
    if noticed is not None:
        noticed.watched = noticed.watched or ALL
        extra["noticed"] = msgspec.to_builtins(noticed)
    if later is not None:
        extra["noticed_later"] = msgspec.to_builtins(later)
    return GraphInfo(key="k", name="step", extra=extra, **fields)


def found(name: str, graph: Graph, about: GraphInfo | None = None) -> Result:
    result = run_analysis(name, Subject(graph, about or info(Noticed()), memory=memory()))
    assert result.present, result.absent_reason
    return result


# Numbers that differ between captures of one line.

ADD = Kernel(name="_Z3addPffi", parameters=[(0, 8), (8, 4), (12, 4)])


def add(scale: float, count: int = 64, address: int = BASE, blocks: int = 4) -> KernelPayload:
    return KernelPayload(
        kernel=ADD,
        grid=(blocks, 1, 1),
        block=(32, 1, 1),
        dynamic_shared_bytes=0,
        arguments=struct.pack("<Qfi", address, scale, count),
    )


def twice(first: Graph, second: Graph, **origins: Origins) -> Recording:
    graphs = {"a": first, "b": second}
    infos = [
        GraphInfo(key=key, name=key, place=LINE, topology=digest(item), node_count=len(item))
        for key, item in graphs.items()
    ]
    return Recording(Metadata(), infos, loaded=graphs, origins=origins)


def captured(*payloads: Any) -> Graph:
    return graph_of(len(payloads), [(0, 1)] if len(payloads) > 1 else [], payloads=payloads)


def called(number: float, shape: tuple[int, ...] = (8,)) -> Origins:
    operator = Operator(
        "aten.add.Scalar",
        (TensorLike("float32", shape),),
        (f"other={number}", "generator=<object at 0x7f12>"),
    )
    return Origins(
        graph="", operators=[operator], operator=[-1, 0], stack=[-1, 0], stacks=[(0,)],
        frames=[Frame("train.py", 7, "step")],
    )  # fmt: skip


def test_a_number_that_differs_between_captures_of_one_line() -> None:
    moved = POOL  # another buffer in the same place is no number
    recording = twice(
        captured(add(1.0), add(0.25)), captured(add(1.0, address=moved), add(0.75, address=moved))
    )
    result = run_analysis("baked_scalars", recording)
    assert result.severity is Severity.NOTICE
    (row,) = result.rows
    assert (row[0], row[1], *row[3:8]) == ("a", "1", "argument 1", "0.25", "b", "0.75", "likely")
    (finding,) = findings_in_recording(recording)
    assert (finding.graph, finding.node, finding.confidence) == ("a", "1", "likely")


def findings_in_recording(recording: Recording) -> list[Any]:
    from capture.analysis import analyses

    return [
        item
        for name, result in of_recording(recording).items()
        for item in findings_in(analyses()[name], result)
    ]


def test_numbers_of_operators_are_named_and_tell_more_than_bytes() -> None:
    recording = twice(
        captured(add(1.0), add(0.25)), captured(add(1.0), add(0.75)), a=called(0.25), b=called(0.75)
    )
    (row,) = run_analysis("baked_scalars", recording).rows
    assert row[3] == "other of aten.add.Scalar"
    assert (row[4], row[6], row[7], row[8]) == ("0.25", "0.75", "likely", "train.py:7 step")


@pytest.mark.parametrize(
    "recording",
    [
        twice(captured(add(1.0), add(0.25)), captured(add(1.0), add(0.25))),
        # Other shapes bring other numbers with them.
        twice(captured(add(1.0, 64)), captured(add(1.0, 32)), a=called(1, (64,)), b=called(1)),
    ],
)
def test_captures_that_differ_in_no_number(recording: Recording) -> None:
    result = run_analysis("baked_scalars", recording)
    assert (result.severity, result.rows) == (Severity.INFO, [])


def test_captures_that_cannot_be_compared_say_so() -> None:
    other_size = twice(captured(add(1.0, blocks=4)), captured(add(2.0, blocks=8)))
    assert "launch dimensions" in run_analysis("baked_scalars", other_size).absent_reason
    alone = Recording(Metadata(), [GraphInfo(key="a", name="a", place=LINE, topology="x")])
    assert "no two graphs" in run_analysis("baked_scalars", alone).absent_reason


def test_an_integer_of_unknown_shapes_may_be_a_size() -> None:
    recording = twice(captured(add(1.0), add(0.5, 7)), captured(add(1.0), add(0.5, 9)))
    assert [row[7] for row in run_analysis("baked_scalars", recording).rows] == ["may"]


# Random numbers.

DRAW = Kernel(name="_Z4drawPfN2at15PhiloxCudaStateE", parameters=[(0, 8), (8, 32)])


def draw(captured: bool, seed: int = POOL) -> KernelPayload:
    state = struct.pack("<QQQ8s", seed, seed + 512, 4, bytes([captured]) + b"\x5a" * 7)
    return KernelPayload(kernel=DRAW, arguments=struct.pack("<Q", BASE) + state)


def test_a_generator_whose_state_is_stored_in_the_graph() -> None:
    result = found("random_state", captured(draw(True), draw(False, 1234)))
    assert result.severity is Severity.WARNING
    assert [(row[0], row[5]) for row in result.rows] == [("1", "certain")]
    assert "1234" in str(result.rows[0][3])
    healthy = found("random_state", captured(draw(True), draw(True)))
    assert (healthy.severity, healthy.rows) == (Severity.INFO, [])
    assert healthy.figures["draws"].value == 2


def test_a_state_whose_signature_cannot_be_read_is_found_by_its_size() -> None:
    name = "_ZN2at6native55_GLOBAL__N__drawEvlNS_15PhiloxCudaStateET1_T2_"
    kernel = Kernel(name=name, parameters=[(0, 8), (8, 32), (40, 1)])
    given = draw(False, 77)
    assert given.arguments is not None
    payload = KernelPayload(kernel=kernel, arguments=given.arguments + b"\0")
    result = found("random_state", captured(payload))
    assert [(row[0], row[5]) for row in result.rows] == [("0", "likely")]
    assert result.severity is Severity.NOTICE


def test_an_executable_that_is_launched_without_torch_repeats_its_numbers() -> None:
    taken = info(Noticed(), Later(executable_taken=LINE))
    (row,) = found("random_state", captured(draw(True)), taken).rows
    assert (row[4], row[5]) == ("train.py:31 step", "likely")
    # A graph that draws none may be launched by anyone.
    assert not found("random_state", captured(add(1.0)), taken).rows
    (row,) = found("random_state", captured(draw(True)), info(how="handle")).rows
    assert row[5] == "may"


def test_constant_seeds_of_triton_kernels_are_at_their_node() -> None:
    own = KernelPayload(kernel=Kernel(name="dropout"))
    seed = ConstantSeed(kernel="dropout", launch=1, parameter="seed", value=7, place=LINE)
    about = info(Noticed(seeds=[seed], launches={"dropout": 2}))
    (row,) = found("random_state", captured(own, add(1.0), own), about).rows
    assert (row[0], row[4], row[5]) == ("2", "train.py:31 step", "likely")


def test_numbers_drawn_on_the_host_during_the_capture() -> None:
    about = info(Noticed(host_random=["random"]), place=LINE)
    result = found("random_state", captured(add(1.0)), about)
    assert [(row[0], row[5]) for row in result.rows] == [("", "likely")]
    assert result.severity is Severity.NOTICE


# Memory nodes.


def alloc(address: int) -> MemAllocPayload:
    return MemAllocPayload(address=address, size_bytes=4096)


def nodes(*payloads: Any) -> Graph:
    types = ["mem_alloc" if isinstance(item, MemAllocPayload) else "mem_free" for item in payloads]
    return graph_of(len(payloads), [], types, payloads)


@pytest.mark.parametrize(
    ("graph", "rows", "severity"),
    [
        (nodes(alloc(BASE), MemFreePayload(address=BASE)), [], Severity.INFO),
        (
            nodes(alloc(BASE), MemFreePayload(address=BASE), alloc(BASE)),
            [("2", "never freed in the graph")],
            Severity.NOTICE,
        ),
        (
            nodes(MemFreePayload(address=BASE)),
            [("0", "freed here, allocated elsewhere")],
            Severity.WARNING,
        ),
        (captured(add(1.0)), [], Severity.INFO),
    ],
)
def test_memory_that_a_graph_allocates_or_frees_alone(
    graph: Graph, rows: list[tuple[str, str]], severity: Severity
) -> None:
    result = found("memory_nodes", graph)
    assert [(row[0], row[4]) for row in result.rows] == rows
    assert result.severity is severity
    assert result.node_marks == [int(node) for node, _ in rows]


# Graphs around one node.


def test_graphs_around_one_node() -> None:
    result = found("one_node_graphs", captured(add(1.0)))
    assert (result.severity, result.node_marks) == (Severity.NOTICE, [0])
    wrapped = graph_of(
        1,
        [],
        ["child_graph"],
        [None],
        [Body(node=0, index=0, role="child", graph=captured(add(1)))],
    )
    assert found("one_node_graphs", wrapped).rows[0][0] == "0/0/0"
    for healthy in (captured(add(1.0), add(2.0)), graph_of(0, []), with_loop()):
        assert found("one_node_graphs", healthy).severity is Severity.INFO


# record_stream.


def test_record_stream_in_a_capture() -> None:
    call = RecordedStream(stream="0x10", size_bytes=4096, times=2, place=LINE)
    result = found("record_stream", captured(add(1.0)), info(Noticed(record_streams=[call])))
    assert result.severity is Severity.NOTICE
    assert [row[:4] for row in result.rows] == [("train.py:31 step", "0x10", 2, 4096)]
    assert found("record_stream", captured(add(1.0))).severity is Severity.INFO
    blind = run_analysis("record_stream", Subject(captured(add(1.0)), GraphInfo(key="k", name="k")))
    assert "were not recorded" in blind.absent_reason


# Owners on the host.

CALLBACK = 0x7F9000000000


def calling(symbol: str = "") -> Graph:
    payload = HostPayload(function_address=CALLBACK, symbol=symbol, library="")
    return graph_of(2, [(0, 1)], ["kernel", "host"], [add(1.0), payload])


def callback(**fields: Any) -> HostOwner:
    return HostOwner(kind="function", address=CALLBACK, **fields)


@pytest.mark.parametrize(
    ("owner", "later", "confidence", "severity"),
    [
        (callback(), None, "likely", Severity.NOTICE),
        (callback(owner="f"), callback(owner="f", gone=True), "certain", Severity.NOTICE),
        (
            callback(owner="f"),
            callback(owner="f", gone=True, replays_after=3),
            "certain",
            Severity.WARNING,
        ),
        (callback(owner="f"), None, "", Severity.INFO),
    ],
)
def test_functions_whose_owner_is_gone(
    owner: HostOwner,
    later: HostOwner | None,
    confidence: str,
    severity: Severity,
) -> None:
    if later is not None:
        later.gone_at = LINE
    about = info(Noticed(owners=[owner]), Later(owners=[later]) if later else None)
    result = found("host_functions", calling(), about)
    assert result.severity is severity
    assert [row[6] for row in result.rows] == ([confidence] if confidence else [])
    assert result.node_marks == ([1] if confidence else [])
    if later is not None:
        assert result.rows[0][4] == "train.py:31 step"


def test_a_callback_behind_a_function_of_cuda_bindings() -> None:
    graph = calling("")
    payload = graph.payloads[1]
    payload.library, payload.user_data_address = "/cuda/bindings/driver.so", 0x7700
    owner = HostOwner(kind="function", address=0x9000, through=0x7700, owner="ctypes callback")
    result = found("host_functions", graph, info(Noticed(owners=[owner])))
    assert (result.severity, result.rows[0][6]) == (Severity.NOTICE, "likely")
    assert any("second replay" in note for note in result.notes)
    freed = HostOwner(kind="function", address=0x9000, through=0x7700, owner="f", data_gone=True)
    result = found("host_functions", graph, info(Noticed(owners=[owner]), Later(owners=[freed])))
    assert (result.severity, result.rows[0][6]) == (Severity.WARNING, "certain")
    later = HostOwner(kind="function", address=0x9000, through=0x7700, gone=True, replays_after=2)
    result = found("host_functions", graph, info(Noticed(owners=[owner]), Later(owners=[later])))
    assert result.severity is Severity.WARNING
    assert [row[1] for row in result.rows] == ["0x9000"]
    other = HostOwner(kind="function", address=0x9000, through=0x8800, gone=True)
    assert found("host_functions", graph, info(Noticed(owners=[other]))).rows == []


def test_functions_of_libraries_stay_and_unwatched_ones_are_not_known() -> None:
    assert found("host_functions", calling("free")).severity is Severity.INFO
    blind = run_analysis("host_functions", Subject(calling(), GraphInfo(key="k", name="k")))
    assert "not known" in blind.absent_reason


def pinned(**fields: Any) -> HostOwner:
    return HostOwner(kind="memory", address=PINNED, size_bytes=4096, **fields)


@pytest.mark.parametrize(
    ("owner", "what"),
    [
        (pinned(owner="a tensor"), ""),
        (pinned(owner="a tensor", gone=True), "pinned memory, freed"),
        (
            pinned(owner="a tensor", gone=True, replays_after=9),
            "pinned memory, freed before a replay",
        ),
        (pinned(), "pinned memory that no tensor owned after the capture"),
    ],
)
def test_pinned_memory_that_nobody_keeps(owner: HostOwner, what: str) -> None:
    copies = graph([copy(PINNED + 64, BASE, 8, "HD"), fill(BASE, 8)])
    result = found("host_memory", copies, info(Noticed(owners=[owner])))
    assert [row[3] for row in result.rows] == ([what] if what else [])
    expected = {"": Severity.INFO, "pinned memory, freed before a replay": Severity.WARNING}
    assert result.severity is expected.get(what, Severity.NOTICE)


# Findings as rows.


def test_findings_of_a_recording_come_graph_by_graph() -> None:
    infos = [GraphInfo(key="empty", name="empty"), GraphInfo(key="broken", name="broken")]
    recording = Recording(Metadata(), infos, loaded={"empty": graph_of(0, [])})
    results = dict(walk(recording))
    assert list(results) == ["", "empty", "broken"]
    assert results["empty"]["empty_graph"].severity is Severity.WARNING
    assert "not read" in results["broken"]["empty_graph"].absent_reason


def test_what_is_not_certain_is_a_notice() -> None:
    from capture.analysis import analyses

    stale = Subject(
        graph([kernel("_Z5scalePfyPKf", BASE + 600, 0, 0), kernel("plain", BASE + 600)]),
        memory=memory(),
    )
    entry = analyses()["stale_pointers"]
    rows = findings_in(entry, run_analysis("stale_pointers", stale), "k")
    assert [(item.node, item.severity, item.graph) for item in rows] == [
        ("0", Severity.WARNING, "k"),
        ("1", Severity.NOTICE, "k"),
    ]


def test_facts_that_another_version_wrote_are_not_known() -> None:
    assert noticed_in(GraphInfo(key="k", name="k", extra={"noticed": [1]})) is None
    assert noticed_in(GraphInfo(key="k", name="k", extra={"noticed": {"owners": 3}})) is None
    assert of_graph(Recording(Metadata(), []), "k")["empty_graph"].absent_reason


def test_the_gate_sees_findings_of_graphs_and_of_the_recording() -> None:
    def broken(policy: str) -> dict[str, str]:
        recording = twice(captured(add(1.0), add(0.25)), captured(add(1.0), add(0.75)))
        recording.graphs["a"].extra["noticed"] = msgspec.to_builtins(
            Noticed(watched=ALL, host_random=["random"])
        )
        checks = check_recording(recording, parse_policy(f"[findings]\n{policy}"))
        return {
            check.graph: check.words
            for check in checks
            if check.rule == "findings.severity" and check.state is State.BROKEN
        }

    assert broken("severity = 'warning'") == {}
    notices = broken("severity = 'notice'\nallowed = ['random_state']")
    assert set(notices) == {"a"}
    assert notices["a"].startswith("baked_scalars (notice): ")
    (words,) = broken("severity = 'notice'\nallowed = ['baked_scalars']").values()
    assert words.startswith("random_state (notice): ")
