"""Sums up what ran on the GPU without a graph node while replays were traced."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..origins import Frame
from ..outside import BETWEEN, INSIDE, Outside
from .cupti_records import CONCURRENT_KERNEL, KERNEL, MEMCPY, Other, Record
from .launch_stacks import Call
from .origins.stacks import Place, Stacks, kind_of

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
_UNKNOWN = Call()


class _Row(NamedTuple):
    """What is summed up together."""

    kind: int
    label: int
    stream: int
    place: str
    stack: int
    autograd: str


class OutsideWork:
    """Collects records of windows of traced replays, and what they say together."""

    def __init__(self) -> None:
        self.result = Outside()
        self._rows: dict[_Row, list[int]] = {}
        self._names: dict[int, str] = {}
        self._others = array("Q")
        self._nodes = array("Q")
        self._launches: set[int] = set()

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

    def close(self, calls: Mapping[int, Call], full: bool = False) -> None:
        """End the window and sum it up.

        Parameters
        ----------
        calls : mapping of int to Call
            What is known of the calls that launched work, by correlation.
        full : bool, optional
            Whether stacks were too many to note all of this window.
        """
        nodes, others = self._nodes, self._others
        launches = self._launches
        self._nodes, self._others = array("Q"), array("Q")
        self._launches = set()
        launches.discard(0)  # what the device launches has no launch of its own
        if not nodes:
            return
        begin, end = min(nodes[::2]), max(nodes[1::2])
        result = self.result
        result.windows += 1
        if full and not result.stacks_end:
            result.stacks_end = result.windows
        result.replays += len(launches)
        result.window_ns += end - begin
        graph_spans = sorted(zip(nodes[::2], nodes[1::2], strict=True))
        spans: list[tuple[int, int]] = []
        for row in range(0, len(others), _WIDTH):
            other = Other(*others[row : row + _WIDTH])
            if not begin <= other.start_ns < end:
                continue
            spans.append((other.start_ns, min(other.end_ns, end)))
            call = calls.get(other.correlation, _UNKNOWN)
            place = INSIDE if call.inside else BETWEEN
            key = _Row(other.kind, other.label, other.stream, place, call.stack, call.autograd)
            took = other.end_ns - other.start_ns
            _sum(self._rows, key, 1, took, took)
            if other.kind in (KERNEL, CONCURRENT_KERNEL) and other.label not in self._names:
                self._names[other.label] = _text(other.label)
        spans.sort()
        result.graphs_ns += _covered(graph_spans)
        result.outside_ns += _covered(spans)
        result.busy_ns += _covered(sorted(graph_spans + spans))

    def finish(self, stacks: Stacks) -> Outside:
        """Return everything, longest first.

        Parameters
        ----------
        stacks : Stacks
            Those that the calls name.
        """
        result = self.result
        shown = _Shown(stacks)
        rows: dict[_Row, list[int]] = {}
        for row, sums in self._rows.items():
            # Stacks that differ in frames of ours alone, or within a line, are one to people.
            _sum(rows, row._replace(stack=shown.index(row.stack)), *sums)
        for row, sums in sorted(rows.items(), key=lambda item: -item[1][1]):
            kernel = row.kind in (KERNEL, CONCURRENT_KERNEL)
            memcpy = row.kind == MEMCPY
            copy = COPY_KINDS.get(row.label, f"copy of kind {row.label}") if memcpy else ""
            result.name.append(self._names.get(row.label, "") if kernel else copy)
            result.type.append("kernel" if kernel else "memcpy" if memcpy else "memset")
            result.stream.append(row.stream)
            result.place.append(row.place)
            result.count.append(sums[0])
            result.total_ns.append(sums[1])
            result.longest_ns.append(sums[2])
            result.stack.append(row.stack)
            result.autograd.append(row.autograd)
        result.frames, result.stacks = list(shown.frames), list(shown.stacks)
        self._rows = {}
        return result


class _Shown:
    """Stacks without frames of ours, each once."""

    def __init__(self, stacks: Stacks) -> None:
        self.frames: dict[Frame, int] = {}
        self.stacks: dict[tuple[int, ...], int] = {}
        self._noted = stacks
        self._kinds: dict[str, str] = {}

    def index(self, noted: int) -> int:
        """Return the index of a stack that was noted; -1 when nothing of it is shown."""
        stack = tuple(
            self.frames.setdefault(frame, len(self.frames))
            for place in self._noted.places(noted)
            if (frame := self._frame(place)) is not None
        )
        return self.stacks.setdefault(stack, len(self.stacks)) if stack else -1

    def _frame(self, place: Place) -> Frame | None:
        file = place[0]
        kind = self._kinds.get(file)
        if kind is None:
            kind = self._kinds[file] = kind_of(file)
        return None if kind == "ours" else Frame(*place, kind)


def _sum(rows: dict[_Row, list[int]], row: _Row, count: int, total: int, longest: int) -> None:
    sums = rows.setdefault(row, [0, 0, 0])
    sums[0] += count
    sums[1] += total
    sums[2] = max(sums[2], longest)


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
