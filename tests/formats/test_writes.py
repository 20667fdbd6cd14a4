"""What nodes wrote, stored beside a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture import formats
from capture.errors import FormatError
from capture.evidence import STORED
from capture.model import Recording
from capture.writes import Watched, Writes
from tests.helpers.recordings import chain, recording_of

ADDRESSES = (4096, 8192, 512)


def written(address: tuple[int, ...] = ADDRESSES) -> Writes:
    return Writes(
        graph="synthetic-0",
        how=["synthetic: nothing ran"],
        node=["0", "0", "2"],
        ran=["0", "1", "2"],
        watched=Watched(address=[0], size_bytes=[1 << 20]),
        cost_ns=7,
        address=list(address),
        size_bytes=[8, 4, 1],
    )


@pytest.mark.parametrize("extension", ["cgl", "json"])
def test_it_survives(extension: str, tmp_path: Path) -> None:
    recording = recording_of(chain(3), chain(5))
    made = Recording(
        recording.metadata,
        list(recording.graphs.values()),
        evidence={"writes": {"synthetic-0": written()}},
        loaded={key: recording.graph(key) for key in recording.graphs},
    )
    path = tmp_path / f"a.{extension}"
    formats.write(made, path)
    again = formats.read(path)
    assert again.writes("synthetic-0") == written()
    assert again.writes("synthetic-1") is None
    found = again.writes("synthetic-0")
    assert found is not None
    assert found.of_node() == {"0": [(4096, 8), (8192, 4)], "2": [(512, 1)]}


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(FormatError, match="address has 1 values, expected 3"):
        STORED["writes"].validate(written(address=(1,)), "writes")
