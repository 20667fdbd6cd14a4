"""Blocks of memory as rows, with the nodes that point into them: what the page of memory shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capture.analysis.block_roles import block_roles
from capture.analysis.pointed_at import absolute, allocated_at, argument_of, where
from capture.analysis.stale_pointers import fault
from capture.analysis.subject import Subject
from capture.memory.pointers import Memories, Place, Pointer
from capture.memory_map import STATES, Memory, MemoryMap

from . import format as text
from .facts import Fact, Section
from .origin_text import base_name
from .result_text import short_place

MOST_ROWS = 2_000
MOST_IN_PANEL = 40


@dataclass
class Row:
    """A block, or a range outside of torch's allocator."""

    address: int
    size_bytes: int
    requested_bytes: int | None
    segment: int
    """-1 outside of torch's allocator."""
    kind: str
    """``"own"``, ``"common"``, ``"other"`` or ``"outside"``."""
    state: str
    pool: str
    name: str
    where: str
    allocated_at: str
    device: int | None = None
    """Only where it is not the graph's."""
    role: str = ""
    """What a block without a name is to the graph, as far as that can be told."""
    nodes: list[str] = field(default_factory=list)
    """Paths of the nodes that point into it, in creation order."""


def rows_of(memory: MemoryMap, subject: Subject | None = None) -> list[Row]:
    """Return every block by address, then ranges outside, with the nodes that point into them."""
    own = memory.pool if isinstance(memory, Memory) else None
    memories = Memories(memory)
    found: list[Row] = []
    blocks, segments = memory.blocks, memory.segments
    if blocks is not None and segments is not None:
        here = device_of(memory)
        told_of: dict[tuple[int, int], tuple[str, str, str, str]] = {}
        lines: dict[int, str] = {}
        for at, address in enumerate(blocks.address):
            segment, state = blocks.segment[at], blocks.state[at]
            pool_at = segments.pool[segment]
            told = told_of.get((pool_at, state))
            if told is None:
                pool = memory.pools[pool_at]
                place = Place("block", state=STATES[state], pool=pool)
                kind = "own" if pool == own else "common" if pool == (0, 0) else "other"
                told = told_of[pool_at, state] = (
                    kind,
                    STATES[state],
                    pool_text(pool, own),
                    where(place, own),
                )
            stack = blocks.stack[at] if blocks.stack else -1
            line = lines.get(stack)
            if line is None:
                line = lines[stack] = allocated_at(memory, stack)
            found.append(
                Row(
                    address,
                    blocks.size_bytes[at],
                    blocks.requested_bytes[at] if blocks.requested_bytes else None,
                    segment,
                    *told[:3],
                    memories.name_at(address),
                    told[3],
                    line,
                )
            )
            if segments.device and segments.device[segment] != here:
                found[-1].device = segments.device[segment]
    by_start = {row.address: row for row in found}
    for address, role in (block_roles(subject) if subject is not None else {}).items():
        by_start[address].role = role
    for pointer in subject.pointers if subject is not None else ():
        place = pointer.place
        if place.kind == "block":
            row = by_start[place.start]
        elif place.kind in ("outside", "host", "graph"):
            known = by_start.get(place.start)
            if known is None:
                size = place.size_bytes
                words = where(place, own)
                known = Row(
                    place.start, size, None, -1, "outside", place.state, "", place.name, words, ""
                )
                by_start[place.start] = known
                found.append(known)
            row = known
        else:
            continue
        assert subject is not None
        path = absolute(subject, pointer.word.node)
        if not row.nodes or row.nodes[-1] != path:
            row.nodes.append(path)
    return found


def device_of(memory: MemoryMap) -> int | None:
    """Return the device that need not be told: the graph's, or the only one; ``None`` for none."""
    if isinstance(memory, Memory) and memory.device is not None:
        return memory.device
    devices = set(memory.segments.device) if memory.segments is not None else set()
    return devices.pop() if len(devices) == 1 else None


def pool_text(pool: tuple[int, int], own: tuple[int, int] | None = None) -> str:
    """Return a pool's id, or what it is called.

    Examples
    --------
    >>> pool_text((0, 0)), pool_text((1, 0), (1, 0)), pool_text((2, 0))
    ('common', "graph's (1, 0)", '(2, 0)')
    """
    if pool == (0, 0):
        return "common"
    name = f"({pool[0]}, {pool[1]})"
    return f"graph's {name}" if pool == own else name


