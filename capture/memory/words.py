"""Numbers of a graph's nodes that are, or may be, addresses: arguments, copies, memsets. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..model import Graph, Kernel
from .addresses import END, LOWEST
from .layouts import UNKNOWN, Layout, layout_of


class Word(NamedTuple):
    """A number of a node that is, or may be, an address."""

    node: str
    """Path."""
    address: int
    role: str
    """``"argument"``, ``"source"``, ``"destination"``, ``"operation"`` or ``"allocation"``."""
    argument: int = -1
    """Index of the kernel's parameter; -1 where there is none."""
    offset_bytes: int = 0
    """In the kernel's argument buffer."""
    size_bytes: int | None = None
    """How many bytes the node touches from there on; ``None`` where that is not known."""
    writes: bool | None = None
    """Whether it is written; ``None`` where that is not known."""
    guess: bool = False
    """Whether it may be a number that only looks like an address."""
    memory_type: str = ""
    """What a memcpy says of the end."""


def words(graph: Graph) -> Iterator[Word]:
    """Yield every word of a graph that may be an address, in creation order, bodies included.

    Of kernel arguments, words at multiples of 8 bytes that lie where CUDA places memory, except
    those that :mod:`capture.memory.layouts` knows to be numbers. What it does not know to be a
    pointer is a guess.
    """
    for path, level in graph.walk():
        yield from words_at(level, f"{path}/" if path else "", range(len(level.payloads)))


def words_at(level: Graph, prefix: str, positions: Iterable[int]) -> Iterator[Word]:
    """Yield the words of some nodes of a level, which is that of paths with such a prefix."""
    known: dict[int, tuple[Kernel | None, Layout]] = {}
    unpackers: dict[int, Callable[[bytes], tuple[int, ...]]] = {}
    make = partial(tuple.__new__, Word)
    types, payloads = level.topology.types, level.payloads
    for position in positions:
        payload = payloads[position]
        if payload is None:
            continue
        node = f"{prefix}{position}"
        if types[position] != "kernel":
            yield from _of_other(node, types[position], payload)
            continue
        arguments = getattr(payload, "arguments", None)
        if not arguments:
            continue
        length = len(arguments)
        unpack = unpackers.get(length)
        if unpack is None:
            unpack = unpackers[length] = struct.Struct(f"<{length // 8}Q").unpack_from
        kernel = payload.kernel
        entry = known.get(id(kernel))
        if entry is None:
            entry = known[id(kernel)] = kernel, layout_of(kernel)
        slots, part = entry[1]
        if part is not None:
            slots = part.of_launch(slots, arguments, payload.grid)
        covered = len(slots)
        for index, address in enumerate(unpack(arguments)):
            if LOWEST <= address < END:
                slot = slots[index] if index < covered else UNKNOWN
                if slot is not None:
                    at = 8 * index
                    yield make((node, address, "argument", slot[0], at, None, None, slot[1], ""))


def _of_other(node: str, type_: str, payload: Any) -> Iterator[Word]:
    if type_ == "memcpy":
        size = extent(payload)
        for name, writes in (("source", False), ("destination", True)):
            end = getattr(payload, name, None)
            address = getattr(end, "address", None)
            if isinstance(address, int) and address and end is not None:
                yield Word(
                    node,
                    address + _start_in(end),
                    name,
                    size_bytes=size,
                    writes=writes,
                    memory_type=end.memory_type,
                )
    elif type_ == "memset":
        if payload.address:
            yield Word(
                node, payload.address, "destination", size_bytes=filled(payload), writes=True
            )
    elif type_ == "mem_alloc":
        if payload.address:
            yield Word(node, payload.address, "allocation", size_bytes=payload.size_bytes)
    else:
        for operation in getattr(payload, "operations", None) or ():
            address = operation.get("address")
            if isinstance(address, int) and LOWEST <= address < END:
                yield Word(node, address, "operation")


def _start_in(end: Any) -> int:
    pitch, height = end.pitch_bytes or 0, end.height or 0
    return int(end.x_bytes or 0) + pitch * (int(end.y or 0) + height * int(end.z or 0))


def extent(payload: Any) -> int | None:
    """Return how many bytes a memcpy moves, if they lie side by side; else ``None``."""
    width, height, depth = payload.width_bytes, payload.height, payload.depth
    if width is None:
        return None
    return int(width) if (height or 1) == 1 and (depth or 1) == 1 else None


def filled(payload: Any) -> int | None:
    """Return how many bytes a memset writes, if they lie side by side; else ``None``."""
    if payload.width is None or payload.element_bytes is None:
        return None
    row = int(payload.width) * int(payload.element_bytes)
    height = int(payload.height or 1)
    if height == 1 or payload.pitch_bytes == row:
        return row * height
    return None
