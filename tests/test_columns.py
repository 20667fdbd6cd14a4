"""Columns: three forms of the same values, and honest errors for anything else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.columns import MAX_ROWS, pack, pack_records, unpack, unpack_records
from capture.errors import FormatError, TooLargeError
from tests.helpers.recordings import json_values


def _same(one: Any, other: Any) -> bool:
    return bool(msgspec.json.encode(one) == msgspec.json.encode(other))


@given(st.lists(json_values, max_size=20))
def test_pack_and_unpack_are_inverse_through_json(values: list[Any]) -> None:
    column = msgspec.json.decode(msgspec.json.encode(pack(values)))
    # 1, 1.0 and True are equal for Python, so the encoded text is compared.
    assert _same(unpack(column, len(values), "x"), values)


@given(st.lists(st.dictionaries(st.text(max_size=3), json_values, max_size=3), max_size=10))
def test_records_survive_fields_that_some_lack(records: list[dict[str, Any]]) -> None:
    columns = msgspec.json.decode(msgspec.json.encode(pack_records(records)))
    back = unpack_records(columns, len(records), "x")
    for record, found in zip(records, back, strict=True):
        assert record.keys() == found.keys()
        assert all(_same(record[name], found[name]) for name in record)


@pytest.mark.parametrize(
    ("column", "count"),
    [
        ("text", 1),
        (None, 0),
        ([1, 2], 3),
        ({"same": 1, "count": 2}, 3),
        ({"table": [1], "index": [0, 1]}, 2),
        ({"table": [1], "index": [-1]}, 1),
        ({"table": [1], "index": ["a"]}, 1),
        ({"table": 3, "index": []}, 0),
        ({"table": [1], "index": [0]}, 2),
    ],
)
def test_other_forms_are_refused(column: Any, count: int) -> None:
    with pytest.raises(FormatError, match=r"here"):
        unpack(column, count, "here")


def test_a_column_that_claims_to_be_endless_is_refused_before_it_is_made() -> None:
    with pytest.raises(TooLargeError):
        unpack({"same": 1, "count": MAX_ROWS + 1}, MAX_ROWS + 1, "x")
    with pytest.raises(TooLargeError):
        unpack_records({}, 10**15, "x")
    many = {str(number): {"same": 1, "count": MAX_ROWS} for number in range(50)}
    with pytest.raises(TooLargeError):
        unpack_records(many, MAX_ROWS, "x")


@pytest.mark.parametrize(
    "columns",
    [
        [],
        {"a": {"rows": 3, "values": []}},
        {"a": {"rows": [5], "values": [1]}},
        {"a": {"rows": [-1], "values": [1]}},
        {"a": {"rows": ["x"], "values": [1]}},
        {"a": {"rows": [0, 1], "values": [1]}},
    ],
)
def test_records_with_rows_that_are_not_there_are_refused(columns: Any) -> None:
    with pytest.raises(FormatError):
        unpack_records(columns, 2, "x")
