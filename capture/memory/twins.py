"""Tells addresses from numbers by a second capture of the same work. Pure.

Arguments hold words that only look like addresses: leftovers in padding, and numbers. Two captures
with memory of their own tell them apart: an address moves with its memory, a number stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import FormatError
from ..memory_map import Memory
from ..model import Graph, Recording
from .pointers import Memories, Place, Pointer
from .words import Word, words

MOST_TWINS = 8
"""Graphs of equal topology that are looked at for one with memory of its own."""


class Twin(NamedTuple):
    """Another capture of the same work."""

    key: str
    graph: Graph
    memory: Memory


def twin_of(recording: Recording, key: str, memory: Memory) -> Twin | None:
    """Return a graph of equal topology that was captured into another pool of the same process.

    What is damaged is passed over. What was not loaded before is not kept.
    """
    info = recording.info(key)
    if not info.topology or memory.pool is None:
        return None
    alike = [
        other
        for other, item in recording.graphs.items()
        if other != key
        and item.topology == info.topology
        and item.process == info.process
        and item.pool not in (None, memory.pool)
    ]
    for other in alike[:MOST_TWINS]:
        try:
            held: Memory | None = recording.evidence("memory", other, keep=False)
            if held is None or held.refused or held.pool == memory.pool:
                continue
            loaded = recording.is_loaded(other)
            graph = recording.graph(other)
            if not loaded:
                recording.forget(other)
        except FormatError:
            continue
        return Twin(other, graph, held)
    return None


def judge(
    graph: Graph, memory: Memory, twin: Graph, twin_memory: Memory
) -> dict[tuple[str, int], bool]:
    """Say of guessed words whether they are addresses, as far as two captures tell.

    Parameters
    ----------
    graph, twin : Graph
        Of equal topology; nodes with other kernels are left out.
    memory, twin_memory : Memory
        Of the same process, or of two.

    Returns
    -------
    dict of (str, int) to bool
        By path of the node and byte of its arguments. Words about which nothing is known are not
        in it: their memory did not move, or nothing else tells that it did.

    Notes
    -----
    O(words log blocks).
    """
    here, there = Memories(memory, graph), Memories(twin_memory, twin)
    pairs = [
        (word, other, here.find(word.address), there.find(other))
        for word, other in _pairs(graph, twin)
    ]
    # How far the memory of each block moved, by what most addresses in it say.
    moves: dict[int, Counter[int]] = {}
    for word, other, place, other_place in pairs:
        if place.kind != "unresolved" and other_place.kind == place.kind:
            votes = moves.setdefault(place.start, Counter())
            votes[other - word.address] += 1 if word.guess else 2
    found: dict[tuple[str, int], bool] = {}
    for word, other, place, other_place in pairs:
        if not word.guess or place.kind == "unresolved":
            continue
        verdict = _verdict(word, other, place, other_place, moves, memory.pool)
        if verdict is not None:
            found[word.node, word.offset_bytes] = verdict
    return found


def _verdict(
    word: Word,
    other: int,
    place: Place,
    other_place: Place,
    moves: dict[int, Counter[int]],
    own: tuple[int, int] | None,
) -> bool | None:
    if other_place.kind == "unresolved":
        return False  # in the other capture it is no address at all
    votes = moves.get(place.start, Counter())
    if other != word.address:
        alike = other_place.size_bytes == place.size_bytes and (
            other - other_place.start == word.address - place.start
        )
        return True if alike or votes[other - word.address] > 1 else None
    temporary = place.kind == "block" and place.pool == own and place.state == "free"
    moved = sum(count for distance, count in votes.items() if distance)
    if (temporary or votes[0] < moved) and moved > 1:
        return False  # what surrounds it moved
    return None


def _pairs(graph: Graph, twin: Graph) -> Iterable[tuple[Word, int]]:
    """Yield words of arguments with what stands at their place in the other capture."""
    arguments: dict[str, bytes | None] = {}
    for word in words(graph):
        if word.role != "argument":
            continue
        if word.node not in arguments:
            arguments[word.node] = _same_launch(graph, twin, word.node)
        data = arguments[word.node]
        if data is not None:
            yield word, int.from_bytes(data[word.offset_bytes : word.offset_bytes + 8], "little")


def _same_launch(graph: Graph, twin: Graph, node: str) -> bytes | None:
    """Return the twin's argument bytes of a node, if it launches the same kernel."""
    body, _, position = node.rpartition("/")
    levels = graph.at(body), twin.at(body)
    if any(int(position) >= len(level) for level in levels):
        return None
    one, other = (level.payloads[int(position)] for level in levels)
    kernels = [getattr(item, "kernel", None) for item in (one, other)]
    if kernels[0] is None or kernels[1] is None or kernels[0].name != kernels[1].name:
        return None
    data: bytes | None = getattr(other, "arguments", None)
    return data if data is not None and len(data) == len(one.arguments) else None


def settle(pointers: Iterable[Pointer], verdicts: dict[tuple[str, int], bool]) -> list[Pointer]:
    """Return pointers with what was found out: addresses are no guesses, numbers lead nowhere."""
    found = []
    for pointer in pointers:
        word = pointer.word
        verdict = verdicts.get((word.node, word.offset_bytes)) if word.guess else None
        if verdict is True:
            pointer = Pointer(word._replace(guess=False), pointer.place)
        elif verdict is False:
            pointer = Pointer(word, Place("unresolved"))
        found.append(pointer)
    return found
