"""Sums up what ran on the GPU without a graph node while replays were traced."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable

from ..outside import BETWEEN, INSIDE, Outside
from .cupti_records import CONCURRENT_KERNEL, KERNEL, MEMCPY, Other, Record

MOST_OTHERS = 500_000
"""Pieces of other work that are kept of one window, 48 bytes each."""

COPY_KINDS = {
    1: "host to device",
    2: "device to host",
    3: "host to array",
    4: "array to host",
    5: "array to array",
    6: "array to device",
    7: "device to array",
    8: "device to device",
    9: "host to host",
    10: "peer to peer",
}
"""Of ``CUpti_ActivityMemcpyKind``."""
_WIDTH = len(Other._fields)


class OutsideWork:
    """Collects records of windows of traced replays, and what they say together."""

    def __init__(self) -> None:
        self.result = Outside()
        self._rows: dict[tuple[int, int, int, str], list[int]] = {}
        self._names: dict[int, str] = {}
        self._others = array("Q")
        self._nodes = array("Q")
        self._launches: set[int] = set()
        self._inside: set[int] = set()

    def add(self, nodes: Iterable[Record], others: Iterable[Other]) -> None:
        """Take records of the window that is open.

        Parameters
        ----------
        nodes, others : iterable
            Records with and without a graph node.
        """
        for node in nodes:
            self._nodes.extend((node.start_ns, node.end_ns))
            self._launches.add(node.correlation)
        for other in others:
            if len(self._others) >= MOST_OTHERS * _WIDTH:
                self.result.dropped_records += 1
            else:
                self._others.extend(other)

    def inside(self, launches: Iterable[int]) -> None:
        """Take the correlations of kernels that were launched inside a call of ``replay()``."""
        self._inside.update(launches)
        self.result.place_known = True

    def close(self) -> None:
        """End the window and sum it up."""
        nodes, others = self._nodes, self._others
        launches, inside = self._launches, self._inside
        self._nodes, self._others = array("Q"), array("Q")
        self._launches, self._inside = set(), set()
        launches.discard(0)  # what the device launches has no launch of its own
        if not nodes:
            return
        begin, end = min(nodes[::2]), max(nodes[1::2])
        result = self.result
        result.windows += 1
        result.replays += len(launches)
        result.window_ns += end - begin
        graph_spans = sorted(zip(nodes[::2], nodes[1::2], strict=True))
        spans: list[tuple[int, int]] = []
        for row in range(0, len(others), _WIDTH):
            other = Other(*others[row : row + _WIDTH])
            if not begin <= other.start_ns < end:
                continue
            spans.append((other.start_ns, min(other.end_ns, end)))
            place = INSIDE if other.correlation in inside else BETWEEN
            key = (other.kind, other.label, other.stream, place)
            sums = self._rows.setdefault(key, [0, 0, 0])
            took = other.end_ns - other.start_ns
            sums[0] += 1
            sums[1] += took
            sums[2] = max(sums[2], took)
            if other.kind in (KERNEL, CONCURRENT_KERNEL) and other.label not in self._names:
                self._names[other.label] = _text(other.label)
        spans.sort()
        result.graphs_ns += _covered(graph_spans)
        result.outside_ns += _covered(spans)
        result.busy_ns += _covered(sorted(graph_spans + spans))

    def finish(self) -> Outside:
        """Return everything, longest first."""
        result = self.result
        for (kind, label, stream, place), sums in sorted(
            self._rows.items(), key=lambda item: -item[1][1]
        ):
            kernel = kind in (KERNEL, CONCURRENT_KERNEL)
            copy = COPY_KINDS.get(label, f"copy of kind {label}") if kind == MEMCPY else ""
            result.name.append(self._names.get(label, "") if kernel else copy)
            result.type.append("kernel" if kernel else "memcpy" if kind == MEMCPY else "memset")
            result.stream.append(stream)
            result.place.append(place)
            result.count.append(sums[0])
            result.total_ns.append(sums[1])
            result.longest_ns.append(sums[2])
        self._rows = {}
        return result


def _covered(spans: list[tuple[int, int]]) -> int:
    """Return the time in which at least one of these ran; `spans` is sorted."""
    total = reached = 0
    for start, end in spans:
        start = max(start, reached)
        if end > start:
            total += end - start
            reached = end
    return total


def _text(address: int) -> str:
    """Return a kernel's name; CUPTI keeps it for as long as the process runs."""
    if not address:
        return ""
    return ctypes.string_at(address).decode(errors="replace")
