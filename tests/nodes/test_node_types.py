from __future__ import annotations

import ctypes
from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.driver.dot_bodies import read_bodies
from capture.nodes import Category, by_number, node_type, node_types
from capture.nodes.batch_mem_op import BatchMemOpPayload, operation_name
from capture.nodes.conditional import ConditionalPayload, role
from capture.nodes.external_semaphore_signal import ExternalSemaphorePayload
from capture.nodes.host import HostPayload, symbol_of
from capture.nodes.kernel import KernelPayload
from capture.nodes.mem_alloc import _flags
from capture.nodes.memcpy import MemcpyPayload, kind
from tests.helpers.strategies import payloads

DRIVER_DOT = Path(__file__).resolve().parent.parent / "data" / "driver_dot"

# CUgraphNodeType of CUDA 13.3.
NUMBERS = {
    "kernel": 0,
    "memcpy": 1,
    "memset": 2,
    "host": 3,
    "child_graph": 4,
    "empty": 5,
    "wait_event": 6,
    "event_record": 7,
    "external_semaphore_signal": 8,
    "external_semaphore_wait": 9,
    "mem_alloc": 10,
    "mem_free": 11,
    "batch_mem_op": 12,
    "conditional": 13,
}


def test_every_number_has_a_type() -> None:
    assert {name: entry.number for name, entry in node_types().items()}.items() >= NUMBERS.items()
    assert all(by_number(number).name == name for name, number in NUMBERS.items())


@pytest.mark.parametrize("name", NUMBERS)
def test_every_type_is_described(name: str) -> None:
    entry = node_types()[name]
    assert entry.description
    assert entry.category in set(Category) - {Category.UNKNOWN}
    assert entry.dot_names
    assert entry.label(None)


@pytest.mark.parametrize("name", [n for n, e in node_types().items() if e.payload is not None])
def test_labels_take_any_payload(name: str) -> None:
    entry = node_types()[name]
    assert entry.payload is not None

    @given(payloads(entry.payload))
    def labels(payload: msgspec.Struct) -> None:
        assert isinstance(entry.label(payload), str)

    labels()


@pytest.mark.parametrize("name", [n for n, e in node_types().items() if e.payload is not None])
def test_every_field_has_a_default(name: str) -> None:
    payload = node_types()[name].payload
    assert payload is not None
    payload()
    assert get_type_hints(payload)


def test_words_of_the_drivers_dot_are_unique() -> None:
    words = [word for entry in node_types().values() for word in entry.dot_names]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("number", [14, 16, 18, 250, -1])
def test_unknown_numbers(number: int) -> None:
    entry = by_number(number)
    assert entry.name == f"type_{number}"
    assert entry.category is Category.UNKNOWN
    assert entry.label(None) == entry.name
    assert node_type(entry.name).number == max(number, -1)


@pytest.mark.parametrize(
    ("source", "destination", "expected"),
    [
        ("host", "device", "HtoD"),
        ("device", "host", "DtoH"),
        ("array", "device", "DtoD"),
        ("host", "host", "HtoH"),
        ("unified", "device", "default"),
        ("memory_type_9", "host", "default"),
    ],
)
def test_direction_of_a_memcpy(source: str, destination: str, expected: str) -> None:
    assert kind(source, destination) == expected


@pytest.mark.parametrize(
    ("number", "index", "expected"),
    [(0, 0, "if"), (0, 1, "else"), (0, 2, "case 2"), (1, 0, "while"), (2, 3, "case 3")],
)
def test_role_of_a_body(number: int, index: int, expected: str) -> None:
    assert role(number, index) == expected


def test_handle_types_are_flags() -> None:
    assert _flags(0) == "none"
    assert _flags(1 | 8) == "posix_file_descriptor | fabric"
    assert _flags(64) == "number_64"


def test_operations_of_later_drivers_keep_their_number() -> None:
    assert operation_name(99) == "operation_99"


@pytest.mark.parametrize(
    ("name", "payload", "expected"),
    [
        ("kernel", KernelPayload(), "kernel"),
        ("memcpy", MemcpyPayload(kind="HtoD"), "memcpy HtoD"),
        ("host", HostPayload(symbol="free"), "free"),
        ("conditional", ConditionalPayload(kind="while"), "while"),
        (
            "batch_mem_op",
            BatchMemOpPayload(operations=[{"operation": "write_value_32"}]),
            "write value 32",
        ),
        ("batch_mem_op", BatchMemOpPayload(operations=[{}, {}]), "2 memory operations"),
        (
            "external_semaphore_wait",
            ExternalSemaphorePayload(semaphore_handles=[1, 2]),
            "wait for 2 semaphores",
        ),
    ],
)
def test_labels(name: str, payload: msgspec.Struct, expected: str) -> None:
    assert node_types()[name].label(payload) == expected


def test_symbol_of_a_function_of_libc() -> None:
    function = ctypes.CDLL(None).strtol
    symbol, library = symbol_of(ctypes.cast(function, ctypes.c_void_p).value or 0)
    assert "strtol" in symbol
    assert "libc" in library


def test_symbol_of_the_middle_of_a_function_is_none() -> None:
    address = ctypes.cast(ctypes.CDLL(None).strtol, ctypes.c_void_p).value or 0
    assert symbol_of(address + 1)[0] == ""
    assert symbol_of(0) == ("", "")


OLDER_FORM = """digraph dot {
subgraph cluster_5 {
label="graph_5" graph[style="dashed"];
"graph_5_node_1"[style="solid" shape="rectangle" label="1 (topoId: 1)
node handle: 0x0000000000001100
Handle: 1
Type: WHILE
graph_9
"];
}
subgraph cluster_9 {
label="graph_9" graph[style="dashed"];
}
}
"""


def test_older_form_of_a_conditional_in_the_drivers_dot() -> None:
    found = read_bodies(OLDER_FORM)
    assert found.conditionals == {0x1100: (1, 1, ["graph_9"])}
    assert found.clusters == {"graph_5": [0x1100], "graph_9": []}


@given(st.text(max_size=200))
def test_any_text_can_be_searched_for_bodies(text: str) -> None:
    assert read_bodies(text).conditionals == {}
    for end in range(0, len(OLDER_FORM), 7):
        read_bodies(OLDER_FORM[:end] + text)


def test_bodies_in_a_dot_that_the_driver_wrote() -> None:
    text = (DRIVER_DOT / "conditionals_all.dot").read_text(encoding="utf-8")
    found = read_bodies(text)
    assert found.conditionals == {
        0x37488988: (0, 1, ["graph_7", "graph_8"]),
        0x37489FC0: (1, 2, ["graph_9"]),
        0x3748AE90: (2, 3, ["graph_10", "graph_11", "graph_12"]),
    }
    assert found.clusters["graph_6"] == list(found.conditionals)
    assert found.clusters["graph_8"] == [0x37489858]


@pytest.mark.parametrize(
    "name", ["alltypes_all.dot", "alltypes_verbose.dot", "alltypes_handles.dot"]
)
def test_every_node_of_a_dot_with_handles(name: str) -> None:
    found = read_bodies((DRIVER_DOT / name).read_text(encoding="utf-8"))
    assert [len(nodes) for nodes in found.clusters.values()] == [12, 1, 1]
    assert found.clusters["graph_2"][5] == 0x2CDE8D28
    (conditional,) = found.conditionals.values()
    # The driver prints a conditional's own handle in its verbose form only.
    assert conditional == (0, None if "handles" in name else 1, ["graph_4"])