def positions_in(subject: Subject, address: int) -> list[int]:
    """Return the positions of the nodes that point into the block that begins at an address."""
    return subject.nodes_at.get(address, [])


def blocks_of(subject: Subject, position: int) -> list[tuple[int, str, str]]:
    """Return (address, name, how many nodes) of the blocks that a node points into."""
    found: dict[int, tuple[int, str, str]] = {}
    for _, place in subject.pointers_at.get(position, []):
        nodes = positions_in(subject, place.start)
        if place.kind != "unresolved":
            name = place.name or text.address_text(place.start)
            found[place.start] = (place.start, name, text.counted(len(nodes), "node"))
    return list(found.values())[:MOST_IN_PANEL]


def node_section(
    subject: Subject, position: int, roles: Mapping[int, str] | None = None
) -> Section | None:
    """Return what a node points at; ``None`` where memory was not looked at.

    Parameters
    ----------
    subject : Subject
    position : int
    roles : mapping of int to str
        Of blocks without a name, by first address.
    """
    roles = roles or {}
    memory = subject.memory
    if memory is None:
        return None
    held = subject.pointers_at.get(position, [])
    if not held:
        return Section("Memory", absent="It holds no number that may be an address.")
    rows = [_pointer_row(memory, item) for item in held[:MOST_IN_PANEL]]
    notes = [_note(memory, item, roles) for item in held[:MOST_IN_PANEL]]
    facts = []
    if len(held) > MOST_IN_PANEL:
        facts = [Fact("", f"The first {MOST_IN_PANEL} of {text.count_text(len(held))} addresses.")]
    return Section(
        "Memory",
        facts=facts,
        columns=("arg.", "memory", "offset"),
        rows=rows,
        notes=notes,
        source="Addresses of the node, looked up in torch's memory just after the capture",
    )


def _pointer_row(memory: Memory, item: Pointer) -> tuple[str, ...]:
    word, place = item
    which = (
        str(word.argument) if word.argument >= 0 else {"argument": "?"}.get(word.role, word.role)
    )
    if place.kind == "unresolved":
        return which, text.address_text(word.address), ""
    name = place.name.rpartition(": ")[2] or text.address_text(place.start)
    return which, name, f"{word.address - place.start:,}"


def _note(memory: Memory, item: Pointer, roles: Mapping[int, str]) -> str:
    word, place = item
    words = [argument_of(item)] if word.role == "argument" else []
    if place.name or place.start in roles:
        words.append(place.name or roles[place.start])
    words.append(where(place, memory.pool) if place.kind != "unresolved" else "not known")
    if place.size_bytes:
        words[-1] += f", {text.bytes_text(place.size_bytes)}"
    if word.guess:
        words.append("may be a number")
    wrong = fault(item, memory.pool, memory.asked_ranges)
    if wrong and place.kind != "block":
        words.append(wrong)
    line = allocated_at(memory, place.stack)
    if line:
        words.append(f"allocated at {short_place(line)}")
    return " · ".join(words)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows for ag-grid: values to sort by and texts to show."""
    found = []
    for row in rows[:MOST_ROWS]:
        address = text.address_text(row.address)
        found.append(
            {
                "id": address,
                "address": address,
                "name": row.name or row.role,
                "size": row.size_bytes,
                "where": row.where
                + (f", on device {row.device}" if row.device is not None else ""),
                "pool": row.pool,
                "nodes": len(row.nodes),
                "first": row.nodes[0] if row.nodes else "",
                "last": row.nodes[-1] if row.nodes else "",
                "stack": row.allocated_at,
                "texts": {
                    "address": address,
                    "size": text.bytes_text(row.size_bytes),
                    "nodes": text.count_text(len(row.nodes)),
                    "first": row.nodes[0] if row.nodes else "",
                    "last": row.nodes[-1] if row.nodes else "",
                    "stack": base_name(row.allocated_at),
                },
                "exact": {
                    "size": text.exact_bytes_text(row.size_bytes)
                    + (f", {row.requested_bytes:,} asked for" if row.requested_bytes else ""),
                },
                "links": {},
            }
        )
    return found
