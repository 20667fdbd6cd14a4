"""Files written by earlier versions keep reading."""

from __future__ import annotations

from pathlib import Path

import pytest

import capture.formats as formats
from tests.formats.test_driver_dot import DATA
from tests.helpers.recordings import assert_equal

STORED = Path(__file__).parent.parent / "data" / "formats"


@pytest.mark.parametrize("name", ["alltypes_v0.cgl", "alltypes_v0.json"])
def test_version_0(name: str) -> None:
    assert_equal(formats.read(STORED / name), formats.read(DATA / "alltypes_all.dot"))
