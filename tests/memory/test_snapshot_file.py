from __future__ import annotations

import copy
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capture.formats as formats
from capture.errors import FormatError, UnknownFormatError
from capture.memory.snapshot_file import read_snapshot
from capture.memory.torch_snapshot import Tables
from capture.memory_checks import check
from capture.memory_map import STATES, Snapshot
from capture.recorder import torch_origins_fallback as fallback
from graphviz_app.cli import main
from tests.helpers.recordings import assert_equal

SNAPSHOT = Path(__file__).parents[1] / "data" / "memory" / "train_step_snapshot.pickle"


@pytest.fixture(scope="module")
def real() -> Snapshot:
    return read_snapshot(SNAPSHOT.read_bytes())


@pytest.fixture(scope="module")
def raw() -> Any:
    return pickle.loads(SNAPSHOT.read_bytes())


def test_every_segment_and_block_is_there(real: Snapshot, raw: Any) -> None:
    assert real.segments is not None
    assert real.blocks is not None
    assert real.segments.address == sorted(item["address"] for item in raw["segments"])
    blocks = [
        (block["address"], block["size"], block["requested_size"], block["state"])
        for segment in raw["segments"]
        for block in segment["blocks"]
    ]
    states = {"allocated": "active_allocated", "free": "inactive"}
    found = zip(
        real.blocks.address,
        real.blocks.size_bytes,
        real.blocks.requested_bytes,
        [states[STATES[state]] for state in real.blocks.state],
        strict=True,
    )
    assert list(found) == sorted(blocks)
    check(real, "it")


def test_sums_are_those_of_torch(real: Snapshot, raw: Any) -> None:
    assert real.sums is not None
    for name, theirs in (
        ("reserved_bytes", "total_size"),
        ("allocated_bytes", "allocated_size"),
        ("active_bytes", "active_size"),
        ("requested_bytes", "requested_size"),
    ):
        for place, pool in enumerate(real.sums.pool):
            of_pool = [s for s in raw["segments"] if s["segment_pool_id"] == real.pools[pool]]
            assert getattr(real.sums, name)[place] == sum(s[theirs] for s in of_pool), name
    assert sorted(real.pools) == [(0, 0), (1, 0)]


def test_stacks_have_lines_of_python_only(real: Snapshot) -> None:
    assert real.blocks is not None
    first = next(stack for stack in real.blocks.stack if stack >= 0)
    files = [real.frames[frame].file for frame in real.stacks[first]]
    assert "train_step.py" in files
    assert all(frame.line > 0 and not frame.file.endswith(".cpp") for frame in real.frames)


def test_frames_of_our_recorder_are_left_out_of_stacks() -> None:
    held = Snapshot()
    frames = [
        {"filename": fallback.__file__, "line": 115, "name": "observe"},
        {"filename": "/home/me/train.py", "line": 7, "name": "step"},
    ]
    Tables(held).stack(frames)
    assert [frame.file for frame in held.frames] == ["/home/me/train.py"]


def test_history_is_in_its_order(real: Snapshot, raw: Any) -> None:
    assert real.events is not None
    assert real.events.address == [event["addr"] for event in raw["device_traces"][0]]
    assert real.history == "on"


def test_it_opens_as_a_recording_and_survives_being_stored(tmp_path: Path) -> None:
    recording = formats.read(SNAPSHOT)
    assert not recording.graphs
    path = tmp_path / "a.cgl"
    formats.write(recording, path)
    assert_equal(recording, formats.read(path))
    formats.write(recording, tmp_path / "a.json")
    assert formats.read(tmp_path / "a.json").snapshot(0) == recording.snapshot(0)


def test_info_opens_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(SNAPSHOT)]) == 0
    out = capsys.readouterr().out
    assert "torch-memory" in out
    assert "private pools: 68 MiB" in out


def test_segments_alone_and_without_addresses_of_blocks(raw: Any) -> None:
    # As torch before 2.1 wrote them.
    segments = copy.deepcopy(raw["segments"])
    for segment in segments:
        segment.pop("segment_pool_id")
        for block in segment["blocks"]:
            block.pop("address")
    found = read_snapshot(pickle.dumps(segments))
    whole = read_snapshot(pickle.dumps(raw))
    assert found.blocks is not None
    assert whole.blocks is not None
    assert found.blocks.address == whole.blocks.address
    assert found.pools == [(0, 0)]
    assert found.history == "off"
    assert "no history" in found.notes[0]


NOT_SNAPSHOTS: list[tuple[Any, str]] = [
    ({"a": 1}, "a map with a, not of a memory snapshot"),
    (7, "a pickle of a int"),
    ({"segments": 5}, "segments is a int"),
    ({"segments": [5]}, "a segment is a int"),
    ({"segments": [{}]}, "a segment has no 'address'"),
    ({"segments": [{"address": -1}]}, "address -1"),
    ({"segments": [{"address": 1, "total_size": "x"}]}, "total_size 'x'"),
    ({"segments": [{"address": 10**400, "total_size": 1}]}, "address a int"),
    ({"segments": [{"address": 1, "total_size": 1, "segment_pool_id": "pool"}]}, "pool is 'pool'"),
    ({"segments": [{"address": 1, "total_size": 1, "blocks": [{}]}]}, "a block has no 'size'"),
    ({"segments": [], "device_traces": [[3]]}, "an event is a int"),
    (
        {
            "segments": [
                {"address": 1, "total_size": 1, "blocks": [{"size": 1, "frames": ["frame"]}]}
            ]
        },
        "a frame is a str",
    ),
]


@pytest.mark.parametrize(("value", "message"), NOT_SNAPSHOTS)
def test_what_is_no_snapshot(value: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pickle"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(FormatError, match=message) as caught:
        formats.read(path)
    assert str(path) in str(caught.value)


def test_a_file_cut_off_anywhere(tmp_path: Path) -> None:
    content = SNAPSHOT.read_bytes()
    path = tmp_path / "a.pickle"
    for end in (3, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.raises(FormatError):
            formats.read(path)


def test_text_that_is_called_pickle(tmp_path: Path) -> None:
    path = tmp_path / "a.pickle"
    path.write_text("hello")
    with pytest.raises((FormatError, UnknownFormatError)):
        formats.read(path)


values = st.one_of(
    st.none(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2), st.floats()
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_change_of_a_value_gives_a_snapshot_or_a_format_error(data: st.DataObject) -> None:
    whole = pickle.loads(SNAPSHOT.read_bytes())
    small = {"segments": whole["segments"][:2], "device_traces": [whole["device_traces"][0][:3]]}
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in list(items):
            places.append((value, key))
            if isinstance(inner, (dict, list)):
                walk(inner)

    walk(small)
    holder, key = places[data.draw(st.integers(0, len(places) - 1))]
    holder[key] = data.draw(values)
    with suppress(FormatError):
        check(read_snapshot(pickle.dumps(small)), "it")
