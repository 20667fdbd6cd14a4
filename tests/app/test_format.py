"""Every unit text of the dashboard."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.nodes import Category
from capture.nodes.memcpy import MemcpyEnd
from graphviz_app import fields
from graphviz_app import format as text

TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (999, "999 B"),
        (1000, "0.98 KiB"),
        (1024, "1 KiB"),
        (98_714, "96.4 KiB"),
        (1_048_575, "1 MiB"),
        (149_000_000_000, "139 GiB"),
        (2**70, "1,024 EiB"),
        (None, text.ABSENT),
    ],
)
def test_bytes(value: int | None, shown: str) -> None:
    assert text.bytes_text(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 ns"),
        (1, "1 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (1_234, "1.23 µs"),
        (1_240_000, "1.24 ms"),
        (999_600, "1 ms"),
        (75_000_000_000, "75 s"),
        (7_200_000_000_000, "7,200 s"),
        (None, text.ABSENT),
    ],
)
def test_durations(value: int | None, shown: str) -> None:
    assert text.duration_text(value) == shown


@given(st.floats(min_value=0.01, max_value=999_000))
def test_three_digits_are_within_half_a_percent(value: float) -> None:
    shown = float(text.three_digits(value).replace(",", ""))
    assert abs(shown - value) <= max(0.006 * value, 0.005)


@given(st.integers(min_value=0, max_value=2**63))
def test_no_size_shows_more_than_four_characters_and_a_unit(value: int) -> None:
    number, unit = text.bytes_text(value).split()
    assert len(number) <= 4 or unit == "EiB"


@pytest.mark.parametrize(
    ("name", "value", "label", "shown", "exact", "mono"),
    [
        ("size_bytes", 4096, "size", "4 KiB", "4,096 bytes", False),
        ("capture_duration_ns", 1_500, "capture duration", "1.5 µs", "1,500 ns", False),
        ("address", 0x7F00, "address", "0x7f00", "32,512", True),
        ("event_handle", 16, "event handle", "0x10", "16", True),
        ("registers", 32, "registers", "32", "", False),
        ("threads", 123_456, "threads", "123,456", "", False),
        ("cooperative", True, "cooperative", "yes", "", False),
        ("symbol", "", "symbol", text.ABSENT, "", False),
        ("value", None, "value", text.ABSENT, "", False),
        ("ratio", 0.25, "ratio", "0.25", "0.25", False),
        ("cluster", (2, 1, 1), "cluster", f"2 {TIMES} 1 {TIMES} 1", "", False),
        ("numbers", [1, 2, 3], "numbers", "1, 2, 3", "", False),
        ("category", Category.HOST, "category", "host", "", False),
        ("blob", b"\x01\x02", "blob", "0102", "2 bytes", True),
        ("semaphore_handles", [17, 18], "semaphore handles", "0x11, 0x12", "", False),
        (
            "operation",
            {"kind": "wait", "address": 255, "value": None},
            "operation",
            "kind wait, address 0xff",
            "",
            False,
        ),
    ],
)
def test_fields_show_by_the_unit_in_their_name(
    name: str, value: Any, label: str, shown: str, exact: str, mono: bool
) -> None:
    assert fields.show(name, value) == fields.Shown(label, shown, exact, mono)


def test_a_struct_shows_its_fields() -> None:
    shown = fields.show("source", MemcpyEnd(memory_type="host", address=16))
    assert "memory type host" in shown.text
    assert "address 0x10" in shown.text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_anything_that_a_file_can_hold_shows(value: Any) -> None:
    assert isinstance(fields.show("field", value).text, str)


def test_moments_before_and_after_all_calendars() -> None:
    assert text.moment_text(0) == "1970-01-01 00:00:00 UTC"
    assert text.moment_text(None) == text.ABSENT
    assert text.moment_text(10**25).endswith("after 1970")
