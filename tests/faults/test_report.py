"""What the last run on a GPU heard of the zoo of faults is what had to be said."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.faults.judge import problems, too_much
from tests.faults.said import Heard
from tests.faults.scripts import REPORT, Pair, pairs

EACH = pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)


def heard(entry: dict[str, Any], side: str) -> Heard:
    return msgspec.convert({k: entry[side][k] for k in Heard.__struct_fields__}, Heard)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(REPORT.read_text(encoding="utf-8"))["scripts"]
    return found


@EACH
def test_what_a_gpu_heard_of_the_faulty_script_is_what_had_to_be_said(
    pair: Pair, report: dict[str, Any]
) -> None:
    found = heard(report[pair.name], "faulty")
    assert problems(found, pair.expected, pair.faulty.name) == []


@EACH
def test_what_a_gpu_heard_of_the_twin_is_nothing(pair: Pair, report: dict[str, Any]) -> None:
    assert too_much(heard(report[pair.name], "healthy")) == []
