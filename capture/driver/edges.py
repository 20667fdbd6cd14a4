"""Edges of a graph: what the driver lists, as positions in stored order."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from itertools import compress, repeat
from operator import add, mul

from ..errors import DriverError
from .entry_points import EntryPoints
from .many import Slots, blocks
from .records import EdgeColumns

EDGE_LIST_LIMIT = 8_000
"""Nodes up to which ``cuGraphGetEdges`` is used: its cost grows with the square of the nodes,
that of ``cuGraphNodeGetDependencies`` is linear but a call each."""

_SLOTS = 4
_LIST, _DEPENDENCIES = "cuGraphGetEdges", "cuGraphNodeGetDependencies"


class EdgeCalls:
    """The part of :class:`~capture.driver.protocol.Driver` about edges."""

    entry: EntryPoints

    def edges(self, graph: int | None, nodes: Sequence[int]) -> EdgeColumns:
        """See :meth:`capture.driver.protocol.Driver.edges`."""
        if graph is None or len(nodes) > EDGE_LIST_LIMIT:
            return self.edges_by_dependencies(nodes)
        return self.edges_by_list(graph, nodes)

    def edges_by_list(self, graph: int, nodes: Sequence[int]) -> EdgeColumns:
        """Read edges with one ``cuGraphGetEdges``."""
        capacity = 2 * len(nodes) + 64
        while True:
            source, target, data = (array("Q", bytes(8 * capacity)) for _ in range(3))
            addresses = [column.buffer_info()[0] for column in (source, target, data)]
            count = ctypes.c_size_t(capacity)
            self.entry.check(_LIST, graph, *addresses, ctypes.byref(count))
            if count.value < capacity:
                break
            capacity *= 4  # a full buffer may have been too small
        number = count.value
        position = dict(zip(nodes, range(len(nodes)), strict=True))
        sources = list(map(position.get, source[:number], repeat(-1)))
        targets = list(map(position.get, target[:number], repeat(-1)))
        return _columns(sources, targets, data[:number], len(nodes), _LIST)

    def edges_by_dependencies(self, nodes: Sequence[int]) -> EdgeColumns:
        """Read edges with one ``cuGraphNodeGetDependencies`` for each node, linear in nodes."""
        reader = self.entry.reader(_DEPENDENCIES)
        found, data, counts = slots = [
            Slots(size, len(nodes)) for size in (8 * _SLOTS, 8 * _SLOTS, 8)
        ]
        handles, words, targets = array("Q"), array("Q"), array("q")
        results: list[int] = []
        full: list[int] = []
        for block in blocks(nodes):
            start = len(results)
            counts.fill(_SLOTS)
            answers = list(map(reader, block, *(column.outputs for column in slots)))
            block_handles = array("Q", found.read(len(block)))
            block_words = array("Q", data.read(len(block)))
            block_counts = array("Q", counts.read(len(block))).tolist()
            if any(answers):
                block_counts = [
                    0 if answer else count
                    for answer, count in zip(answers, block_counts, strict=True)
                ]
            # Most nodes have one predecessor at most.
            single = [count == 1 for count in block_counts]
            handles.extend(compress(block_handles[::_SLOTS], single))
            words.extend(compress(block_words[::_SLOTS], single))
            targets.extend(compress(range(start, start + len(block)), single))
            if max(block_counts) > 1:
                for index, count in enumerate(block_counts):
                    if count >= _SLOTS:
                        full.append(start + index)  # full slots may have been too few
                    elif count > 1:
                        at = index * _SLOTS
                        handles.extend(block_handles[at : at + count])
                        words.extend(block_words[at : at + count])
                        targets.extend([start + index] * count)
            results += answers
        refused = self.entry.failures(_DEPENDENCIES, results)
        for index in full:
            try:
                inputs, edge_data = self._dependencies(nodes[index])
            except DriverError as error:
                refused[index] = error
                continue
            handles += inputs
            words += edge_data
            targets.extend([index] * len(inputs))
        position = dict(zip(nodes, range(len(nodes)), strict=True))
        sources = list(map(position.get, handles, repeat(-1)))
        columns = _columns(sources, targets.tolist(), words, len(nodes), _DEPENDENCIES)
        return columns._replace(refused=refused)

    def _dependencies(self, node: int) -> tuple[array[int], array[int]]:
        # Asking for the number alone, without room for edge data, is refused as lossy for
        # edges that have some.
        capacity = 16 * _SLOTS
        while True:
            found, data = (array("Q", bytes(8 * capacity)) for _ in range(2))
            addresses = [column.buffer_info()[0] for column in (found, data)]
            count = ctypes.c_size_t(capacity)
            self.entry.read(_DEPENDENCIES, node, *addresses, ctypes.byref(count))
            if count.value < capacity:
                return found[: count.value], data[: count.value]
            capacity *= 4


def _columns(
    sources: list[int], targets: list[int], data: array[int], count: int, how: str
) -> EdgeColumns:
    """Order edges by target, then source; a position of -1 is an edge to be left out.

    `data` holds a ``CUgraphEdgeData`` an edge: the bytes from_port, to_port, type, reserved[5].
    """
    lost = 0
    if -1 in sources or -1 in targets:
        kept = [at for at in range(len(sources)) if sources[at] >= 0 and targets[at] >= 0]
        lost = len(sources) - len(kept)
        sources, targets = [sources[at] for at in kept], [targets[at] for at in kept]
        data = array("Q", [data[at] for at in kept])
    keys = list(map(add, map(mul, targets, repeat(count)), sources))
    ordered = sorted(keys)
    raw = data.tobytes()
    if raw.count(0) == len(raw):
        if ordered != keys:
            sources = [key % count for key in ordered]
            targets = [key // count for key in ordered]
        return EdgeColumns(sources, targets, [], [], [], how=how, lost=lost)
    # Equal keys: one node may depend on another through several ports.
    order = sorted(range(len(keys)), key=lambda at: (keys[at], data[at]))

    def column(offset: int) -> list[int]:
        values = raw[offset::8]
        return [values[at] for at in order] if any(values) else []

    return EdgeColumns(
        [sources[at] for at in order],
        [targets[at] for at in order],
        from_port=column(0),
        to_port=column(1),
        type=column(2),
        how=how,
        lost=lost,
    )
