"""Rows of the tables of kernels: per family, per launch, and per node block by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capture.analysis import Subject
from capture.analysis.launch_shape import LaunchShape, launch_shape

from . import format as text
from . import result_text
from .naming import kernel_of
from .node_rows import BLOCK
from .picture import Picture

NUMBERS = ("median", "start", "share", "waves", "occupancy")
_TIMES = {"median": "median_ns", "start": "start_ns"}


@dataclass(frozen=True)
class KernelNodes:
    """The kernel nodes of one graph or body: positions, and a column of numbers per name.

    Attributes
    ----------
    positions : array of int, shape ``(k,)``
    columns : mapping of str to array of float, shape ``(k,)``
        By the names of `NUMBERS`; NaN where something is not known.
    """

    positions: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, picture: Picture, subject: Subject) -> KernelNodes:
        """Collect what is known about each kernel node; O(nodes)."""
        types = picture.graph.topology.types
        positions = np.flatnonzero(np.array([name == "kernel" for name in types], np.bool_))
        count = len(positions)
        columns = {name: np.full(count, np.nan) for name in NUMBERS}
        first = subject.first_rows
        for name, field in _TIMES.items():
            values = subject.column(field)
            if values:
                rows = np.array([first[at] for at in positions.tolist()], np.int64)
                chosen = np.array(values, np.float64)[np.maximum(rows, 0)]
                columns[name] = np.where(rows >= 0, chosen, np.nan)
        if subject.makespan_ns:
            columns["share"] = columns["median"] / subject.makespan_ns
        shapes: dict[Any, LaunchShape | None] = {}
        if subject.gpu is not None:
            for place, at in enumerate(positions.tolist()):
                payload = picture.graph.payloads[at]
                if payload is None:
                    continue
                key = (
                    payload.grid,
                    payload.block,
                    payload.cluster,
                    payload.max_blocks_per_multiprocessor,
                )
                if key not in shapes:
                    shapes[key] = launch_shape(payload, subject.gpu)
                shape = shapes[key]
                if shape is not None:
                    columns["waves"][place] = shape.waves
                    if shape.occupancy is not None:
                        columns["occupancy"][place] = shape.occupancy
        return cls(positions, columns)

    @property
    def size_bytes(self) -> int:
        """What this holds in memory."""
        return 8 * len(self.positions) * (len(self.columns) + 1) + 1_000


def block(
    picture: Picture,
    kernels: KernelNodes,
    command: Callable[[str], str],
    request: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the answer to a request of ag-grid's infinite row model.

    Parameters
    ----------
    picture : Picture
    kernels : KernelNodes
    command : callable
        What a copy button gives for a kernel's mangled name; see
        :func:`~graphviz_app.profiling.ncu_command`.
    request : mapping
        ``startRow``, ``endRow``, ``sortModel`` and ``filterModel``.
    """
    wanted = str(((request.get("filterModel") or {}).get("name") or {}).get("filter") or "").lower()
    places = np.arange(len(kernels.positions))
    if wanted:
        hits = {name for name in set(picture.names) if wanted in name.lower()}
        keep = [picture.names[at] in hits for at in kernels.positions.tolist()]
        places = places[np.array(keep, np.bool_)]
    for sort in reversed(request.get("sortModel") or []):
        keys = _keys(picture, kernels, str(sort.get("colId")))
        if keys is not None:
            chosen = keys[places]
            if sort.get("sort") == "desc":
                chosen = -chosen
            places = places[np.argsort(chosen, kind="stable")]
    start = max(int(request.get("startRow") or 0), 0)
    stop = min(int(request.get("endRow") or start + BLOCK), start + 10 * BLOCK)
    rows = [_row(picture, kernels, command, place) for place in places[start:stop].tolist()]
    return {"rowData": rows, "rowCount": len(places)}


def _keys(picture: Picture, kernels: KernelNodes, name: str) -> NDArray[Any] | None:
    if name == "position":
        return kernels.positions
    if name == "name":
        rank = {label: i for i, label in enumerate(sorted(set(picture.labels), key=str.lower))}
        return np.array([rank[picture.labels[at]] for at in kernels.positions.tolist()], np.int64)
    if name == "operator" and picture.origin_texts is not None:
        names = picture.origin_texts["operator"]
        rank = {label: i for i, label in enumerate(sorted(set(names), key=str.lower))}
        return np.array([rank[names[at]] for at in kernels.positions.tolist()], np.int64)
    values = kernels.columns.get(name)
    # What is not known sorts below what is, in both directions of numpy's order.
    return None if values is None else np.nan_to_num(values, nan=-1.0)


def _row(
    picture: Picture, kernels: KernelNodes, command: Callable[[str], str], place: int
) -> dict[str, Any]:
    at = int(kernels.positions[place])
    node = picture.graph.node(at)
    kernel = kernel_of(node)
    row: dict[str, Any] = {
        "id": str(at),
        "position": at,
        "name": picture.labels[at],
        "full": picture.names[at][:400],
        "grid": text.brief_dims_text(node.payload.grid) if node.payload is not None else "",
        "block": text.brief_dims_text(node.payload.block) if node.payload is not None else "",
        "copy": command(kernel.name) if kernel is not None else "",
    }
    if picture.origin_texts is not None:
        row["operator"] = picture.origin_texts["operator"][at]
    for name in NUMBERS:
        value = float(kernels.columns[name][place])
        row[name] = _text(name, value)
    return row


def _text(name: str, value: float) -> str:
    if value != value:
        return text.ABSENT
    if name in ("share", "occupancy"):
        return text.share_text(value, 1)
    if name == "waves":
        return result_text.quantity_text(value, "ratio")
    return text.duration_text(value)
