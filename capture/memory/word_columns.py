"""Words of large graphs, found in all nodes that launch one kernel at once. Pure.

Says what :func:`capture.memory.words.words` says, in the same order.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from ..model import Graph, Kernel
from .addresses import END, LOWEST
from .layouts import UNKNOWN, Layout, layout_of
from .sorting import is_new, order_of
from .words import Word, words_at

if TYPE_CHECKING:
    import numpy

MANY = 4_000
"""Nodes from which on columns are faster, numpy's import included."""


class _Batch:
    """Nodes of one level that launch one kernel with arguments of one length."""

    __slots__ = ("arguments", "kernel", "layout", "positions")

    def __init__(self, kernel: Kernel | None, layout: Layout) -> None:
        self.kernel = kernel  # kept, so that no other one gets its identity
        self.layout = layout
        self.positions: list[int] = []
        self.arguments: list[bytes] = []


def all_words(graph: Graph) -> list[Word]:
    """Return every word of a graph that may be an address, in creation order, bodies included.

    Notes
    -----
    O(bytes of arguments); what is done for each word alone is done by C.
    """
    found: list[Word] = []
    for path, level in graph.walk():
        prefix = f"{path}/" if path else ""
        if len(level.payloads) < MANY:
            found.extend(words_at(level, prefix, range(len(level.payloads))))
        else:
            found.extend(_of_level(level, prefix))
    return found


def _of_level(level: Graph, prefix: str) -> list[Word]:
    import numpy

    batches, others = _batches(level)
    columns = [_columns(batch) for batch in batches]
    position, address, argument, offset, guess = (
        numpy.concatenate(parts) if parts else numpy.empty(0, dtype=numpy.int64)
        for parts in (zip(*columns, strict=True) if columns else [()] * 5)
    )
    order = order_of(position)
    position = position[order]
    # One text for all words of a node.
    new = is_new(position)
    texts = [f"{prefix}{number}" for number in position[new].tolist()]
    node = numpy.cumsum(new) - 1
    make: Any = tuple.__new__
    made: list[Word] = list(
        map(
            make,
            repeat(Word),
            zip(
                map(texts.__getitem__, node.tolist()),
                address[order].tolist(),
                repeat("argument"),
                argument[order].tolist(),
                offset[order].tolist(),
                repeat(None),
                repeat(None),
                guess[order].tolist(),
                repeat(""),
            ),
        )
    )
    more = list(words_at(level, prefix, others))
    if not more:
        return made
    start = len(prefix)
    position = numpy.concatenate([position, [int(word[0][start:]) for word in more]])
    made += more
    return [made[at] for at in numpy.argsort(position, kind="stable").tolist()]


def _batches(level: Graph) -> tuple[list[_Batch], list[int]]:
    """Return kernel nodes by what they launch, and the other nodes."""
    found: dict[tuple[int, int], _Batch] = {}
    others: list[int] = []
    for position, (type_, payload) in enumerate(
        zip(level.topology.types, level.payloads, strict=True)
    ):
        if type_ != "kernel" or payload is None:
            others.append(position)
            continue
        arguments = getattr(payload, "arguments", None)
        if not arguments:
            continue
        kernel = payload.kernel
        key = id(kernel), len(arguments)
        batch = found.get(key)
        if batch is None:
            batch = found[key] = _Batch(kernel, layout_of(kernel))
        if batch.layout.part is not None:
            others.append(position)
            continue
        batch.positions.append(position)
        batch.arguments.append(arguments)
    return [batch for batch in found.values() if batch.positions], others


def _columns(batch: _Batch) -> tuple[numpy.ndarray[Any, Any], ...]:
    """Return position, address, parameter, byte and whether it is a guess, for each word."""
    import numpy

    count, length = len(batch.positions), len(batch.arguments[0])
    slots = batch.layout.slots
    slots = [*slots[: length // 8], *[UNKNOWN] * (length // 8 - len(slots))]
    held = numpy.array([at for at, slot in enumerate(slots) if slot is not None], dtype=numpy.int64)
    known = [slot for slot in slots if slot is not None]
    data = numpy.frombuffer(b"".join(batch.arguments), dtype=numpy.uint8).reshape(count, length)
    whole = numpy.ascontiguousarray(data[:, : length // 8 * 8]).view("<u8")[:, held]
    row, column = numpy.nonzero((whole >= LOWEST) & (whole < END))
    return (
        numpy.array(batch.positions, dtype=numpy.int64)[row],
        whole[row, column],
        numpy.array([slot[0] for slot in known], dtype=numpy.int64)[column],
        8 * held[column],
        numpy.array([slot[1] for slot in known], dtype=bool)[column],
    )
