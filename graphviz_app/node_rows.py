"""Rows of the table of nodes: one block at a time, sorted and filtered over all nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capture.nodes.kernel import KernelPayload

from . import format as text
from .naming import type_colour
from .picture import Picture

BLOCK = 100
ORIGINS = ("module", "operator", "source")
"""Rows in one request of the browser."""


def column(picture: Picture, name: str) -> NDArray[Any] | None:
    """Return what a column sorts by, shape ``(n,)``, or ``None`` for a column without an order.

    Parameters
    ----------
    picture : Picture
    name : str
        Texts sort by their place in alphabetical order, computed over the distinct ones.
    """
    if name == "position":
        return np.arange(picture.count)
    if name == "type":
        return _ranks(picture.graph.topology.types)
    if name == "name":
        return _ranks(picture.labels)
    if name == "level":
        return picture.layout.level
    if name == "lane":
        return picture.layout.lane
    if name == "predecessors":
        return np.bincount(picture.target, minlength=picture.count)
    if name == "successors":
        return np.bincount(picture.source, minlength=picture.count)
    if name in ORIGINS and picture.origin_texts is not None:
        return _ranks(picture.origin_texts[name])
    times = picture.times
    if times is not None and name in ("time", "slack"):
        values = times.duration_ns if name == "time" else times.slack_ns
        return np.nan_to_num(values, nan=-1.0)
    return None


def _ranks(values: Any) -> NDArray[np.int64]:
    place = {value: rank for rank, value in enumerate(sorted(set(values), key=str.lower))}
    return np.fromiter((place[value] for value in values), np.int64, len(values))


def order(picture: Picture, sorts: Any, filters: Any) -> NDArray[np.int64]:
    """Return positions in the order and selection that the table asks for.

    Parameters
    ----------
    picture : Picture
    sorts : list of dict
        ag-grid's sort model: ``colId`` and ``sort``, the first one leading.
    filters : dict
        ag-grid's filter model; ``contains`` on type, name and origins.
    """
    keep = np.ones(picture.count, np.bool_)
    for name, values in (("type", picture.graph.topology.types), ("name", picture.names)):
        wanted = str(((filters or {}).get(name) or {}).get("filter") or "").lower()
        if wanted:
            hits = {value for value in set(values) if wanted in text.type_text(value).lower()}
            hits |= {value for value in set(values) if wanted in value.lower()}
            keep &= np.fromiter((value in hits for value in values), np.bool_, picture.count)
    for name, values in (picture.origin_texts or {}).items():
        wanted = str(((filters or {}).get(name) or {}).get("filter") or "").lower()
        if wanted:
            hits = {value for value in set(values) if wanted in value.lower()}
            keep &= np.fromiter((value in hits for value in values), np.bool_, picture.count)
    positions = np.flatnonzero(keep)
    for sort in reversed(sorts or []):
        keys = column(picture, str(sort.get("colId")))
        if keys is None:
            continue
        chosen = keys[positions]
        if sort.get("sort") == "desc":
            chosen = -chosen.astype(np.int64)
        positions = positions[np.argsort(chosen, kind="stable")]
    return positions


def block(picture: Picture, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request of ag-grid's infinite row model.

    Parameters
    ----------
    picture : Picture
    request : mapping
        ``startRow``, ``endRow``, ``sortModel`` and ``filterModel``.
    """
    positions = order(picture, request.get("sortModel"), request.get("filterModel"))
    start = max(int(request.get("startRow") or 0), 0)
    stop = min(int(request.get("endRow") or start + BLOCK), start + 10 * BLOCK)
    return {
        "rowData": [row(picture, position) for position in positions[start:stop].tolist()],
        "rowCount": len(positions),
    }


def _time(picture: Picture, position: int, name: str) -> str:
    if picture.times is None:
        return ""
    value = float(getattr(picture.times, name)[position])
    return text.ABSENT if value != value else text.duration_text(value)


def row(picture: Picture, position: int) -> dict[str, Any]:
    """Return one node's row."""
    node = picture.graph.node(position)
    payload = node.payload
    kernel = payload if isinstance(payload, KernelPayload) else None
    return {
        "id": str(position),
        "position": position,
        "type": text.type_text(node.type),
        "colour": type_colour(node.type),
        "name": picture.labels[position],
        "full": picture.names[position][:400],
        "grid": text.brief_dims_text(kernel.grid) if kernel is not None else "",
        "block": text.brief_dims_text(kernel.block) if kernel is not None else "",
        "level": int(picture.layout.level[position]),
        "lane": int(picture.layout.lane[position]),
        **{name: texts[position] for name, texts in (picture.origin_texts or {}).items()},
        "time": _time(picture, position, "duration_ns"),
        "slack": _time(picture, position, "slack_ns"),
        "predecessors": len(picture.into(position)),
        "successors": len(picture.out_of(position)),
    }
