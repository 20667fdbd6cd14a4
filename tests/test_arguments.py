from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.arguments import (
    Argument,
    Reading,
    decode_arguments,
    is_plausible_address,
    readings,
    signature,
)
from capture.model import Kernel
from capture.nodes.kernel import KernelPayload

ADDRESS = 0x7EFAEBE00000


def decoded(name: str, layout: list[tuple[int, int]] | None, data: bytes) -> list[Argument]:
    kernel = Kernel(name=name, parameters=layout)
    return decode_arguments(KernelPayload(kernel=kernel, arguments=data))


def test_a_signature_decides() -> None:
    data = struct.pack("<Qifd", ADDRESS, -3, 0.5, 2.5)
    layout = [(0, 8), (8, 4), (12, 4), (16, 8)]
    found = decoded("_Z1fPKfifd", layout, data)
    assert [argument.readings for argument in found] == [
        [Reading("address", ADDRESS, 0, False)],
        [Reading("integer", -3, 0, False)],
        [Reading("float32", 0.5, 0, False)],
        [Reading("float64", 2.5, 0, False)],
    ]
    assert found[1].raw == "fdffffff"
    assert found[1].declared == "int"


def test_without_a_signature_everything_is_a_guess() -> None:
    (number, address) = decoded("plain", [(0, 4), (8, 8)], struct.pack("<f4xQ", 1.0, ADDRESS))
    assert [(r.kind, r.value) for r in number.readings] == [
        ("integer", 0x3F800000),
        ("float32", 1.0),
    ]
    assert [r.kind for r in address.readings] == ["address", "integer", "float64"]
    assert all(reading.guess for found in (number, address) for reading in found.readings)


def test_addresses_inside_a_structure() -> None:
    data = struct.pack("<QQQi4x", 5, ADDRESS, ADDRESS + 512, 7)
    (found,) = decoded("_Z1f5Block", [(0, 32)], data)
    assert found.readings == [
        Reading("address", ADDRESS, 8, True),
        Reading("address", ADDRESS + 512, 16, True),
    ]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (KernelPayload(), []),
        (KernelPayload(arguments=b""), []),
        (KernelPayload(arguments=b"\1" * 16, arguments_packed=True), [(0, 16)]),
        (KernelPayload(kernel=Kernel(name="k", parameters=[]), arguments=b""), []),
        (
            KernelPayload(kernel=Kernel(name="k", parameters=[(0, 4)]), arguments=b"\1" * 12),
            [(0, 4), (4, 8)],
        ),
    ],
)
def test_what_is_not_known(payload: KernelPayload, expected: list[tuple[int, int]]) -> None:
    assert [(a.offset, a.size_bytes) for a in decode_arguments(payload)] == expected


def test_a_signature_of_another_length_is_not_believed() -> None:
    (found,) = decoded("_Z1fPfi", [(0, 8)], struct.pack("<Q", 7))
    assert found.declared == ""
    assert all(reading.guess for reading in found.readings)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_Z4tinyPfif", ["float*", "int", "float"]),
        ("_Z7nothingv", []),
        ("tiny", None),
        ("_Z", None),
        ("x" * 100_000, None),
    ],
)
def test_signature(name: str, expected: list[str] | None) -> None:
    assert signature(name) == expected


def test_addresses() -> None:
    assert is_plausible_address(ADDRESS)
    assert is_plausible_address(0x302000000)
    assert not is_plausible_address(4096)
    assert not is_plausible_address(1 << 60)


@given(st.binary(max_size=64), st.sampled_from(["", "int", "float*", "double", "bool", "long"]))
def test_any_bytes_can_be_read(raw: bytes, declared: str) -> None:
    for reading in readings(raw, declared):
        assert 0 <= reading.offset <= max(0, len(raw) - 1)
