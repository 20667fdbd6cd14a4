"""The picture of a graph as one binary payload for the canvas.

The payload is, in little-endian order: the magic ``CGLS``, the format version and the length of
the header as two 32-bit integers, the header as UTF-8 JSON, and typed arrays, each at a multiple
of eight bytes. The header's ``arrays`` names them with type, offset
and length (offsets count from the end of the header, rounded up to eight); its ``bytes`` is
the length of the arrays, by which a download that was cut off is noticed.
`assets/canvas/data.mjs` is the reader in the browser.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layout import LaneLayout
from ..layout.bands import BAND_GAP, CELL_HEIGHT, CELL_WIDTH
from .scene_parts import Colouring, LegendEntry, SceneTexts

__all__ = ["Colouring", "LegendEntry", "Scene", "SceneTexts", "decode_scene", "encode_scene"]

MAGIC = b"CGLS"
VERSION = 1
BOX_WIDTH = 164.0
BOX_HEIGHT = 24.0
MAX_TEXT = 400
"""Characters of a name that reach the browser; a kernel name may have a megabyte."""


@dataclass(frozen=True)
class Scene:
    """A payload read back: its header and its arrays."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(repr=False)


def _table(texts: Sequence[str]) -> tuple[list[str], NDArray[np.integer[Any]]]:
    """Keep each text once; return the texts and an index per node."""
    position: dict[str, int] = {}
    index = np.fromiter(
        (position.setdefault(text, len(position)) for text in texts), np.uint32, len(texts)
    )
    return [_shorten(text) for text in position], _narrow(index)


