"""The canvas's payload says what went in, and says so when it is damaged."""

from __future__ import annotations

import numpy as np
import pytest

from graphviz_app.figures.scene import (
    MAX_TEXT,
    Colouring,
    LegendEntry,
    SceneTexts,
    column_labels,
    decode_scene,
    encode_scene,
)
from graphviz_app.layout import LaneLayout, lane_layout

SOURCE = np.array([0, 0, 1, 2], dtype=np.int32)
TARGET = np.array([1, 2, 3, 3], dtype=np.int32)
TYPES = ["memcpy", "kernel", "kernel", "conditional"]
LABELS = ["copy", "gemm", "gemm", "näme <b>\u2603</b>"]
LEGEND = (LegendEntry("transfer", "#E69F00", 1), LegendEntry("compute", "#0072B2", 3))
BY_TYPE = Colouring("type", "Type", np.array([0, 1, 1, 1]), LEGEND)


def diamond() -> LaneLayout:
    return lane_layout(4, SOURCE, TARGET)


def encode(**changes: object) -> bytes:
    values: dict[str, object] = {
        "texts": SceneTexts(TYPES, LABELS, path_prefix="3/0/", warnings=("Careful.",)),
        "colourings": [BY_TYPE],
        **changes,
    }
    return encode_scene(diamond(), SOURCE, TARGET, **values)  # type: ignore[arg-type]


def test_what_goes_in_comes_out() -> None:
    layout = diamond()
    scene = decode_scene(
        encode(
            enterable=np.array([False, False, False, True]),
            weight=np.array([1.5, 2, 3, np.nan]),
        )
    )
    header, arrays = scene.header, scene.arrays
    assert (header["nodes"], header["edges"]) == (4, 4)
    assert [header["labels"][k] for k in arrays["label"]] == LABELS
    assert [header["types"][k] for k in arrays["type"]] == TYPES
    assert len(header["labels"]) == 3, "equal labels are stored once"
    np.testing.assert_array_equal(arrays["source"], SOURCE)
    np.testing.assert_array_equal(arrays["target"], TARGET)
    np.testing.assert_array_equal(arrays["column"], layout.column)
    np.testing.assert_array_equal(arrays["row"], layout.row)
    np.testing.assert_array_equal(arrays["route"], layout.route)
    np.testing.assert_array_equal(arrays["colour0"], BY_TYPE.index)
    np.testing.assert_array_equal(arrays["enterable"], [3])
    np.testing.assert_array_equal(arrays["weight"], np.array([1.5, 2, 3, np.nan], np.float32))
    assert header["pathPrefix"] == "3/0/"
    assert header["warnings"] == ["Careful."]
    assert header["colourings"][0]["legend"][0] == {
        "name": "transfer",
        "colour": "#E69F00",
        "count": 1,
    }


def test_an_empty_graph() -> None:
    none = np.zeros(0, dtype=np.int32)
    data = encode_scene(
        lane_layout(0, none, none), none, none, SceneTexts([], []), [Colouring("t", "T", none, ())]
    )
    assert decode_scene(data).header["nodes"] == 0


def test_a_huge_name_is_shortened_and_says_so() -> None:
    texts = SceneTexts(TYPES, LABELS, names=["x" * 1_000_000, "b", "c", "d"])
    data = encode(texts=texts)
    assert len(data) < 5_000
    name = decode_scene(data).header["names"][0]
    assert len(name) == MAX_TEXT
    assert name.endswith("…")


def test_a_name_that_is_no_unicode_is_kept_readable() -> None:
    data = encode(texts=SceneTexts(TYPES, ["bad \udcff", "b", "c", "d"]))
    assert decode_scene(data).header["labels"][0].startswith("bad ")


def test_arrays_start_at_multiples_of_eight() -> None:
    entries = decode_scene(encode()).header["arrays"].values()
    assert all(entry["offset"] % 8 == 0 for entry in entries)


def test_a_hundred_thousand_nodes_take_about_two_megabytes() -> None:
    n = 100_000
    source, target = np.arange(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)
    data = encode_scene(
        lane_layout(n, source, target),
        source,
        target,
        SceneTexts(["kernel"] * n, [f"kernel_{k % 300}" for k in range(n)]),
        [Colouring("type", "Type", np.zeros(n, dtype=np.int32), LEGEND[1:])],
    )
    assert len(data) < 2_500_000


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"<html>" + data, "starts with b'<htm'"),
        (lambda data: data[:4] + b"\x09" + data[5:], "version 9; expected 1"),
        (lambda data: data[:-8], "bytes; expected"),
        (lambda data: data + b"more", "bytes; expected"),
    ],
)
def test_a_damaged_payload_is_refused(damage: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_scene(damage(encode()))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": SceneTexts(TYPES[:3], LABELS)}, "types has 3 entries; expected 4"),
        ({"texts": SceneTexts(TYPES, LABELS, names=["a"])}, "names has 1 entries; expected 4"),
        ({"colourings": []}, "no colouring given"),
        (
            {"colourings": [Colouring("type", "Type", np.array([0, 1, 2, 0]), LEGEND)]},
            "points outside its 2 entries",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(**changes)


def test_a_column_is_named_after_what_its_nodes_share() -> None:
    layout = diamond()
    labels = column_labels(layout, ["stream 7", "stream 7", "stream 9", ""])
    assert labels == ["stream 7", "stream 9"]
    assert column_labels(layout, ["a", "b", "", ""])[0] == ""
    assert decode_scene(encode(lane_labels=labels)).header["laneLabels"] == labels
    with pytest.raises(ValueError, match="3 lane labels; expected 2"):
        encode(lane_labels=["", "", "x"])