def _shorten(text: str) -> str:
    """Cut a text that is too long to show, saying so."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _narrow(values: NDArray[Any]) -> NDArray[np.integer[Any]]:
    """Store non-negative integers in the smallest unsigned type that holds them."""
    largest = int(values.max(initial=0))
    kind = np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.uint32
    return values.astype(kind)


def _check(n: int, texts: SceneTexts, colourings: Sequence[Colouring]) -> None:
    """Refuse inputs whose lengths do not fit; the canvas would draw them wrongly."""
    lengths = {"types": len(texts.types), "labels": len(texts.labels)}
    if texts.names is not None:
        lengths["names"] = len(texts.names)
    if texts.notes is not None:
        lengths["notes"] = len(texts.notes)
    if texts.pair is not None:
        lengths |= {"before": len(texts.pair[0]), "after": len(texts.pair[1])}
    lengths |= {f"colouring {c.name!r}": len(c.index) for c in colourings}
    for what, length in lengths.items():
        if length != n:
            raise ValueError(f"{what} has {length} entries; expected {n}, one per node")
    for c in colourings:
        if n and not 0 <= int(c.index.min()) <= int(c.index.max()) < len(c.legend):
            raise ValueError(f"colouring {c.name!r} points outside its {len(c.legend)} entries")


def encode_scene(
    layout: LaneLayout,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    texts: SceneTexts,
    colourings: Sequence[Colouring],
    *,
    enterable: NDArray[np.bool_] | None = None,
    weight: NDArray[np.floating[Any]] | None = None,
    lane_labels: Sequence[str] | None = None,
    twin: NDArray[np.int32] | None = None,
) -> bytes:
    """Encode a laid out graph for the canvas.

    Parameters
    ----------
    layout
        Cells of the nodes and routes of the edges.
    source, target
        Ends of the edges, shape ``(e,)``.
    texts
        Names of the nodes and of the picture.
    colourings
        At least one; the first is shown at the start.
    enterable
        Nodes that have bodies to enter (conditional, child graph), shape ``(n,)``.
    weight
        What merged nodes are summed by when they are too small to draw, such as durations, shape
        ``(n,)``; nodes count equally when it is absent.
    lane_labels
        What stands over each column, such as its stream (see `column_labels`); empty for nothing.
    twin
        The node that is selected with a node, -1 for none, shape ``(n,)``.

    Raises
    ------
    ValueError
        If an input has not one entry per node, or no colouring is given.
    """
    n = len(layout.level)
    if not colourings:
        raise ValueError("no colouring given; expected at least one, such as by type")
    _check(n, texts, colourings)
    type_names, type_index = _table(texts.types)
    label_names, label_index = _table(texts.labels)
    arrays: dict[str, NDArray[Any]] = {
        "column": _narrow(layout.column),
        "row": _narrow(layout.row),
        "level": _narrow(layout.level),
        "type": type_index,
        "label": label_index,
        "source": _narrow(np.asarray(source)),
        "target": _narrow(np.asarray(target)),
        "route": layout.route,
        "columnX": layout.column_x.astype(np.float32),
        "columnBand": np.repeat(
            np.arange(layout.bands, dtype=np.uint32), layout.lanes_per_band
        ).astype(np.uint32),
        "bandRow": layout.band_rows.astype(np.uint32),
    }
    header: dict[str, Any] = {
        "nodes": n,
        "edges": len(source),
        "title": _shorten(texts.title),
        "pathPrefix": texts.path_prefix,
        "warnings": [_shorten(w) for w in texts.warnings],
        "types": type_names,
        "labels": label_names,
        "cell": {
            "width": CELL_WIDTH,
            "height": CELL_HEIGHT,
            "boxWidth": BOX_WIDTH,
            "boxHeight": BOX_HEIGHT,
            "bandGap": BAND_GAP,
        },
        "colourings": [
            {
                "name": c.name,
                "label": c.label,
                "strong": c.strong,
                "legend": [
                    {"name": _shorten(e.name), "colour": e.colour, "count": e.count}
                    | ({"dark": e.dark} if e.dark else {})
                    | ({"outline": True} if e.outline else {})
                    for e in c.legend
                ],
            }
            for c in colourings
        ],
    }
    if texts.merged:
        header["merged"] = texts.merged
    if texts.pair is not None:
        header["pairPrefixes"] = list(texts.pair_prefixes)
        for name, positions in zip(("before", "after"), texts.pair, strict=True):
            arrays[name] = _narrow(positions + 1)
    if texts.names is not None:
        header["names"], arrays["name"] = _table(texts.names)
    if texts.notes is not None:
        header["notes"], arrays["note"] = _table(texts.notes)
    for k, colouring in enumerate(colourings):
        arrays[f"colour{k}"] = _narrow(colouring.index)
        if colouring.loud_edges is not None:
            arrays[f"loudEdges{k}"] = colouring.loud_edges.astype(np.uint8)
    if enterable is not None and bool(enterable.any()):
        arrays["enterable"] = np.flatnonzero(enterable).astype(np.uint32)
    if twin is not None and bool((twin >= 0).any()):
        arrays["twin"] = _narrow(twin + 1)
    if weight is not None:
        arrays["weight"] = weight.astype(np.float32)
    if lane_labels is not None and any(lane_labels):
        if len(lane_labels) != len(layout.column_x):
            raise ValueError(
                f"{len(lane_labels)} lane labels; expected {len(layout.column_x)}, one per column"
            )
        header["laneLabels"] = [_shorten(label) for label in lane_labels]
    return _pack(header, arrays)


def column_labels(layout: LaneLayout, values: Sequence[str]) -> list[str]:
    """Name each column after what all its nodes share, such as their stream; else leave it empty.

    Parameters
    ----------
    layout
        Cells of the nodes.
    values
        A text per node; an empty one is unknown and disagrees with nothing.
    """
    found: list[set[str]] = [set() for _ in layout.column_x]
    for column, value in zip(layout.column.tolist(), values, strict=True):
        if value:
            found[column].add(value)
    return [next(iter(names)) if len(names) == 1 else "" for names in found]


def _pack(header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Lay header and arrays out; offsets count from the end of the header, rounded up to eight."""
    offset = 0
    header["arrays"] = {}
    for name, values in arrays.items():
        header["arrays"][name] = {
            "type": values.dtype.name,
            "offset": offset,
            "length": len(values),
        }
        offset += -(-values.nbytes // 8) * 8
    header["bytes"] = offset
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    parts = [MAGIC, struct.pack("<II", VERSION, len(text)), text, b"\0" * (-(12 + len(text)) % 8)]
    for values in arrays.values():
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        parts += [little.tobytes(), b"\0" * (-values.nbytes % 8)]
    return b"".join(parts)


def decode_scene(data: bytes) -> Scene:
    """Read a payload back, with the checks that the browser makes.

    Raises
    ------
    ValueError
        If the bytes are no payload, of another version, or cut off.
    """
    if data[:4] != MAGIC:
        raise ValueError(f"the payload starts with {data[:4]!r}; expected {MAGIC!r}")
    version, length = struct.unpack_from("<II", data, 4)
    if version != VERSION:
        raise ValueError(f"the payload has version {version}; expected {VERSION}")
    header = json.loads(data[12 : 12 + length].decode("utf-8"))
    begin = 12 + length + (-(12 + length) % 8)
    if len(data) != begin + header["bytes"]:
        raise ValueError(f"the payload has {len(data)} bytes; expected {begin + header['bytes']}")
    arrays = {
        name: np.frombuffer(
            data,
            np.dtype(entry["type"]).newbyteorder("<"),
            entry["length"],
            begin + entry["offset"],
        )
        for name, entry in header["arrays"].items()
    }
    return Scene(header, arrays)
